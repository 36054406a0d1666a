"""`probe`: the numbers of `read`, for any text under any view after any path; shared beginnings are read once."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from refusals import refusal
from small import TEXTS, small_config, small_lm
from strategies import episode
from tolerances import LM_TERMS, assert_rounded

from guerdon.core.episode import End, Segment
from guerdon.core.errors import UserError
from guerdon.core.model import Request
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine import answer
from guerdon.models import huggingface, value_head
from guerdon.models.decoder import Decoder
from guerdon.models.frozen_copy import snapshot
from guerdon.models.language_model import lm
from guerdon.models.probing import probe, retold
from guerdon.models.tables import tabular
from guerdon.models.tokenizer import train_tokenizer
from guerdon.models.without_adapter import base


@pytest.fixture
def model(tmp_path):
    small_lm(tmp_path / "lm")
    made = lm(source=str(tmp_path / "lm"), value=True)
    made.start(0, {})
    head = value_head.head_of(made.decoder)
    with torch.no_grad():
        head.weight.copy_(torch.linspace(-1, 1, len(head.weight)))
        head.bias.fill_(0.25)
    return made


def turn(model, view, path=(), seed=1, **how):
    asked = Request(tuple(path), view, Sampling(**{"max_tokens": 6, **how}), seed)
    reply = answer(model, [asked])[0]
    return Segment("policy", view, reply.context, reply.actions, reply.logp, reply.text, len(path) - 1,
                   sampling=asked.sampling, end=reply.end)  # fmt: skip


def table(**knobs):
    made = tabular(**{"vocab": "ab", **knobs})
    made.start(0, {})
    return made


def test_a_uniform_table_by_hand():
    """Three actions, a, b and the end, each as likely as the others."""
    found = probe(table(), [((), "x", "ab"), ((), "x", ""), ((), "y", None)], ["logp", "entropy"])
    third = -math.log(3)
    assert found[0]["logp"].tolist() == pytest.approx([third] * 3)
    assert found[0]["entropy"].tolist() == pytest.approx([-third] * 3)
    assert [len(each["logp"]) for each in found] == [3, 1, 0]


def test_probing_what_was_sampled_gives_its_log_probs():
    m = table(vocab="abcd", spread=1.5)
    first = Segment("policy", "x", m.encode("x"), np.array([0, 1, 4]), np.zeros(3))
    with torch.no_grad():
        reply = m.act([Request((first,), "y", Sampling(temperature=0.7), 5)])[0]
    (found,) = probe(m, [((first,), "y", reply.actions)], ["logp"], sampling=Sampling(temperature=0.7))
    np.testing.assert_allclose(found["logp"].numpy(), reply.logp, atol=1e-6)
    (other,) = probe(m, [((), "y", reply.actions)], ["logp"])
    assert other["logp"].tolist() != found["logp"].tolist()


def test_a_language_models_turns(model):
    first = turn(model, "x + 4 = 9")
    second = turn(model, "and then?", [first], seed=2)
    (found,) = probe(model, [((first,), "and then?", second.actions)], ["logp", "value", "after", "final"])
    np.testing.assert_allclose(found["logp"].numpy(), second.logp, atol=1e-5)
    batch = pack([episode(first, second)])
    with torch.no_grad():
        read = model.read(batch, ["value", "after", "final"])
    of = batch.seg == 1
    assert_rounded(found["value"], read["value"][of], LM_TERMS)
    assert_rounded(found["after"], read["after"][of], LM_TERMS)
    assert_rounded(found["final"], read["final"][0], LM_TERMS)


def test_a_text_is_said_whole_and_nothing_is_nothing(model):
    path = (turn(model, "x + 4 = 9"),)
    reply = model.teacher_force("so?", "the answer", path)
    said, acted, shown, bare = probe(
        model,
        [(path, "so?", "the answer"), (path, "so?", reply.actions[:-1]), (path, "so?", None), (path, None, None)],
        ["logp", "final", "value"],
    )
    assert_rounded(said["logp"][:-1], acted["logp"], LM_TERMS)
    assert len(said["logp"]) == len(reply.actions) and len(shown["logp"]) == len(bare["logp"]) == 0
    assert_rounded(shown["final"], said["value"][0], LM_TERMS)
    batch = pack([episode(*path)])
    assert_rounded(bare["final"], model.read(batch, ["final"])["final"][0].detach(), LM_TERMS)


def test_without_a_view_the_turn_goes_on(model):
    first = turn(model, "x + 4 = 9", max_tokens=3, seed=4)
    whole = turn(model, "x + 4 = 9", max_tokens=6, seed=4)
    assert first.end is End.CUT and whole.actions[:3].tolist() == first.actions.tolist()
    (found,) = probe(model, [((first,), None, whole.actions[3:])], ["logp"])
    np.testing.assert_allclose(found["logp"].numpy(), whole.logp[3:], atol=1e-5)


def test_hidden_states_are_after_each_step_the_last_one_too(model):
    path = (turn(model, "x + 4 = 9"),)
    (found,) = probe(model, [(path, "so?", "the answer")], ["hidden", "after", "final"])
    head = value_head.head_of(model.decoder)
    assert found["hidden"].shape == (len(found["after"]), model.config.hidden)
    assert_rounded(head(found["hidden"]).detach(), found["after"], LM_TERMS)
    assert_rounded(found["after"][-1], found["final"], LM_TERMS)


def test_what_items_begin_with_is_read_once(model, monkeypatch):
    path = (turn(model, "x + 4 = 9"),)
    items = [(path, "so?", text) for text in ("the answer", "the sum", "no", "the sum")]
    apart = [probe(model, [item], ["logp"])[0] for item in items]
    seen = []
    forward = type(model.net).forward
    monkeypatch.setattr(
        type(model.net), "forward", lambda self, t, *more: seen.append(len(t)) or forward(self, t, *more)
    )
    together = probe(model, items, ["logp"])
    for a, b in zip(apart, together, strict=True):
        assert_rounded(a["logp"], b["logp"], LM_TERMS)
    shared = len(path[0].context) + len(path[0].actions) + len(model.encode("so?", path))
    own = sum(len(model.teacher_force("", text).actions) - 1 for text in ("the answer", "the sum", "no"))
    assert seen == [shared + own]  # one pass, and what was asked twice is read once


def test_it_is_differentiable_on_demand(model):
    item = ((), "x + 4", "so 9")
    (plain,) = probe(model, [item], ["logp"])
    assert not plain["logp"].requires_grad
    (live,) = probe(model, [item], ["logp"], grad=True)
    live["logp"].sum().backward()
    probed = model.decoder.embed.grad.clone()
    model.decoder.embed.grad = None
    reply = model.teacher_force("x + 4", "so 9")
    batch = pack([episode(Segment("policy", "x + 4", reply.context, reply.actions, reply.logp))])
    model.read(batch, ["logp"])["logp"].sum().backward()
    assert_rounded(probed, model.decoder.embed.grad, LM_TERMS)


def test_what_is_too_long_is_marked_and_the_rest_is_read(tmp_path):
    model = small_lm(tmp_path / "lm", max_positions=16)
    long, short = probe(model, [((), "x + 4", "so " * 20), ((), "x + 4", "so")], ["logp"])
    assert long is None and len(short["logp"]) > 1
    assert probe(model, [((), "x + 4", "so " * 20)], ["logp"]) == [None]
    model.lora = 2
    model.start(0, {})
    for copied in (snapshot("policy"), base("policy")):
        copied.start(0, {"policy": model})
        assert [x is None for x in probe(copied, [((), "x", "so " * 20), ((), "x", "so")], ["logp"])] == [True, False]


def test_a_path_in_other_words_is_told_again(tmp_path, model):
    config = small_config(vocab=280)
    huggingface.write(tmp_path / "other", Decoder(config).reset(1, 0.3), train_tokenizer(TEXTS[:1], 280))
    other = lm(source=str(tmp_path / "other"))
    first = turn(model, "x + 4 = 9", max_tokens=3).but(text="so the", end=End.CUT)
    went_on = first.but(view=" then", context=model.more(" then"), text="answer", parent=0, goes_on=True)
    assert other.encode(first.view).tolist() != first.context.tolist()
    told = retold(other, (first, went_on))
    assert [s.text for s in told] == ["so the", "answer"]
    assert [s.actions.tolist() for s in told] == [other.chat.tokens("so the"), other.chat.tokens("answer")]
    assert told[1].context.tolist() == other.chat.tokens(" then")
    (found,) = probe(other, [((first, went_on), "and?", "no")], ["logp"])
    (expected,) = probe(other, [(told, "and?", "no")], ["logp"])
    assert torch.equal(found["logp"], expected["logp"])


def test_a_fixed_lengths_table_has_no_end_to_leave_out():
    m = table(length=3)
    cut = Segment("policy", "elsewhere", np.array([9]), np.array([0]), np.zeros(1), "ab", end=End.CUT)
    assert retold(m, [cut])[0].actions.tolist() == [0, 1]
    assert retold(table(), [cut])[0].actions.tolist() == [0, 1]
    assert retold(table(), [cut.but(end=End.DONE)])[0].actions.tolist() == [0, 1, 2]


def test_what_cannot_be_read_is_refused():
    with refusal(UserError):
        probe(table(), [((), "x", "a")], ["final"])
    with pytest.raises(UserError, match="nothing to read"):
        probe(table(), [((), None, "a")], ["logp"])
    assert probe(table(), [], ["logp"]) == []
