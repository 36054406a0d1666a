"""What `check_reward` found, as plain data and as a page to read.

Leaves out: the finding (`reward_contract.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from guerdon.core.column import Reason
from guerdon.rewards.check import report_page
from guerdon.rewards.formula.scores import Scores

SHOWN = 40  # characters of a completion in a line


@dataclass(frozen=True)
class CheckedSample:
    """A completion the reward is asked about; those of one problem are a group."""

    kind: str
    group: int
    text: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Finding:
    """A broken promise, in one line."""

    kind: Literal["argument", "failure", "unsteady", "worth"]
    says: str

    def __str__(self) -> str:
        return self.says


@dataclass(frozen=True)
class RewardReport:
    """`findings` are broken promises, none for a sound reward; everything else is what was measured, rows as dicts."""

    reward: str
    task: str
    problems: int
    samples: int
    findings: list[Finding]
    failures: list[dict[str, Any]] = field(default_factory=list)  # component, kind, task, error, completion
    kinds: list[dict[str, Any]] = field(default_factory=list)  # a row for gold, near-miss and each odd completion
    components: list[dict[str, Any]] = field(default_factory=list)  # a row for each part of a formula
    pairs: dict[str, int] = field(default_factory=dict)  # gold against near-miss: pairs, below, level
    spread: dict[str, float] = field(default_factory=dict)  # inside near-misses of a problem: groups, flat, mean
    seconds: dict[str, Any] = field(default_factory=dict)  # of a call: median, worst, on which kind

    @property
    def ok(self) -> bool:
        return not self.findings

    def but(self, **changes: Any) -> RewardReport:
        return dataclasses.replace(self, **changes)

    def __repr__(self) -> str:
        return report_page.in_a_line(self)

    def _repr_html_(self) -> str:
        return report_page.as_html(self)

    def __str__(self) -> str:
        lines = [f"{self.reward} on {self.task}: {self.problems} problems, {self.samples} completions"]
        lines += [f"  found: {f}" for f in self.findings] or ["  nothing found"]
        if not self.kinds:
            return "\n".join(lines)
        lines += ["", *_table(("completion", "mean", "scored", "failed", "not applicable"), self.kinds, "kind")]
        if self.components:
            lines += ["", *_table(("component", "gold", "near-miss", "scored", "failed"), self.components, "name")]
        level, pairs = self.pairs["level"], self.pairs["pairs"]
        lines += [
            "",
            f"gold above near-miss in {pairs - level - self.pairs['below']} of {pairs} pairs, level in {level}",
            f"near-misses of a problem all alike in {self.spread['flat']} of {self.spread['groups']} problems",
            f"a call takes {_time(self.seconds['median'])}, at worst {_time(self.seconds['worst'])} ({self.seconds['on']})",
        ]
        return "\n".join(lines)


def kind_rows(samples: Sequence[CheckedSample], scores: Scores) -> list[dict[str, Any]]:
    rows = []
    for kind in dict.fromkeys(s.kind for s in samples):
        reasons = [r for s, r in zip(samples, scores.reason.tolist(), strict=True) if s.kind == kind]
        rows.append(
            {
                "kind": kind,
                "mean": mean_of(samples, scores, kind),
                "scored": reasons.count(Reason.VALUE),
                "failed": sum(r >= Reason.FAILED for r in reasons),
                "not_applicable": reasons.count(Reason.NOT_APPLICABLE),
            }
        )
    return rows


def mean_of(samples: Sequence[CheckedSample], scores: Scores, kind: str) -> float:
    """Over the completions of a kind that have a score; NaN if none has."""
    values = [v for s, v in zip(samples, scores.value.tolist(), strict=True) if s.kind == kind and v == v]
    return sum(values) / len(values) if values else float("nan")


def brief(failure: Mapping[str, Any]) -> str:
    text = failure["completion"]
    return f"{failure['error']} (on {text[:SHOWN]!r}{'...' * (len(text) > SHOWN)})"


def _table(titles: Sequence[str], rows: Sequence[Mapping[str, Any]], first: str) -> list[str]:
    keys = (first, *(t.replace(" ", "_") for t in titles[1:]))
    cells = [titles, *([_cell(row[k]) for k in keys] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(titles))]
    return ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.3f}"
    return str(value)


def _time(seconds: float) -> str:
    return (
        f"{seconds * 1e6:.0f} us"
        if seconds < 1e-3
        else f"{seconds * 1e3:.1f} ms"
        if seconds < 1
        else f"{seconds:.1f} s"
    )
