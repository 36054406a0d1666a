"""Problems from a user's own rows, of a file or held in Python: which columns they are made of, and how answers are checked.

Leaves out: how rows are looked through (`row_sets.py`), the guess of columns (`row_columns.py`), what is made of a row
(`row_tasks.py`), the checks (`answer_checks.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part
from guerdon.core.task import Ask, Split, Task
from guerdon.data.data_rows import DataRow, Records
from guerdon.data.lines import shown
from guerdon.tasks.answer_checks import AnswerCheck, find_check
from guerdon.tasks.choosing import chosen
from guerdon.tasks.field.program_tests import each_passed, each_passed_later
from guerdon.tasks.row_columns import find_columns, named
from guerdon.tasks.row_prompts import template_of, text_or_file
from guerdon.tasks.row_sets import OpenedRows, OwnRows, RowSet
from guerdon.tasks.row_tasks import LABELLED, SOLUTION, RowReader

if TYPE_CHECKING:
    from guerdon.core.model import Model


@dataclass(frozen=True)
class OpenedProblems(OpenedRows):
    """Rows that are problems, and how their answers are checked."""

    check: AnswerCheck


@part
class rows(OwnRows):
    r"""Tasks from `path`: a file (JSON lines, CSV, TSV, Parquet), the id of a data set, or an object that holds rows.

    `prompt`, `answer` and `solution_in` name columns, and are guessed by usual names where they are not given; `answer="none"`:
    there are none. The last `held_out` share of the rows is never trained on; with `test`, another file, all of its rows are.
    `check_by` says how answers are checked: exact, number, choice, contains, math, plain_maths, json, python, FILE.py:NAME or
    a function; it too is guessed. `system` goes before every prompt, `template` is written over the columns; both may be files.
    `kind` names a column that sorts problems into kinds, for curricula to choose among: a whole number is a level, other text a
    family of its own. Other columns go to `meta`.

    A malformed row is refused with its line number, all of them before anything runs; `skip_bad` drops them instead and names
    them. So is a row whose prompt leaves the model no room for an answer. What is malformed: docs/your_own_data.md.

    Args:
        path: a file, the id of a data set, or rows.
        prompt: column of the question.
        answer: column of the right answer; "none" without one.
        held_out: share of the rows that is never trained on.
        skip_bad: skip malformed rows.
        kind: column of the kind of problem.
        solution_in: column of the worked solution.
        system: system prompt.
        template: prompt with the row's columns.
        check_by: how answers are checked.
        test: a file of held-out rows in place of `held_out`.

    >>> import guerdon as gd
    >>> source = gd.tasks.rows([{"question": f"{n}+1=", "answer": n + 1} for n in range(10)], held_out=0.2)
    >>> source.size("train"), source.get("train", 3).prompt, source.check(source.get("train", 3), "3 and 1 are 4")
    (8, '3+1=', 1.0)
    >>> print(*source.facts(), sep="\n")
    data: 10 rows; prompt from `question`, answer from `answer`; 2 held out
    data: checked by the last number in the text, or the one after ####, \boxed or Answer: (--check number)
    """

    path: Any = knob(hashed=False)
    prompt: str = ""
    answer: str = ""
    held_out: float = knob(default=0.1, ge=0.0, le=1.0)
    skip_bad: bool = False
    kind: str = ""
    solution_in: str = knob(default="", absent="")
    system: str = knob(default="", absent="")
    template: str = knob(default="", absent="")
    check_by: Any = ""
    test: Any = knob(default=None, hashed=False)

    opened: OpenedProblems | None = live()

    @property
    def has_answers(self) -> bool:
        """Whether any row has an answer: a column of them may be empty."""
        columns = self.open().own.reading.columns
        return bool(columns.answer or columns.is_chat) and (self._answered("train") or self._answered("test"))

    @property
    def has_held_out_answers(self) -> bool:
        """Whether an exam finds a row with an answer."""
        return self.has_answers and self._answered("test")

    def _answered(self, split: Split) -> bool:
        return any(self.get(split, i).answer for i in range(self.size(split) or 0))

    # --- how a row is read ------------------------------------------------------------------------------------------

    def reading(self, records: Records, title: str, own: RowSet | None) -> RowReader:
        """With the columns of the rows that are trained on, those of a test; they must be there."""
        if own is not None:
            reader: RowReader = own.reading
            columns = reader.columns
            for column in filter(None, (columns.prompt, columns.answer) if not reader.template else (columns.answer,)):
                if len(records) and column not in records.columns:
                    raise UserError(
                        f"{title} has no column {shown(column)}, as {own.title} has (columns: {named(records.columns)})"
                    )
            return dataclasses.replace(reader, typed=records.typed)
        system, template = text_or_file(self.system, "--system"), text_or_file(self.template, "--template")
        columns = find_columns(records, title, self.prompt, self.answer, self.solution_in, bool(template))
        if template:
            template_of(template, records.columns)
        return RowReader(self.name, columns, records.columns, self.kind, system, template, records.typed)

    def tasks_of_row(self, row: DataRow, reading: RowReader) -> tuple[list[Task], int] | str:
        task = reading.task(row)
        return task if isinstance(task, str) else ([task], 0)

    def needs_room(self, task: Task) -> str:
        return task.prompt if task.view is None else str(task.view)

    def common(self, task: Task) -> str:
        return self.needs_room(task).strip()

    def misfit(self, model: Model, task: Task, room: int) -> str:
        size = len(model.encode(Ask(task).shown))
        return f"a prompt of {size} tokens leaves no room in a context of {room}" if size >= room else ""

    def open(self) -> OpenedProblems:
        opened = super().open()
        assert isinstance(opened, OpenedProblems)
        return opened

    def opened_as(self, own: RowSet, test: RowSet | None) -> OpenedProblems:
        check = find_check(self.check_by) if self.check_by else own.seen.guess()
        check.refuse_unknown([*own.rows.columns, SOLUTION, LABELLED])
        return OpenedProblems(own, test, check)

    def meant(self) -> dict[str, Any]:
        """For the hash: what was guessed, and what stands in files."""
        opened = self.open()
        reader, check = opened.own.reading, opened.check
        by = check.name if check.trusted else check.function
        return {
            "prompt": reader.columns.prompt,
            "answer": reader.columns.answer,
            "system": reader.system,
            "template": reader.template,
            "check_by": by,
        }

    # --- being asked ------------------------------------------------------------------------------------------------

    def kinds(self) -> dict[str, Any]:
        """The kinds of problems by name, in the order in which they appear."""
        numbers: dict[Split, dict[str, tuple[int, ...]]] = {"train": {}, "test": {}}
        for split, by_kind in numbers.items():
            looked, places = self.span(split)
            if not self.kind:
                by_kind[self.task_at(self.open().own, 0).kind] = tuple(range(len(places)))
            for kind, at in looked.kinds.items():
                mine = at[(at >= places.start) & (at < places.stop)] - places.start
                by_kind[kind] = tuple(mine.tolist())
        train = {kind: at for kind, at in numbers["train"].items() if at or self.held_out == 1}
        return {kind: chosen(self, at, numbers["test"].get(kind, ())) for kind, at in train.items()}

    def check(self, task: Task, completion: str) -> float | None:
        """Whether a completion gives the row's answer; None where there is no answer to give."""
        return self.open().check(task, completion) if task.answer else None

    @property
    def checks_later(self) -> bool:
        return self.open().check.later is not None

    async def check_later(self, task: Task, completion: str) -> float | None:
        return await self.open().check.wait(task, completion) if task.answer else None

    def __getattr__(self, name: str) -> Any:
        """`solution(task)`, where the rows have worked solutions; where programs are tested `passed` and
        `passed_later(task, completion)`, a bool for each of a row's tests."""
        if name == SOLUTION and "path" in self.__dict__:
            columns = self.open().own.reading.columns
            if columns.solution or columns.mark or columns.is_chat:
                return _solution
        if name in TESTED and "path" in self.__dict__ and self.open().check.name == PYTHON:
            return TESTED[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def facts(self) -> list[str]:
        """What was made of the rows, for people: columns, what is held out, how answers are checked."""
        opened = self.open()
        own, columns = opened.own, opened.own.reading.columns
        prompt = "the template" if self.template else f"`{columns.prompt}`"
        no_answer = "answer from its last message" if columns.is_chat else "no answers"
        answer = f"answer from `{columns.answer}`" if columns.answer else no_answer
        answer += f", after {columns.mark}" if columns.mark else ""
        more = [f"solution from `{columns.solution}`"] if columns.solution else []
        more += [f"options from `{columns.options}`"] if columns.options else []
        count = f"{len(own):,} rows" + (" to train on" if opened.test is not None else "")
        held = f"{self.size('test'):,} held out" + (
            f", those of {opened.test.title}" if opened.test is not None else ""
        )
        lines = [f"{own.title}: {count}; {', '.join([f'prompt from {prompt}', answer, *more])}; {held}"]
        if self.has_answers:
            lines.append(f"{own.title}: checked by {opened.check.words} (--check {opened.check.name})")
        return lines


PYTHON = "python"  # the check by unit tests
TESTED = {"passed": each_passed, "passed_later": each_passed_later}


def _solution(task: Task) -> str:
    return str(task.meta.get(SOLUTION, task.answer))


DATA_KNOBS = {"check": "check_by", "solution": "solution_in"}  # words of `data=` and flags that methods have for names


def rows_of(data: Any) -> rows:
    """A source of problems from what `data=` takes: a path, an object that holds rows, or one of them with settings in a
    dictionary, `{"path": "my.csv", "prompt": "question", "check": "number"}`."""
    if isinstance(data, Mapping) and "path" in data:
        return rows(**{DATA_KNOBS.get(str(name), str(name)): value for name, value in data.items()})
    if type(data) is dict:
        raise UserError(
            f"data={{...}} needs its path, {{'path': 'my.csv'}}; it has {', '.join(map(str, data)) or 'nothing'}"
        )
    return rows(data)
