"""Rows whose answers are recited and not sought: what sources of preferences and of labelled steps have in common.

Leaves out: how rows are looked through (`row_sets.py`), what a row says (`preference_rows.py`, `step_files.py`), and problems
with an answer to find (`files.py`).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from guerdon.core.errors import unknown
from guerdon.core.task import Ask, Task
from guerdon.data.data_rows import DataRow, Records
from guerdon.tasks.preference_rows import BadRow
from guerdon.tasks.row_columns import named
from guerdon.tasks.row_sets import PROMPTS, OwnRows, RowSet

if TYPE_CHECKING:
    from guerdon.core.model import Model

SAY, WORTH = "say", "worth"  # in a task's meta


class RecitedRows(OwnRows):
    """A source whose tasks bring what is said to them: `meta["say"]`, and in `meta["worth"]` a number for each. Parts made on
    it understand a row; those of one prompt are held out together, so that no prompt of the exam was trained on."""

    counted: ClassVar[str] = PROMPTS

    @property
    def brings(self) -> frozenset[str]:
        """What its rows have, by the names of the needs for it (`core/needs.py`)."""
        raise NotImplementedError

    def find_columns(self, records: Records, title: str) -> dict[str, str]:
        """Which column is what, by name or by guess."""
        raise NotImplementedError

    def tasks_of(self, row: Mapping[str, Any], number: int, columns: Mapping[str, str]) -> tuple[list[Task], int]:
        """The tasks a row makes, and how many pairs of it were ties; a BadRow says what is wrong with it."""
        raise NotImplementedError

    def begins_with(self, task: Task) -> Any:
        """What tasks have in common that are held out together: what they show."""
        return Ask(task).shown

    # --- how a row is read --------------------------------------------------------------------------------------

    def reading(self, records: Records, title: str, own: RowSet | None) -> dict[str, str]:
        return self.find_columns(records, title)

    def tasks_of_row(self, row: DataRow, reading: Mapping[str, str]) -> tuple[list[Task], int] | str:
        if row.value is None:
            return row.fault
        try:
            return self.tasks_of(row.value, row.number, reading)
        except BadRow as error:
            return str(error)

    def common(self, task: Task) -> str:
        return json.dumps(self.begins_with(task))

    def needs_room(self, task: Task) -> str:
        return f"{Ask(task).shown!s}{max(task.meta[SAY], key=len)}"

    def misfit(self, model: Model, task: Task, room: int) -> str:
        reply = model.teacher_force(Ask(task).shown, max(task.meta[SAY], key=len))
        size = len(reply.context) + len(reply.actions)
        return f"{size} tokens of prompt and answer are more than a context of {room}" if size > room else ""

    # --- what a source is ---------------------------------------------------------------------------------------

    def check(self, task: Task, completion: str) -> float | None:
        """What the row says of this answer; it knows no other."""
        say: list[str] = task.meta[SAY]
        return float(task.meta[WORTH][say.index(completion)]) if completion in say else None

    def together(self) -> list[range]:
        """The numbers of the tasks to train on, those of one prompt together."""
        looked, places = self.span("train")
        ends = looked.ends if looked.ends is not None else ()
        return [range(a, b) for a, b in itertools.pairwise([0, *map(int, ends)]) if b <= places.stop]

    def facts(self) -> list[str]:
        """What was made of the rows, for people."""
        opened = self.open()
        own, columns_of, held = opened.own, opened.own.reading, self.size("test") or 0
        used = [f"{what} from `{column}`" for what, column in columns_of.items() if what != "user"]
        used += [f"users from `{columns_of['user']}` (fspo learns them apart)"] if "user" in columns_of else []
        columns = ", ".join(used)
        if others := [column for column in own.rows.columns if column not in columns_of.values()]:
            columns += f"; not used: {named(others)}"
        count = f"{len(own):,} to learn from at {own.count:,} prompts"
        ties = f", {own.ties:,} ties left out" if own.ties else ""
        apart = f", those of {opened.test.title}" if opened.test is not None else ""
        return [f"{own.title}: {columns}; {count}{ties}; {held:,} held out{apart}"]


def check_columns(columns: Mapping[str, str], known: Collection[str]) -> None:
    """Refuse a column for something that no row of the kind has."""
    for what in columns:
        if what not in known:
            raise unknown("use of a column", what, known)


def guessed(records: Records, title: str, what: str, names: Sequence[str], wanted: str = "") -> str:
    """The column for something: the one that was named, or the first there is of those it usually goes by; "" for none."""
    if wanted:
        if wanted not in records.columns:
            raise unknown(f"column of {title} for {what}", wanted, records.columns)
        return wanted
    return next((name for name in names if name in records.columns), "")
