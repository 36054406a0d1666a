"""The reading `next:TOKEN`: what one more token at a track's end would have, as if it had been said, and with its gradient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small_foreign
import torch
from refusals import refusal
from small import small_lm
from watching import Watched

from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.task import Ask, Sampling, Task
from guerdon.losses.terms import Term
from guerdon.models.foreign_model import foreign
from guerdon.training.build import RunRequest, build

TOKENS = ("7", "e")
SAID = [[9, 12, 30], [5], [9, 12, 41, 3]]


@pytest.fixture(params=["ours", "gpt_neox", "phi", "granite"])  # phi's head has a bias, granite divides its logits
def model(request, tmp_path):
    made = small_lm(tmp_path) if request.param == "ours" else foreign(small_foreign.made(tmp_path, request.param))
    made.start(0, {})
    return made


def batch_of(more=()):
    """Three tries at a prompt, two of them with the same first tokens; with `more` tokens said at the end of each. Sampled
    at temperature 2, which does not count for what follows."""
    hot = Sampling(temperature=2.0)
    eps = []
    for n, said in enumerate(SAID):
        actions = np.array([*said, *more])
        first = Segment("policy", "seen", np.array([4, 8, 6]), actions, np.full(len(actions), -1.0), sampling=hot)
        eps.append(Episode(Ask(Task("t", "p")), (first,), attempt=n))
    return pack(eps)


def said_after(model, token):
    """The same by saying the token and reading its own log-prob, at temperature 1."""
    batch = batch_of([token])
    batch = replace(batch, temperature=torch.ones_like(batch.temperature))
    eps = [e.but(segments=tuple(s.but(sampling=Sampling()) for s in e.segments)) for e in batch.episodes]
    read = model.read(pack(eps), ["logp"])["logp"]
    last = torch.tensor([len(each) for each in SAID]).cumsum(0) + torch.arange(len(SAID))
    return read[last.to(read.device)]


@pytest.mark.sampled(3, "text")
@pytest.mark.parametrize("text", TOKENS)
def test_it_is_the_log_prob_of_the_token_as_if_it_had_been_said(model, text):
    read = model.read(batch_of(), ["logp", f"next:{text}"])
    said = said_after(model, model.token_id(text))
    assert read[f"next:{text}"].shape == (3,) and read["logp"].shape == (8,)
    torch.testing.assert_close(read[f"next:{text}"], said, atol=2e-5, rtol=1e-5)
    weights = [w for w in model.weights.parameters() if w.requires_grad]
    pull = torch.tensor([1.0, -2.0, 0.5], device=said.device)
    ours = torch.autograd.grad((read[f"next:{text}"] * pull).sum(), weights, allow_unused=True)
    theirs = torch.autograd.grad((said * pull).sum(), weights, allow_unused=True)
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, atol=2e-4 * float(b.abs().max() + 1e-3), rtol=1e-3)


@pytest.mark.sampled(1, "model")
def test_several_at_once_and_nothing_at_all(model):
    names = [f"next:{text}" for text in TOKENS]
    both = model.read(batch_of(), names)
    assert list(both) == names and not torch.equal(*both.values())
    for name in names:
        torch.testing.assert_close(both[name], model.read(batch_of(), [name])[name])
    none = batch_of().take(torch.zeros(3, dtype=torch.bool))
    assert all(len(x) == 0 for x in model.read(none, names).values())


@pytest.mark.parametrize("text", ["no one token", ""])
def test_a_text_that_is_no_single_token_is_refused(tmp_path, text):
    model = small_lm(tmp_path)
    model.start(0, {})
    with pytest.raises(UserError, match=rf"next:{text} must name one token, and '{text}' is \d+ of this model"):
        model.read(batch_of(), [f"next:{text}"])


@part
class ends_with(Term):
    """Raises the log-prob of a token at the end of each track over the reference's."""

    token: str = "7"

    @property
    def needs(self):
        return (f"reference.next:{self.token}",)

    @property
    def wants(self):
        return (f"next:{self.token}",)

    def __call__(self, batch, live):
        (read,), (name,) = live.values(), self.needs
        return (batch[name] - read).sum() / batch.count.tracks, {}


def test_a_loss_learns_from_it_and_a_reference_gives_it_as_a_column(tmp_path):
    small_lm(tmp_path)
    settings = {"prompts": 1, "tries": 2, "max_tokens": 4, "kl": 0.1, "lr": 1e-3}
    made = build(RunRequest("grpo", "countdown:1", str(tmp_path), settings=settings)).recipe
    learn = made.stages.learners[0]
    learn.loss = ends_with()
    made.check()
    first, *_, last = Watched(made, 4).rows
    assert first["policy/loss"] == pytest.approx(0.0, abs=1e-5), "the policy is the reference"
    assert last["policy/loss"] < -0.1
    learn.loss = ends_with("next")
    learn.loss.token = ""
    with refusal(UserError):
        Watched(made, 1)


def test_a_reading_without_its_token_is_refused_before_anything_runs():
    made = build(RunRequest("grpo", "countdown:1", "sprig", settings={"prompts": 2, "tries": 2})).recipe
    made.stages.learners[0].loss = ends_with_none()
    with refusal(UserError):
        made.check()


class ends_with_none(ends_with):
    needs, wants = (), ("next",)
