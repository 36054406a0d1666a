"""An Exam: what is asked of a run's models on held-out things, and what is measured of their tries.

What it takes to play one is in `training/evaluate.py`, what can be measured on the shelf `exams/`.
Nothing is learned from an exam, and nothing that it plays is spent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError, unknown
from guerdon.core.model import Model, check_guides, is_read
from guerdon.core.part import knob, label, live, part
from guerdon.core.play import Play
from guerdon.core.task import Ask, Sampling, Task
from guerdon.exams.drawing import draw_problems

TRUTH = "correct"  # the column of right and wrong, there wherever the source knows


@part
class Exam:
    """The held-out problems of `source` (or whatever its `exam_asks(tasks, tries, play)` asks), and the `metrics` of how
    `role` does at them (none: accuracy and length).

    `env`, `seats` and `sampling` are the recipe's own where they are None. `tasks` problems are asked `tries` times each (0:
    those of the run's options). The numbers of an exam with a `name` stand as `NAME/metric` beside those of the others.

    Args:
        source: where the problems come from.
        metrics: what is measured; accuracy and length without any.
        env: environment; the recipe's where it is None.
        seats: model of each role; the recipe's where it is None.
        sampling: how models sample; the recipe's where it is None.
        role: the role that is measured.
        name: prefix of the numbers, `NAME/metric`.
        tasks: number of problems; 0 takes that of the run's options.
        tries: tries at each problem; 0 takes that of the run's options.

    >>> import guerdon as gd
    >>> gd.Exam(gd.tasks.load("countdown:4"), metrics=[gd.exams.accuracy(), gd.exams.coverage()]).name
    ''
    """

    source: Any
    metrics: list[Any] = knob(factory=list)
    env: Any = None
    seats: dict[str, str] | None = None
    sampling: Sampling | None = None
    role: str = "policy"
    name: str = ""
    tasks: int = knob(default=0, ge=0)
    tries: int = knob(default=0, ge=0)

    made: tuple[Any, dict[int, Task]] | None = live()  # of which source, and its problems by number

    def __post_init__(self) -> None:
        if not hasattr(self.source, "exam_asks") and not (hasattr(self.source, "get") and hasattr(self.source, "size")):
            raise UserError(f"an Exam is made of a task, or of something with exam_asks, not of {self.source!r}")
        if "/" in self.name:
            raise UserError(f"the name of an exam stands before a /, and has none: not {self.name!r}")

    @property
    def truth(self) -> Any:
        """What knows right from wrong: the source, or the task that it asks about; None where neither does."""
        return next((s for s in (self.source, getattr(self.source, "task", None)) if hasattr(s, "check")), None)

    @property
    def goes_without_truth(self) -> bool:
        """Whether all that it measures can be measured where it is not known which answers are right."""
        return bool(self.metrics) and all(TRUTH not in getattr(metric, "needs", ()) for metric in self.metrics)

    def asks(self, tasks: int, tries: int, play: Play, drawn: int | None = None) -> list[Ask]:
        """The first problems of the source, or those that the seed `drawn` draws; whatever a source asks itself."""
        if hasattr(self.source, "exam_asks"):
            return list(self.source.exam_asks(tasks, tries, play))
        if drawn is not None:
            return [Ask(task, tries) for task in draw_problems(self.source, tasks, drawn)]
        size = self.source.size("test")
        return [Ask(self._held_out(i), tries) for i in range(tasks if size is None else min(tasks, size))]

    def _held_out(self, index: int) -> Task:
        """A problem, made once for all runs of the exam."""
        if self.made is None or self.made[0] is not self.source:
            self.made = self.source, {}
        problems = self.made[1]
        if index not in problems:
            problems[index] = self.source.get("test", index)
        return problems[index]

    def check(self, models: Mapping[str, Model], seats: Mapping[str, str], env: Any, others: Sequence[Exam]) -> None:
        """Refuse an exam that could not run with these models, in these seats and environment where it has none, or has
        another's name."""
        if self.name in [other.name for other in others]:
            raise UserError(f"two exams are called {self.name!r}: give each a name of its own, Exam(..., name=...)")
        mine, who = self.seats or seats, f"of exam {self.name!r}" if self.name else "of the exam"
        for role, seated in mine.items():
            if seated not in models:
                raise unknown(f"model in seat {role!r} {who}", seated, models)
        for role in (*getattr(self.env or env, "roles", ()), self.role):
            if role not in mine:
                raise unknown(f"role {who} without a seat", role, mine)
        if self.sampling is not None:
            check_guides(self.sampling, models, mine.values())
        there = {f"{name}.{want}" for name, model in models.items() for want in model.readings(models)}
        there |= {TRUTH} if self.truth is not None else set()
        if not self.metrics and self.truth is None:
            raise UserError(f"no checker says what is right {who}: give it metrics, Exam(..., metrics=[...])")
        for metric in self.metrics:
            for need in getattr(metric, "needs", ()):
                if need not in there and not is_read(need, models):
                    raise UserError(f"{label(metric)} {who} cannot be measured: {unknown('column', need, there)}")


@dataclass(frozen=True)
class Sitting:
    """One evaluation with an exam: a metric is called with it and returns JSON numbers by name. `tries` is the number of tries
    per problem. The columns that the metric `needs` are in the batch: readings of models (`rm.final`), and `correct`. With
    `evenly` kinds of problems have equal weight, however many problems there are of each.

    Args:
        exam: the exam.
        batch: the tries, with the columns that metrics need.
        play: access to models, the seed and the task.
        tries: tries at each problem.
        evenly: kinds of problems have equal weight.

    >>> import guerdon as gd
    >>> def all_right(sitting):
    ...     correct = sitting.batch.up(sitting.batch["correct"], "ask", of="track", by="min")
    ...     return {"all_right": float(correct.mean())}
    >>> gd.evaluate("tabular", exam=gd.Exam(gd.tasks.load("parity"), metrics=[all_right]), tasks=4, tries=2)
    {'task': 'parity', 'tries': 2, 'all_right': 0.0}
    """

    exam: Exam
    batch: Batch
    play: Play
    tries: int
    evenly: bool = False
