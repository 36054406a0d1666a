"""What a comparison of runs holds, for what shows it. Leaves out: how it comes about (`comparison.py`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from guerdon.display.run.metric_curves import Curve
from guerdon.results.compare.differences import ArmRate, Difference
from guerdon.results.compare.prompts import PromptShown
from guerdon.results.compare.run_arms import RunArm
from guerdon.results.compare.settings import Setting


@dataclass(frozen=True)
class ComparedRuns:
    """`arms` are the runs, seeds of one recipe together; `metric` is what exams measured, `rates` its values before and
    after, `differences` each arm less the first; `settings` is what was done differently, `curves` are the means of each arm by
    name, `prompt` what was said to one prompt."""

    arms: list[RunArm]
    metric: str
    rates: dict[str, list[ArmRate | None]]  # by arm: before, after
    differences: list[Difference]
    settings: list[Setting]
    curves: dict[str, list[Curve]]  # by name: one of each arm
    prompt: PromptShown
    notes: list[str] = field(default_factory=list)
