"""Two losses in one update, each on rows of its own, and a weight between them that climbs held-out reward: the parts of AMFT.

`balanced` is a learner: what was tried is learned by one loss, demonstrations of the same problems by another.
`climbing` is a weight for it, which has a state where a schedule has none.
Leaves out: several terms on the same rows (`losses/terms.py`).
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.extra_play import play_scored
from guerdon.core.learn import Learn, Share
from guerdon.core.pack import pack
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.task import Sampling
from guerdon.losses.imitation import sft
from guerdon.losses.policy import clipped


@part
class balanced(Learn):
    r"""A learner whose update follows $(1-\mu)\,\nabla L + \mu\,\nabla L_{demo}$: `loss` on the tries, `imitate` on
    demonstrations of the same problems, each over its own denominator.

    The reference solution of every problem that was tried is recited (`solve.of(task)`: `hint(task)` knows them) and learned as
    text; it counts in the budget as if it were sampled, and stands neither in the batch nor in any rate. At $\mu = 0$ it is
    `Learn`, at 1 supervised fine-tuning. AMFT (He et al. 2025, arXiv:2508.06944) has this form.

    Assumes that both losses are means of about one size: $\mu$ weighs what they are, whatever they are. Biased towards the
    demonstrations on purpose. Notes `mu`, `imitation` (the loss of demonstrations) and `silent_tries`; `silent` is 0, for
    demonstrations always speak.

    >>> from guerdon.select.hints import hint
    >>> from guerdon.tasks import load
    >>> balanced("policy", clipped(), solve=hint(load("countdown")), weight=0.3).needs
    ('advantage',)
    """

    imitate: Any = knob(factory=sft)
    solve: Any = None  # what knows the reference solutions
    weight: Any = knob(default=0.5, ge=0.0, le=1.0)  # mu: a number, a schedule or `climbing`
    role: str = "policy"

    apart: list[Tensor] = live()  # the gradient of the demonstrations less that of the tries, at the latest update
    entropy: float = live()  # of the tries, at the latest update

    def __post_init__(self) -> None:
        if not hasattr(self.solve, "of"):
            raise UserError("balanced needs reference solutions: solve=hint(task)")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        version = play.models[self.model].version
        after = super().__call__(batch, play)
        if hasattr(self.weight, "move") and play.models[self.model].version > version:
            self.weight.move(self, play)
        return after

    def _backward_that_fits(self, share: Share, play: Play) -> dict[str, float]:
        mu = play.at(self.weight)
        metrics = super()._backward_that_fits(share, play)
        tried = self._taken()
        demo, taught = self.gradient(self.imitate, self.demonstrations(share[0][0], play), play)
        assert self.optimiser is not None
        for p, ours, theirs in zip(_weights(self.optimiser), tried, demo, strict=True):
            p.grad = (1 - mu) * ours + mu * theirs
        self.apart = [theirs - ours for ours, theirs in zip(tried, demo, strict=True)]
        self.entropy = metrics.get("entropy", float("nan"))
        return {**metrics, "silent": 0.0, "silent_tries": metrics["silent"], "imitation": taught["loss"], "mu": mu}

    def gradient(self, loss: Any, rows: Batch, play: Play) -> tuple[list[Tensor], dict[str, float]]:
        """The gradient of another loss on other rows, for each weight, and what that loss notes. Nothing is updated."""
        other = copy.copy(self)
        metrics = Learn._backward_that_fits(other, [(rows, loss)], play)
        return other._taken(), metrics

    def _taken(self) -> list[Tensor]:
        assert self.optimiser is not None
        return [p.grad if p.grad is not None else torch.zeros_like(p) for p in _weights(self.optimiser)]

    def demonstrations(self, rows: Batch, play: Play) -> Batch:
        """The solutions of the problems in `rows`, each once for every ask."""
        model, episodes = play.models[self.model], []
        asked = {int(rows.ask_E[e]): rows.episodes[e].ask for e in rows.episode.tolist()}
        for number, ask in asked.items():
            text = self.solve.of(ask.task)
            reply = model.teacher_force(ask.shown, text)
            model.meter.tokens += len(reply.actions)
            segment = Segment(self.role, ask.shown, reply.context, reply.actions, reply.logp, text, sampling=Sampling())
            episodes.append(Episode(ask, (segment,), play.step, number))
        return pack(episodes)


def _weights(optimiser: torch.optim.Optimizer) -> list[Tensor]:
    return [p for group in optimiser.param_groups for p in group["params"]]


@part
class climbing:
    r"""A weight $\mu$ for `balanced` that moves towards more held-out reward $U$.

    At every `every`-th step, after the update from $\theta$ to $\theta'$, problems of `held` are tried, scored and compared by
    `stages` (which give `advantage`), and
    $\mu \leftarrow \mu + rate\,\langle \nabla_{\theta'} U,\ \nabla_\theta L - \nabla_\theta L_{demo} \rangle$. By plain
    gradient descent $\theta' = \theta - lr\,[(1-\mu)\nabla L + \mu\nabla L_{demo}]$ this is $dU(\theta')/d\mu$ but for
    the factor $lr$.
    After every update $\mu$ also moves by `entropy_rate` times what the entropy of the tries lacks of that at the first update.
    $\mu$ stays within `within`.

    AMFT (He et al. 2025, arXiv:2508.06944). Its code (github.com/TSYJ-He/AMFT) takes for $U$ the cross-entropy of held-out
    solutions, and moves $\mu$ the way that makes it larger; here $U$ is the reward, as the paper says. Assumes gradient
    descent: an optimiser that rescales, or a clipped gradient, makes it an approximation. Biased where the tries of `held` are
    those of problems learned from. What is tried counts in the budget.

    Notes `mu/slope`, the inner product, where $\mu$ was led by it.

    >>> climbing(None, [], start=0.7).at(step=0, steps=100)
    0.7
    """

    held: Any  # a curriculum
    stages: list[Any]
    prompts: int = knob(default=16, ge=1)
    start: float = knob(default=0.8, ge=0.0, le=1.0)  # AMFT's configuration
    rate: float = knob(
        default=0.2, ge=0.0
    )  # of the inner product, in which AMFT's 1e-4 times its learning rate is nothing
    entropy_rate: float = knob(default=5e-4, ge=0.0)  # AMFT's configuration
    within: tuple[float, float] = (0.05, 0.95)  # AMFT's configuration
    every: int = knob(default=20, ge=1)  # AMFT's configuration

    mu: float | None = state(default=None)
    target: float | None = state(default=None)

    def at(self, step: int, steps: int) -> float:
        """Where it stands; the step does not matter."""
        return self.start if self.mu is None else self.mu

    def move(self, learner: balanced, play: Play) -> None:
        """Follow the update that was just made."""
        lacking = 0.0
        if learner.entropy == learner.entropy:
            self.target = learner.entropy if self.target is None else self.target
            lacking = self.target - learner.entropy
        step = play.at(self.entropy_rate) * lacking
        rate = play.at(self.rate)
        if rate and play.step % self.every == 0:
            step += rate * self.slope(play_scored(self.held.draw(self.prompts, play), self.stages, play), learner, play)
        low, high = self.within
        self.mu = min(high, max(low, self.at(play.step, play.steps) + step))

    def slope(self, tried: Batch, learner: balanced, play: Play) -> float:
        r"""$\langle \nabla U,\ \nabla L - \nabla L_{demo} \rangle$, with $U$ the expected reward of what was tried."""
        utility = clipped(mean="constant")  # at a ratio of 1 its gradient is that of - advantage * log-prob
        probe = copy.copy(learner)
        probe.loss, probe.on = utility, None
        rows = probe.rows(tried, play)
        if rows.K == 0:
            return 0.0
        loss, _ = learner.gradient(utility, rows, play)
        product = float(sum((g * d).sum() for g, d in zip(loss, learner.apart, strict=True)))
        play.log(**{"mu/slope": product})
        return product
