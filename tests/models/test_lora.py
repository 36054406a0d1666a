"""LoRA: the change is what the formula says, it alone is trained, and peft reads and writes the same files."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from refusals import refusal
from safetensors.torch import load_file, save_file
from scheduling import mostly_slow
from small import TEXTS, small_config
from strategies import episode
from tolerances import LM_TERMS, assert_rounded

from guerdon import models
from guerdon.core.episode import Segment
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.model import Request, weights_hash
from guerdon.core.optim import adam
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine import answer
from guerdon.engine.player import Player
from guerdon.losses.penalties import kl
from guerdon.losses.policy import clipped
from guerdon.models import huggingface, lora
from guerdon.models.attention import Runs
from guerdon.models.config import DecoderConfig
from guerdon.models.decoder import Decoder
from guerdon.models.frozen_copy import snapshot
from guerdon.models.language_model import lm
from guerdon.models.tables import tabular
from guerdon.models.tokenizer import train_tokenizer
from guerdon.models.without_adapter import base
from guerdon.training.readings import fill_needs

SEVEN = ["down_proj", "gate_proj", "k_proj", "o_proj", "q_proj", "up_proj", "v_proj"]
TOKENS = torch.randint(0, 300, (24,), generator=torch.Generator().manual_seed(3))
FAMILY = {"llama": {}, "qwen2": {"family": "qwen2", "qkv_bias": True, "tied": False}}


def plain_folder(folder, **changes):
    """A small model's folder; biases, where it has them, are not zero."""
    net = Decoder(small_config(**changes)).reset(0, 0.1)
    with torch.no_grad():
        for name, weight in net.named_parameters():
            if name.endswith("bias"):
                weight.normal_(generator=torch.Generator().manual_seed(1))
    huggingface.write(folder, net, train_tokenizer(TEXTS, 320))
    return folder


def moved(model, seed=5, size=0.2):
    """Give an adapter a B that is not zero."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for _, _, change in lora.changes(model.decoder):
            change.B.copy_(torch.randn(change.B.shape, generator=generator) * size)
    return model


@pytest.fixture
def model(tmp_path):
    made = lm(source=str(plain_folder(tmp_path / "plain")), lora=4)
    made.start(0, {})
    return moved(made)


def logits(net, tokens=TOKENS):
    with torch.no_grad():
        return net.logits(net(tokens, Runs.of([len(tokens)], [-1], torch.device("cpu"))))


def asked(view="the sum of 12 and 3", seed=0, **sampling):
    return Request((), view, Sampling(**{"max_tokens": 12, **sampling}), seed, np.zeros(0, np.int64))


def sampled(model, count=6):
    """A batch of the model's own answers, with advantages."""
    asks = [asked(view, seed) for seed, view in enumerate(["the sum of 12 and 3", "sort [3, 1]"] * (count // 2))]
    episodes = []
    for i, (one, reply) in enumerate(zip(asks, answer(model, asks), strict=True)):
        said = Segment("policy", one.view, reply.context, reply.actions, reply.logp, reply.text, sampling=one.sampling)
        episodes.append(episode(said, number=i))
    batch = pack(episodes)
    return batch.put("advantage", "step", batch.down(torch.tensor([1.0, -1.0] * (count // 2)), "track"))


# --- the maths ----------------------------------------------------------------------------------------------------


def test_the_change_of_a_two_by_two():
    A, B = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0], [5.0]])  # B A = [[3, 6], [5, 10]]
    assert lora.LowRank(A, B, alpha=2.0)().tolist() == [[6.0, 10.0], [12.0, 20.0]]  # twice, transposed
    A2, B2 = torch.cat([A] * 4), torch.cat([B] * 4, dim=1)  # rank 4: B A is four times as much
    assert lora.LowRank(A2, B2, alpha=2.0)().tolist() == [[6.0, 10.0], [12.0, 20.0]]  # 4 * 2 / 4
    assert lora.LowRank(A2, B2, alpha=2.0, rslora=True)().tolist() == [[12.0, 20.0], [24.0, 40.0]]  # 4 * 2 / sqrt(4)


def test_the_parts_of_a_fused_matrix_are_changed_apart():
    config = DecoderConfig(vocab=8, hidden=4, layers=1, heads=2, kv_heads=1, ff=3)
    net = Decoder(config).reset(0)
    plain = net.layer_weights()[0]
    one = torch.ones(1, 4)
    k = lora.LowRank(one, 2 * torch.ones(2, 1), alpha=1.0)
    up = lora.LowRank(one, 3 * torch.ones(3, 1), alpha=1.0)
    lora.fit(net, {0: {"k_proj": k, "up_proj": up}})
    w = net.layer_weights()[0]
    change = w.qkv - plain.qkv  # [4, 4 queries + 2 keys + 2 values]
    assert change[:, :4].abs().max() == change[:, 6:].abs().max() == 0
    torch.testing.assert_close(change[:, 4:6], torch.full((4, 2), 2.0))
    torch.testing.assert_close(w.gate_up - plain.gate_up, torch.cat([torch.zeros(4, 3), torch.full((4, 3), 3.0)], 1))
    assert w.out is plain.out and w.down is plain.down


def test_it_begins_as_the_plain_model_and_follows_the_seed(tmp_path):
    folder = str(plain_folder(tmp_path))
    plain, fresh, again, other = lm(folder), lm(folder, lora=4), lm(folder, lora=4), lm(folder, lora=4)
    for model, seed in ((plain, 0), (fresh, 0), (again, 0), (other, 1)):
        model.start(seed, {})
    assert torch.equal(logits(fresh.net), logits(plain.net))
    assert fresh.identity() == again.identity() != other.identity()
    _, p, change = next(lora.changes(fresh.net))
    assert (p.name, change.rank, change.alpha, change.scale) == ("q_proj", 4, 8.0, 2.0)
    bound = 32**-0.5
    assert 0.9 * bound < change.A.abs().max() <= bound and not change.B.any()
    assert tuple(lora.projections(plain.config)) == lora.FUSED
    assert sorted({p.name for _, p, _ in lora.changes(fresh.net)}) == SEVEN


def test_over_a_bfloat16_base_the_adapter_stays_in_float32(tmp_path):
    model = lm(str(plain_folder(tmp_path)), dtype="bfloat16", lora=2)
    model.start(0, {})
    model.start(0, {})
    moved(model)
    assert {c.A.dtype for _, _, c in lora.changes(model.net)} == {torch.float32}
    assert {t.dtype for w in model.net.layer_weights() for t in w if t is not None} == {torch.bfloat16}
    model.read(sampled(model), ("logp",))["logp"].sum().backward()
    assert all(c.B.grad is not None and c.B.grad.dtype == torch.float32 for _, _, c in lora.changes(model.net))


# --- training -----------------------------------------------------------------------------------------------------


def test_gradients_are_those_of_the_formula_and_reach_the_adapter_alone(model):
    batch = sampled(model)
    model.read(batch, ("logp",))["logp"].sum().backward()
    for name, weight in model.net.named_parameters():
        assert (weight.grad is not None) == weight.requires_grad == (".adapter." in name), name
    _, _, change = next(lora.changes(model.net))
    with torch.no_grad():
        eps, ends = 1e-2, []
        for sign in (1, -1):
            change.B[0, 0] += sign * eps
            ends.append(float(model.read(batch, ("logp",))["logp"].sum()))
            change.B[0, 0] -= sign * eps
    assert float(change.B.grad[0, 0]) == pytest.approx((ends[0] - ends[1]) / (2 * eps), rel=0.02)


def test_a_step_of_learning_changes_the_adapter_alone(model):
    table = {"policy": model, "reference": base("policy")}
    table["reference"].start(0, table)
    learn = Learn("policy", clipped() + kl(0.1), opt=adam(lr=1e-2))
    play = Player(table, {"policy": "policy"}, None, Sampling(), 0, 1)
    learn.start(play)
    batch = fill_needs(sampled(model), learn.needs, play)
    before = {name: weight.clone() for name, weight in model.net.state_dict().items()}
    learn(batch, play)
    changed = {name for name, weight in model.net.state_dict().items() if not torch.equal(weight, before[name])}
    assert changed == {name for name in before if ".adapter." in name}
    assert (
        learn.optimiser is not None and len(learn.optimiser.param_groups[0]["params"]) == 2 * 7 * 2
    )  # layers, A and B


def test_sampling_and_reading_agree(model):
    batch = sampled(model)
    with torch.no_grad():
        read = model.read(batch, ("logp",))["logp"]
    assert_rounded(read, batch.logp, LM_TERMS)


def test_an_empty_batch_can_be_learned_from(model):
    reply = model.teacher_force("x", "")
    nothing = Segment("policy", "x", reply.context, reply.actions[:0], reply.logp[:0], "")
    read = model.read(pack([episode(nothing)]), ("logp",))["logp"]
    assert len(read) == 0
    read.sum().backward()


# --- the model below ----------------------------------------------------------------------------------------------


def test_base_is_the_model_before_training(model, tmp_path):
    plain = lm(str(tmp_path / "plain"))
    table = {"policy": model, "reference": base("policy"), "old": snapshot("policy"), "deep": base("old")}
    table["copy"] = snapshot("reference")
    for name in ("reference", "old", "deep", "copy"):
        table[name].start(0, table)
    batch = sampled(plain)
    with torch.no_grad():
        before, adapted = plain.read(batch, ("logp",))["logp"], model.read(batch, ("logp",))["logp"]
        for name in ("reference", "deep", "copy"):
            assert torch.equal(table[name].read(batch, ("logp",))["logp"], before)
        assert torch.equal(table["old"].read(batch, ("logp",))["logp"], adapted)
    assert (before - adapted).abs().max() > 0.01
    below, first = answer(table["reference"], [asked()])[0], answer(plain, [asked()])[0]
    assert below.actions.tolist() == first.actions.tolist() and below.logp.tolist() == first.logp.tolist()
    assert answer(model, [asked()])[0].logp.tolist() != first.logp.tolist()
    assert table["reference"].shell().net.embed is model.net.embed  # not a copy
    assert not table["reference"].weights.state_dict() and table["reference"].identity() is None
    assert table["reference"].encode("x").tolist() == model.encode("x").tolist()


def test_base_needs_an_adapter(tmp_path):
    for other in (lm(str(plain_folder(tmp_path))), tabular()):
        table = {"policy": other, "reference": base("policy")}
        for refuse in (lambda t: t["reference"].start(0, t), lambda t: t["reference"].readings(t)):
            with refusal(UserError, "16"):
                refuse(table)


# --- files --------------------------------------------------------------------------------------------------------


def test_merged_is_what_it_computes_with(model, tmp_path):
    model.save_pretrained(tmp_path / "merged")
    merged = lm(str(tmp_path / "merged"))
    assert not merged.net.has_adapter and torch.equal(logits(merged.net), logits(model.net))
    below = lm(str(tmp_path / "plain"), adapter=str(tmp_path / "merged" / "adapter"))
    assert torch.equal(logits(below.net), logits(model.net))


@pytest.mark.sampled(1, "dtype")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_save_and_load_give_the_same_model_back(tmp_path, dtype):
    model = lm(str(plain_folder(tmp_path / "plain")), dtype=dtype, lora=4, lora_alpha=6.0)
    model.start(0, {})
    models.save(moved(model), tmp_path / "saved")
    loaded = models.load(str(tmp_path / "saved"))
    assert (loaded.lora, loaded.lora_alpha) == (4, 6.0)
    for _ in range(2):  # started or not
        assert torch.equal(logits(loaded.net), logits(model.net))
        assert loaded.identity() == model.identity() and weights_hash(loaded.net) == weights_hash(model.net)
        loaded.start(7, {})
    models.save(loaded, tmp_path / "again")
    assert models.load(str(tmp_path / "again")).identity() == model.identity()
    fresh = models.load(str(tmp_path / "saved"), adapter="", lora=0, lora_alpha=0.0)
    assert torch.equal(logits(fresh.net), logits(lora.bare(model.net)))


def test_the_hash_knows_the_adapter(model, tmp_path):
    model.save_adapter(tmp_path / "a")
    moved(model, seed=6).save_adapter(tmp_path / "b")
    said = json.loads((tmp_path / "b" / "adapter_config.json").read_text())
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "adapter_config.json").write_text(json.dumps({**said, "lora_alpha": 1}))
    (tmp_path / "c" / "adapter_model.safetensors").write_bytes(
        (tmp_path / "b" / "adapter_model.safetensors").read_bytes()
    )
    for weights in (True, False):
        folder = str(plain_folder(tmp_path / "plain"))
        if not weights:
            (tmp_path / "plain" / huggingface.WEIGHTS).unlink()
        plain = lm(folder)
        known = [plain.identity()]
        for name in "abc":
            late = lm(folder)
            late.adapter = str(tmp_path / name)  # as `--set lm.adapter=` does
            assert late.identity() == lm(folder, adapter=str(tmp_path / name)).identity()
            known.append(late.identity())
        assert len(set(known)) == 4


def test_knobs_that_contradict_the_adapter_are_refused(model, tmp_path):
    model.save_adapter(tmp_path / "a")
    there = {"source": model.source, "adapter": str(tmp_path / "a")}
    assert lm(**there, lora=4, lora_alpha=8.0).net.has_adapter
    with refusal(UserError, "8", "4"):
        lm(**there, lora=8)
    with refusal(UserError, "lm.lora_alpha", "5", "8"):
        lm(**there, lora_alpha=5.0)
    with refusal(UserError, "lm.lora_alpha"):
        lm(model.source, lora_alpha=5.0).start(0, {})
    with refusal(UserError):
        lm(model.source).save_adapter(tmp_path / "b")


REFUSALS = {
    "use_dora": (True, r"asks for DoRA \(use_dora\)"),
    "modules_to_save": (["lm_head"], r"asks for whole modules beside the adapter \(modules_to_save\)"),
    "bias": ("all", r"asks for trained biases \(bias='all'\)"),
    "peft_type": ("IA3", "describes no LoRA adapter: its peft_type is 'IA3'"),
    "init_lora_weights": ("pissa_niter_4", "began by changing the frozen weights"),
    "lora_alpha": ("much", "lora_alpha must be a number, not 'much'"),
}


def test_adapters_that_do_not_fit_are_refused(model, tmp_path):
    folder = tmp_path / "a"

    def refused(match):
        with pytest.raises(UserError, match=match) as caught:
            lm(model.source, adapter=str(folder))
        assert "\n" not in str(caught.value)

    refused("holds no adapter: there is no adapter_config.json in it")
    model.save_adapter(folder)
    config = json.loads((folder / "adapter_config.json").read_text())
    for field, (value, match) in REFUSALS.items():
        (folder / "adapter_config.json").write_text(json.dumps({**config, field: value}))
        refused(match)
    (folder / "adapter_config.json").write_text("{")
    refused("adapter_config.json cannot be read")
    (folder / "adapter_config.json").write_text(json.dumps(config))
    path = folder / "adapter_model.safetensors"
    tensors = load_file(path)
    key = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight"
    others = {k: v for k, v in tensors.items() if k != key}
    faults = {
        "q_proj has only one of lora_A and lora_B": others,
        "is empty": {},
        r"has A 4x31 and B 32x4, the model a projection of 32 to 32": {**tensors, key: torch.zeros(4, 31)},
        "adapts layer 7, the model has 2": {k.replace("layers.1", "layers.7"): v for k, v in tensors.items()},
        "adapts lm_head; only attention": {k.replace("model.layers.0.mlp.up_proj", "lm_head"): v for k, v in tensors.items()},
        "holds model.embed_tokens.weight beside": {**tensors, "base_model.model.model.embed_tokens.weight": torch.zeros(2)},
    }  # fmt: skip
    for match, held in faults.items():
        save_file(held, path)
        refused(match)
    path.write_bytes(b"junk")
    refused("adapter_model.safetensors cannot be read")
    path.rename(folder / "adapter_model.bin")
    refused("adapter_model.bin is not supported")


# --- peft ---------------------------------------------------------------------------------------------------------


def theirs(folder):
    peft, transformers = pytest.importorskip("peft"), pytest.importorskip("transformers")
    return peft, transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def their_logits(model):
    with torch.no_grad():
        return model(TOKENS[None]).logits[0]


@pytest.mark.sampled(1, "family")
@pytest.mark.parametrize("family", FAMILY)
def test_peft_loads_what_is_saved(tmp_path, family):
    peft, plain = theirs(plain_folder(tmp_path / "plain", **FAMILY[family]))
    model = lm(str(tmp_path / "plain"), lora=4, lora_alpha=3.0)
    model.start(0, {})
    moved(model).save_adapter(tmp_path / "adapter")
    before = their_logits(plain)
    adapted = peft.PeftModel.from_pretrained(plain, tmp_path / "adapter")
    assert_rounded(their_logits(adapted), logits(model.net), LM_TERMS)
    assert (their_logits(adapted) - before).abs().max() > 0.1
    model.save_pretrained(tmp_path / "merged")
    assert_rounded(their_logits(theirs(tmp_path / "merged")[1]), logits(model.net), LM_TERMS)


PEFT = {
    "two projections": {"r": 4, "lora_alpha": 7, "target_modules": ["q_proj", "v_proj"]},
    "all, rank-stabilised": {"r": 3, "lora_alpha": 4, "target_modules": "all-linear", "use_rslora": True},
    "patterns": {
        "r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "o_proj", "down_proj"],
        "rank_pattern": {"layers.1.self_attn.q_proj": 5}, "alpha_pattern": {"down_proj": 9},
    },
    "one layer": {"r": 2, "target_modules": SEVEN, "layers_to_transform": [1], "lora_dropout": 0.1},
}  # fmt: skip


@pytest.mark.sampled(2, "kind")
@pytest.mark.parametrize("kind", PEFT)
@pytest.mark.parametrize("family", mostly_slow(FAMILY, "qwen2"))
def test_adapters_trained_by_peft_load_here(tmp_path, family, kind):
    peft, plain = theirs(plain_folder(tmp_path / "plain", **FAMILY[family]))
    adapted = peft.get_peft_model(plain, peft.LoraConfig(task_type="CAUSAL_LM", **PEFT[kind]))
    optimiser = torch.optim.Adam([p for p in adapted.parameters() if p.requires_grad], lr=0.05)
    for _ in range(3):
        optimiser.zero_grad()
        adapted(TOKENS[None], labels=TOKENS[None]).loss.backward()
        optimiser.step()
    adapted.eval().save_pretrained(tmp_path / "adapter")
    model = lm(str(tmp_path / "plain"), adapter=str(tmp_path / "adapter"))
    assert (their_logits(adapted) - logits(lora.bare(model.net))).abs().max() > 0.1
    assert_rounded(logits(model.net), their_logits(adapted), LM_TERMS)
    model.save_adapter(tmp_path / "again")
    reloaded = peft.PeftModel.from_pretrained(theirs(tmp_path / "plain")[1], tmp_path / "again")
    assert_rounded(their_logits(reloaded), their_logits(adapted), LM_TERMS)
