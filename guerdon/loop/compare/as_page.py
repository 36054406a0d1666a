"""A comparison as a page: one file that loads nothing, in the report's style and with its charts and cards."""

from __future__ import annotations

from dataclasses import dataclass

from guerdon.display.report.charts import Whiskers, whiskers
from guerdon.display.report.compared_charts import ComparedChart, compared_chart
from guerdon.display.report.examples import StoredBatch
from guerdon.display.report.rendering import render, verbatim
from guerdon.display.report.rollout_view import RolloutGroup, rollout_group
from guerdon.display.run.curve_titles import ChartTitle, chart_title
from guerdon.loop.compare.compared import ComparedRuns
from guerdon.loop.compare.differences import ArmRate, is_share
from guerdon.loop.compare.prompts import PromptInRun, told_apart
from guerdon.loop.compare.run_arms import RunArm
from guerdon.loop.compare.words import (
    UNITS,
    by_seed_words,
    difference_lines,
    exam_words,
    in_words,
    plain,
    rate_words,
    run_words,
    seed_words,
    value_words,
)

HUES = 6  # one colour for each arm


@dataclass(frozen=True)
class ArmShown:
    """An arm's words on the page."""

    letter: str
    hue: int
    name: str
    about: str
    seeds: str
    before: str
    after: str
    before_words: str
    after_words: str
    spread: str
    whiskers: Whiskers | None


def comparison_page(compared: ComparedRuns) -> str:
    arms = [_arm(compared, arm, i % HUES) for i, arm in enumerate(compared.arms)]
    by_letter = {arm.letter: arm for arm in arms}
    spent = [arm.mean_spent() for arm in compared.arms]
    return render(
        "compare.html",
        title=" against ".join(arm.first.run.path.name for arm in compared.arms),
        arms=arms,
        notes=compared.notes,
        metric=in_words(compared.metric).capitalize(),
        exam=exam_words(compared.metric, compared.arms) if compared.metric else "",
        differences=difference_lines(compared.metric, compared.differences),
        settings=compared.settings,
        costs=[(words, [f"{cost[unit]:,.0f}" for cost in spent]) for unit, words in UNITS.items()],
        charts=_charts(compared),
        prompt=compared.prompt,
        tries=[
            (by_letter[run.arm], f"{run.run.named}, step {run.step}", _group(run, compared.prompt.column))
            for run in compared.prompt.runs
        ],
        folders=", ".join(run.named for arm in compared.arms for run in arm.runs),
        style=verbatim("style.css"),
        own_style=verbatim("compare.css"),
    )


def _arm(compared: ComparedRuns, arm: RunArm, hue: int) -> ArmShown:
    metric, (before, after) = compared.metric, compared.rates[arm.letter]
    rows = [*_whisker("was", before), *_whisker("is", after)] if metric and is_share(metric) else []
    return ArmShown(
        arm.letter,
        hue,
        arm.name,
        run_words(arm),
        ", ".join(map(str, arm.seeds)),
        "none" if before is None else value_words(metric, before.value),
        "none" if after is None else value_words(metric, after.value),
        rate_words(metric, before),
        rate_words(metric, after),
        "; ".join(filter(None, [seed_words(arm, after), by_seed_words(arm, metric) if metric else ""])),
        whiskers(rows) if rows else None,
    )


def _whisker(tone: str, rate: ArmRate | None) -> list[tuple[str, float, float, float]]:
    if rate is None or rate.low is None or rate.high is None:
        return []
    return [(tone, rate.value, rate.low, rate.high)]


def _charts(compared: ComparedRuns) -> list[ComparedChart]:
    charts = []
    for name, curves in compared.curves.items():
        title = ChartTitle("", name) if name.endswith(", held out") else chart_title(name)
        named = zip(compared.arms, curves, strict=True)
        lines = [(arm.letter, i % HUES, curve) for i, (arm, curve) in enumerate(named)]
        charts.append(compared_chart(title, name, lines))
    return charts


def _group(run: PromptInRun, column: str) -> RolloutGroup:
    stored = StoredBatch(run.step, False, run.run.run.batch(run.step))
    labels = []
    for each, times in told_apart(run.tries):
        score = f"{column} {plain(each.reward)}" if each.reward is not None else column
        labels.append((f"{score}, {times} times" if times > 1 else score, each.track))
    return rollout_group(stored, labels)
