"""Documents are read, ranked and shown as they should be: by hand, and against bm25s."""

import json
import math
import random

import numpy as np
import pytest
from refusals import refusal

import guerdon as gd
from guerdon.envs.corpora.documents import documents_of, excerpt
from guerdon.envs.corpora.sentence_vectors import encoder_of, fused
from guerdon.envs.corpora.word_index import WordIndex, query_words, top


def test_scores_by_hand():
    """Three documents of 2, 3 and 1 words; `fox` stands in two of them, twice in the second."""
    index = WordIndex(["red fox", "Fox, blue FOX!", "nothing"])
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    first = idf * 1 / (1 + 1.5 * (0.25 + 0.75 * 2 / 2))
    second = idf * 2 / (2 + 1.5 * (0.25 + 0.75 * 3 / 2))
    assert index.scores(["fox"]).tolist() == pytest.approx([first, second, 0.0], abs=1e-7)
    assert index.best("the fox", 5) == [(1, pytest.approx(second)), (0, pytest.approx(first))]
    assert index.best("nobody knows", 5) == [] and index.best("", 5) == []


@pytest.mark.parametrize(("size", "queries"), [(200, 500), pytest.param(3000, 5000, marks=pytest.mark.slow)])
def test_ranks_and_scores_as_bm25s_does(size, queries):
    bm25s = pytest.importorskip("bm25s")
    draw = random.Random(3)
    words = [f"w{n}" for n in range(400)]
    likely = [1 / (n + 1) for n in range(400)]
    texts = [" ".join(draw.choices(words, likely, k=draw.randint(1, 60))) for _ in range(size)]
    ours, theirs = WordIndex(texts), bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    theirs.index([text.split() for text in texts], show_progress=False)
    for _ in range(queries):
        query = " ".join(draw.choices([*words, "unseen"], k=draw.randint(1, 6)))
        wanted = theirs.get_scores(query_words(query))
        assert np.abs(ours.scores(query_words(query)) - wanted).max() < 1e-5
        ranked = [number for number, _ in ours.best(query, 10)]
        assert [wanted[n] for n in ranked] == pytest.approx([wanted[n] for n in top(wanted, 10)], abs=1e-6)


def test_equal_documents_keep_their_order_and_the_index_is_read_only():
    library = gd.envs.corpus(["same words here"] * 7 + ["other words"])
    assert [hit.document.id for hit in library.search("same", k=3)] == ["1", "2", "3"]
    with pytest.raises(ValueError, match="read-only"):
        library.open().words.adds[0] = 9.0


def test_documents_come_from_lists_files_and_folders(tmp_path):
    rows = [{"_id": 7, "title": "Keldor", "contents": "A town."}, {"_id": "x y", "contents": "A land."}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "rows.csv").write_text("id,title,text\n7,Keldor,A town.\nx  y,,A land.\n")
    listed, lines, table = (documents_of(s) for s in (rows, tmp_path / "rows.jsonl", tmp_path / "rows.csv"))
    assert listed == lines == table == (("7", "Keldor", "A town."), ("x y", "", "A land."))
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "b.txt").write_text("plain")
    (folder / "sub" / "a.md").write_text("# A heading\n\ntext")
    (folder / "c.png").write_bytes(b"\x00")
    assert [(d.id, d.title) for d in documents_of(folder)] == [("b.txt", "b"), ("sub/a.md", "A heading")]
    one, other = gd.envs.corpus(rows), gd.envs.corpus(str(tmp_path / "rows.csv"))
    assert one.identity() == other.identity() != gd.envs.corpus(["A town."]).identity()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([], "no documents"),
        ([{"title": "x"}], "no `text`"),
        ([{"id": 1, "text": "a"}, {"id": "1", "text": "b"}], "have the id '1'"),
        ([3], "a document is a text or a row"),
        ("no_such_folder/", "no_such_folder"),
    ],
)
def test_bad_documents_are_refused_in_a_line(source, message):
    with pytest.raises(gd.UserError, match=message) as told:
        gd.envs.corpus(source).open()
    assert "\n" not in str(told.value)


def test_an_excerpt_shows_what_is_asked_about():
    text = " ".join(["filler"] * 200 + ["the mayor of Keldor is Mira"] + ["filler"] * 200)
    shown = excerpt(text, ["keldor", "mayor", "filler"], lambda word: 0.01 if word == "filler" else 3.0, 60)
    assert len(shown) <= 60 and "mayor of Keldor" in shown and shown.startswith("... ") and shown.endswith(" ...")
    assert excerpt("short", ["x"], len, 60) == "short"
    assert len(excerpt("x" * 5000, ["y"], len, 60)) <= 60


def test_meaning_and_words_are_fused_by_rank():
    assert fused([[7, 3], [3, 7], [5]], 3) == [
        (3, pytest.approx(1 / 61 + 1 / 62)),
        (7, pytest.approx(1 / 61 + 1 / 62)),
        (5, 1 / 61),
    ]

    def colours(texts):  # [warm, cold]
        return [[("red" in t) + ("crimson" in t) + 0.01, ("blue" in t) + ("azure" in t) + 0.01] for t in texts]

    texts = ["an azure sky", "a crimson door", "the word blue"]
    by = {by: gd.envs.corpus(texts, by=by, encoder=colours) for by in ("meaning", "both")}
    assert [h.document.id for h in by["meaning"].search("red", 1)] == ["2"]
    assert by["meaning"].search("  ", 1) == []
    assert [h.document.id for h in by["both"].search("blue", 2)] == ["3", "1"]
    with pytest.raises(gd.UserError, match="needs an encoder"):
        gd.envs.corpus(texts, by="both")
    with pytest.raises(gd.UserError, match="not asked"):
        gd.envs.corpus(texts, encoder=colours)
    with refusal(gd.UserError):
        gd.envs.corpus(texts, by="both", encoder=lambda t: [1.0]).open()


@pytest.mark.slow
def test_an_encoder_is_the_mean_over_tokens(tmp_path):
    transformers = pytest.importorskip("transformers")
    import torch

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary))
    tokenizer = transformers.BertTokenizerFast(vocab=str(tmp_path / "vocab.txt"))
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=len(vocabulary), **shape)
    torch.manual_seed(0)
    model = transformers.BertModel(config).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    rows = encoder_of(str(tmp_path))(["a b", "c d e f"])
    for text, row in zip(["a b", "c d e f"], rows, strict=True):
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        assert row == pytest.approx(states.mean(0).numpy(), abs=1e-5)
    library = gd.envs.corpus(["a b", "c d e f"], by="meaning", encoder=str(tmp_path))
    assert library.search("c d e f", 1)[0].document.id == "2"
    with pytest.raises(gd.UserError, match="cannot read the encoder"):
        encoder_of(str(tmp_path / "nothing"))
