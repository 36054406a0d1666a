"""One rollout as the studio tells it, against the batch that was stored."""

from __future__ import annotations

import dataclasses
import json
import math
import shutil

import numpy as np
import pytest
import torch
from small import TEXTS
from strategies import episode, segment
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import guerdon as gd
from guerdon.core.batch import Pairs
from guerdon.core.column import Column, Reason
from guerdon.core.pack import pack
from guerdon.core.part import describe
from guerdon.core.task import Ask, Task
from guerdon.display.reading import episode_view
from guerdon.display.reading.opened_steps import StepFiles
from guerdon.display.reading.token_pieces import Tokenizers, pieces_of
from guerdon.display.reading.track_scores import formulas
from guerdon.models.tokenizer import train_tokenizer
from guerdon.runs.rollout_files import write_batch
from guerdon.runs.run import Run

HOSTILE = "<img src=x onerror=alert(1)>\x00\x1b[2J\u202egnp.\u2066 \ud83d".encode("utf-8", "replace").decode()
TEXTS_OF_ALL_KINDS = [
    "plain words 12 and 345",
    "  two  spaces\n\n",
    "naïve 日本語 \ufffd mid",
    "👩‍👩‍👧 👍🏽 ok",
    "\x00\x1b",
    "",
]


@pytest.fixture(scope="module")
def empty_run(tmp_path_factory, small_run):
    """A copy of a run to put batches of one's own into."""
    folder = tmp_path_factory.mktemp("reading") / "runs" / "own"
    shutil.copytree(small_run / "first", folder)
    return folder


def stored(folder, batch, step):
    write_batch(Run(folder).folder.rollouts(step), batch, step)
    return folder.parent


def told(ask, folder, step, key):
    runs = folder.parent
    client = ask(runs)
    [run] = client.get("/api/reading/runs").json()["runs"]
    answer = client.get("/api/reading/rollout", params={"run": run["id"], "step": step, "episode": key})
    assert answer.status_code == 200, answer.text
    return answer.json()


# --- tokens -------------------------------------------------------------------------------------------------------


def byte_level():
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False),
    )
    return made


def sentence_piece():
    """Drops the first space of a text, as Llama's does."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.train_from_iterator([*TEXTS, *TEXTS_OF_ALL_KINDS], trainers.BpeTrainer(vocab_size=400, show_progress=False))
    return made


@pytest.mark.parametrize("text", TEXTS_OF_ALL_KINDS)
@pytest.mark.parametrize(
    "make", [lambda: train_tokenizer(TEXTS, 320), byte_level, sentence_piece], ids=["own", "bytes", "spaces"]
)
def test_pieces_join_to_the_text_and_no_character_is_torn(make, text):
    tokenizer = make()
    tokens = tokenizer.encode(text, add_special_tokens=False).ids
    spelled = tokenizer.decode(tokens)
    made = pieces_of(tokenizer, tokens, spelled, len(tokens))
    assert made.text == spelled and len(made.said) == len(tokens)
    for most in range(len(tokens)):
        part = pieces_of(tokenizer, tokens, spelled, most)
        assert spelled.startswith(part.text) and len(part.said) >= most and part.said == made.said[: len(part.said)]


def test_a_character_of_four_tokens_is_one_piece():
    tokenizer = train_tokenizer(TEXTS, 320)
    tokens = tokenizer.encode("a👍b", add_special_tokens=False).ids
    assert pieces_of(tokenizer, [*tokens, 3], "a👍b", 99).said == ["a", "👍", None, None, None, "b", ""]
    assert pieces_of(tokenizer, [*tokens, 3], "a👍b", 99).silent == {6: "<|end|>"}
    assert pieces_of(tokenizer, tokens, "a👍b", 2).said == ["a", "👍", None, None, None]  # what is begun is ended


def test_what_a_stop_string_cut_off_is_told_apart():
    tokenizer = train_tokenizer(TEXTS, 320)
    tokens = tokenizer.encode("12345", add_special_tokens=False).ids
    made = pieces_of(tokenizer, tokens, "123", 99)
    assert (made.text, made.beyond) == ("123", {3: "4", 4: "5"})


def test_tokens_that_spell_something_else_are_refused():
    tokenizer = train_tokenizer(TEXTS, 320)
    tokens = tokenizer.encode("12345", add_special_tokens=False).ids
    assert pieces_of(tokenizer, tokens, "12945", 99) is None
    assert pieces_of(tokenizer, tokens, "123456", 99) is None


@pytest.fixture
def spelled_run(empty_run):
    """A run whose folder holds a tokenizer, and a batch of its tokens."""
    tokenizer = train_tokenizer(TEXTS, 320)
    folder = empty_run / "models" / "policy"
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    texts = ["the sum 👍 is 12", "日本語 so 357"]
    tries = [
        episode(
            segment([*tokenizer.encode(text, add_special_tokens=False).ids, 3], text=text, given=2), attempt=n, step=4
        )
        for n, text in enumerate(texts)
    ]
    batch = pack(tries)
    value = torch.linspace(-1, 1, batch.S)
    value[3] = float("nan")
    reason = torch.zeros(batch.S, dtype=torch.int8)
    reason[3] = Reason.FAILED
    batch = batch.with_cols({
        "advantage": Column("step", value, reason, {3: {"error": "ValueError: no"}}),
        'odd "name"; DROP': Column.full("step", torch.full((batch.S,), math.inf)),
    })  # fmt: skip
    stored(empty_run, batch, 4)
    return empty_run, batch, texts


def test_numbers_of_tokens_are_those_of_the_batch(ask, spelled_run):
    folder, batch, texts = spelled_run
    begin = 0
    for n, text in enumerate(texts):
        rollout = told(ask, folder, 4, f"4.0.{n}")
        [each] = rollout["segments"]
        tokens = each["tokens"]
        assert "".join(piece or "" for piece in tokens["pieces"]) == each["text"] == text
        size = tokens["in_all"]
        assert tokens["ids"] == batch.action[begin : begin + size].tolist()
        for name, values in (("advantage", batch["advantage"]), ("logp", batch.logp)):
            given = np.array([math.nan if v is None else v for v in tokens["numbers"][name]], np.float32)
            assert np.array_equal(given, values[begin : begin + size].numpy(), equal_nan=True)
        assert tokens["muted"] == [0, 1] and each["given"] == 2
        begin += size
    assert [(c["name"], c["signed"]) for c in rollout["colours"]] == [("advantage", True), ("logp", False)]
    assert rollout["colours"][0]["high"] == 1.0


def test_a_mean_over_steps_leaves_out_what_is_missing_and_tells_of_the_error(ask, spelled_run):
    folder, batch, _ = spelled_run
    [track] = told(ask, folder, 4, "4.0.0")["tracks"]
    advantage, odd = track["columns"]
    first = batch["advantage"][: int(batch.length[0])].double()
    assert advantage["number"] == pytest.approx(float(first.nanmean()), abs=1e-7)
    assert advantage["error"]["line"] == "ValueError: no"
    assert (odd["name"], odd["number"]) == ('odd "name"; DROP', "∞")


def test_long_texts_come_in_parts(ask, empty_run, monkeypatch):
    monkeypatch.setattr(episode_view, "TEXT", 100)
    monkeypatch.setattr(episode_view, "TOKENS", 30)
    text = "ab" * 500
    shown = "x" * 777
    tries = [episode(segment([97 + (c == "b") for c in text], text=text, view=shown), step=5)]
    runs = stored(empty_run, pack(tries), 5)
    rollout = told(ask, empty_run, 5, "5.0.0")
    [each] = rollout["segments"]
    assert (len(each["text"]), each["text_in_all"], each["view"]["text_in_all"]) == (100, 1000, 777)
    client = ask(runs)
    which = {"run": rollout["run"], "step": 5, "episode": "5.0.0", "segment": 0}
    said = list(each["tokens"]["pieces"])
    assert len(said) == 30
    while len(said) < 1000:
        part = client.get("/api/reading/tokens", params={**which, "start": len(said)}).json()
        assert part["start"] == len(said) and len(part["numbers"]["logp"]) == len(part["pieces"])
        said += part["pieces"]
    assert "".join(said) == text
    rest = client.get("/api/reading/text", params={**which, "of": "view", "start": 100}).json()
    assert (rest["text"], rest["start"], rest["in_all"]) == ("x" * 677, 100, 777)
    missing = client.get("/api/reading/tokens", params={**which, "segment": 3})
    assert missing.status_code == 404 and missing.json()["error"] == "rollout 5.0.0 has no segment 3"


# --- trees, pairs, scores -----------------------------------------------------------------------------------------


def searched():
    r"""     0
           / | \
          1  2  5      a judge, 6, hangs below 1
            / \
           3   4
    """
    parents = [-1, 0, 0, 2, 2, 0]
    acted = [segment([n, n], parent=parent, text=f"t{n}", version=n) for n, parent in enumerate(parents)]
    return episode(*acted, segment([9], role="judge", parent=1, text="good"), step=6)


@pytest.fixture
def tree_run(empty_run):
    batch = pack([searched(), searched().but(attempt=1)])
    advantage = Column.full("track", torch.arange(batch.K, dtype=torch.float32))
    turns = Column.full("segment", torch.arange(batch.G, dtype=torch.float32))
    batch = batch.with_cols({"advantage": advantage, "turns": turns})
    dropped = torch.ones(batch.K, dtype=torch.bool)
    dropped[0] = False  # the branch 0 -> 1 of the first try
    stored(empty_run, batch.take(dropped), 6)
    return empty_run


def test_a_tree_has_its_parents_and_its_tracks(ask, tree_run):
    rollout = told(ask, tree_run, 6, "6.0.1")
    assert rollout["is_tree"]
    assert [each["parent"] for each in rollout["segments"]] == [-1, 0, 0, 2, 2, 0, 1]
    paths = {track["segment"]: (track["role"], track["path"]) for track in rollout["tracks"]}
    assert paths == {
        1: ("policy", [0, 1]),
        3: ("policy", [0, 2, 3]),
        4: ("policy", [0, 2, 4]),
        5: ("policy", [0, 5]),
        6: ("judge", [6]),
    }
    numbers = {track["segment"]: track["columns"][0]["number"] for track in rollout["tracks"]}
    assert numbers == {1: 5.0, 3: 6.0, 4: 7.0, 5: 8.0, 6: 9.0}
    # the trunk has the mean over its four tracks, segment 2 that over two
    spread = [each["tokens"]["numbers"]["advantage"] for each in rollout["segments"]]
    assert spread == [6.5, 5.0, 6.5, 6.0, 7.0, 8.0, 9.0]
    assert [each["columns"][0]["number"] for each in rollout["segments"]] == [float(7 + n) for n in range(7)]


def test_what_a_stage_left_out_is_there_and_has_no_numbers(ask, tree_run):
    rollout = told(ask, tree_run, 6, "6.0.0")
    assert [each["learned"] for each in rollout["segments"]] == [True, False, True, True, True, True, True]
    track = next(track for track in rollout["tracks"] if track["segment"] == 1)
    assert not track["learned"]
    assert track["columns"][0]["reason"] == "left out by a stage"
    assert rollout["segments"][0]["tokens"]["numbers"]["advantage"] == 2.0  # of tracks 1, 2 and 3


def test_players_that_answer_each_other_are_no_tree(ask, empty_run):
    acted = [segment(role=("policy", "second")[n % 2], parent=n - 2 if n > 1 else -1) for n in range(4)]
    stored(empty_run, pack([episode(*acted, step=7)]), 7)
    assert not told(ask, empty_run, 7, "7.0.0")["is_tree"]


def test_pairs_name_both_and_which_is_better(ask, empty_run):
    batch = pack([searched().but(step=8), episode(segment(), attempt=1, step=8), episode(segment(), number=1, step=8)])
    pairs = Pairs.of(torch.tensor([3, 6]), torch.tensor([5, 0]), torch.tensor([0.5, 0.0]))
    stored(empty_run, dataclasses.replace(batch, pairs=pairs), 8)
    first, second = told(ask, empty_run, 8, "8.0.0")["pairs"]
    assert (first["better"], first["worse"]) == ({"episode": "8.0.0", "segment": 5}, {"episode": "8.0.1", "segment": 0})
    assert first["margin"] == 0.5
    assert (second["better"], second["worse"]) == (
        {"episode": "8.1.0", "segment": 0},
        {"episode": "8.0.0", "segment": 1},
    )
    assert len(told(ask, empty_run, 8, "8.0.1")["pairs"]) == 1


def test_what_was_asked_about_a_try_is_told_with_it(ask, empty_run):
    first = episode(segment(text="4"), step=14)
    about = Ask(first.task, note={"follows": [["14.0.0", 0, 1]]}, prompt="4: right?")
    verdict = episode(segment(role="verifier", text="yes"), step=14, number=1, ask=about)
    batch = pack([first, verdict])
    stored(empty_run, batch.with_cols({"reward": Column.full("track", torch.tensor([1.0, 0.5]))}), 14)
    rollout = told(ask, empty_run, 14, "14.0.0")
    assert rollout["followers"] == [{"episode": "14.1.0", "role": "verifier", "text": "yes", "reward": 0.5}]
    rollout = told(ask, empty_run, 14, "14.1.0")
    assert rollout["follows"] == ["14.0.0"] and rollout["ask"]["prompt"] == "4: right?"


@pytest.mark.parametrize("tokens", [[-1, 5], [2**40], [2**31]])
def test_actions_that_no_tokenizer_has_are_told_by_their_numbers(ask, spelled_run, tokens):
    folder, _, _ = spelled_run
    stored(folder, pack([episode(segment(tokens, text="a few words"), step=15)]), 15)
    [each] = told(ask, folder, 15, "15.0.0")["segments"]
    assert each["tokens"]["ids"] == tokens and each["tokens"]["pieces"] is None


def test_scores_have_reasons_details_and_weights(ask, empty_run):
    reason = torch.tensor([Reason.TIMED_OUT, Reason.VALUE], dtype=torch.int8)
    value = torch.tensor([float("nan"), 0.5])
    batch = pack([episode(segment(), attempt=n, step=9) for n in range(2)]).with_cols({
        "reward": Column("track", value, reason),
        "reward.tidy": Column("track", value, reason, {0: {"error": "T\nTimeoutError: slow", "after": 3}, 1: {"why": "tidy"}}),
        "wide": Column.full("track", torch.arange(4.0).reshape(2, 2)),
    })  # fmt: skip
    stored(empty_run, batch, 9)
    [track] = told(ask, empty_run, 9, "9.0.0")["tracks"]
    whole, part, wide = track["columns"]
    assert (whole["number"], whole["reason"]) == (None, "timed out")
    assert part["error"] == {"line": "TimeoutError: slow", "whole": "T\nTimeoutError: slow"} and part["detail"] == {
        "after": 3
    }
    assert wide["wide"] == [0.0, 1.0]
    [track] = told(ask, empty_run, 9, "9.0.1")["tracks"]
    assert track["columns"][1] == {"name": "reward.tidy", "level": "track", "number": 0.5, "detail": {"why": "tidy"}}


def test_weights_are_those_of_the_formula():
    blend = gd.blend(
        right=gd.exact(), brief=gd.length(64).weight(-0.1), both=gd.blend(a=gd.exact().weight(2)).weight(0.5)
    )
    stage = describe(gd.rewards.score(blend))
    config = {"rewards": {"reward": {"formula": str(blend)}}, "parts": {"part": "Recipe", "knobs": {"stages": [stage]}}}
    told = formulas(json.loads(json.dumps(config)))["reward"]
    assert told["weights"] == {"right": 1.0, "brief": -0.1, "both": 0.5, "both.a": 2}
    assert (
        formulas({"rewards": {"reward": {"formula": "x"}}, "parts": {"knobs": {"stages": "none"}}})["reward"]["weights"]
        == {}
    )


# --- views, hostile texts, files that go --------------------------------------------------------------------------


def test_messages_are_messages_and_tools_are_named(ask, empty_run):
    call = {"type": "function", "function": {"name": "calc", "arguments": {"of": "6*6"}}}
    view = [
        {"role": "user", "content": "6*6?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "name": "calc", "content": "36"},
    ]
    stored(empty_run, pack([episode(segment(view=view), step=10)]), 10)
    [each] = told(ask, empty_run, 10, "10.0.0")["segments"]
    user, assistant, tool = each["view"]["messages"]
    assert (user["role"], user["text"]) == ("user", "6*6?")
    assert assistant["calls"] == [{"name": "calc", "arguments": '{"of": "6*6"}'}]
    assert (tool["name"], tool["text"]) == ("calc", "36")


def test_hostile_texts_come_as_they_are(ask, empty_run):
    asked = Ask(
        Task("</script>", HOSTILE, HOSTILE, family="../..", meta={"<b>": HOSTILE}), prompt=HOSTILE, note={"x": HOSTILE}
    )
    batch = pack([episode(segment(text=HOSTILE, view=HOSTILE, role="<i>"), step=11, ask=asked, error=HOSTILE)])
    stored(empty_run, batch, 11)
    rollout = told(ask, empty_run, 11, "11.0.0")
    assert rollout["segments"][0]["text"] == HOSTILE == rollout["task"]["prompt"]
    assert rollout["task"]["key"] == "../../</script>"
    assert rollout["error"]["whole"] == HOSTILE.strip()


def test_actions_that_are_no_text_are_told_by_their_numbers(ask, empty_run):
    stored(empty_run, pack([episode(segment(np.array([[0.5, -1.0]], np.float32)), step=12)]), 12)
    [each] = told(ask, empty_run, 12, "12.0.0")["segments"]
    assert each["tokens"]["ids"] == [[0.5, -1.0]] and each["tokens"]["pieces"] is None


def test_an_episode_in_which_nobody_acted_is_told(ask, empty_run):
    stored(empty_run, pack([episode(step=13, error="it\nbroke"), episode(segment(), attempt=1, step=13)]), 13)
    rollout = told(ask, empty_run, 13, "13.0.0")
    assert (rollout["segments"], rollout["tracks"], rollout["error"]["line"]) == ([], [], "broke")


def test_what_is_not_there_is_said_in_a_line(ask, small_run, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(small_run, runs)
    client = ask(runs)
    [run] = client.get("/api/reading/runs").json()["runs"]

    def asked(step, episode):
        answer = client.get("/api/reading/rollout", params={"run": run["id"], "step": step, "episode": episode})
        return answer.status_code, answer.json()["error"] or ""

    assert asked(1, "1.0.0") == (200, "")
    assert asked(1, "1.99.0") == (404, "step 1 holds no rollout 1.99.0")
    assert asked(70, "1.0.0")[1].endswith("holds no rollouts of step 70: it has 0 to 2")
    path = Run(runs / "first").folder.rollouts(1)
    whole = path.read_bytes()
    path.write_bytes(whole[:900] + b"?" + whole[901:])
    status, error = asked(1, "1.0.0")
    assert status == 422 and "damaged" in error and "\n" not in error
    path.unlink()
    assert asked(1, "1.0.0")[0] == 404
    path.write_bytes(whole)
    assert asked(1, "1.0.0") == (200, "")


@pytest.mark.sampled(3, "column")
@pytest.mark.parametrize(
    "column, value",
    [
        ("parent", 0),
        ("parent", 7),
        ("place", 4),
        ("ask", "not JSON"),
        ("ask", "[]"),
        ("view", "{"),
        ("sampling", "no"),
        ("end", "gone"),
    ],
)
def test_rows_of_a_strangers_file_are_refused_in_a_line(ask, empty_run, column, value):
    pa = pytest.importorskip("pyarrow")
    batch = pack([episode(segment(), segment(parent=0), step=16)])
    stored(empty_run, batch, 16)
    path = Run(empty_run).folder.rollouts(16)
    table = pa.parquet.read_table(path)
    at = table.column_names.index(column)
    changed = table.set_column(at, table.field(at), pa.array([value] * 2, table.field(at).type))
    meta = {k: v for k, v in table.schema.metadata.items() if k != b"sum"}
    pa.parquet.write_table(changed.replace_schema_metadata(meta), path)
    client = ask(empty_run.parent)
    [run] = client.get("/api/reading/runs").json()["runs"]
    asked = {"run": run["id"], "step": 16}
    answer = client.get("/api/reading/rollout", params={**asked, "episode": "16.0.0"})
    assert answer.status_code == 422, answer.text
    assert "is not as a batch is stored" in answer.json()["error"]
    assert client.get("/api/reading/group", params={**asked, "ask": "16.0"}).status_code in (200, 422)


def test_a_file_is_read_once_until_it_changes(small_run):
    run, files = Run(small_run / "first"), StepFiles()
    assert files.get(run, 1) is files.get(run, 1)


def test_the_python_line_opens_the_rollout(ask, small_run):
    client = ask(small_run)
    [run] = client.get("/api/reading/runs").json()["runs"]
    asked = {"run": run["id"], "step": 1, "episode": "1.0.0"}
    rollout = client.get("/api/reading/rollout", params=asked).json()
    setup, line = rollout["python"].splitlines()
    names: dict = {}
    exec(setup, names)
    [row] = eval(line, names)
    assert (row["completion"], row["step"]) == (rollout["segments"][0]["text"], 1)


def test_tokenizers_that_cannot_be_read_are_none(tmp_path):
    path = tmp_path / "tokenizer.json"
    for content in (b"", b"{}", b"[1", b"\xff\xfe"):
        path.write_bytes(content)
        assert Tokenizers().of(path) is None
    assert Tokenizers().of(tmp_path / "none.json") is None
