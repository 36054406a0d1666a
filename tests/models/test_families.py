"""Every family equals `transformers`, read and written, and what the decoder cannot do is refused by name."""

from __future__ import annotations

import json

import pytest
import torch
from refusals import refusal
from small import TEXTS, small_config
from tokenizers import Tokenizer
from tolerances import assert_rounded, decoder_terms

from guerdon import models
from guerdon.core.errors import UserError
from guerdon.models import huggingface
from guerdon.models.architectures import ARCHITECTURES, config_from, config_to
from guerdon.models.attention import Runs
from guerdon.models.config import Rope
from guerdon.models.decoder import Decoder
from guerdon.models.tokenizer import train_tokenizer

pytestmark = pytest.mark.sampled(6, "kind")
SIZE = {
    "vocab_size": 320, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
}  # fmt: skip
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 64}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
WINDOWS = ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"]
GEMMA = {"head_dim": 16, "sliding_window": 6, "query_pre_attn_scalar": 24, "layer_types": WINDOWS}
VARIANTS = {
    "llama": ("LlamaConfig", {}),
    "llama, every head its own key": ("LlamaConfig", {"num_key_value_heads": 4}),
    "llama, one key for all": ("LlamaConfig", {"num_key_value_heads": 1, "tie_word_embeddings": True}),
    "llama with biases": ("LlamaConfig", {"attention_bias": True, "mlp_bias": True, "head_dim": 12}),
    "llama3 positions": ("LlamaConfig", {"rope_parameters": LLAMA3}),
    "linear positions": ("LlamaConfig", {"rope_parameters": LINEAR}),
    "yarn positions": ("LlamaConfig", {"rope_parameters": YARN}),
    "yarn positions, its own gain": ("LlamaConfig", {"rope_parameters": {**YARN, "attention_factor": 1.3}}),
    "mistral": ("MistralConfig", {"sliding_window": 7}),
    "mistral without a window": ("MistralConfig", {"sliding_window": None}),
    "qwen2": ("Qwen2Config", {}),
    "qwen2 with a window": ("Qwen2Config", {"use_sliding_window": True, "sliding_window": 5, "max_window_layers": 2}),
    "qwen3": ("Qwen3Config", {"head_dim": 16}),
    "qwen3 with biases and a window": (
        "Qwen3Config",
        {"attention_bias": True, "use_sliding_window": True, "sliding_window": 5, "max_window_layers": 1},
    ),
    "gemma3": ("Gemma3TextConfig", GEMMA),
    "gemma3, stretched": (
        "Gemma3TextConfig",
        {**GEMMA, "rope_parameters": {"full_attention": LINEAR, "sliding_attention": PLAIN}},
    ),
    "gemma3, both stretched": (
        "Gemma3TextConfig",
        {**GEMMA, "rope_parameters": {"full_attention": LINEAR, "sliding_attention": {**LINEAR, "factor": 2.0}}},
    ),
}


def theirs(kind, seed=0):
    """A model of `transformers` whose every tensor, norms and biases too, is drawn at random."""
    transformers = pytest.importorskip("transformers")
    name, more = VARIANTS[kind]
    torch.manual_seed(seed)
    made = transformers.AutoModelForCausalLM.from_config(getattr(transformers, name)(**{**SIZE, **more})).eval()
    with torch.no_grad():
        for key, weight in made.named_parameters():
            around = 1.0 if key.endswith("norm.weight") and "gemma" not in kind else 0.0
            weight.copy_(around + torch.randn_like(weight) * (0.15 if weight.ndim == 2 else 0.3))
    return made


def folder_of(made, path, **how):
    made.save_pretrained(path, **how)
    (path / "tokenizer.json").write_text(train_tokenizer(TEXTS, 320).to_str())
    own = {"eos_token": "<|end|>", "chat_template": huggingface.CHAT_TEMPLATE}
    (path / "tokenizer_config.json").write_text(json.dumps(own))
    (path / "generation_config.json").write_text(json.dumps({"eos_token_id": 3}))
    return path


def tokens(rows=2, length=40):
    return torch.randint(0, 320, (rows, length), generator=torch.Generator().manual_seed(1))


def logits(net, seen):
    with torch.no_grad():
        found = net.logits(net(seen.flatten(), Runs.apart([seen.shape[1]] * len(seen), seen.device)))
    return found.view(*seen.shape, -1)


@pytest.mark.sampled(3, "kind")
@pytest.mark.parametrize("kind", VARIANTS)
def test_logits_equal_transformers_and_go_round(kind, tmp_path):
    transformers = pytest.importorskip("transformers")
    made, seen = theirs(kind), tokens()
    with torch.no_grad():
        expected = made(seen).logits
    model = models.load(str(folder_of(made, tmp_path / "theirs")))
    assert_rounded(logits(model.decoder, seen), expected, decoder_terms(model.config, seen.shape[1]))
    models.save(model, tmp_path / "ours")
    assert models.load(str(tmp_path / "ours")).config == model.config
    assert models.load(str(tmp_path / "ours")).identity() == model.identity()
    back = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "ours")
    assert type(back) is type(made)
    with torch.no_grad():
        torch.testing.assert_close(back(seen).logits, expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", VARIANTS)
def test_configs_go_round(kind):
    found = config_from(theirs(kind).config.to_dict())
    assert config_from(json.loads(json.dumps(config_to(found, torch.float32)))) == found


def test_weights_in_several_files(tmp_path):
    made, seen = theirs("qwen3"), tokens()
    folder = folder_of(made, tmp_path, max_shard_size="30KB")
    assert len(list(folder.glob("*.safetensors"))) > 2 and not (folder / "model.safetensors").exists()
    with torch.no_grad():
        expected = made(seen).logits
    model = models.load(str(folder))
    assert_rounded(logits(model.decoder, seen), expected, decoder_terms(model.config, seen.shape[1]))
    index = folder / "model.safetensors.index.json"
    good = json.loads(index.read_text())
    for change, words in [
        ({"weight_map": {"x": "../x.safetensors"}}, "must name a file"),
        ({"weight_map": {"x": "gone.safetensors"}}, "there is no gone.safetensors in it"),
        ({"weight_map": dict(list(good["weight_map"].items())[:1])}, "has no tensor"),
    ]:
        index.write_text(json.dumps(change))
        with pytest.raises(UserError, match=words):
            models.load(str(folder))


# --- old and new keys ---------------------------------------------------------------------------------------------------


def config_json(kind="LlamaForCausalLM", **more):
    return {"architectures": [kind], **SIZE, **more}


def test_old_and_new_keys_say_the_same():
    old = config_json("Gemma3ForCausalLM", rope_theta=5e5, rope_local_base_freq=2e4, sliding_window_pattern=2,
                      sliding_window=6, rope_scaling={"type": "linear", "factor": 8.0})  # fmt: skip
    ropes = {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 5e5},
             "sliding_attention": {"rope_type": "default", "rope_theta": 2e4}}  # fmt: skip
    layers = ["sliding_attention", "full_attention"] * 2
    new = config_json("Gemma3ForCausalLM", rope_parameters=ropes, layer_types=layers, sliding_window=6)
    found = config_from(old)
    assert found == config_from(new)
    assert found.rope == Rope(5e5, "linear", 8.0) and found.window_rope == Rope(2e4)
    assert found.windowed == (True, False, True, False) and found.window == 6
    assert (
        config_from(config_json(rope_theta=7.0)).rope
        == config_from(config_json(rope_parameters={"rope_theta": 7.0})).rope
    )


def test_what_a_file_leaves_out_is_as_in_transformers():
    transformers = pytest.importorskip("transformers")
    for family in ARCHITECTURES.values():
        said = {
            "vocab_size": 9,
            "hidden_size": 64,
            "intermediate_size": 8,
            "num_hidden_layers": 7,
            "num_attention_heads": 32,
        }
        full = transformers.AutoConfig.for_model(family.model_type, **said).to_dict()
        assert config_from({"model_type": family.model_type, **said}) == config_from(full), family.model_type


def test_gemma_scales_what_it_embeds_by_a_rounded_root():
    found = config_from(config_json("Gemma3ForCausalLM", hidden_size=640))
    assert found.embed_scale == torch.tensor(640**0.5).item()
    assert torch.tensor(found.embed_scale, dtype=torch.bfloat16).item() == 25.25
    assert found.scale == 256**-0.5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"architectures": ["MambaForCausalLM"]},
            "MambaForCausalLM models are not supported; LlamaForCausalLM, Mistral",
        ),
        ({"architectures": ["MixtralForCausalLM"]}, "MixtralForCausalLM models are not supported"),
        ({"architectures": ["Gemma3ForConditionalGeneration"]}, "Gemma3ForCausalLM are"),
        ({"rope_scaling": {"rope_type": "dynamic"}}, "rope_type 'dynamic' is not supported; 'default', 'linear'"),
        ({"rope_parameters": {"rope_type": "longrope"}}, "rope_type 'longrope' is not supported"),
        ({"rope_scaling": {"type": "linear"}}, "need a factor, not None"),
        ({"rope_scaling": {**YARN, "truncate": False}}, "truncate False"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor 0.5 is not supported"),
        ({"final_logit_softcapping": 30.0}, "final_logit_softcapping 30.0 is not supported"),
        ({"attn_logit_softcapping": 50.0}, "attn_logit_softcapping 50.0 is not supported"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"hidden_act": "relu"}, "hidden_act 'relu' is not supported; 'silu'"),
        ({"hidden_size": None}, "does not say hidden_size"),
        ({"hidden_size": "many"}, "hidden_size must be a number, not 'many'"),
        ({"num_hidden_layers": 1.5}, "num_hidden_layers must be a whole number"),
        ({"num_key_value_heads": 3}, "do not go with 3 key heads"),
        ({"architectures": ["Qwen2ForCausalLM"], "layer_types": ["chunked_attention"] * 4}, "'chunked_attention'"),
        ({"architectures": ["Qwen2ForCausalLM"], "layer_types": ["full_attention"]}, "names 1 layers"),
    ],
)
def test_configs_we_cannot_read_are_refused(change, words):
    with pytest.raises(UserError, match=words) as error:
        config_from(config_json(**change))
    assert "\n" not in str(error.value)


def test_what_a_family_cannot_say_is_not_written():
    with refusal(UserError, "qk_norm"):
        config_to(small_config(qk_norm=True), torch.float32)
    with refusal(UserError, "4"):
        config_to(small_config(window=4, windowed=(True, False)), torch.float32)
    assert config_to(small_config(), torch.bfloat16)["torch_dtype"] == "bfloat16"


# --- text files ---------------------------------------------------------------------------------------------------------


def text_folder(path, **files):
    """A llama folder with these text files around it."""
    net = Decoder(small_config()).reset(0)
    huggingface.write(path, net, train_tokenizer(TEXTS, 320))
    for name, content in files.items():
        (path / f"{name}.json").write_text(json.dumps(content))
    return path


def test_end_tokens_come_from_the_first_file_that_names_them(tmp_path):
    chatless = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<|pad|>"}
    both = text_folder(tmp_path / "a", generation_config={"eos_token_id": [1, 0]}, tokenizer_config=chatless)
    assert models.load(str(both)).ends == (1, 0)
    (both / "generation_config.json").unlink()
    assert models.load(str(both)).ends == (3,)  # config.json
    asked = text_folder(tmp_path / "b", generation_config={"eos_token_id": [0, 3]})
    assert models.load(str(asked)).ends == (3, 0)  # first the one that the template closes a turn with
    models.save(models.load(str(asked)), tmp_path / "c")
    assert json.loads((tmp_path / "c" / "generation_config.json").read_text())["eos_token_id"] == [3, 0]
    for bad, words in [
        ([999], "token 999, which its tokenizer.json does not have"),
        ("x", "must be a number or a list"),
    ]:
        broken = text_folder(tmp_path / "d", generation_config={"eos_token_id": bad})
        with pytest.raises(UserError, match=words):
            models.load(str(broken))


def test_a_folder_without_any_end_is_refused(tmp_path):
    folder = text_folder(tmp_path, generation_config={}, tokenizer_config={}, special_tokens_map={})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "eos_token_id": None}))
    with refusal(UserError):
        models.load(str(folder))


@pytest.mark.parametrize("name", ["generation_config", "tokenizer_config", "special_tokens_map"])
def test_broken_text_files_are_one_clear_line(tmp_path, name):
    folder = text_folder(tmp_path)
    (folder / f"{name}.json").write_text("{")
    with pytest.raises(UserError, match=f"{name}.json cannot be read") as error:
        models.load(str(folder))
    assert "\n" not in str(error.value)


def test_a_template_may_lie_in_a_file_of_its_own(tmp_path):
    folder = text_folder(tmp_path, tokenizer_config={"eos_token": "<|end|>"})
    assert models.load(str(folder)).chat.format.template is None
    (folder / "chat_template.jinja").write_text(huggingface.CHAT_TEMPLATE)
    assert models.load(str(folder)).encode("x").tolist()[0] == 1
    named = [{"name": "tools", "template": "no"}, {"name": "default", "template": huggingface.CHAT_TEMPLATE}]
    other = text_folder(tmp_path / "named", tokenizer_config={"chat_template": named})
    assert models.load(str(other)).encode("x").tolist()[0] == 1


def test_a_padded_vocabulary_has_ids_that_say_nothing(tmp_path):
    huggingface.write(tmp_path, Decoder(small_config(vocab=400)).reset(0), train_tokenizer(TEXTS, 300))
    model = models.load(str(tmp_path))
    said = model.teacher_force("x", "so 9").actions.tolist()
    assert model.decode([399, *said, 350]) == "so 9"


def test_names_of_special_tokens_make_them_special(tmp_path):
    folder = text_folder(tmp_path)
    plain = Tokenizer.from_file(str(folder / "tokenizer.json"))
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "bos_token": {"content": "z"}}))
    assert "z" in models.load(str(folder)).special
    assert plain.token_to_id("z") == models.load(str(folder)).special["z"]
