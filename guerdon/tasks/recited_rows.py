"""Rows whose answers are recited and not sought: what sources of preferences and of labelled steps have in common.

All rows are looked at once, before anything runs; afterwards a row is read when it is asked for. Rows of one prompt are held
out together, so that no prompt of the exam was trained on.
Leaves out: what a row says (`preference_rows.py`, `step_files.py`), and problems with an answer to find (`files.py`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError, unknown
from guerdon.core.task import Ask, Split, Task
from guerdon.data.data_rows import DataRow, Records
from guerdon.data.opening import open_records
from guerdon.tasks.files import name_of
from guerdon.tasks.preference_rows import BadRow
from guerdon.tasks.row_columns import first_of, named
from guerdon.tasks.row_sets import MOST_TOKENS, SHOWN

if TYPE_CHECKING:
    from guerdon.core.model import Model

SAY, WORTH = "say", "worth"  # in a task's meta
Place = tuple[int, int]  # a row, and which of its tasks


@dataclass(frozen=True)
class LookedAt:
    """The result of reading all rows of a file: the places of its tasks by prompt, and what is wrong with bad rows."""

    title: str
    records: Records
    columns: Mapping[str, str]  # what for: the column
    by_prompt: dict[bytes, list[Place]]
    ties: int
    bad: dict[int, str]  # by row

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """[N, 2] all tasks, those of one prompt together."""
        return np.array([place for each in self.by_prompt.values() for place in each], np.int64).reshape(-1, 2)

    def without(self, bad: Mapping[int, str], prompts: Collection[bytes] = ()) -> LookedAt:
        """The same but for some rows, or all rows of some prompts."""
        left = {p: [at for at in each if at[0] not in bad] for p, each in self.by_prompt.items() if p not in prompts}
        return replace(self, by_prompt={p: each for p, each in left.items() if each}, bad={**self.bad, **bad})

    def refuse(self, bad: Mapping[int, str], skip_bad: bool, fewest: int) -> None:
        """Bad rows, unless they are to be skipped, and what is left if it is too little."""
        if bad and not skip_bad:
            why = first_of([*bad.values()], SHOWN)
            raise UserError(f"{self.title}, {why}. Fix the file, or skip bad rows with --skip-bad")
        if len(self.by_prompt) < fewest:
            why = f", {len(self.bad)} bad rows ({first_of([*self.bad.values()], 1)})" if self.bad else ""
            why += f", {self.ties} ties" if self.ties else ""
            need = "two are the fewest, one to train on and one held out" if fewest == 2 else "one is the fewest"
            raise UserError(f"{self.title} holds {len(self.by_prompt)} good prompts{why}: {need}")


@dataclass(frozen=True)
class OpenedAnswers:
    """What a source reads: its own rows, and those of a separate file that are held out, if there is one."""

    own: LookedAt
    test: LookedAt | None
    places: Mapping[Split, npt.NDArray[np.int64]]
    prompts: Sequence[int]  # of the split to train on: how many tasks each prompt has

    def __deepcopy__(self, memo: Any) -> OpenedAnswers:
        """Nothing in it changes."""
        return self


class RecitedRows:
    """A source whose tasks bring what is said to them: `meta["say"]`, and in `meta["worth"]` a number for each. Parts made on
    it have these knobs, and understand a row."""

    path: Any
    test: Any
    held_out: float
    skip_bad: bool
    opened: OpenedAnswers | None

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

    # --- what a source is ---------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        return name_of(self.path)

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return self.open().own.title

    def identity(self) -> str:
        opened = self.open()
        return "+".join(each.records.identity() for each in (opened.own, opened.test) if each is not None)

    def size(self, split: Split) -> int | None:
        return len(self.open().places[split])

    def get(self, split: Split, index: int) -> Task:
        opened = self.open()
        looked = opened.test if split == "test" and opened.test is not None else opened.own
        row, which = (int(each) for each in opened.places[split][index])
        return self._tasks(looked, row)[which]

    def check(self, task: Task, completion: str) -> float | None:
        """What the row says of this answer; it knows no other."""
        say: list[str] = task.meta[SAY]
        return float(task.meta[WORTH][say.index(completion)]) if completion in say else None

    def together(self) -> list[range]:
        """The numbers of the tasks to train on, those of one prompt together."""
        return [range(a, b) for a, b in itertools.pairwise([0, *itertools.accumulate(self.open().prompts)])]

    def facts(self) -> list[str]:
        """What was made of the rows, for people."""
        opened = self.open()
        own, held = opened.own, len(opened.places["test"])
        used = [f"{what} from `{column}`" for what, column in own.columns.items() if what != "user"]
        used += [f"users from `{own.columns['user']}` (fspo learns them apart)"] if "user" in own.columns else []
        columns = ", ".join(used)
        if others := [column for column in own.records.columns if column not in own.columns.values()]:
            columns += f"; not used: {named(others)}"
        count = f"{len(own.places):,} to learn from at {len(own.by_prompt):,} prompts"
        ties = f", {own.ties:,} ties left out" if own.ties else ""
        apart = f", those of {opened.test.title}" if opened.test is not None else ""
        return [f"{own.title}: {columns}; {count}{ties}; {held:,} held out{apart}"]

    # --- looking --------------------------------------------------------------------------------------------------

    @property
    def skipped(self) -> list[str]:
        opened = self.open()
        return [why for each in (opened.own, opened.test) if each is not None for why in each.bad.values()]

    def open(self) -> OpenedAnswers:
        """Look at all rows, once: which are bad, what tasks the others make, and whose prompts are the same."""
        if self.opened is None:
            own = self._look(self.path, "--data", "data", 2 if self.test is None else 1)
            test = self._look(self.test, "--test", "the test's data", 1) if self.test is not None else None
            if test is not None:
                both = own.by_prompt.keys() & test.by_prompt.keys()
                if both and not self.skip_bad:
                    raise UserError(
                        f"{len(both):,} of the {len(own.by_prompt):,} prompts of {own.title} are also in {test.title}, the"
                        " test: take them out, or leave them out of training with --skip-bad"
                    )
                own = own.without({}, both)
                own.refuse({}, self.skip_bad, 1)
            self.opened = self._split(own, test)
        return self.opened

    def _split(self, own: LookedAt, test: LookedAt | None) -> OpenedAnswers:
        sizes, places = [len(each) for each in own.by_prompt.values()], own.places
        if test is not None:
            return OpenedAnswers(own, test, {"train": places, "test": test.places}, sizes)
        cut = len(sizes) - min(len(sizes) - 1, math.ceil(len(sizes) * self.held_out))  # one is always trained on
        at = sum(sizes[:cut])
        return OpenedAnswers(
            own, None, {"train": places[:at], "test": places[at:] if at < len(places) else places}, sizes[:cut]
        )

    def _look(self, source: Any, flag: str, otherwise: str, fewest: int) -> LookedAt:
        title = str(source) if isinstance(source, str | Path) else otherwise
        records = open_records(source, f"{flag} {title}" if title != otherwise else title)
        columns = self.find_columns(records, title)
        by_prompt: dict[bytes, list[Place]] = {}
        bad: dict[int, str] = {}
        ties = 0
        for index, row in enumerate(records):
            made = self._made(row, columns)
            if isinstance(made, str):
                bad[index] = f"{records.place(row.number)}: {made}"
                continue
            ties += made[1]
            for which, task in enumerate(made[0]):
                shown = json.dumps(self.begins_with(task)).encode()
                by_prompt.setdefault(hashlib.blake2b(shown, digest_size=16).digest(), []).append((index, which))
        looked = LookedAt(title, records, columns, by_prompt, ties, bad)
        looked.refuse(bad, self.skip_bad, fewest)
        return looked

    def _made(self, row: DataRow, columns: Mapping[str, str]) -> tuple[list[Task], int] | str:
        if row.value is None:
            return row.fault
        try:
            return self.tasks_of(row.value, row.number, columns)
        except BadRow as error:
            return str(error)

    def _tasks(self, looked: LookedAt, row: int) -> list[Task]:
        read = looked.records[row]
        assert read.value is not None, "bad rows are in no task"
        return self.tasks_of(read.value, read.number, looked.columns)[0]

    # --- what a model can look at -----------------------------------------------------------------------------------

    def fit(self, model: Model) -> list[str]:
        """Refuse, or skip and name, the rows that are longer than a model can look at."""
        room, opened = model.max_positions, self.open()
        if room is None:
            return []
        own, test, told = opened.own, opened.test, list[str]()
        for looked in [each for each in (own, test) if each is not None]:
            bad = dict(self._too_long(looked, model, room))
            if bad:
                left = looked.without(bad)
                left.refuse(bad, self.skip_bad, 2 if test is None else 1)
                own, test = (left, test) if looked is own else (own, left)
                told += bad.values()
        self.opened = self._split(own, test) if told else opened
        return told

    def _too_long(self, looked: LookedAt, model: Model, room: int) -> Iterator[tuple[int, str]]:
        for row in dict.fromkeys(row for row, _ in itertools.chain.from_iterable(looked.by_prompt.values())):
            for task in self._tasks(looked, row):
                view, longest = Ask(task).shown, max(task.meta[SAY], key=len)
                if MOST_TOKENS * len(f"{view!s}{longest}".encode()) < room:
                    continue
                reply = model.teacher_force(view, longest)
                size = len(reply.context) + len(reply.actions)
                if size > room:
                    place = looked.records.place(looked.records[row].number)
                    yield row, f"{place}: {size} tokens of prompt and answer are more than a context of {room}"
                    break


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
