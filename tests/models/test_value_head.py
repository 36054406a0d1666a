"""The value head: what it is read off, that it is learned, and that it travels with its model. And the reading `certainty`."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from recited import PAIRS, recited, said
from safetensors.torch import load_file, save_file
from small import small_lm
from strategies import episode
from tolerances import LM_TERMS, assert_rounded

from guerdon import models
from guerdon.core.episode import End, Segment
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.models import language_model as lm_module
from guerdon.models import logit_head, value_head
from guerdon.models.attention import Runs
from guerdon.models.frozen_copy import snapshot
from guerdon.models.language_model import lm
from guerdon.models.without_adapter import base


def made(tmp_path, **knobs):
    """A small model with a head whose numbers are not all zero."""
    small_lm(tmp_path / "plain")
    model = lm(source=str(tmp_path / "plain"), value=True, **knobs)
    model.start(0, {})
    head = value_head.head_of(model.decoder)
    with torch.no_grad():
        head.weight.copy_(torch.linspace(-1, 1, len(head.weight)))
        head.bias.fill_(0.25)
    return model


def by_hand(model, *segments):
    """What the head says at every token of one chain."""
    tokens = torch.tensor(np.concatenate([a for s in segments for a in (s.context, s.actions)]))
    hidden = model.decoder(tokens, Runs.apart([len(tokens)], tokens.device))
    head = value_head.head_of(model.decoder)
    return (hidden * head.weight).sum(-1) + head.bias


def test_a_fresh_head_says_nothing(tmp_path):
    small_lm(tmp_path)
    model = lm(source=str(tmp_path), value=True)
    model.start(0, {})
    found = model.read(recited(model), ["value", "final"])
    assert (found["value"] == 0).all() and found["final"].tolist() == [0.0, 0.0, 0.0]


def test_a_fresh_head_begins_where_it_is_told(tmp_path):
    small_lm(tmp_path)
    model = lm(source=str(tmp_path), value=value_head.head(begin=-3.5))
    model.start(0, {})
    found = model.read(recited(model), ["value", "final"])
    assert (found["value"] == -3.5).all() and found["final"].tolist() == [-3.5] * 3


def test_value_is_read_before_each_action_and_final_after_the_last(tmp_path):
    model = made(tmp_path)
    cut = said(model, "x + 4 = 9", "so the", end=End.CUT)
    segments = [said(model, view, text) for view, text in PAIRS] + [cut]
    batch = pack([episode(s, number=i) for i, s in enumerate(segments)])
    found = model.read(batch, ["value", "after", "final", "logp"])
    at = 0
    for k, s in enumerate(segments):
        want = by_hand(model, s)
        first = len(s.context) - 1
        count = len(s.actions)
        assert_rounded(found["value"][at : at + count], want[first : first + count], LM_TERMS)
        assert_rounded(found["after"][at : at + count], want[first + 1 :], LM_TERMS)
        assert_rounded(found["final"][k], want[-1], LM_TERMS)
        at += count
    assert_rounded(found["logp"], model.read(batch, ["logp"])["logp"], LM_TERMS)


def test_trees_turns_and_tracks_without_actions(tmp_path):
    model = made(tmp_path)
    trunk = said(model, "x + 4 = 9", "so")
    twigs = [said(model, "go on", "5", 0, (trunk,)), said(model, "or so?", "the sum", 0, (trunk,))]
    silent = Segment("policy", "x", model.encode("x"), np.zeros(0), np.zeros(0))
    batch = pack([episode(trunk, *twigs), episode(silent, number=1), episode(trunk, number=2)])
    found = model.read(batch, ["value", "final"])
    chains = [(trunk, twigs[0]), (trunk, twigs[1]), (silent,), (trunk,)]
    assert batch.K == 4 and len(found["value"]) == batch.S
    assert_rounded(found["final"], torch.stack([by_hand(model, *chain)[-1] for chain in chains]), LM_TERMS)
    alone = model.read(pack([episode(silent)]), ["value", "final"])
    assert len(alone["value"]) == 0 and alone["final"].shape == (1,)


def test_reading_in_pieces_changes_nothing(tmp_path, monkeypatch):
    model = made(tmp_path)
    batch = recited(model)
    want = ["value", "after", "final", "certainty"]
    whole = model.read(batch, want)
    monkeypatch.setattr(lm_module, "READ_TOKENS", 10)
    monkeypatch.setattr(logit_head, "LOGITS", 50)
    for name, value in model.read(batch, want).items():
        assert_rounded(value, whole[name], LM_TERMS)


@pytest.mark.slow
def test_a_few_updates_bring_it_to_its_targets(tmp_path):
    small_lm(tmp_path, std=0.1)
    model = lm(source=str(tmp_path), value=True)
    model.start(0, {})
    batch, target = recited(model), torch.tensor([1.0, -2.0, 0.5])
    optimiser = torch.optim.Adam(model.weights.parameters(), lr=0.01)
    for _ in range(60):
        optimiser.zero_grad()
        (model.read(batch, ["final"])["final"] - target).square().mean().backward()
        optimiser.step()
    found = model.read(batch, ["final"])["final"].detach()
    assert (found - target).abs().max() < 0.05


def test_below_an_adapter_the_head_is_trained_too(tmp_path):
    model = made(tmp_path, lora=2)
    trained = {n.split(".")[0] for n, p in model.weights.named_parameters() if p.requires_grad}
    assert trained == {"layers", "value_head"}
    bare = {"policy": model, "below": base("policy")}
    bare["below"].start(0, bare)
    assert set(bare["below"].readings(bare)) >= {"value", "final"}
    assert bare["below"].read(recited(model), ["final"])["final"].shape == (3,)


def test_in_half_precision_the_head_is_not(tmp_path):
    model = made(tmp_path, dtype="bfloat16")
    head = value_head.head_of(model.decoder)
    assert model.decoder.dtype == torch.bfloat16
    assert head.weight.dtype == head.bias.dtype == model.read(recited(model), ["final"])["final"].dtype == torch.float32


@pytest.mark.parametrize("knobs", [{}, {"lora": 2}])
def test_it_is_saved_with_its_model_and_not_among_its_words(tmp_path, knobs):
    model = made(tmp_path, **knobs)
    batch = recited(model)
    want = model.read(batch, ["final", "logp"])
    models.save(model, tmp_path / "saved")
    words = "adapter/adapter_model.safetensors" if knobs else "model.safetensors"
    assert not any("value" in name for name in load_file(tmp_path / "saved" / words))
    loaded = models.load(str(tmp_path / "saved"))
    assert loaded.value and loaded.identity() == model.identity()
    loaded.start(5, {})
    found = loaded.read(batch, ["final", "logp"])
    torch.testing.assert_close(found["final"], want["final"])
    torch.testing.assert_close(found["logp"], want["logp"])
    assert "value" not in models.load(str(tmp_path / "saved"), value=False).readings({})  # a language model again


def test_transformers_loads_the_words(tmp_path):
    transformers = pytest.importorskip("transformers")
    model = made(tmp_path)
    models.save(model, tmp_path / "saved")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "saved")
    tokens = torch.tensor([model.encode("x + 4").tolist()])
    ours = model.decoder.logits(model.decoder(tokens[0], Runs.apart([tokens.shape[1]], tokens.device)))
    assert_rounded(theirs(tokens).logits[0], ours, LM_TERMS)


def test_a_head_of_another_model_is_refused(tmp_path):
    small_lm(tmp_path)
    save_file({"weight": torch.zeros(7), "bias": torch.zeros(())}, tmp_path / value_head.FILE)
    with pytest.raises(UserError, match=r"value_head.safetensors is not a value head of this model: .*size mismatch"):
        lm(source=str(tmp_path), value=True)


def test_a_snapshot_keeps_the_head_it_copied(tmp_path):
    model = made(tmp_path)
    table = {"critic": model, "old": snapshot("critic")}
    table["old"].start(0, table)
    before = model.read(recited(model), ["final"])["final"].detach()
    with torch.no_grad():
        value_head.head_of(model.decoder).bias.add_(1.0)
    torch.testing.assert_close(table["old"].read(recited(model), ["final"])["final"], before)


# --- certainty ----------------------------------------------------------------------------------------------------------


def test_kl_from_uniform_by_hand():
    """Two tokens with p = 3/4 and 1/4: KL(U || p) = 1/2 log(2/3) + 1/2 log 2 = 1/2 log(4/3)."""
    head = torch.tensor([[math.log(3.0)], [0.0]])
    found = logit_head.uniform_kl(torch.tensor([[1.0], [0.0], [2.0]]), head, torch.tensor([1.0, 1.0, 2.0]))
    assert found.tolist() == pytest.approx([0.5 * math.log(4 / 3), 0.0, 0.5 * math.log(4 / 3)], abs=1e-6)


@pytest.mark.parametrize("temperature", [1.0, 0.5, 0.0])
def test_certainty_is_of_the_tempered_distribution(tmp_path, temperature):
    model = small_lm(tmp_path)
    s = said(model, "x + 4 = 9", "so the answer", temperature=temperature)
    tokens = torch.tensor([*s.context, *s.actions])
    logits = model.decoder.logits(model.decoder(tokens, Runs.apart([len(tokens)], tokens.device)))
    logp = torch.log_softmax(logits[len(s.context) - 1 : -1].double() / (temperature or 1.0), dim=-1)
    want = -(logp + math.log(320)).mean(-1)
    found = model.read(pack([episode(s)]), ["certainty"])["certainty"]
    torch.testing.assert_close(found.double(), want, atol=1e-5, rtol=1e-5)
    assert not found.requires_grad


def test_a_head_comes_and_goes_with_its_knob(tmp_path):
    model = small_lm(tmp_path)
    plain = model.identity()
    model.value = True
    model.start(0, {})
    assert set(model.readings({})) >= {"value", "after", "final"} and model.identity() != plain
    model.value = False
    assert model.identity() == plain and "final" not in model.readings({})
