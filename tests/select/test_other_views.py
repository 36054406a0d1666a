"""Tracks read and learned from as if they had been shown something else: against the same tracks made under that view."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small import small_lm
from watching import Watched

from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling, Task
from guerdon.engine.player import Player
from guerdon.losses.imitation import sft
from guerdon.losses.policy import clipped
from guerdon.losses.terms import on
from guerdon.select.other_views import read_as, shown_as
from guerdon.training.build import RunRequest, build

TRIES = {"3+4": ["7", "12"], "2+2": ["4"]}
TALK = [{"role": "system", "content": "Compute."}, {"role": "user", "content": "3+4"}]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    made = small_lm(tmp_path_factory.mktemp("m"))
    made.start(0, {})
    return made


def player(model, **others):
    seats = {"policy": "policy", "critic": "policy"}
    return Player({"policy": model, **others}, seats, None, Sampling(), 0, 4)


def said(model, asked, text, role="policy", view=None):
    """What a role says to a view, with log-probs of -1 as if drawn."""
    reply = model.teacher_force(asked if view is None else view, text)
    logp = np.full(len(reply.actions), -1.0)
    return Segment(role, asked if view is None else view, reply.context, reply.actions, logp, text)


def batch_of(model, show=None, critic=True):
    """Tries at two problems; a critic spoke of the last. With `show`, as if each problem had been put so."""
    eps = []
    for prompt, texts in TRIES.items():
        for attempt, text in enumerate(texts):
            first = said(model, prompt, text, view=show(prompt) if show else None)
            more = [said(model, f"{text}?", "no", "critic").but(parent=-1)] if critic and prompt == "2+2" else []
            eps.append(Episode(Ask(Task(prompt, prompt)), (first, *more), attempt=attempt))
    return pack(eps)


def logp_of(model, batch):
    with torch.no_grad():
        return model.read(batch, ["logp"])["logp"]


def of_policy(batch):
    return batch.role[batch.seg] == batch.roles.index("policy")


def test_it_reads_what_was_done_as_if_shown_the_other(model):
    batch, other = batch_of(model), batch_of(model, "right: {}".format)
    column = read_as("right: {prompt}", model="policy", gives_to="right.logp")(batch, player(model)).cols["right.logp"]
    mine = of_policy(batch)
    torch.testing.assert_close(column.value[mine], logp_of(model, other)[mine])
    assert not torch.allclose(column.value[mine], logp_of(model, batch)[mine])
    assert column.level == "step" and set(column.reason[~mine].tolist()) == {int(Reason.NOT_APPLICABLE)}


def test_a_function_says_what_is_shown_and_whether(model):
    def show(ask):
        return None if ask.task.prompt == "2+2" else f"{ask.task.prompt} = ?"

    batch = batch_of(model)
    column = read_as(show, model="policy")(batch, player(model)).cols["shown.logp"]
    first = (batch.task_E == 0)[batch.episode][batch.seg]
    torch.testing.assert_close(column.value[first], logp_of(model, batch_of(model, "{} = ?".format))[first])
    assert column.missing[~first].all()


def test_a_conversation_is_worded_in_its_last_message(model):
    batch = pack([Episode(Ask(Task("t", "3+4")), (said(model, TALK, "7"),))])
    worded = [TALK[0], {"role": "user", "content": "wrong: 3+4"}]
    other = pack([Episode(Ask(Task("t", "3+4")), (said(model, worded, "7"),))])
    read = read_as("wrong: {prompt}", model="policy")(batch, player(model))["shown.logp"]
    torch.testing.assert_close(read, logp_of(model, other))


@pytest.mark.parametrize("corrected", [True, False])
def test_what_is_learned_is_the_other(model, corrected):
    batch = batch_of(model)
    batch = batch.with_cols(
        {
            "advantage": Column.full("track", torch.arange(4.0)),
            "reference.logp": Column.full("step", torch.zeros(batch.S)),
            "policy.logp": Column.full("step", torch.zeros(batch.S)),
        }
    )
    other = batch_of(model, "right: {}".format)
    found = shown_as("right: {prompt}", corrected)(batch, player(model, reference=model))
    assert found.K == 3 and found["advantage"].tolist() == [0.0, 1.0, 2.0], "the critic's track is not his"
    assert found.cols.keys() == {"advantage"}, "what models read under the first view is gone"
    mine = of_policy(other)
    assert torch.equal(found.action, other.action[mine]) and torch.equal(found.context[:9], other.context[:9])
    expected = torch.full((found.S,), -1.0) if corrected else logp_of(model, other)[mine]
    torch.testing.assert_close(found.logp, expected)
    assert found.count.steps == found.S and batch.K == 4


def test_a_term_learns_under_the_other_view_beside_one_that_does_not(tmp_path):
    def gradient(loss, batch, **knobs):
        model = small_lm(tmp_path)
        model.start(0, {})
        learn = Learn("policy", loss, clip=0.0, **knobs)
        play = player(model)
        learn.start(play)
        learn(batch, play)
        return torch.cat([w.grad.flatten() for w in model.weights.parameters()])

    model = small_lm(tmp_path)
    model.start(0, {})
    batch = batch_of(model, critic=False).with_cols({"advantage": Column.full("track", torch.tensor([1.0, -1.0, 0.5]))})
    both = gradient(clipped() + on(shown_as("right: {prompt}"), sft(), weight=0.5), batch)
    plain, other = gradient(clipped(), batch), gradient(sft(), batch_of(model, "right: {}".format, critic=False))
    torch.testing.assert_close(both, plain + 0.5 * other, atol=1e-5, rtol=1e-4)
    assert float(other.abs().max()) > 1e-3


def test_nothing_to_show_is_nothing_to_learn(model):
    found = shown_as(lambda ask: None)(batch_of(model), player(model))
    assert found.K == 0 and found.count.tracks == 0
    assert shown_as("{prompt}")(pack([]), player(model)).K == 0


@pytest.mark.parametrize("part", [read_as, shown_as])
@pytest.mark.parametrize(
    ("show", "says"),
    [
        ("no field", "must have {prompt} and no other field"),
        ("{prompt} {answer}", "must have {prompt} and no other field"),
        (3, "is a template with {prompt}, or a function of the ask, not 3"),
    ],
)
def test_what_is_no_template_is_refused(part, show, says):
    with pytest.raises(UserError, match=f"{part.__name__}.show {says}"):
        part(show)


def test_a_recipe_reads_and_learns_so(tmp_path):
    small_lm(tmp_path)
    settings = {"prompts": 2, "tries": 2, "max_tokens": 4, "kl": 0.1}
    made = build(RunRequest("grpo", "countdown:1", str(tmp_path), settings=settings)).recipe
    learn = made.stages.learners[0]
    learn.loss = learn.loss + on(shown_as("Answer. {prompt}"), sft(), weight=0.1)
    made.stages.insert(0, read_as("Answer. {prompt}"))
    made.check()
    run = Watched(made, 1)
    (batch,), (row,) = run.batches, run.rows
    assert row["policy/shown_as/loss"] > 0
    assert not batch.cols["shown.logp"].missing.any()
