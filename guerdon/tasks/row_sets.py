"""A user's rows, as every source made of them reads them: looked through once, refused or skipped where they are bad, held out.

Some 40 bytes a task are kept, and a row is read again when its task is asked for. `OwnRows` is what such sources are made on:
problems with an answer to find (`files.py`), and rows whose answers are recited (`recited_rows.py`).
Leaves out: forms of files (`guerdon/data`), what a row says.
"""

from __future__ import annotations

import array
import dataclasses
import functools
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError
from guerdon.core.task import Split, Task
from guerdon.data.data_rows import DataRow, Records
from guerdon.data.hub_datasets import PREFIX
from guerdon.data.opening import open_records
from guerdon.tasks.answer_checks import AnswersSeen
from guerdon.tasks.row_columns import first_of
from guerdon.tasks.row_tasks import LABELLED

if TYPE_CHECKING:
    from guerdon.core.model import Model

SHOWN = 5  # bad rows named one by one
KEPT = 1000  # bad rows that are remembered by what is wrong with them
MOST_TOKENS = (
    16  # of a byte, for a tokenizer that first spells characters out in full: prompts far from the limit are not read
)
ROWS, PROMPTS = "rows", "prompts"  # what is counted
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowSet:
    """Rows that were looked through.

    Of each task that they make, `good` has the index of its row, `which` its place among the tasks of that row, `sizes` the
    bytes that a model must have room for and `marks` a hash of what it shows; `kinds` has the places of each kind. `reading`
    is how the rows are read, `bad` what is wrong with the first of the others. What is `counted` are rows, or prompts: tasks
    of one prompt stand together then, and are held out together."""

    title: str
    rows: Records
    reading: Any
    counted: str
    good: Ints
    which: npt.NDArray[np.uint32]
    sizes: Ints
    marks: npt.NDArray[np.uint64]
    kinds: dict[str, Ints]
    seen: AnswersSeen
    ties: int = 0
    bad: tuple[str, ...] = ()
    bad_count: int = 0

    def __len__(self) -> int:
        return len(self.good)

    @functools.cached_property
    def ends(self) -> Ints | None:
        """Where the tasks of each prompt end; None where tasks are counted one by one."""
        if self.counted == ROWS:
            return None
        return np.flatnonzero(np.append(self.marks[1:] != self.marks[:-1], True)[: len(self)]) + 1

    @property
    def count(self) -> int:
        """Good rows, or the prompts of their tasks."""
        return len(self) if self.ends is None else len(self.ends)

    def first(self, count: int) -> int:
        """The tasks of the first rows, or prompts."""
        return count if self.ends is None or not count else int(self.ends[count - 1])

    def without(self, gone: npt.NDArray[np.bool_], why: Sequence[str]) -> RowSet:
        """The same but for some of the tasks, whose rows are bad for a reason."""
        new_place = np.cumsum(~gone) - 1
        return dataclasses.replace(
            self,
            good=self.good[~gone],
            which=self.which[~gone],
            sizes=self.sizes[~gone],
            marks=self.marks[~gone],
            kinds={kind: new_place[places[~gone[places]]] for kind, places in self.kinds.items()},
            bad=(*self.bad, *why)[:KEPT],
            bad_count=self.bad_count + len(np.unique(self.good[gone])),
        )

    def refuse(self, skip_bad: bool, fewest: int) -> None:
        """Bad rows, unless they are to be skipped, and what is left if it is too little."""
        if self.bad_count and not skip_bad:
            first = first_of(self.bad, SHOWN, total=self.bad_count)
            raise UserError(f"{self.title}, {first}. Fix the file, or skip bad rows with --skip-bad")
        if self.count < fewest:
            why = ""
            if self.bad:
                why = f", {self.bad_count} bad rows ({first_of(self.bad, 1, total=self.bad_count)})"
            why += f", {self.ties} ties" if self.ties else ""
            need = "two are the fewest, one to train on and one held out" if fewest == 2 else "one is the fewest"
            raise UserError(f"{self.title} holds {self.count} good {self.counted}{why}: {need}")

    def apart_from(self, test: RowSet, skip_bad: bool) -> RowSet:
        """These without those that the test has too: refused, unless bad rows are to be skipped."""
        both = np.isin(self.marks, test.marks)
        if not both.any():
            return self
        left = self.without(both, [f"{self.place(index)}: also in {test.title}" for index in self.rows_at(both)[:KEPT]])
        if not skip_bad:
            raise UserError(
                f"{self.count - left.count:,} of the {self.count:,} {self.counted} of {self.title} are also in {test.title},"
                " the test: take them out, or leave them out of training with --skip-bad"
            )
        left.refuse(skip_bad, 1)
        return left

    def rows_at(self, places: npt.NDArray[np.bool_]) -> list[int]:
        """The rows of some tasks, each once, in their order."""
        return [*dict.fromkeys(self.good[places].tolist())]

    def place(self, index: int) -> str:
        return self.rows.place(self.rows[index].number)

    @property
    def told_bad(self) -> list[str]:
        """What a run remembers of rows that were left out."""
        more = self.bad_count - len(self.bad)
        return [*self.bad, *([f"and {more} more"] if more else [])]


@dataclass(frozen=True)
class OpenedRows:
    """What a source reads: its own rows, and those of a separate file that are held out, if there is one."""

    own: RowSet
    test: RowSet | None

    def __deepcopy__(self, memo: Any) -> OpenedRows:
        """Nothing in it changes."""
        return self

    @property
    def sets(self) -> list[RowSet]:
        return [each for each in (self.own, self.test) if each is not None]

    def span(self, split: Split, held_out: float) -> tuple[RowSet, range]:
        """The rows of a split: a set, and places in it. The last share of the rows, or prompts, is held out."""
        if self.test is not None:
            chosen = self.own if split == "train" else self.test
            return chosen, range(len(chosen))
        count = self.own.count
        most = count if held_out == 1 else count - 1  # the fewest still train on one
        cut, end = self.own.first(count - min(most, math.ceil(count * held_out))), len(self.own)
        return self.own, range(cut) if split == "train" else range(cut if cut < end else 0, end)


class OwnRows:
    """A source of tasks from a user's rows. Parts made on it have these knobs, and understand a row: `reading`, `tasks_of_row`,
    `common`, `needs_room` and `misfit` are theirs."""

    path: Any
    test: Any
    held_out: float
    skip_bad: bool
    opened: OpenedRows | None

    counted: ClassVar[str] = ROWS  # what is counted and held out: rows, or prompts with all tasks that share one
    kind: str = ""  # the column that sorts tasks into kinds

    def reading(self, records: Records, title: str, own: RowSet | None) -> Any:
        """How rows of these columns are read, by name or by guess; those of a test as the source's `own` are."""
        raise NotImplementedError

    def tasks_of_row(self, row: DataRow, reading: Any) -> tuple[list[Task], int] | str:
        """The tasks that a row makes, and how many pairs of it were ties; or what is wrong with it."""
        raise NotImplementedError

    def common(self, task: Task) -> str:
        """What tasks have in common that are held out together: what they show."""
        raise NotImplementedError

    def needs_room(self, task: Task) -> str:
        """The text that a model must have room for."""
        raise NotImplementedError

    def misfit(self, model: Model, task: Task, room: int) -> str:
        """Why a task is too long for a model of so many positions; "" where it is not."""
        raise NotImplementedError

    # --- what a source is -------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def title(self) -> str:
        """What the rows are called in messages."""
        return _title(self.path, "data")

    def identity(self) -> str:
        return "+".join(each.rows.identity() for each in self.open().sets)

    def span(self, split: Split) -> tuple[RowSet, range]:
        return self.open().span(split, self.held_out)

    def size(self, split: Split) -> int | None:
        return len(self.span(split)[1])

    def get(self, split: Split, index: int) -> Task:
        looked, places = self.span(split)
        return self.task_at(looked, places[index])

    def task_at(self, looked: RowSet, place: int) -> Task:
        made = self.tasks_of_row(looked.rows[int(looked.good[place])], looked.reading)
        assert not isinstance(made, str), f"a row that was good: {made}"
        return made[0][int(looked.which[place])]

    @property
    def skipped(self) -> list[str]:
        """What is wrong with the rows that were left out."""
        return [] if self.opened is None else [why for each in self.opened.sets for why in each.told_bad]

    # --- looking ----------------------------------------------------------------------------------------------------

    def open(self) -> OpenedRows:
        """Look through all rows, once. What is wrong with them is refused."""
        if self.opened is None:
            own, test = self.look_through(self.path, "--data", "data"), None
            own.refuse(self.skip_bad, self._fewest)
            if self.test is not None:
                test = self.look_through(self.test, "--test", "the test's data", own)
                test.refuse(self.skip_bad, 1)
                own = own.apart_from(test, self.skip_bad)
            self.opened = self.opened_as(own, test)
        return self.opened

    def opened_as(self, own: RowSet, test: RowSet | None) -> OpenedRows:
        return OpenedRows(own, test)

    @property
    def _fewest(self) -> int:
        return 2 if self.test is None and self.held_out < 1 else 1

    def look_through(self, source: Any, flag: str, otherwise: str, own: RowSet | None = None) -> RowSet:
        """One pass over all rows."""
        title = _title(source, otherwise)
        records = open_records(source, f"{flag} {title}" if isinstance(source, str | Path) else title)
        reading = self.reading(records, title, own)
        good, which, sizes, marks = array.array("q"), array.array("I"), array.array("q"), array.array("Q")
        kinds: dict[str, array.array[int]] = {}
        bad: list[str] = []
        bad_count, ties, seen = 0, 0, AnswersSeen()
        for index, row in enumerate(records):
            made = self.tasks_of_row(row, reading)
            if isinstance(made, str):
                bad_count += 1
                if bad_count <= KEPT:
                    bad.append(f"{records.place(row.number)}: {made}")
                continue
            ties += made[1]
            for number, task in enumerate(made[0]):
                seen.see(task.answer, LABELLED in task.meta)
                if self.kind:
                    kinds.setdefault(task.kind, array.array("q")).append(len(good))
                good.append(index)
                which.append(number)
                sizes.append(len(self.needs_room(task).encode()))
                mark = hashlib.blake2b(self.common(task).encode(), digest_size=8).digest()
                marks.append(int.from_bytes(mark, "little"))
        every = np.array(marks, np.uint64)
        order = slice(None) if self.counted == ROWS else _together(every)
        return RowSet(
            title,
            records,
            reading,
            self.counted,
            np.array(good, np.int64)[order],
            np.array(which, np.uint32)[order],
            np.array(sizes, np.int64)[order],
            every[order],
            {kind: np.array(places, np.int64) for kind, places in kinds.items()},
            seen,
            ties,
            tuple(bad),
            bad_count,
        )

    # --- what a model can look at -----------------------------------------------------------------------------------

    def fit(self, model: Model) -> list[str]:
        """Refuse, or skip and name, the rows that are too long for a model."""
        room, opened = model.max_positions, self.open()
        if room is None:
            return []
        own, why = self._fitting(opened.own, model, room)
        test, test_why = self._fitting(opened.test, model, room) if opened.test is not None else (None, [])
        for left, bad in ((own, why), (test, test_why)):
            if left is not None and bad:
                told = dataclasses.replace(left, bad=tuple(bad), bad_count=len(bad))
                told.refuse(self.skip_bad, self._fewest)
        self.opened = dataclasses.replace(opened, own=own, test=test)
        return [*why, *test_why]

    def _fitting(self, looked: RowSet, model: Model, room: int) -> tuple[RowSet, list[str]]:
        """The rows whose tasks all fit, and what is wrong with the others."""
        around, why = len(model.encode("")), dict[int, str]()
        for place in np.flatnonzero(around + MOST_TOKENS * looked.sizes >= room).tolist():
            index = int(looked.good[place])
            misfit = "" if index in why else self.misfit(model, self.task_at(looked, place), room)
            if misfit:
                why[index] = f"{looked.place(index)}: {misfit}"
        if not why:
            return looked, []
        return looked.without(np.isin(looked.good, [*why]), [*why.values()]), [*why.values()]


def _together(marks: npt.NDArray[np.uint64]) -> npt.NDArray[np.intp]:
    """An order in which equal marks stand together, each where it first stood."""
    _, first, group = np.unique(marks, return_index=True, return_inverse=True)
    return np.argsort(first[group], kind="stable")


def _title(path: Any, otherwise: str) -> str:
    return str(path) if isinstance(path, str | Path) else otherwise


def name_of(path: Any) -> str:
    """What rows are called in a word: the file without its ending, a data set without its owner."""
    if not isinstance(path, str | Path):
        return "data"
    text = str(path)
    if text.startswith(PREFIX):
        return text.removeprefix(PREFIX).partition(":")[0].rpartition("/")[2]
    return Path(text.removesuffix(".gz")).stem.partition(":")[0]
