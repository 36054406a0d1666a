"""Rewards that ask what tasks and environments know: JSON by its schema, formulas, exact lines, facts of an episode.

`plain_maths` needs no package, for machines where Math-Verify cannot be installed. `true_lines` is the exact process reward of
a generated family, a number for every line, by the task's own step checker.
Leaves out: the validators (`tasks/field`), labels to learn from (`stage/step_labels.py`), what an environment pays
(`stage/placing.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.core.episode import End, Episode, Segment
from guerdon.core.part import knob, part
from guerdon.core.score import Score
from guerdon.core.task import Task
from guerdon.rewards.asking.function import Leaf
from guerdon.tasks.field.json_form_tasks import form_score
from guerdon.tasks.field.plain_formula import plainly_equal
from guerdon.tasks.roles import marks
from guerdon.tasks.stepwise import by_steps


@part
class json_fields(Leaf):
    r"""$f\,[\text{fits}] + (1 - f)\,F_1$: `fits` for JSON that fits the task's schema, the rest by the F1 of its fields, each
    value with the way to it, against those of the task's answer. 0 without JSON; not applicable without a schema or an answer.

    Schemas are those of the plain validator, which needs no package: types, properties, bounds, patterns, enums.

    Args:
        fits: share of the reward for JSON that fits the schema.

    >>> import guerdon as gd
    >>> schema = {"type": "object", "required": ["name", "age"]}
    >>> score = gd.json_fields()('{"name": "Ada", "age": 37}', '{"name": "Ada", "age": 36}', schema)
    >>> round(score.value, 3), score.why
    (0.6, 'fits the schema; 1 of 2 fields right')
    """

    fits: float = knob(default=0.2, ge=0.0, le=1.0)

    def __call__(self, completion: str, answer: str = "", schema: Any = None) -> Score | None:
        return form_score(completion, answer, schema, self.fits) if answer and schema is not None else None


@part
class plain_maths(Leaf):
    r"""1 if the completion's formula equals the answer's, else 0: `gd.maths` without a package.

    Both are worked out at three places of their variables, so that equal formulas are found equal whatever their form:
    fractions, roots, powers, functions; also sets, tuples and intervals. The formula is what the last \boxed holds, else what
    follows "####", "<answer>" or "Answer:", else the last between dollars, else the last number. It takes no time to speak of,
    and so needs no worker. Where it differs from Math-Verify: docs/field_tasks.md.

    >>> import guerdon as gd
    >>> same = gd.plain_maths()
    >>> same(r"so it is $\boxed{\frac{2}{4}}$", r"\frac{1}{2}"), same(r"$\boxed{\{2, 1\}}$", r"\{1, 2\}"), same("$x$", "x+1")
    (1.0, 1.0, 0.0)
    """

    def __call__(self, completion: str, answer: str = "") -> float | None:
        return plainly_equal(completion, answer)


@part
class true_lines(Leaf):
    r"""$r_j = 1$ for every line $j$ before the first wrong one, and `wrong` from that one on: the scores of a perfect process
    reward model (labels up to the first error as in Lightman et al. 2023, arXiv:2305.20050). In steps, a number a line.

    The answer is a line like any other. A solution that ends without one errs in its last line; of one that was cut short
    the lines that are there are judged. `task` is a generated family or a mixture of families, whose step checker is exact.
    It scores whether lines are true and not whether they lead anywhere: a true line repeated is paid twice (`exams.farmed`
    measures that, `delta` and `shortfall` fix it). One without text does not apply.

    Args:
        task: the source with the step checker.
        wrong: value from the first wrong line on.

    >>> import guerdon as gd
    >>> family = gd.tasks.load("equation:2")
    >>> sample = {"task": family.get("train", 0), "completion": "9x=36\nx=5\n= 5"}  # 9x+12=48
    >>> gd.score_samples(gd.rewards.true_lines(family), [sample]).whole, gd.rewards.true_lines(family)(**sample)
    ([1.0], [1.0, 0.0, 0.0])
    """

    task: Any = knob(as_hash=True)
    wrong: float = 0.0

    def __post_init__(self) -> None:
        by_steps(self.task)  # refuses what has no step checker

    def __call__(
        self, task: Task, completion: str, turns: Sequence[str] = (), path: Sequence[Segment] = ()
    ) -> list[float] | None:
        text = "\n".join(turns) if turns else completion
        size = sum(bool(line.strip()) for line in text.split("\n"))
        if not size:
            return None
        seen = marks(by_steps(self.task), task, text)
        right = seen.count("+")
        if len(seen) > size and not (path and path[-1].end is End.CUT):
            right = min(right, size - 1)  # no answer came: the last line is where it should have been
        return [1.0] * min(right, size) + [self.wrong] * (size - right)


@part
class episode_fact(Leaf):
    """The number or the bool that an episode's `info` has under `fact`; of a list a number a turn, and they add up. A text
    counts 1 unless it is empty: of the kinds of moves that `gd.envs.repairs` notes, those that it understood. An episode
    without the fact is *not applicable*.

    Args:
        fact: key in the episode's `info`.

    >>> import guerdon as gd
    >>> noted = {"submitted": True, "edits": 2, "moves": ["run", "", "submit"]}
    >>> sample = {"episode": gd.Episode(gd.Ask(gd.Task("1", "")), (), info=noted)}
    >>> [gd.score_samples(gd.rewards.episode_fact(name), [sample]).whole for name in noted]
    [[1.0], [2.0], [2.0]]
    """

    fact: str

    @property
    def name(self) -> str:
        return self.fact

    def __call__(self, episode: Episode) -> Any:
        noted = episode.info.get(self.fact)
        if isinstance(noted, list | tuple):
            return [_number(each) for each in noted] or 0.0
        return None if noted is None else _number(noted)


def _number(noted: Any) -> float:
    return float(bool(noted)) if isinstance(noted, str) else float(noted)
