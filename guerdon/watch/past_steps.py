"""What rules look at: the numbers of the steps so far, by the names that they have in the run's events.

All of it comes from `StepDone`, so a run that was killed has the same past when it resumes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from guerdon.runs.headline import DRAWS, WORTH, finite

LONGEST = 512  # steps that are kept
FIRST = 32  # values of each number that are kept from where it begins
PROBLEMS = "problems"  # how many were asked in a step
TRUTH = "truth"  # the column of the truth, which is never trained on


@dataclass
class Past:
    """The steps of a run, one after another; the last is the one that has just been done."""

    steps: deque[int] = field(default_factory=lambda: deque(maxlen=LONGEST))
    rows: deque[Mapping[str, float]] = field(default_factory=lambda: deque(maxlen=LONGEST))
    starts: dict[str, list[float]] = field(default_factory=dict)
    count: int = 0

    def add(self, step: int, metrics: Mapping[str, Any]) -> None:
        row = {name: value for name, given in metrics.items() if (value := finite(given)) is not None}
        drawn = [n for name, n in row.items() if name.startswith(DRAWS)]
        row |= {PROBLEMS: sum(drawn)} if drawn else {}
        self.steps.append(step)
        self.rows.append(row)
        self.count += 1
        for name, value in row.items():
            kept = self.starts.setdefault(name, [])
            if len(kept) < FIRST:
                kept.append(value)

    @property
    def proxy(self) -> str:
        """The column with the score of a try in the run; empty where there is none."""
        return next((name for name in WORTH if f"{name}/mean" in self.starts), "")

    def names(self, *ends: str) -> list[str]:
        """The numbers of the last step whose names end so, in order."""
        return sorted(name for name in self.rows[-1] if name.endswith(ends)) if self.rows else []

    def last(self, name: str, steps: int, skip: int = 0) -> list[float]:
        """The values of the last steps but `skip`, where there are some."""
        end = len(self.rows) - skip
        rows = islice(self.rows, max(0, end - steps), max(0, end))
        return [row[name] for row in rows if name in row]

    def first(self, name: str, steps: int) -> list[float]:
        """The first values that there are."""
        return self.starts.get(name, [])[:steps]

    def is_long(self, block: int) -> bool:
        """Whether the first and the last block of so many steps do not overlap."""
        return self.count >= 2 * block

    @property
    def judged_by(self) -> str:
        """The column of what is right: the truth, or else the task's own check."""
        return next((name for name in (TRUTH, "correct") if f"{name}/mean" in self.starts), "")

    def is_solved(self, block: int, share: float = 0.95) -> bool:
        """Whether nearly all was right of late."""
        values = self.last(f"{self.judged_by}/mean", block)
        return bool(values) and sum(values) / len(values) >= share
