"""What a reward said about completions, counted: by kind, by part, gold against near-misses."""

from __future__ import annotations

from typing import Any

import numpy as np

from guerdon.core.column import Reason
from guerdon.rewards.check.asking_twice import Asked
from guerdon.rewards.check.reward_report import SAME
from guerdon.rewards.formula.scores import Scores

RIGHT = (
    "gold",
    "padded",
    "spaced",
    "another answer",
    "reworded",
    "repeated",
    "long and right",
    "gold in its best form",
    "noise around",
    "other numeral",
)
PLAINLY_WRONG = ("near-miss", "close", "other answer", "wrong at the end", "answers at once")  # no trick about them


def gold_of(asked: Asked) -> dict[int, float]:
    """The worth of each problem's gold, where it has one."""
    said = zip(asked.samples, asked.values, strict=True)
    return {s.group: v for s, v in said if s.kind == "gold" and v == v}


def kind_rows(asked: Asked) -> list[dict[str, Any]]:
    """A row for each kind of completion; `level` counts wrong ones that are worth what gold is, or more."""
    gold, rows = gold_of(asked), []
    reasons, said = asked.whole.reason.tolist(), asked.values
    for kind in dict.fromkeys(s.kind for s in asked.samples):
        at = [i for i, s in enumerate(asked.samples) if s.kind == kind]
        known = [(asked.samples[i].group, said[i]) for i in at if said[i] == said[i]]
        values = [v for _, v in known]
        rows.append(
            {
                "kind": kind,
                "right": kind in RIGHT,
                "count": len(at),
                "mean": float(np.mean(values)) if values else float("nan"),
                "lowest": min(values, default=float("nan")),
                "highest": max(values, default=float("nan")),
                "level": sum(v >= gold[g] - SAME for g, v in known if g in gold),
                "scored": len(values),
                "failed": sum(reasons[i] >= Reason.FAILED for i in at),
                "not_applicable": sum(reasons[i] == Reason.NOT_APPLICABLE for i in at),
            }
        )
    return rows


def component_rows(asked: Asked) -> list[dict[str, Any]]:
    return [{"name": name, **_component(asked, scores)} for name, scores in asked.parts.items()]


def _component(asked: Asked, scores: Scores) -> dict[str, Any]:
    values = scores.value.tolist()
    return {
        "gold": _mean_of(asked, values, "gold"),
        "near-miss": _mean_of(asked, values, "near-miss"),
        "lowest": min((v for v in values if v == v), default=float("nan")),
        "highest": max((v for v in values if v == v), default=float("nan")),
        "scored": int(scores.valued.sum()),
        "failed": int(scores.broken.sum()),
        "not_applicable": int((scores.reason == Reason.NOT_APPLICABLE).sum()),
    }


def _mean_of(asked: Asked, values: list[float], kind: str) -> float:
    known = [v for s, v in zip(asked.samples, values, strict=True) if s.kind == kind and v == v]
    return float(np.mean(known)) if known else float("nan")


def pairs(asked: Asked) -> dict[str, int]:
    """Gold against each near-miss of its problem, where both have a score: how many pairs, gold below, and level."""
    gold = gold_of(asked)
    said = zip(asked.samples, asked.values, strict=True)
    gaps = [gold[s.group] - v for s, v in said if s.kind in ("near-miss", "close") and v == v and s.group in gold]
    return {
        "pairs": len(gaps),
        "below": sum(gap < -SAME for gap in gaps),
        "level": sum(abs(gap) <= SAME for gap in gaps),
    }


def spread(asked: Asked) -> dict[str, float]:
    """Inside the near-misses of each problem: whether the reward tells wrong from more wrong."""
    groups: dict[int, list[float]] = {}
    for sample, value in zip(asked.samples, asked.values, strict=True):
        if sample.kind in ("near-miss", "close") and value == value:
            groups.setdefault(sample.group, []).append(value)
    spreads = [float(np.std(values)) for values in groups.values() if len(values) > 1]
    return {
        "groups": len(spreads),
        "flat": sum(s <= SAME for s in spreads),
        "mean": float(np.mean(spreads)) if spreads else float("nan"),
    }


def wrong_of(asked: Asked) -> dict[int, float]:
    """What a wrong answer to each problem is usually worth."""
    groups: dict[int, list[float]] = {}
    for sample, value in zip(asked.samples, asked.values, strict=True):
        if sample.kind in PLAINLY_WRONG and value == value:
            groups.setdefault(sample.group, []).append(value)
    return {group: float(np.median(values)) for group, values in groups.items()}
