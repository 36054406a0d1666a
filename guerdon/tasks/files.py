"""Problems from the user's own JSONL file: one object a line, a column for the prompt and one for the answer."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part
from guerdon.core.task import Split, Task
from guerdon.data.lines import JsonLine, opened, read_lines, shown
from guerdon.tasks.choosing import by_kind, chosen
from guerdon.tasks.family import read_solution

if TYPE_CHECKING:
    from guerdon.core.model import Model

SHOWN = 5  # bad rows named one by one
MOST_TOKENS = (
    16  # of a byte, for a tokenizer that first spells characters out in full: prompts far from the limit are not read
)


@part
class rows:
    """Tasks from `path`. The last `held_out` share of the rows is never trained on. Other columns go to `meta`.

    `kind` names a column that sorts problems into kinds, for curricula to choose among: a whole number is a level, any other
    text a family of its own.

    A malformed row is refused with its line number, all of them before anything runs; `skip_bad` drops them instead and names
    them. So is a row whose prompt leaves the model no room for an answer. What is malformed: docs/your_own_task.md.

    >>> import json, tempfile
    >>> import guerdon as gd
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     for n in range(10):
    ...         print(json.dumps({"prompt": f"{n}+1=", "answer": str(n + 1)}), file=file, flush=True)
    ...     source = gd.tasks.rows(file.name, held_out=0.2)
    ...     source.size("train"), source.get("train", 3).prompt, source.check(source.get("train", 3), "4")
    (8, '3+1=', 1.0)
    """

    path: str = knob(hashed=False)
    prompt: str = "prompt"
    answer: str = "answer"
    held_out: float = knob(default=0.1, ge=0.0, le=0.9)
    skip_bad: bool = False
    kind: str = ""

    loaded: list[Task] | None = live()
    skipped: list[str] | None = live()

    @property
    def name(self) -> str:
        return Path(self.path).stem

    def tasks(self) -> list[Task]:
        if self.loaded is None:
            self.loaded, self.skipped = self._read()
        return self.loaded

    def _read(self) -> tuple[list[Task], list[str]]:
        good: list[Task] = []
        bad: list[str] = []
        for line in read_lines(Path(self.path), f"--data {self.path}"):
            row = self._row(line)
            good.append(row) if isinstance(row, Task) else bad.append(f"line {line.number}: {row}")
        self._refuse(good, bad)
        return good, bad

    def _refuse(self, good: list[Task], bad: list[str]) -> None:
        """Bad rows, unless they are to be skipped, and what is left if it is too little."""
        if bad and not self.skip_bad:
            raise UserError(f"{self.path}, {first_of(bad, SHOWN)}. Mend the file, or skip bad rows with --skip-bad")
        if len(good) < 2:
            why = f" and {len(bad)} bad ones ({first_of(bad, 1)})" if bad else ""
            raise UserError(
                f"{self.path} holds {len(good)} good rows{why}: two are the fewest, one to train on and one held out"
            )

    def _row(self, line: JsonLine) -> Task | str:
        row = line.value
        if line.fault or not isinstance(row, dict):
            return line.fault or "not a JSON object"
        for column in (self.prompt, self.answer, *([self.kind] if self.kind else [])):
            if not isinstance(row.get(column), str | int | float):
                return f"no text in column {shown(column)} (columns: {_named(row)})"
        meta: dict[str, Any] = {k: v for k, v in row.items() if k not in (self.prompt, self.answer)}
        level, family = 1, self.name
        if self.kind:
            sort = row[self.kind]
            if type(sort) is int and not -(2**63) <= sort < 2**63:
                return f"a kind of {shown(sort)} is beyond the whole numbers of 64 bits"
            level, family = (sort, family) if type(sort) is int else (1, f"{self.name}/{sort}")
        return Task(str(line.number), str(row[self.prompt]), str(row[self.answer]), family, level, meta)

    def fit(self, model: Model) -> list[str]:
        """Refuse, or skip and name, the rows whose prompt leaves a model no room for an answer."""
        room = model.max_positions
        if room is None:
            return []
        around = len(model.encode(""))
        bad: dict[str, str] = {}
        for task in self.tasks():
            if around + MOST_TOKENS * len(task.prompt.encode()) < room:
                continue
            size = len(model.encode(task.prompt))
            if size >= room:
                bad[task.id] = f"line {task.id}: a prompt of {size} tokens leaves no room in a context of {room}"
        left = [task for task in self.tasks() if task.id not in bad]
        self._refuse(left, [*bad.values()])
        self.loaded, self.skipped = left, [*(self.skipped or ()), *bad.values()]
        return [*bad.values()]

    def _split(self, split: Split) -> list[Task]:
        every = self.tasks()
        cut = len(every) - min(
            len(every) - 1, math.ceil(len(every) * self.held_out)
        )  # the fewest rows still hold one out
        return every[:cut] if split == "train" else (every[cut:] or every)

    def identity(self) -> str:
        with opened(Path(self.path), f"--data {self.path}") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]

    def size(self, split: Split) -> int | None:
        return len(self._split(split))

    def get(self, split: Split, index: int) -> Task:
        return self._split(split)[index]

    def kinds(self) -> dict[str, chosen]:
        numbers = [tuple(range(len(self._split(split)))) for split in ("train", "test")]
        return by_kind(self, numbers[0], numbers[1])

    def check(self, task: Task, completion: str) -> float | None:
        """Right when the answer is all that was said, or what the last line gives as the answer (`= 24`)."""
        return float(task.answer.strip() in (completion.strip(), read_solution(completion)[1]))


def first_of(texts: Sequence[str], count: int, between: str = "; ") -> str:
    """Some of what there is, and how much more."""
    return between.join([*texts[:count], *([f"and {len(texts) - count} more"] if len(texts) > count else [])])


def _named(columns: Iterable[str]) -> str:
    return first_of([name if name.isidentifier() and len(name) <= 40 else shown(name) for name in columns], 8, ", ")
