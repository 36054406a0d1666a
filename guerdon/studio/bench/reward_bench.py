"""A reward on the bench: its scores of texts, part by part, and which advantages of a stored step other weights flip.

It runs user code, so the studio keeps it in a process of its own (`bench_process.py`).
"""

from __future__ import annotations

import contextlib
import copy
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.recipe import Recipe
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.function import ask_all, run
from guerdon.rewards.asking.function import reward as function_reward
from guerdon.rewards.asking.samples import Samples, each_role
from guerdon.rewards.formula.reward import Reward, blended, weighted
from guerdon.rewards.formula.scores import Outcome, Where, cause
from guerdon.rewards.stage.score_stages import checker, score, verified
from guerdon.rewards.stage.scorer import Path as Way
from guerdon.rewards.stage.scorer import score_later
from guerdon.runs.rollout_table import WORDS
from guerdon.runs.run import Run
from guerdon.studio.bench.bench_samples import Fields, Place, stored_fields, tokenizer_of, typed
from guerdon.studio.bench.formula_tree import Weights, as_python, key_of, reweighted, tree_of, wants_of, weights_of
from guerdon.training.build import RunRequest, build, find_task
from guerdon.training.replay_credit import Credit, RecordedPlay, default_credit, find_credit, track_columns
from guerdon.training.replaying import StepSeen, at_step, check_reward_fits, replayed_step, totals_of

PATIENCE = 10.0  # seconds that one call of a function may take here, if it may take longer in a run
LINE = 240  # characters of a text in a list
MOST = 400  # samples that a replay lists
LONG = 4000  # characters of a reason or an error
COSTLY = (
    "guerdon.judges.",
    "guerdon.rewards.model.",
)  # leaves that call a model: not asked at every key that is pressed
OBJECTS = (
    "completion",
    "prompt",
    "answer",
    "task",
    "meta",
    "role",
    "turns",
    "episode",
    "path",
    "made",
    "actions",
    "view",
)


@dataclass
class ReplayedStep:
    """A stored step whose samples the leaves were asked about."""

    batch: Batch
    play: RecordedPlay
    credit: Credit
    known: dict[Any, Outcome]  # as the stage keeps what it asked early


class RewardBench:
    """A reward, by name or as a run has it, with the run whose samples it scores."""

    def __init__(self, spec: str | None, folder: str | None) -> None:
        self.run = Run(folder) if folder else None
        if spec is None and self.run is None:
            raise UserError("which reward? give FILE.py:NAME, or one on the shelf")
        self.spec = spec
        self.formula = find_reward(spec) if spec is not None else own_reward(self.run)  # type: ignore[arg-type]
        self.ids = tokenizer_of(self.run)
        self.steps: dict[int, ReplayedStep] = {}
        self.batches: dict[int, Batch] = {}

    def about(self) -> dict[str, Any]:
        """What the page draws: the tree, what the leaves ask for, and where it is from."""
        wanted: dict[str, bool] = {}
        for leaf in self.formula.leaves:
            for each in wants_of(leaf):
                wanted[each["name"]] = wanted.get(each["name"], True) and each["optional"]
        return {
            "formula": str(self.formula),
            "version": self.formula.version,
            "tree": tree_of(self.formula),
            "weights": weights_of(self.formula),
            "wants": [{"name": name, "optional": optional} for name, optional in wanted.items() if name not in OBJECTS],
            "takes_meta": bool({"task", "meta"} & wanted.keys())
            or any(leaf.wants.any_name for leaf in self.formula.leaves),
            "costly": any(type(leaf).__module__.startswith(COSTLY) for leaf in self.formula.leaves),
            "python": self.python({}),
        }

    def python(self, weights: Weights) -> str:
        return as_python(reweighted(self.formula, weights), self._names())

    def _names(self) -> dict[int, str]:
        """What the user's file calls its leaves."""
        file = Path(self.spec.rpartition(":")[0]) if self.spec and ".py" in self.spec else None
        module = sys.modules.get(f"guerdon_user_{file.stem}") if file else None  # as `core/user_file.py` calls it
        leaves = {id(leaf): leaf for leaf in self.formula.leaves}
        named: dict[int, str] = {}
        for name, value in vars(module).items() if module is not None else ():
            for key, leaf in leaves.items():
                if value is leaf or (isinstance(leaf, function_reward) and value is leaf.function):
                    named.setdefault(key, name)
        return named

    # --- texts ------------------------------------------------------------------------------------------------------

    def score(
        self, rows: Sequence[Mapping[str, Any]], fields: Mapping[str, Any], step: int, weights: Weights
    ) -> dict[str, Any]:
        """Its scores of texts, which are tries at one prompt: of every row, each part by its path."""
        formula = reweighted(self.formula, weights)
        given = [typed(row, fields, self._stored(row.get("from")), self.ids) for row in rows]
        self._check_fields(given)
        samples = Samples.of(given)
        steps, seed = (int(self.run.config[name]) for name in ("steps", "seed")) if self.run else (1, 0)
        where = Where(samples.group, step, max(steps, 1), {}, seed)
        began = time.perf_counter()
        with _patience(formula):
            every = run(score_later(formula, samples, where)).every
        seconds = time.perf_counter() - began
        shares = _weights_now(formula, where)
        told = [
            {key_of(path): _told(scores.at(n), shares.get(path)) for path, scores in every.items()}
            for n in range(len(given))
        ]
        return {"rows": told, "seconds": seconds, "python": self.python(weights), "formula": str(formula)}

    def _stored(self, place: Any) -> Fields | None:
        if place is None or self.run is None:
            return None
        at: Place = (int(place["step"]), str(place["episode"]), int(place["segment"]))
        return stored_fields(self._batch(at[0]), at)

    def _batch(self, step: int) -> Batch:
        if step not in self.batches:
            if len(self.batches) > 2:
                self.batches.pop(next(iter(self.batches)))
            assert self.run is not None
            self.batches[step] = self.run.batch(step)
        return self.batches[step]

    def _check_fields(self, given: Sequence[Fields]) -> None:
        there = {name for each in given for name in (*each, *each["meta"])}
        for leaf in self.formula.leaves:
            for name in leaf.wants.names:
                if name not in there and name not in leaf.wants.optional:
                    raise UserError(f"{leaf.name} asks for {name!r}: fill that field")

    def problem(self, task: str, number: int) -> dict[str, Any]:
        """A problem of a task, by its number: what a text on the bench may be a try at."""
        source = find_task(task)
        assert source is not None
        size = source.size("train")
        if size is not None and number >= size:
            raise UserError(f"{task} has {size} problems to train on, from 0 to {size - 1}")
        posed = source.get("train", number)
        return {"prompt": posed.prompt, "answer": posed.answer, "level": posed.level, "meta": posed.meta, "size": size}

    # --- a stored step ----------------------------------------------------------------------------------------------

    def replay(self, step: int, weights: Weights) -> dict[str, Any]:
        """A stored step under other weights. The leaves are asked once; then it is arithmetic."""
        began = time.perf_counter()
        at = self._asked(step)
        formula = reweighted(self.formula, weights)
        stage = score(formula, gives_to=at.credit.column, role=at.credit.role)
        stage.early = dict(at.known)
        assert self.run is not None
        with at_step(self.run, at.play, step):
            seen, other = replayed_step(at.batch, stage, at.credit, at.play)
        rows = _flipped(seen, _places(at.batch, at.credit))
        return {
            "step": step,
            "formula": str(formula),
            "column": at.credit.column,
            "credit": " > ".join(map(repr, at.credit.new)),
            "credit_from": at.credit.source,
            "notes": at.credit.notes,
            "other": other,
            "total": totals_of(seen),
            "samples": rows[:MOST],
            "there": len(rows),
            "python": self.python(weights),
            "seconds": time.perf_counter() - began,
        }

    def _asked(self, step: int) -> ReplayedStep:
        if self.run is None:
            raise UserError("which run's samples? open the bench from a run")
        if step not in self.steps:
            batch = self._batch(step)
            check_reward_fits(self.formula, batch)
            play = RecordedPlay.of(self.run.config)
            credit = _credit(self.run, batch, play, step)
            with at_step(self.run, play, step):
                known = _ask_leaves(self.formula, Samples.of_batch(batch, play, credit.role))
            if len(self.steps) > 3:
                self.steps.pop(next(iter(self.steps)))
            self.steps[step] = ReplayedStep(batch, play, credit, known)
        return self.steps[step]


def own_reward(stored: Run) -> Reward:
    """The reward that a run was trained on: the one it was given, or its recipe's own; else the task's check."""
    config = stored.config
    if not config["plain"]:
        raise UserError(f"{stored.folder.named} was started from Python objects: name its reward here, FILE.py:NAME")
    if config["wish"]["reward"]:
        return find_reward(config["wish"]["reward"])
    recipe = build(RunRequest.of_config(config)).recipe
    stages = recipe.stages if isinstance(recipe, Recipe) else []
    scored = [stage.reward for stage in stages if isinstance(stage, score)]
    checked = [checker(stage.task) for stage in stages if isinstance(stage, verified)]
    if not scored and not checked:
        raise UserError(f"{stored.folder.named} has no reward to look at: name one here, FILE.py:NAME")
    own: Reward = [*scored, *checked][0]
    return own


def _credit(stored: Run, batch: Batch, play: RecordedPlay, step: int) -> Credit:
    """The run's own credit; where that would have to play, or needs what was not stored, the default with the reason."""
    try:
        credit = find_credit(stored, batch, None, None)
        with at_step(stored, play, step):
            credit.advantage(copy.deepcopy(credit.new), batch, play)
    except UserError as error:
        there = track_columns(batch)
        column = next((name for name in ("reward", "correct") if name in there), None)
        if column is None:
            raise
        why = str(error).partition(": ")[0]
        return default_credit(column, f"the run's own cannot be replayed ({why})")
    return credit


def _ask_leaves(formula: Reward, samples: Samples) -> dict[Any, Outcome]:
    """The scores of every leaf for the samples of a step, kept as the stage `score` keeps what it asked early."""
    assert samples.batch is not None and samples.track is not None
    last = samples.batch.place[samples.batch.leaf[samples.track]].tolist()
    episodes = [fields["episode"] for fields in samples.fields]
    said = ask_all([(leaf, samples) for leaf in formula.leaves])
    return {
        (episode.step, episode.key, place, n): outcome
        for n, each in enumerate(said)
        for episode, place, outcome in zip(episodes, last, each, strict=True)
    }


@contextlib.contextmanager
def _patience(formula: Reward) -> Iterator[None]:
    """Functions are given less time than in a run: a user waits."""
    hurried = [leaf for leaf in formula.leaves if isinstance(leaf, function_reward) and leaf.waits]
    before = [leaf.timeout for leaf in hurried]
    try:
        for leaf in hurried:
            leaf.timeout = min(leaf.limit or math.inf, PATIENCE)
        yield
    finally:
        for leaf, timeout in zip(hurried, before, strict=True):
            leaf.timeout = timeout


def _weights_now(formula: Reward, where: Where, path: Way = ()) -> dict[Way, float]:
    """What each term of a sum is weighed by at this step, by its path."""
    own: dict[Way, float] = {}
    if isinstance(formula, blended):
        own = {(*path, n): where.now(t.by) if isinstance(t, weighted) else 1.0 for n, t in formula.terms.items()}
    return {
        **own,
        **{p: w for name, part in formula.of.items() for p, w in _weights_now(part, where, (*path, name)).items()},
    }


def _told(outcome: Outcome, share: float | None) -> dict[str, Any]:
    """A score for the page: a number or the reason why there is none, and its explanation."""
    has = outcome.reason == Reason.VALUE
    detail = outcome.detail if isinstance(outcome.detail, dict) else {}
    return {
        "value": outcome.value if has else None,
        "reason": "" if has else WORDS[int(outcome.reason)],
        "error": "" if has else cause(outcome.detail),
        "trace": "" if has else str(detail.get("error", ""))[:LONG],
        "why": str(detail.get("why", ""))[:LONG],
        "detail": {name: value for name, value in detail.items() if name not in ("error", "why", "by", "steps")},
        "steps": list(outcome.steps or ())[:1000],
        "weight": share,
        "contribution": outcome.value * share if has and share is not None else None,
    }


def _places(batch: Batch, credit: Credit) -> list[tuple[str, int]]:
    """The episode and the last segment of each sample, in the order of a replay."""
    mine = np.flatnonzero(batch.tracks_of(each_role(credit.role)).numpy())
    leaf = batch.leaf[torch.from_numpy(mine)]
    episodes, last = batch.episode[leaf].tolist(), batch.place[leaf].tolist()
    made = [batch.episodes[e] for e in episodes]
    return [(f"{e.step}.{e.number}.{e.attempt}", n) for e, n in zip(made, last, strict=True)]


def _flipped(seen: StepSeen, places: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    """The samples whose advantage has another sign: those that turn round first, then those that come from nothing or go to
    it; by how far they moved."""
    was, now = np.sign(seen.old_advantage), np.sign(seen.new_advantage)
    both = ~np.isnan(was) & ~np.isnan(now)
    turned = both & (was * now < 0)
    other = both & (was != now) & ~turned
    far = np.nan_to_num(np.abs(seen.new_advantage - seen.old_advantage))
    order = np.lexsort((np.arange(len(far)), -far, ~turned))
    return [
        {
            "episode": places[i][0],
            "segment": places[i][1],
            "task": seen.task[i],
            "completion": seen.line[i][:LINE],
            "kind": "flip" if turned[i] else "from zero" if was[i] == 0 else "to zero",
            "old_reward": float(seen.old[i]),
            "new_reward": float(seen.new[i]),
            "old_advantage": float(seen.old_advantage[i]),
            "new_advantage": float(seen.new_advantage[i]),
        }
        for i in map(int, order)
        if turned[i] or other[i]
    ]
