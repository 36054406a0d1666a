"""Which metrics are drawn large, under which heading and title; and the table of all of them.

Leaves out: metrics with a number for each kind of problem, which `draws` shows in one chart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.display.report.charts import ChartTitle, LineChart, line_chart, spark
from guerdon.display.report.draws import BY_KIND
from guerdon.display.report.examples import RANKS
from guerdon.display.report.metric_curves import Curve
from guerdon.display.report.shown_numbers import ShownNumber, key_of, number

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
class ChartSection:
    """Charts under one heading, `tone` their colour in the style. `flat` are curves in which nothing is to be seen: they are
    named and not drawn."""

    title: str
    lead: str
    tone: str
    charts: list[LineChart]
    flat: list[FlatCurve]


@dataclass(frozen=True)
class FlatCurve:
    """A curve that is described in words: zero in every step, zero but for rounding, or one number in all of them."""

    title: ChartTitle
    what: str
    number: ShownNumber | None


@dataclass(frozen=True)
class MetricRow:
    """A metric in the table of all."""

    metric: str
    spark: str
    numbers: list[ShownNumber | None]  # first, last, lowest, highest, steps with a value


def chart_sections(curves: Mapping[str, Curve], drawn: str = "") -> list[ChartSection]:
    """Rewards, the policy, the rollouts: each heading that has a curve besides the one that is `drawn` elsewhere."""
    sections: list[ChartSection] = []
    id = 0
    for tone, names in drawn_names(curves).items():
        names = [name for name in names if name != drawn]
        charts = [
            line_chart(curves[name], chart_title(name), id + i)
            for i, name in enumerate(n for n in names if not curves[n].flat)
        ]
        flat = [_flat(curves[name]) for name in names if curves[name].flat]
        if charts or flat:
            sections.append(ChartSection(*HEADINGS[tone], tone, charts, flat))
            id += len(charts)
    return sections


def _flat(curve: Curve) -> FlatCurve:
    i = curve.valued[-1]
    value = number(key_of("curve", f"{curve.metric}@{curve.steps[i]}"), curve.value[i])
    return FlatCurve(chart_title(curve.name), curve.flat, value if curve.flat == "constant" else None)


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
    """A known metric in words; any other by its own name."""
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


def drawn_data(
    sections: Sequence[ChartSection], curves: Mapping[str, Curve], others: Sequence[str] = ()
) -> dict[str, Any]:
    """The drawn curves in full precision, those of `others` charts included, for the read-outs and for other uses; empty
    where none is drawn."""
    drawn = {chart.name for section in sections for chart in section.charts} | {*others}
    return {
        key_of(name): {"metric": curve.metric, "step": curve.steps, "value": curve.value}
        | ({"std": curve.std} if curve.std is not None else {})
        for name, curve in curves.items()
        if name in drawn
    }


def metric_rows(curves: Mapping[str, Curve]) -> list[MetricRow]:
    """Every metric, in the order of names."""
    rows = []
    for name, curve in sorted(curves.items()):
        ends = [
            number(key_of("curve", f"{curve.metric}@{curve.steps[i]}"), curve.value[i])
            for i in (curve.valued[0], curve.valued[-1])
        ]
        least, most = curve.plain_range
        extremes = [number(key_of("least", name), least), number(key_of("most", name), most)]
        rows.append(
            MetricRow(
                curve.metric, spark(curve), [*ends, *extremes, number(key_of("count", name), curve.count, "count")]
            )
        )
    return rows
