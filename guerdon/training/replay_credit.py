"""Which stages turn a stored reward into an advantage: found in a run's recipe or in its config, and applied to its batches.

Only stages on the way from the reward to `advantage` are taken, and never a learner.
Where they cannot be rebuilt, or need columns that were not stored, `centre(by="task")` stands in and the replay says so.
Leaves out: the comparison (`replaying.py`).
"""

from __future__ import annotations

import copy
import importlib
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guerdon import credit as credit_folder
from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.episode import Episode
from guerdon.core.errors import UserError, unknown
from guerdon.core.learn import Learn
from guerdon.core.part import PARTS, describe, label
from guerdon.core.play import Env
from guerdon.core.recipe import Recipe
from guerdon.core.stages import shelf_of
from guerdon.core.task import Ask, Sampling
from guerdon.credit.group_relative import centre
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.rewards.asking.samples import Roles
from guerdon.runs.run import Run
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import part_modules
from guerdon.training.trained import Trained

ADVANTAGE = "advantage"


class RecordedPlay(Player):
    """The `play` of a run that is over: it knows step and seed, and samples nothing."""

    def __init__(self, seed: int, steps: int) -> None:
        super().__init__({}, {}, single_turn(), Sampling(), seed, steps)

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> RecordedPlay:
        """That of a run, by its run.json."""
        return cls(int(config["seed"]), int(config["steps"]))

    def __call__(
        self, asks: Sequence[Ask], env: Env | None = None, seats: Mapping[str, str] | None = None
    ) -> list[Episode]:
        raise UserError("the run's credit plays episodes and a replay samples nothing: give credit=centre()")


@dataclass(frozen=True)
class Credit:
    """How rewards become advantages. Old and new have stages of their own, for a stage may remember what it saw."""

    column: str
    old: list[Any]
    new: list[Any]
    source: str
    stored: bool  # whether old advantages are read from the run
    role: Roles = "policy"
    notes: list[str] = field(default_factory=list)

    def advantage(self, stages: Sequence[Any], batch: Batch, play: RecordedPlay) -> NDArray[np.float64]:
        """[K] what the stages make of a batch's rewards."""
        tracks = batch.K
        for stage in stages:
            lost = [n for n in stage.needs if n not in batch.cols]
            if lost:
                raise UserError(
                    f"{label(stage)} reads {lost[0]!r}, which the new reward does not give: name its parts so"
                )
            batch = stage(batch, play)
            if tracks != batch.K:
                raise UserError(f"{label(stage)} drops samples, so nothing can be compared: give credit=centre()")
        columns = [name for stage in stages for name in stage.gives]
        return self.per_track(batch, batch.cols[ADVANTAGE if ADVANTAGE in columns else columns[-1]])

    def per_track(self, batch: Batch, column: Column) -> NDArray[np.float64]:
        """[K] one number a sample: the mean over its steps or turns, where those differ."""
        return batch.up(column.value.double(), "track", of=column.level, by="mean").numpy()


def find_credit(run: Run, batch: Batch, column: str | None, given: Any) -> Credit:
    """The credit of a run from its reward to its advantage; `batch` is one of its own, to see what was stored."""
    stages, source, why = _stages(run)
    name = _column(run, batch, column, given, stages)
    role: Roles = next((s.role for s in stages if name in s.gives and hasattr(s, "role")), "policy")
    if given is not None:
        if name not in given.needs:
            raise UserError(f"{label(given)} reads {', '.join(given.needs)}, not {name!r}: give column= to match")
        return Credit(name, [given], [copy.deepcopy(given)], "what was given", False, role)
    chain = _chain(stages, name)
    lost = sorted({n for s in chain for n in s.needs} - {*batch.cols, *(g for s in chain for g in s.gives)})
    if chain and not lost:
        notes = _changed(run, chain) if source == "the run's recipe" else []
        stored = ADVANTAGE in batch.cols
        return Credit(name, copy.deepcopy(chain), copy.deepcopy(chain), source, stored, role, notes)
    if lost:
        why = f"the run's own needs {lost[0]}, which was not stored"
    elif stages:
        why = f"nothing in the run makes advantages from {name!r}"
    # advantages made from another column do not measure this one; where nothing is known, the stored ones are the best
    stored = ADVANTAGE in batch.cols and not (stages and not chain)
    return default_credit(name, why, stored, role)


def default_credit(column: str, why: str, stored: bool = False, role: Roles = "policy") -> Credit:
    """What stands in where a run's own credit cannot: rewards centred by task. `why` is said."""
    return Credit(column, [centre(column)], [centre(column)], f"the default: {why}", stored, role)


def track_columns(batch: Batch) -> list[str]:
    return [n for n, c in batch.cols.items() if c.level == "track" and c.value.dim() == 1]


def _column(run: Run, batch: Batch, wanted: str | None, given: Any, stages: Sequence[Any]) -> str:
    """The stored reward to compare with."""
    there = track_columns(batch)
    if wanted is not None:
        if wanted not in there:
            raise unknown(f"column of {run.folder.named}", wanted, there)
        return wanted
    read = given.needs if given is not None else ()
    likely: list[str] = [*read, "reward", *(n for n in there if _chain(stages, n))]
    name = next((n for n in likely if n in there), None)
    if name is None:
        named = f"name another, --column {' or '.join(there)}" if there else "it has no other either"
        raise UserError(f"{run.folder.named} stores no column 'reward': {named}")
    return name


def _stages(run: Run) -> tuple[list[Any], str, str]:
    """The run's stages as far as they can be had, where they are from, and why not if there are none."""
    if isinstance(run, Trained) and isinstance(run.recipe, Recipe):
        return run.recipe.stages, "the run's recipe", ""
    why = "the run was started from Python objects"
    if run.config["plain"]:
        try:
            recipe = build(RunRequest.of_config(run.config)).recipe
            assert isinstance(recipe, Recipe)
            return recipe.stages, "the run's recipe", ""
        except UserError as error:  # a file that was moved since, a model that is not here
            why = f"the run's recipe cannot be built here ({error})"
    return _restored(_described_stages(run)), "the run's config", why


def _described_stages(run: Run) -> list[Any]:
    try:
        return list(run.config["parts"]["knobs"]["stages"])
    except (KeyError, TypeError) as error:
        raise UserError(f"{run.folder.named} does not record its parts in run.json") from error


def _restored(described: Iterable[Any]) -> list[Any]:
    """The credit stages of the package from their description; what else a recipe has needs its own files to be rebuilt."""
    on_shelf = [f"{credit_folder.__name__}.{module.name}" for module in pkgutil.iter_modules(credit_folder.__path__)]
    for module in (*on_shelf, *part_modules()):
        importlib.import_module(module)
    known = {label(c): c for place, c in PARTS.items() if place.startswith("guerdon.") and shelf_of(c) == "credit"}
    ours = [d for d in described if d["part"] in known and "source" not in d]
    plain = [d for d in ours if not any(isinstance(v, dict) for v in d["knobs"].values())]
    return [known[d["part"]](**d["knobs"]) for d in plain]


def _chain(stages: Sequence[Any], column: str) -> list[Any]:
    """The stages on the way from a column to the advantage, in order; none if there is no way."""
    start = max((i + 1 for i, s in enumerate(stages) if column in s.gives), default=0)
    touched, chain = {column}, []
    for stage in stages[start:]:
        reads = any(n in touched or n.startswith(f"{column}.") for n in stage.needs)
        if reads and stage.gives and not isinstance(stage, Learn):
            chain.append(stage)
            touched |= set(stage.gives)
    return chain if ADVANTAGE in touched else []


def _changed(run: Run, chain: Sequence[Any]) -> list[str]:
    kept = _described_stages(run)
    new = [label(stage) for stage in chain if describe(stage) not in kept]
    return [f"{new[0]} is not as it was when the run was trained: the recipe has changed since"] if new else []
