"""Which metrics are drawn large, under which heading and title.

Leaves out: metrics with a number for each kind of problem, which `draws` shows in one chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from guerdon.display.run.draws import BY_KIND
from guerdon.display.run.metric_curves import Curve

RANKS = ("reward", "correct", "truth")  # the columns that rank tracks, the first that has values
POLICY = {  # by the last part of a metric's name
    "entropy": "Entropy",
    "loss": "Loss",
    "grad_norm": "Gradient norm",
    "lr": "Learning rate",
}
PLAY = {
    "length": "Length",
    "tokens_per_second": "Tokens per second",
    "cut": "Share cut short by a limit",
    "failed": "Share of failed episodes",
}
HEADINGS = {  # by tone: title and lead
    "reward": (
        "Reward and its components",
        "Mean over the tracks of each step; the band is one standard deviation to either side, within the range of the values.",
    ),
    "policy": ("Policy", "What the updates did: how far it moved, how sure it has become."),
    "play": ("Rollouts", "How long they were, how fast they came, and what failed."),
}


@dataclass(frozen=True)
class ChartTitle:
    """`words` are the report's, `own` the run's, which stand after them."""

    words: str
    own: str = ""


def drawn_names(curves: Mapping[str, Curve]) -> dict[str, list[str]]:
    """The names of the curves under each heading, in their order there."""
    names = [name for name in curves if not _is_twin(name, curves) and not name.startswith(BY_KIND)]
    names = [name for name in names if not name.endswith("/not_applicable")]
    rewards = [n for n in names if curves[n].std is not None and _column(n) not in PLAY]
    rewards.sort(key=lambda n: _rank(_column(n), RANKS))
    policy = [n for n in names if "/" in n and (_last(n) in POLICY or _last(n).startswith("kl"))]
    policy.sort(key=lambda n: (not _last(n).startswith("kl"), _last(n) != "entropy"))
    play = [n for n in names if _column(n) in PLAY or (_last(n) == "failed" and "/" in n)]
    play.sort(key=lambda n: _rank(_column(n), list(PLAY)))
    return {"reward": rewards, "policy": policy, "play": play}


def _is_twin(name: str, curves: Mapping[str, Curve]) -> bool:
    """Whether a role's curve is the common one over again, as when only that role is scored."""
    role = name.rpartition("@")[2].removesuffix("/failed")
    common = curves.get(name.replace(f"@{role}", "", 1)) if "@" in name else None
    return common is not None and common.value == curves[name].value


def _rank(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)


def _column(name: str) -> str:
    """Without the role."""
    return name.partition("@")[0]


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def chart_title(name: str) -> ChartTitle:
    """A known metric in words; any other, and one of a kind of problems, by its own name."""
    if name.startswith(BY_KIND):
        return ChartTitle("", name)
    last = _last(name)
    if "/" in name and last.startswith("kl"):
        other = last.removeprefix("kl").lstrip("_")
        if other == "old":
            return ChartTitle("KL to the sampling policy")
        return ChartTitle("KL to ", other) if other else ChartTitle("KL")
    if "/" in name and last == "failed":
        return ChartTitle("Failed: ", name.removesuffix("/failed"))
    words = POLICY.get(last) if "/" in name else PLAY.get(name)
    return ChartTitle(words) if words else ChartTitle("", name)
