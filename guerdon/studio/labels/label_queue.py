"""Which samples to label next: those of some steps of a run, the same text once, in an order that serves a question.

Leaves out: the full text of a sample (`labelled_samples.py`), the labels (`runs/labels.py`).
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.runs.labels import PAIRED, LabelBook, Place, places_of
from guerdon.runs.run import Run
from guerdon.studio.labels.labelled_samples import measured, step_table

STEPS = 8  # that are looked at, spread over the run, the last among them
LINE = 240  # characters of a text in a list
PER_GROUP = 3  # pairs of one group
ORDERS = {
    "high": "highest reward first: where a hack would show",
    "odd": "reward and truth disagree",
    "near": "near the line between paid and unpaid",
    "random": "in random order",
    "late": "latest steps first",
}


@dataclass(frozen=True)
class LabelCandidate:
    """A sample that could be labelled; `places` are all with the same text for the same prompt, the first of them this."""

    place: Place
    task: str
    prompt: str
    completion: str
    reward: float | None
    correct: float | None
    places: tuple[Place, ...]

    @property
    def group(self) -> str:
        """The ask that it is a try at."""
        return f"{self.place[0]}/{self.place[1].rpartition('.')[0]}"

    def brief(self) -> dict[str, Any]:
        step, episode, segment = self.place
        return {
            "step": step,
            "episode": episode,
            "segment": segment,
            "task": self.task,
            "prompt": self.prompt[:LINE],
            "completion": self.completion[:LINE],
            "reward": self.reward,
            "correct": self.correct,
            "same": len(self.places),
        }


def looked_at(run: Run, most: int = STEPS) -> tuple[list[int], int]:
    """The steps that samples are taken from, and of how many."""
    kept = run.rollout_steps
    few = min(most, len(kept))
    return sorted(
        {kept[round(n * (len(kept) - 1) / max(1, few - 1))] if few > 1 else kept[-1] for n in range(few)}
    ), len(kept)


def candidates(run: Run, steps: Sequence[int]) -> list[LabelCandidate]:
    """The texts of some steps, equal texts for one prompt once. A step that went meanwhile, or is damaged, is passed
    over where there are others."""
    same: dict[tuple[str, str], list[Any]] = {}
    for step in steps:
        try:
            table = step_table(run, step)
        except UserError:
            if len(steps) == 1:
                raise
            continue
        for row in _rows(table):
            same.setdefault((row["prompt"] or "", row["completion"]), []).append(row)
    return [_candidate(rows) for rows in same.values()]


def _rows(table: Any) -> list[dict[str, Any]]:
    """Where a reward was given, the last segments of tracks; else all with text."""
    names = ["step", "episode", "segment", "family", "task_id", "prompt", "completion"]
    said = [row for row in measured(table, names) if row["segment"] >= 0 and row["completion"] is not None]
    scored = [row for row in said if row["reward"] is not None or row["reason"] not in (None, "not applicable")]
    return scored or said


def _candidate(rows: Sequence[dict[str, Any]]) -> LabelCandidate:
    first = rows[0]
    return LabelCandidate(
        (first["step"], first["episode"], first["segment"]),
        f"{first['family']}/{first['task_id']}",
        first["prompt"] or "",
        first["completion"],
        first["reward"],
        first["correct"],
        tuple((row["step"], row["episode"], row["segment"]) for row in rows),
    )


def in_order(every: Sequence[LabelCandidate], order: str, seed: int = 0) -> list[LabelCandidate]:
    """Those that an order is about, first things first."""
    if order not in ORDERS:
        raise unknown("order", order, [*ORDERS])

    def chance(c: LabelCandidate) -> int:
        return zlib.crc32(f"{seed} {c.place}".encode())

    if order == "random":
        return sorted(every, key=chance)
    if order == "late":
        return sorted(every, key=lambda c: (-c.place[0], chance(c)))
    paid = [c for c in every if c.reward is not None]
    if not paid and order != "odd":  # a run without a reward has no better way
        return sorted(every, key=chance)
    if order == "high":
        return sorted(paid, key=lambda c: (-(c.reward or 0.0), chance(c)))
    line = middle(paid)
    if order == "near":
        return sorted(paid, key=lambda c: (abs((c.reward or 0.0) - line), chance(c)))
    odd = [c for c in paid if c.correct is not None and ((c.reward or 0.0) > line) != (c.correct > 0.5)]
    return sorted(odd, key=lambda c: (-abs((c.reward or 0.0) - line), chance(c)))


def middle(paid: Sequence[LabelCandidate]) -> float:
    """The line between paid and unpaid: half way between what right and wrong ones get on average, where the run knows; else
    between the lowest and the highest."""
    known = [(c.reward or 0.0, c.correct > 0.5) for c in paid if c.correct is not None]
    by = [[reward for reward, is_right in known if is_right is good] for good in (True, False)]
    if all(by):
        return sum(sum(each) / len(each) for each in by) / 2
    rewards = [c.reward or 0.0 for c in paid]
    return (min(rewards) + max(rewards)) / 2 if rewards else 0.0


def unlabelled(every: Sequence[LabelCandidate], book: LabelBook) -> list[LabelCandidate]:
    """Those whose text has no label."""
    judged = book.verdicts
    return [c for c in every if not any(place in judged for place in c.places)]


def pairs(
    every: Sequence[LabelCandidate], book: LabelBook, seed: int = 0
) -> list[tuple[LabelCandidate, LabelCandidate]]:
    """Two different tries at one ask that have not been compared: the best paid against the worst of each first, then
    neighbours; which of them stands left is chance."""
    judged = {frozenset(places_of(row)) for row in book.labels if row["kind"] in PAIRED}
    groups: dict[str, list[LabelCandidate]] = {}
    for each in every:
        groups.setdefault(each.group, []).append(each)
    rounds: list[list[tuple[LabelCandidate, LabelCandidate]]] = [[] for _ in range(PER_GROUP)]
    for group in groups.values():
        ranked = sorted(group, key=lambda c: -(c.reward or 0.0))
        two = [(ranked[0], ranked[-1]), *itertools.pairwise(ranked)] if len(ranked) > 1 else []
        once = {frozenset((a.place, b.place)): (a, b) for a, b in two}
        for turn, pair in enumerate(list(once.values())[:PER_GROUP]):
            rounds[turn].append(pair)
    fresh = [p for turn in rounds for p in turn if frozenset((p[0].place, p[1].place)) not in judged]
    return [p if zlib.crc32(f"{seed} {p[0].place} {p[1].place}".encode()) % 2 else p[::-1] for p in fresh]
