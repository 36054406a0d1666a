"""Problems from the user's own JSONL file: one object a line, a column for the prompt and one for the answer."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part
from guerdon.core.task import Split, Task
from guerdon.tasks.chosen import by_kind, chosen
from guerdon.tasks.family import read_solution


@part
class rows:
    """Tasks from `path`. The last `held_out` share of the rows is never trained on. Other columns go to `meta`.

    `kind` names a column that sorts problems into kinds, for curricula to choose among: a whole number is a level, any other
    text a family of its own.

    A malformed row is refused with its line number; `skip_bad` drops it instead and counts it.
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
        try:
            text = Path(self.path).read_text(encoding="utf-8")
        except OSError as error:
            raise UserError(f"cannot read --data {self.path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UserError(f"cannot read --data {self.path}: it is not UTF-8 text") from error
        good: list[Task] = []
        bad: list[str] = []
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                found = self._row(line, number)
                good.append(found) if isinstance(found, Task) else bad.append(f"line {number}: {found}")
        if bad and not self.skip_bad:
            more = f"; and {len(bad) - 5} more" if len(bad) > 5 else ""
            raise UserError(f"{self.path}, {'; '.join(bad[:5])}{more}. Mend the file, or skip bad rows with --skip-bad")
        if len(good) < 2:
            raise UserError(
                f"{self.path} holds {len(good)} good rows: two are the fewest, one to train on and one held out"
            )
        return good, bad

    def _row(self, line: str, number: int) -> Task | str:
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            return f"not JSON: {error.msg}"
        if not isinstance(row, dict):
            return "not a JSON object"
        for column in (self.prompt, self.answer, *([self.kind] if self.kind else [])):
            if not isinstance(row.get(column), str | int | float):
                return f"no text in column {column!r} (columns: {', '.join(row)})"
        meta: dict[str, Any] = {k: v for k, v in row.items() if k not in (self.prompt, self.answer)}
        level, family = 1, self.name
        if self.kind:
            sort = row[self.kind]
            level, family = (sort, family) if type(sort) is int else (1, f"{self.name}/{sort}")
        return Task(str(number), str(row[self.prompt]), str(row[self.answer]), family, level, meta)

    def _split(self, split: Split) -> list[Task]:
        every = self.tasks()
        cut = len(every) - min(
            len(every) - 1, math.ceil(len(every) * self.held_out)
        )  # the fewest rows still hold one out
        return every[:cut] if split == "train" else (every[cut:] or every)

    def identity(self) -> str:
        return hashlib.sha256(Path(self.path).read_bytes()).hexdigest()[:16]

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
