"""Numbers and sentences of a comparison, as its text and its page both say them."""

from __future__ import annotations

from collections.abc import Sequence

from guerdon.display.text import show
from guerdon.results.compare.differences import ArmRate, Difference, is_share, value_at
from guerdon.results.compare.run_arms import RunArm, sat_one_exam
from guerdon.runs.headline import MEASURES

UNITS = {"tokens": "tokens generated", "read": "tokens processed", "updates": "updates", "seconds": "seconds in steps"}


def in_words(metric: str) -> str:
    """What a metric is called at the head of its table."""
    exam, _, name = metric.rpartition("/")
    words = MEASURES[name].words if name in MEASURES else name
    return f"{exam}, {words}" if exam else words


def value_words(metric: str, value: float) -> str:
    return f"{100 * value:.1f} %" if is_share(metric) else plain(value)


def plain(value: float) -> str:
    """A number as the report shows it, in signs that every terminal has."""
    return show(value).replace("\u2212", "-")


def rate_words(metric: str, rate: ArmRate | None) -> str:
    """A number with its interval."""
    if rate is None:
        return "none"
    value = value_words(metric, rate.value)
    if rate.low is None or rate.high is None:
        return value
    if is_share(metric):
        return f"{value} ({100 * rate.low:.1f} to {100 * rate.high:.1f})"
    return f"{value} ({plain(rate.low)} to {plain(rate.high)})"


def difference_words(metric: str, difference: Difference) -> str:
    """`+4.2 points (+0.3 to +8.1): higher; over the 64 problems both were evaluated on`; else why there is none."""
    if difference.value is None:
        return difference.why
    if difference.alike:
        return f"the same, {difference.way.partition(' (')[0]}"
    times, unit = (100, " points") if is_share(metric) else (1, "")
    value, low, high = (
        None if x is None else f"{times * x:+.1f}" if is_share(metric) else f"{x:+.4g}"
        for x in (difference.value, difference.low, difference.high)
    )
    around = f" ({low} to {high}): {difference.verdict}" if low is not None else ""
    return f"{value}{unit}{around}; {difference.way}"


def exam_words(metric: str, arms: list[RunArm]) -> str:
    """What was evaluated, where it is the same for all runs."""
    exam = metric.rpartition("/")[0]
    if not sat_one_exam([run for arm in arms for run in arm.runs], -1, exam):
        return "exams that are not the same"
    task, tasks, tries = arms[0].first.sat(-1, exam)
    return f"held-out {task}, {tasks} problems, {tries} {'try' if tries == '1' else 'tries'} each"


def seed_words(arm: RunArm, rate: ArmRate | None) -> str:
    """How many seeds an arm has and their spread."""
    if len(arm.runs) == 1:
        return f"seed {arm.first.seed}"
    spread = f", spread {100 * rate.spread:.1f}" if rate is not None and rate.spread is not None else ""
    return f"{len(arm.runs)} seeds{spread}"


def by_seed_words(arm: RunArm, metric: str) -> str:
    """The final result of every seed of an arm; empty where there is only one."""
    if len(arm.runs) == 1:
        return ""
    values = [value_at(run, metric, -1) for run in arm.runs]
    each = zip(arm.seeds, values, strict=True)
    return ", ".join(f"seed {seed} {'none' if v is None else value_words(metric, v)}" for seed, v in each)


def run_words(arm: RunArm) -> str:
    """What an arm is: recipe, task, model and how far it came."""
    run = arm.first
    parts = [run.run.name, run.task, run.config["wish"]["model"], run.config["wish"]["reward"], run.run.progress]
    status = {r.status.partition(":")[0] for r in arm.runs}
    return ", ".join([*(str(p) for p in parts if p), " and ".join(sorted(status))])


def difference_lines(metric: str, differences: Sequence[Difference]) -> list[str]:
    """A line for each difference; one for both of an arm's where they say the same."""
    lines: dict[tuple[str, str], list[str]] = {}
    for each in differences:
        lines.setdefault((f"{each.arm} - {each.less}", difference_words(metric, each)), []).append(each.at)
    return [f"{arms}{f', {at[0]}' if len(at) == 1 else ''}: {words}" for (arms, words), at in lines.items()]
