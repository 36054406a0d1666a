"""A row as a problem: its prompt, messages, answer, worked solution and kind; or what keeps it from being one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.core.task import Conversation, Task
from guerdon.data.data_rows import DataRow
from guerdon.data.lines import shown
from guerdon.tasks.row_columns import RowColumns, named
from guerdon.tasks.row_prompts import conversation, label_of, labelled, lettered_lines, template_of
from guerdon.text.answers import marked

GIVEN = ("prompt", "answer")  # what a reward is given by these names is a task's own
SOLUTION, LABELLED = "solution", "labelled"  # keys of a task's meta: the worked solution, and options by label
Options = Mapping[str, str] | None


@dataclass(frozen=True)
class RowReader:
    """How the rows of a source become problems: all that is needed besides the row. `typed`: numbers and text are distinct."""

    name: str
    columns: RowColumns
    there: tuple[str, ...]  # all columns, for templates
    kind: str = ""
    system: str = ""
    template: str = ""
    typed: bool = True

    def task(self, row: DataRow) -> Task | str:
        """The problem of a row, or what keeps it from being one."""
        if row.fault or row.value is None:
            return row.fault or "empty"
        value, columns = row.value, self.columns
        meta = {k: v for k, v in value.items() if k not in GIVEN}
        try:
            options = labelled(value.get(columns.options)) if columns.options else None
            prompt, view, said = self._shown(value, options)
            answer, solution = self._answer(value, options, said)
            level, family = self._sort(value)
        except ValueError as error:
            return str(error)
        if solution is not None:
            meta[SOLUTION] = solution
        if options is not None:
            meta[LABELLED] = options
        return Task(str(row.number), prompt, answer, family, level, meta, view)

    def _shown(self, row: Mapping[str, Any], options: Options) -> tuple[str, Conversation | None, str | None]:
        """The prompt, the messages that show it where there are any, and what the assistant says to it in the row."""
        lettered, column = lettered_lines(options) if options else "", self.columns.prompt
        talk, said = Conversation([{"role": "user", "content": ""}]), None
        if self.template:
            prompt = template_of(self.template, self.there).render(row, lettered)
        elif isinstance(row.get(column), list | dict):
            try:
                talk, said = conversation(row[column])
            except ValueError as error:
                raise ValueError(f"no text in column {shown(column)}, but {error}") from error
            prompt = talk.asked
        else:
            prompt = _text(row, column)
        if lettered and not self.template:
            prompt = f"{prompt}\n{lettered}"
        if self.system and talk[0]["role"] != "system":
            talk = Conversation([{"role": "system", "content": self.system}, *talk])
        return prompt, talk.saying(prompt) if len(talk) > 1 else None, said

    def _answer(self, row: Mapping[str, Any], options: Options, said: str | None) -> tuple[str, str | None]:
        """The answer, and the worked solution where there is one."""
        columns = self.columns
        solution = _text(row, columns.solution) if columns.solution else said
        if not columns.answer:
            return said or "", solution
        given = row.get(columns.answer)
        if isinstance(given, dict | list):
            return json.dumps(given, ensure_ascii=False), solution
        text = _text(row, columns.answer)
        if options is not None:
            return label_of(text, options), solution
        if not columns.mark:
            return text, solution
        final = marked(text, columns.mark)
        if not final:
            raise ValueError(f"no final answer after {columns.mark} in column {shown(columns.answer)}")
        return final, text if solution is None else solution

    def _sort(self, row: Mapping[str, Any]) -> tuple[int, str]:
        """A row's level and family."""
        if not self.kind:
            return 1, self.name
        text, sort = _text(row, self.kind), row[self.kind]
        if not self.typed and text.isdecimal():
            sort = int(text)
        if type(sort) is int and not -(2**63) <= sort < 2**63:
            raise ValueError(f"a kind of {shown(sort)} is beyond the whole numbers of 64 bits")
        return (sort, self.name) if type(sort) is int else (1, f"{self.name}/{text}")


def _text(row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    if not isinstance(value, str | int | float):
        raise ValueError(f"no text in column {shown(column)} (columns: {named(list(row))})")
    return str(value)
