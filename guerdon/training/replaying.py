"""`replay`: score the stored samples of a run with another reward, and say what that would have taught instead.

The samples are those the run learned from, so this answers "which samples would have been pushed the other way",
not "where would the run have gone": a policy trained on the new reward would soon sample something else.
Nothing is sampled and no model is read.
Leaves out: how credit is found (`replay_credit.py`), how it is shown (`cli/replay.py`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guerdon.core.arguments import check_arguments
from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError, unknown
from guerdon.core.seeds import seed_globals
from guerdon.core.shown_text import number
from guerdon.core.statistics import pearson, spearman
from guerdon.display import notebook
from guerdon.models import template_clock as clock
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.samples import completion_of, each_role, paths
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.score_stages import score
from guerdon.runs.run import Run
from guerdon.training.onlooker import counted
from guerdon.training.replay_credit import ADVANTAGE, Credit, RecordedPlay, find_credit, track_columns
from guerdon.training.trained import Trained
from guerdon.training.trust import check_trust

Numbers = NDArray[np.float64]
Row = dict[str, Any]


@dataclass(frozen=True)
class Replay:
    """What another reward says about the samples of a run. Everything is plain data, a row a dict.

    `steps` has a row a step, `total` the same over all of them. In a row, `flips` are advantages that go from above to
    below zero or back, among the `compared` samples that have one under both rewards; correlations are of the rewards,
    over the `correlated` samples that have both, and NaN where one of the two does not vary.
    """

    run: str
    reward: str  # the new one, as a formula
    version: str  # and its version,
    old_version: str | None  # that of the stored one, where the run knows it
    column: str  # the stored one it is compared with
    credit: str  # what made the new advantages,
    credit_from: str  # where that was found,
    old_advantage: str  # and where the old ones are from: "stored", or made by the same credit
    steps: list[Row]
    total: Row
    components: list[Row]  # of the new formula: name, mean, count; old_mean where the run stored one of that name
    moved: list[Row]  # the samples whose advantage moved most
    failures: list[Row]  # the first samples the new reward broke on
    notes: list[str]

    def __repr__(self) -> str:
        total = self.total
        return (
            f"Replay({self.reward} on {self.run}: {total['samples']} samples, {total['flips']} of {total['compared']}"
            f" advantages change sign, reward {number(total['old_mean'])} -> {number(total['new_mean'])})"
        )

    def _repr_html_(self) -> str:
        return notebook.replay_html(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class StepSeen:
    """The samples of one step, or of several, in order, under both rewards. Numbers are NaN where there is none."""

    step: NDArray[np.int64]
    task: list[str]
    line: list[str]  # the first of the completion
    old: Numbers
    new: Numbers
    reason: NDArray[np.int64]
    old_advantage: Numbers
    new_advantage: Numbers
    error: list[str]
    components: dict[str, Numbers]
    old_components: dict[str, Numbers]


def replay(
    run: str | Path | Run,
    reward: Any,
    *,
    steps: Sequence[int] | None = None,
    column: str | None = None,
    credit: Any = None,
    top: int = 10,
    progress: bool | Callable[[int, int], None] | None = None,
    trust: bool = False,
) -> Replay:
    """Score a run's stored samples with `reward` (a function, a reward, a formula, or FILE.py:NAME of one).

    `steps` are those to look at, by default all that were stored. `column` is the stored reward to compare with:
    `reward`, or what the run's credit reads where there is none. New advantages are made by the run's own credit stage;
    where it cannot be found, or for another comparison, give a part as `credit`. `progress` is shown where there is a display,
    or as given; a function is called with (steps done, of all). A run that names Python files and was not made by this user
    on this computer is replayed with `trust` alone.

    Args:
        run: a run or its folder.
        reward: what scores the stored samples.
        steps: steps to score; all that were stored by default.
        column: stored reward to compare with.
        credit: credit stage in place of the run's own.
        top: the most samples in each list.
        progress: show progress, or a function of (steps done, of all).
        trust: run Python files that the run names, though another user made it.

    >>> import tempfile
    >>> import guerdon as gd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = gd.train("grpo", task="successor", model="tabular", steps=2, lr=0.3, out=f"{folder}/run")
    ...     gd.replay(run, reward=gd.exact() + gd.length(4).weight(0.1)).total["samples"]
    256
    """
    check_arguments("gd.replay", replay, locals(), steps="[0, 1]")
    stored = _opened(run, trust)
    chosen = _chosen(stored, steps)
    formula = find_reward(reward) if isinstance(reward, str) else as_reward(reward)
    first = stored.batch(chosen[0])
    check_reward_fits(formula, first)
    credited = find_credit(stored, first, column, credit)
    stage = score(formula, gives_to=credited.column, role=credited.role)
    with counted("step", progress) as tell:
        seen, other = _every_step(stored, chosen, first, stage, credited, tell)
    whole = _joined(seen)
    return Replay(
        run=stored.folder.named,
        reward=str(formula),
        version=formula.version,
        old_version=((stored.config.get("rewards") or {}).get(credited.column) or {}).get("version"),
        column=credited.column,
        credit=" > ".join(map(repr, credited.new)),
        credit_from=credited.source,
        old_advantage="stored" if credited.stored else "made by the same credit",
        steps=[{"step": step, **totals_of(each)} for step, each in zip(chosen, seen, strict=True)],
        total=totals_of(whole),
        components=_components(whole),
        moved=_moved(whole, top),
        failures=_failures(whole, top),
        notes=_notes(credited, other, len(whole.new)),
    )


def _opened(run: str | Path | Run, trust: bool) -> Run:
    """The run to replay. What this process trained itself needs no trust."""
    stored = run if isinstance(run, Run) else Run(run)
    if not isinstance(stored, Trained):
        check_trust(stored.folder.named, stored.config, trust)
    return stored


def _chosen(run: Run, steps: Sequence[int] | None) -> list[int]:
    if run.config["kind"] == "study":
        raise UserError(f"{run.folder.named} is a study: name one of the runs in {run.folder.shown(run.folder.inner)}")
    kept = run.rollout_steps
    if not kept:
        raise UserError(f"{run.folder.named} stores no rollouts to replay: train with --rollouts-every 1")
    if steps is None:
        return kept
    chosen = sorted(set(steps))
    lost = [step for step in chosen if step not in kept]
    if lost or not chosen:
        which = f"no rollouts of step {lost[0]}" if lost else "its rollouts, but no step was asked for"
        raise UserError(f"{run.folder.named} holds {which}: it has {len(kept)} steps, {kept[0]} to {kept[-1]}")
    return chosen


def check_reward_fits(formula: Any, batch: Batch) -> None:
    """Refuse a reward that asks for what no sample has, before anything is scored."""
    known = {name for episode in batch.episodes for name in (*episode.task.meta, *episode.ask.note)}
    for leaf in formula.leaves:
        leaf.check_arguments(known)


def _every_step(
    stored: Run, chosen: Sequence[int], first: Batch, stage: score, credited: Credit, tell: Callable[[int, int], None]
) -> tuple[list[StepSeen], int]:
    """Each step under the new reward; and how many samples the credit alone gives another advantage."""
    play = RecordedPlay.of(stored.config)
    seen, other = [], 0
    for done, step in enumerate(chosen, start=1):
        with at_step(stored, play, step):
            now, differ = replayed_step(first if done == 1 else stored.batch(step), stage, credited, play)
        seen.append(now)
        other += differ
        tell(done, len(chosen))
    return seen, other


@contextlib.contextmanager
def at_step(stored: Run, play: RecordedPlay, step: int) -> Iterator[None]:
    """The state of a run at a step: random numbers and the time of day are those of then."""
    play.begin(step)
    seed_globals(play.seed, step)
    with clock.as_of(stored.config):  # for judges that are given the time
        yield


# --- one step -------------------------------------------------------------------------------------------------------


def replayed_step(batch: Batch, stage: score, credit: Credit, play: RecordedPlay) -> tuple[StepSeen, int]:
    """A step under the new reward; and how many samples get another advantage than the stored one under the *old* reward."""
    name = credit.column
    if name not in track_columns(batch):
        raise unknown(f"column of step {play.step}", name, track_columns(batch))
    old = {n: batch.cols[n] for n in track_columns(batch) if n == name or n.startswith(f"{name}.")}
    along = [n for n, c in batch.cols.items() if c.level != "track" and _whole(n) in old]
    scored = stage(batch.without(*old, *along), play)
    again = credit.advantage(credit.old, batch, play)
    before = credit.per_track(batch, batch.cols[ADVANTAGE]) if credit.stored else again
    after = credit.advantage(credit.new, scored, play)
    stage.observe(scored, play)
    mine = np.flatnonzero(batch.tracks_of(each_role(credit.role)).numpy())
    new = scored.cols[name]
    lines = [(e.task.id, (completion_of(path).strip().splitlines() or [""])[0]) for e, path in paths(batch)]
    parts = [n for n in scored.cols if n.startswith(f"{name}.") and scored.cols[n].level == "track"]
    seen = StepSeen(
        step=np.full(len(mine), play.step, np.int64),
        task=[lines[k][0] for k in mine],
        line=[lines[k][1] for k in mine],
        old=_values(old[name])[mine],
        new=_values(new)[mine],
        reason=new.reason.numpy().astype(np.int64)[mine],
        old_advantage=before[mine],
        new_advantage=after[mine],
        error=[_error(new, int(k)) for k in mine],
        components={n.removeprefix(f"{name}."): _values(scored.cols[n])[mine] for n in parts},
        old_components={n.removeprefix(f"{name}."): _values(old[n])[mine] for n in parts if n in old},
    )
    same = np.isclose(again, before, rtol=1e-5, atol=1e-6, equal_nan=True)
    return seen, int((~same[mine]).sum())


def _whole(name: str) -> str:
    """The column of tracks that one of steps or turns belongs to."""
    return name.removesuffix("_steps").removesuffix("_turns")


def _values(column: Column) -> Numbers:
    return column.value.double().numpy()


def _error(column: Column, track: int) -> str:
    """The last line of what broke this sample."""
    detail = column.detail.get(track)
    return str((detail or {}).get("error", "")).strip().rpartition("\n")[2] if bool(column.broken[track]) else ""


# --- all of them ----------------------------------------------------------------------------------------------------


def _joined(seen: Sequence[StepSeen]) -> StepSeen:
    fields: dict[str, Any] = {}
    for f in dataclasses.fields(StepSeen):
        each = [getattr(s, f.name) for s in seen]
        if isinstance(each[0], dict):
            names = dict.fromkeys(n for part in each for n in part)
            sizes = [len(s.new) for s in seen]
            fields[f.name] = {
                n: np.concatenate([p.get(n, np.full(k, np.nan)) for p, k in zip(each, sizes, strict=True)])
                for n in names
            }
        else:
            fields[f.name] = list(chain.from_iterable(each)) if isinstance(each[0], list) else np.concatenate(each)
    return StepSeen(**fields)


def totals_of(seen: StepSeen) -> Row:
    """What a row of `Replay.steps` says of some samples."""
    reason = seen.reason
    was, now = np.sign(seen.old_advantage), np.sign(seen.new_advantage)
    compared = ~np.isnan(was) & ~np.isnan(now)
    was, now = was[compared], now[compared]
    both = ~np.isnan(seen.old) & ~np.isnan(seen.new)
    old, new = seen.old[both], seen.new[both]
    return {
        "samples": len(reason),
        "scored": int((reason == Reason.VALUE).sum()),
        "failed": int((reason == Reason.FAILED).sum()),
        "timed_out": int((reason == Reason.TIMED_OUT).sum()),
        "not_applicable": int((reason == Reason.NOT_APPLICABLE).sum()),
        "compared": int(compared.sum()),
        "flips": int((was * now < 0).sum()),
        "zero_to_nonzero": int(((was == 0) & (now != 0)).sum()),
        "nonzero_to_zero": int(((was != 0) & (now == 0)).sum()),
        "pearson": pearson(old, new),
        "spearman": spearman(old, new),
        "correlated": int(both.sum()),
        "old_mean": _mean(seen.old),
        "new_mean": _mean(seen.new),
    }


def _mean(x: Numbers) -> float:
    there = x[~np.isnan(x)]
    return float(there.mean()) if len(there) else math.nan


def _components(seen: StepSeen) -> list[Row]:
    return [
        {
            "name": name,
            "mean": _mean(value),
            "count": int((~np.isnan(value)).sum()),
            "old_mean": _mean(seen.old_components[name]) if name in seen.old_components else math.nan,
        }
        for name, value in seen.components.items()
    ]


def _sample(seen: StepSeen, at: int) -> Row:
    return {"step": int(seen.step[at]), "task": seen.task[at], "completion": seen.line[at]}


def _moved(seen: StepSeen, top: int) -> list[Row]:
    """By how far the advantage moved, then the reward, then in the order they were stored; what stayed is left out."""
    far = np.nan_to_num(np.abs(seen.new_advantage - seen.old_advantage))
    paid = np.nan_to_num(np.abs(seen.new - seen.old))
    order = [int(i) for i in np.lexsort((np.arange(len(far)), -paid, -far))[:top] if far[i] > 0]
    return [
        {
            **_sample(seen, i),
            "old_reward": float(seen.old[i]),
            "new_reward": float(seen.new[i]),
            "old_advantage": float(seen.old_advantage[i]),
            "new_advantage": float(seen.new_advantage[i]),
        }
        for i in order
    ]


def _failures(seen: StepSeen, top: int) -> list[Row]:
    broken = np.flatnonzero(seen.reason >= Reason.FAILED)[:top]
    return [{**_sample(seen, int(i)), "error": seen.error[int(i)]} for i in broken]


def _notes(credit: Credit, other: int, samples: int) -> list[str]:
    if not other:
        return credit.notes
    message = (
        f"this credit gives {other} of {samples} samples another advantage than the stored one under the old reward"
    )
    return [*credit.notes, f"{message}: that much of the change is not the new reward's"]
