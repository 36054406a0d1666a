"""Heads of every form on models of every kind: several numbers, a hidden layer, on `lm` and `foreign`. And what "auto" is."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from recited import PAIRS, recited, said
from refusals import refusal
from safetensors.torch import load_file
from small import small_lm
from small_foreign import made as made_foreign
from strategies import episode
from tolerances import LM_TERMS, assert_rounded

import guerdon as gd
from guerdon import models
from guerdon.core.episode import Segment
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.part import fingerprint
from guerdon.models import text, value_head
from guerdon.models.foreign_model import foreign
from guerdon.models.frozen_copy import snapshot
from guerdon.models.language_model import lm
from guerdon.models.value_head import head
from guerdon.recipes.house.heads import with_head

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore::guerdon.core.errors.Notice")

NAMES = ["value", "after", "final"]
FORMS = {
    "one": True,
    "three": head(outputs=3),
    "tanh": head(width=5),
    "three, gelu": head(outputs=3, width=5, bend="gelu"),
}
KINDS = ["lm", "gpt_neox", "granite", "mamba"]  # granite's logits are no plain product
PLAIN = {("lm", "one"), ("gpt_neox", "three"), ("granite", "three, gelu"), ("mamba", "tanh")}  # the others are slow


def heads_on(kinds):
    """Heads of every form on these kinds of models."""
    return pytest.mark.parametrize(
        ("kind", "form"),
        [
            pytest.param(kind, form, id=f"{name}-{kind}", marks=[] if (kind, name) in PLAIN else pytest.mark.slow)
            for name, form in FORMS.items()
            for kind in kinds
        ],
    )


def fresh(tmp_path, kind, form, **knobs):
    """On the processor, where transformers' own numbers are; on a GPU heads are held by test_gpu_gradients."""
    knobs = {"on": "cpu", **knobs}
    if kind == "lm":
        small_lm(tmp_path / kind)
        model = lm(source=str(tmp_path / kind), value=form, **knobs)
    else:
        model = foreign(source=made_foreign(tmp_path / kind, kind), value=form, **knobs)
    model.start(0, {})
    return model


def started(tmp_path, kind, form, **knobs):
    """A small model with a head whose numbers are not zero."""
    model = fresh(tmp_path, kind, form, **knobs)
    with torch.no_grad():
        for seed, weight in enumerate(value_head.head_of(model.weights).parameters()):
            weight.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed)))
    return model


def by_hand(model, form, *segments):
    """What the head says at every token of one chain, from transformers' own hidden states."""
    tokens = torch.tensor(np.concatenate([a for s in segments for a in (s.context, s.actions)]))[None]
    model.save_pretrained(folder := f"{model.source}-saved")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        x = theirs.base_model(tokens).last_hidden_state[0]
    own = dict(value_head.head_of(model.weights).named_parameters())
    if form is not True and form.width:
        x = x @ own["inner"].t() + own["inner_bias"]
        x = torch.tanh(x) if form.bend == "tanh" else F.gelu(x)
    return x @ own["weight"].t() + own["bias"] if own["weight"].ndim == 2 else x @ own["weight"] + own["bias"]


@pytest.mark.sampled(2, "kind")
@heads_on(KINDS)
def test_what_it_says_of_chains_trees_turns_and_silent_tracks(tmp_path, kind, form):
    model = started(tmp_path, kind, form)
    trunk = said(model, "x + 4 = 9", "so")
    twigs = [said(model, "go on", "5", 0, (trunk,)), said(model, "or so?", "the sum", 0, (trunk,))]
    silent = Segment("policy", "x", model.encode("x"), np.zeros(0), np.zeros(0))
    asked = Segment("policy", "and?", model.encode("and?", (trunk,)), np.zeros(0), np.zeros(0), parent=0)
    batch = pack(
        [episode(trunk, *twigs), episode(silent, number=1), episode(trunk, asked, number=2), episode(trunk, number=3)]
    )
    chains = [(trunk, twigs[0]), (trunk, twigs[1]), (silent,), (trunk, asked), (trunk,)]
    told = [by_hand(model, form, *chain) for chain in chains]
    wide = () if form is True or form.outputs == 1 else (3,)
    found = model.read(batch, [*NAMES, "logp"])
    assert found["value"].shape == found["after"].shape == (batch.S, *wide) and found["final"].shape == (5, *wide)
    assert_rounded(found["final"], torch.stack([t[-1] for t in told]), LM_TERMS)
    first, count = len(trunk.context) - 1, len(trunk.actions)
    assert_rounded(found["value"][:count], told[0][first : first + count], LM_TERMS)
    second, more = len(trunk.context) + count + len(twigs[1].context) - 1, len(twigs[1].actions)
    at = count + len(twigs[0].actions)
    assert_rounded(found["value"][at : at + more], told[1][second : second + more], LM_TERMS)
    assert_rounded(found["after"][at : at + more], told[1][second + 1 :], LM_TERMS)
    assert_rounded(found["logp"], model.read(batch, ["logp"])["logp"], LM_TERMS)
    for name in NAMES:
        assert_rounded(model.read(batch, [name])[name], found[name], LM_TERMS)
    none = model.read(batch.take(torch.zeros(batch.K, dtype=torch.bool)), NAMES)
    assert {name: tuple(x.shape) for name, x in none.items()} == dict.fromkeys(NAMES, (0, *wide))


@pytest.mark.sampled(1, "kind")
@heads_on(["lm", "granite"])
def test_a_fresh_head_says_nothing_and_learns(tmp_path, kind, form):
    model = fresh(tmp_path, kind, False)
    assert not set(NAMES) & set(model.readings({}))
    model.value = form
    model.start(0, {})
    batch = recited(model)
    assert not model.read(batch, ["final"])["final"].any()
    aims = torch.tensor([1.0, -2.0, 0.5])
    if form is not True and form.outputs > 1:
        aims = torch.stack([aims, -aims, 2 * aims], 1)
    own = value_head.head_of(model.weights)
    optimiser = torch.optim.Adam(model.weights.parameters(), lr=0.02)
    for _ in range(60):
        optimiser.zero_grad()
        (model.read(batch, ["final"])["final"] - aims).square().mean().backward()
        optimiser.step()
    assert all(weight.grad is not None and weight.grad.any() for weight in own.parameters())
    off = (model.read(batch, ["final"])["final"].detach() - aims).square().mean()
    assert off < 0.05 * aims.square().mean()


@pytest.mark.sampled(2, "kind")
@heads_on(KINDS)
def test_it_is_saved_beside_its_model_and_loaded_again(tmp_path, kind, form):
    model = started(tmp_path, kind, form)
    want = model.read(recited(model), [*NAMES, "logp"])
    models.save(model, tmp_path / "saved")
    assert not any("head." in n and "lm_head" not in n for n in load_file(tmp_path / "saved" / "model.safetensors"))
    loaded = models.load(str(tmp_path / "saved"))
    assert loaded.identity() == model.identity() and fingerprint(loaded) == fingerprint(model)
    loaded.start(7, {})
    for name, value in loaded.read(recited(model), [*NAMES, "logp"]).items():
        torch.testing.assert_close(value, want[name], atol=1e-6, rtol=1e-6)
    with torch.no_grad():
        value_head.head_of(loaded.weights).bias.add_(1.0)
    assert loaded.identity() != model.identity()
    assert not set(NAMES) & set(models.load(str(tmp_path / "saved"), value=False).readings({}))


def test_forms_are_told_apart_by_the_hash_and_by_their_files(tmp_path):
    small_lm(tmp_path, weights=False)
    hashes = [fingerprint(lm(source=str(tmp_path), value=form)) for form in (False, *FORMS.values())]
    assert len(set(hashes)) == 5
    model = started(tmp_path, "lm", head(outputs=3))
    models.save(model, tmp_path / "saved")
    with pytest.raises(UserError, match=r"is not a value head of this model: .*size mismatch"):
        models.load(str(tmp_path / "saved"), value=head(outputs=2))


def test_another_form_asked_for_later_is_a_fresh_head(tmp_path):
    model = started(tmp_path, "lm", head(outputs=3))
    model.value = head(width=4)
    model.start(0, {})
    assert model.read(recited(model), ["final"])["final"].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("value", [3, "yes", None])
def test_other_values_are_refused(tmp_path, value):
    small_lm(tmp_path)
    with refusal(UserError, "3", "64"):
        lm(source=str(tmp_path), value=value)


def test_it_says_of_a_folder_what_our_own_decoder_says(tmp_path):
    ours = started(tmp_path, "lm", head(outputs=2, width=3))
    models.save(ours, tmp_path / "saved")
    theirs = foreign(source=str(tmp_path / "saved"), value=head(outputs=2, width=3))
    theirs.start(0, {})
    found, want = (m.read(recited(ours), NAMES) for m in (theirs, ours))
    for name in NAMES:
        assert_rounded(found[name].to(want[name].device), want[name], LM_TERMS)


def test_in_half_precision_a_foreign_model_s_head_is_not(tmp_path):
    model = started(tmp_path, "gpt_neox", head(outputs=2), dtype="bfloat16")
    assert {p.dtype for p in value_head.head_of(model.weights).parameters()} == {torch.float32}
    assert model.weights.base_model.embed_in.weight.dtype == torch.bfloat16
    found = model.read(recited(model), ["final", "logp"])
    assert found["final"].dtype == torch.float32 and found["final"].shape == (len(PAIRS), 2)


def test_a_snapshot_of_a_foreign_model_keeps_the_head_it_copied(tmp_path):
    model = started(tmp_path, "gpt_neox", True)
    table = {"critic": model, "old": snapshot("critic")}
    table["old"].start(0, table)
    before = model.read(recited(model), ["final"])["final"].detach()
    with torch.no_grad():
        value_head.head_of(model.weights).bias.add_(1.0)
    torch.testing.assert_close(table["old"].read(recited(model), ["final"])["final"], before)


# --- recipes with a head ------------------------------------------------------------------------------------------------


def test_recipes_give_one_number_to_any_language_model(tmp_path):
    model = foreign(source=made_foreign(tmp_path / "neox", "gpt_neox"))
    assert with_head(model).value is True and model.value is False
    small_lm(tmp_path / "lm")
    kept = lm(source=str(tmp_path / "lm"), value=head(width=4))
    assert with_head(kept).value.width == 4
    with refusal(UserError, "3"):
        with_head(lm(source=str(tmp_path / "lm"), value=head(outputs=3)))


@pytest.mark.slow
def test_a_foreign_model_is_trained_with_a_critic_and_its_card_says_what_it_is(tmp_path):
    source = made_foreign(tmp_path / "neox", "gpt_neox")
    run = gd.train(
        "ppo", task="parity", model=source, steps=2, out=tmp_path / "run", reward=lambda completion: len(completion) / 10,
        settings={"prompts": 2, "sampling.max_tokens": 5}, options=gd.Options(eval_tasks=0),
    )  # fmt: skip
    assert run.complete
    critic = load_file(tmp_path / "run" / "models" / "critic" / value_head.FILE)
    assert critic["weight"].abs().sum() > 0
    config = json.loads((tmp_path / "run" / "run.json").read_text())
    weights = sum(p.numel() for p in transformers.AutoModelForCausalLM.from_pretrained(source).parameters())
    facts = {"dtype": "float32", "device": str(models.load(source)._device), "parameters": weights}
    assert {name: config["models"][name] for name in ("policy", "critic")} == {"policy": facts, "critic": facts}


# --- "auto" -------------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["lm", "foreign"])
def build(request, tmp_path):
    if request.param == "lm":
        small_lm(tmp_path)
        return lambda **knobs: lm(source=str(tmp_path), **knobs)
    source = made_foreign(tmp_path / "model", "gpt_neox")
    return lambda **knobs: foreign(source=source, **knobs)


def test_on_a_cpu_auto_is_float32_and_so_is_the_hash(build):
    assert fingerprint(build(on="cpu")) == fingerprint(build(dtype="float32")) != fingerprint(build(dtype="bfloat16"))
    assert build().dtype == "auto" and "dtype" not in repr(build())


@pytest.mark.sampled(1, "least")
@pytest.mark.parametrize("least, name", [(10, "bfloat16"), (10_000_000, "float32")])
def test_on_a_gpu_it_goes_by_the_number_of_weights(build, monkeypatch, least, name):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(text, "LARGE", least)
    model = build()
    assert model.facts() == {
        "dtype": name,
        "device": "cuda",
        "parameters": sum(p.numel() for p in model.net.parameters()),
    }
    assert {p.dtype for p in model.net.parameters()} == {getattr(torch, name)}
    assert fingerprint(model) == fingerprint(build(dtype=name))


def test_weights_that_were_read_rounded_are_read_anew_when_they_are_to_be_whole(build, monkeypatch):
    plain = fingerprint(build(dtype="float32"))
    model = build(dtype="bfloat16")
    model.dtype = "float32"
    assert fingerprint(model) == plain
    model.start(0, {})
    assert model.read_as is None and fingerprint(model) == plain


def test_weights_are_counted_without_being_made(tmp_path):
    small_lm(tmp_path / "tied")
    for source, kind in ((str(tmp_path / "tied"), lm), (made_foreign(tmp_path / "mamba", "mamba"), foreign)):
        model = kind(source=source, value=True)
        model.start(0, {})
        names = [n for n, _ in model.weights.named_parameters() if not n.startswith("value_head")]
        assert model.parameters == sum(model.weights.get_parameter(n).numel() for n in names)


def test_a_model_with_an_adapter_stays_whole(tmp_path, monkeypatch):
    """Its small changes would be rounded away."""
    small_lm(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(text, "LARGE", 10)
    assert lm(source=str(tmp_path)).facts()["dtype"] == "bfloat16"
    assert lm(source=str(tmp_path), lora=4).facts()["dtype"] == "float32"
    assert lm(source=str(tmp_path), lora=4, dtype="bfloat16").facts()["dtype"] == "bfloat16"
