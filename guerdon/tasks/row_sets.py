"""Rows that were looked through, once and one by one: which are problems, which are bad, and what the good ones look like.

Some 40 bytes a row are kept, and the row itself is read again when its problem is asked for.
"""

from __future__ import annotations

import array
import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError
from guerdon.core.task import Ask, Task
from guerdon.data.data_rows import Records
from guerdon.tasks.answer_checks import AnswersSeen
from guerdon.tasks.row_columns import first_of
from guerdon.tasks.row_tasks import LABELLED, RowReader

if TYPE_CHECKING:
    from guerdon.core.model import Model

SHOWN = 5  # bad rows named one by one
KEPT = 1000  # bad rows that are remembered by what is wrong with them
MOST_TOKENS = (
    16  # of a byte, for a tokenizer that first spells characters out in full: prompts far from the limit are not read
)
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowSet:
    """Rows that were looked through. `good` has the indices of those that are problems, `sizes` the bytes of what is shown of
    each, `marks` a hash of it, `kinds` the places in `good` of each kind; `bad` says what is wrong with the first of the
    others."""

    title: str
    rows: Records
    reader: RowReader
    good: Ints
    sizes: Ints
    marks: npt.NDArray[np.uint64]
    kinds: dict[str, Ints]
    seen: AnswersSeen
    bad: tuple[str, ...] = ()
    bad_count: int = 0

    def __len__(self) -> int:
        return len(self.good)

    def task(self, place: int) -> Task:
        """The problem of a good row."""
        task = self.reader.task(self.rows[int(self.good[place])])
        assert isinstance(task, Task), f"a row that was good: {task}"
        return task

    def without(self, gone: npt.NDArray[np.bool_], why: Sequence[str]) -> RowSet:
        """The same but for some of the good ones, which are bad for a reason."""
        new_place = np.cumsum(~gone) - 1
        return dataclasses.replace(
            self,
            good=self.good[~gone],
            sizes=self.sizes[~gone],
            marks=self.marks[~gone],
            kinds={kind: new_place[places[~gone[places]]] for kind, places in self.kinds.items()},
            bad=(*self.bad, *why)[:KEPT],
            bad_count=self.bad_count + int(gone.sum()),
        )

    def refuse(self, skip_bad: bool, fewest: int) -> None:
        """Bad rows, unless they are to be skipped, and what is left if it is too little."""
        if self.bad_count and not skip_bad:
            first = first_of(self.bad, SHOWN, total=self.bad_count)
            raise UserError(f"{self.title}, {first}. Fix the file, or skip bad rows with --skip-bad")
        if len(self) < fewest:
            why = ""
            if self.bad:
                why = f" and {self.bad_count} bad ones ({first_of(self.bad, 1, total=self.bad_count)})"
            need = "two are the fewest, one to train on and one held out" if fewest == 2 else "one is the fewest"
            raise UserError(f"{self.title} holds {len(self)} good rows{why}: {need}")

    def apart_from(self, test: RowSet, skip_bad: bool) -> RowSet:
        """These without those that the test has too: refused, unless bad rows are to be skipped."""
        both = np.isin(self.marks, test.marks)
        count = int(both.sum())
        if not count:
            return self
        if not skip_bad:
            raise UserError(
                f"{count:,} of the {len(self):,} rows of {self.title} are also in {test.title}, the test: take them out, or"
                " leave them out of training with --skip-bad"
            )
        numbers = (self.rows[int(i)].number for i in self.good[both][:KEPT])
        left = self.without(both, [f"{self.rows.place(number)}: also in {test.title}" for number in numbers])
        left.refuse(skip_bad, 1)
        return left

    def fitting(self, model: Model, room: int) -> tuple[RowSet, list[str]]:
        """Those whose prompt leaves a model room for an answer, and what is wrong with the others."""
        around = len(model.encode(""))
        gone, why = np.zeros(len(self), bool), []
        for i in np.flatnonzero(around + MOST_TOKENS * self.sizes >= room).tolist():
            task = self.task(i)
            size = len(model.encode(Ask(task).shown))
            if size >= room:
                gone[i] = True
                place = self.rows.place(int(task.id))
                why.append(f"{place}: a prompt of {size} tokens leaves no room in a context of {room}")
        return (self.without(gone, why), why) if why else (self, why)

    @property
    def told_bad(self) -> list[str]:
        """What a run remembers of rows that were left out."""
        more = self.bad_count - len(self.bad)
        return [*self.bad, *([f"and {more} more"] if more else [])]


def look_through(rows: Records, reader: RowReader, title: str) -> RowSet:
    """One pass over all rows."""
    good, sizes, marks = array.array("q"), array.array("q"), array.array("Q")
    kinds: dict[str, array.array[int]] = {}
    bad: list[str] = []
    bad_count, seen = 0, AnswersSeen()
    for index, row in enumerate(rows):
        task = reader.task(row)
        if isinstance(task, str):
            bad_count += 1
            if bad_count <= KEPT:
                bad.append(f"{rows.place(row.number)}: {task}")
            continue
        text = (task.prompt if task.view is None else str(task.view)).encode()
        seen.see(task.answer, LABELLED in task.meta)
        if reader.kind:
            kinds.setdefault(task.kind, array.array("q")).append(len(good))
        good.append(index)
        sizes.append(len(text))
        marks.append(int.from_bytes(hashlib.blake2b(text.strip(), digest_size=8).digest(), "little"))
    return RowSet(
        title,
        rows,
        reader,
        np.array(good, np.int64),
        np.array(sizes, np.int64),
        np.array(marks, np.uint64),
        {kind: np.array(places, np.int64) for kind, places in kinds.items()},
        seen,
        tuple(bad),
        bad_count,
    )
