"""The truth that a run is watched by: another reward, or the task's own check, scores the same rollouts in the column `truth`.

It is asked after all stages and observers, by the one scorer, and aside of the run: what it draws, reads, counts and logs is
not the run's, so a run with a truth gives the same weights as one without.
Leaves out: what is made of it (`guerdon/watch`).
"""

from __future__ import annotations

import copy
import dataclasses
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.part import get_state, walk
from guerdon.core.play import Listener
from guerdon.core.recipe import Recipe
from guerdon.engine.player import Player
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.samples import Roles
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.early_asking import listeners
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.watch.past_steps import TRUTH

VERIFIED = "verified"  # the name of the task's own check
MEAN = "/mean"


class TruthColumn:
    """Puts the column `truth` into batches. Where a stage of the run has checked them already, its column is taken over."""

    def __init__(self, stage: Any, copies: str = "") -> None:
        self.stage, self.copies = stage, copies

    def listeners(self, seed: int) -> list[Listener]:
        """The listener for finished episodes: the task's own check, which reads and draws nothing of the run's."""
        return listeners([self.stage], seed) if isinstance(self.stage, verified) and not self.copies else []

    def __call__(self, batch: Batch, play: Player) -> Batch:
        if self.copies in batch.cols:
            return batch.with_cols({TRUTH: batch.cols[self.copies]})
        with _aside(play) as apart:
            scored: Batch = self.stage(batch, apart)
            if hasattr(self.stage, "observe"):
                self.stage.observe(scored, apart)
        return scored

    def hear(self, metrics: Mapping[str, Any]) -> None:
        """The step before the one at which a run resumes: where schedules that follow a metric begin."""
        if hasattr(self.stage, "before"):
            self.stage.before = {name.removesuffix(MEAN): v for name, v in metrics.items() if name.endswith(MEAN)}


def truth_column(wanted: Any, recipe: Recipe) -> TruthColumn | None:
    """What `--truth` names: `verified`, a reward by its name or file, or a reward; None where nothing is named."""
    if wanted is None or wanted == "":
        return None
    if any(TRUTH in stage.gives for stage in recipe.stages):
        raise UserError("a stage of this recipe gives a column 'truth' itself: rename it, or remove --truth")
    checks = [stage for stage in recipe.stages if isinstance(stage, verified)]
    if wanted == VERIFIED:
        if checks:
            return TruthColumn(dataclasses.replace(checks[0], gives_to=TRUTH), checks[0].gives_to)
        return TruthColumn(verified(_source_of(recipe), gives_to=TRUTH, role=_role_of(recipe)))
    reward = as_reward(find_reward(wanted) if isinstance(wanted, str) else wanted)
    if get_state(reward):
        raise UserError(f"{reward} has a memory that a resumed run would lose: it cannot be a truth")
    return TruthColumn(score(reward, TRUTH, checks[0].role if checks else _role_of(recipe)))


def _source_of(recipe: Recipe) -> Any:
    """The problems of a recipe: those that it is examined on, or that it draws."""
    sources = [exam.source for exam in recipe.exams] + [
        getattr(part, "task", None) for _, part in walk(recipe.curriculum)
    ]
    source = next((each for each in sources if hasattr(each, "check") or hasattr(each, "check_track")), None)
    if source is None or not getattr(source, "has_answers", True):
        raise UserError("--truth verified needs problems that check answers, and these do not: --truth FILE.py:NAME")
    return source


def _role_of(recipe: Recipe) -> Roles:
    """Whose tracks the run scores."""
    roles: list[Roles] = [stage.role for stage in recipe.stages if isinstance(stage, score)]
    return roles[0] if roles else "policy"


@contextmanager
def _aside(play: Player) -> Iterator[Player]:
    """A player of the same step with counters and numbers of its own; the models' meter and every global generator are given
    back as they were."""
    meters = {name: model.meter for name, model in play.models.items()}
    state, numbers, dice = torch.get_rng_state(), np.random.get_state(), random.getstate()
    apart = copy.copy(play)
    try:
        apart.begin(play.step)
        yield apart
    finally:
        for name, model in play.models.items():
            model.meter = meters[name]
        torch.set_rng_state(state)
        np.random.set_state(numbers)
        random.setstate(dice)
