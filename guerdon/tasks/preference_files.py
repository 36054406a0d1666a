"""Preferences from a file: which of two answers to a prompt is better, or whether one is good."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part
from guerdon.core.task import Task
from guerdon.data.data_rows import DataRow, Records
from guerdon.data.lines import shown
from guerdon.tasks.preference_rows import (
    NAMES,
    OF_PAIRS,
    WEIGHTS,
    Answers,
    BadRow,
    is_number,
    labelled_of,
    pair_of,
    posed,
    scored_of,
    told_of,
)
from guerdon.tasks.recited_rows import SAY, WORTH, RecitedRows, check_columns, guessed
from guerdon.tasks.row_columns import OtherRows, named
from guerdon.tasks.row_sets import OpenedRows

LOOKS_LIKE = {
    "pairs": '{"prompt": ..., "chosen": ..., "rejected": ...}, or "completions" and "scores" in lists',
    "labels": '{"prompt": ..., "completion": ..., "label": true}, or "chosen" and "rejected"',
}


@part
class preferences(RecitedRows):
    """Answers to recite and which of them are better, from `path`: what `reward_model`, `dpo` and `kto` learn from.

    With `want="pairs"` each task is a better answer (`check` says 1) and a worse one (0): the two of a row, or every two of
    its scored answers whose scores differ. With `want="labels"` a task is one labelled answer, or again two. The last
    `held_out` share of the prompts is never trained on, with all of its rows; with `test`, another file, all of its own are.

    There is `prompt` and `chosen`, `rejected`; `completions`, `scores`; or `completion`, `label`: columns of these names or of
    other usual ones, or of those that `columns` gives (`{"chosen": "better"}`). Texts may be lists of messages. Without a
    prompt, conversations that part at their last answer have what they begin with for one. Columns of numbers may say how
    likely a pair's better answer is better (`label`, 0 to 1) and by how much (`margin`); a column `user` says whose preference
    it is, for recipes that learn users apart (others pool them). Columns of weights are refused. A malformed row is refused
    with its line before anything runs; `skip_bad` drops it.

    Args:
        path: a file, or rows.
        want: "pairs" or "labels".
        columns: names of the columns.
        held_out: share of the prompts that is never trained on.
        test: a file of held-out rows in its place.
        skip_bad: skip malformed rows.

    >>> import json, tempfile
    >>> import guerdon as gd
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     for n in range(10):
    ...         row = {"prompt": f"{n}+1=", "completions": [str(n + 1), str(n), "?"], "scores": [5, 2, 2]}
    ...         print(json.dumps(row), file=file, flush=True)
    ...     source = gd.tasks.preferences(file.name, held_out=0.2)
    ...     task = source.get("train", 1)
    ...     source.size("train"), task.prompt, task.meta["say"], source.check(task, "?"), source.open().own.ties
    (16, '0+1=', ['1', '?'], 0.0, 10)
    """

    path: Any = knob(hashed=False)
    want: Literal["pairs", "labels"] = "pairs"
    columns: dict[str, str] = knob(factory=dict)
    held_out: float = knob(default=0.1, ge=0.0, le=0.9)
    test: Any = knob(default=None, hashed=False)
    skip_bad: bool = False

    opened: OpenedRows | None = live()

    @property
    def brings(self) -> frozenset[str]:
        return frozenset({"preferences" if self.want == "pairs" else "labels"})

    def __post_init__(self) -> None:
        check_columns(self.columns, NAMES)

    def find_columns(self, records: Records, title: str) -> dict[str, str]:
        there = {
            what: guessed(records, title, what, names, self.columns.get(what, "")) for what, names in NAMES.items()
        }
        forms: tuple[tuple[str, ...], ...] = (
            ("chosen", "rejected"),
            ("completions",),
            ("completion", "label") if self.want == "labels" else (),
        )
        if there["completions"] and not there["scores"] and not any(_have_scores(row, there) for row in records):
            forms = tuple(form for form in forms if form != ("completions",))
        form = next((form for form in forms if form and all(there[what] for what in form)), None)
        if form is None:
            columns = named(records.columns) or "none"
            raise OtherRows(
                f"{title} holds no preferences (columns: {columns}): a row is {LOOKS_LIKE[self.want]}; name other columns"
                " with --column chosen=NAME"
            )
        weights = next((n for n in WEIGHTS if n in records.columns and is_number(_first(records).get(n))), None)
        if weights is not None:
            raise UserError(
                f"{title} has numbers in a column {shown(weights)}, and rows all count alike: repeat rows, say how sure a pair"
                " is in a column 'label' (0 to 1), or take the column out"
            )
        used = ("prompt", *form, *(("scores",) if form == ("completions",) else ()), "user")
        told = self._told(records, title) if form == ("chosen", "rejected") and self.want == "pairs" else {}
        return {what: there[what] for what in used if there[what]} | told

    def _told(self, records: Records, title: str) -> dict[str, str]:
        """The columns of a pair's label and margin: those that were named, and those of such a name that hold numbers."""
        first = _first(records)
        guesses = {
            what: guessed(records, title, what, names, self.columns.get(what, "")) for what, names in OF_PAIRS.items()
        }
        return {
            what: name
            for what, name in guesses.items()
            if name and (what in self.columns or is_number(first.get(name)))
        }

    @property
    def tells(self) -> frozenset[str]:
        """What its rows say of their pairs: "label", "margin"."""
        return frozenset(OF_PAIRS) & self.open().own.reading.keys() if self.want == "pairs" else frozenset()

    def tasks_of(self, row: Mapping[str, Any], number: int, columns: Mapping[str, str]) -> tuple[list[Task], int]:
        prompt = columns.get("prompt", "")
        if "chosen" in columns:
            pair = pair_of(row, prompt, columns["chosen"], columns["rejected"])
            return [self._task(pair, f"{number}", {**told_of(row, columns), **_user_of(row, columns)})], 0
        if "label" in columns:
            labelled = labelled_of(row, prompt, columns["completion"], columns["label"])
            return [self._task(labelled, f"{number}", _user_of(row, columns))], 0
        scored = scored_of(row, prompt, columns["completions"], columns.get("scores", ""))
        if self.want == "labels":
            if not set(scored.worth) <= {0.0, 1.0}:
                raise BadRow("scores say which answer is better and not which is good: give labels, true or false")
            return [self._task(scored, f"{number}", _user_of(row, columns))], 0
        every = list(itertools.combinations(zip(scored.texts, scored.worth, strict=True), 2))
        apart = [sorted(two, key=lambda each: -each[1]) for two in every if two[0][1] != two[1][1]]
        pairs = [Answers(scored.view, [better[0], worse[0]], [1.0, 0.0]) for better, worse in apart]
        user = _user_of(row, columns)
        return [self._task(pair, f"{number}.{n}", user) for n, pair in enumerate(pairs, 1)], len(every) - len(apart)

    def _task(self, answers: Answers, name: str, told: Mapping[str, Any]) -> Task:
        return posed(name, self.name, answers.view, {SAY: answers.texts, WORTH: answers.worth, **told})


def _user_of(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """Whose preferences a row has, where it says so."""
    user = row.get(columns["user"]) if "user" in columns else None
    return {} if user is None or user == "" else {"user": str(user)}


def _first(records: Records) -> Mapping[str, Any]:
    """The first row that can be read."""
    return next((row.value for row in records if row.value is not None), {})


def _have_scores(row: DataRow, there: Mapping[str, str]) -> bool:
    """Whether the answers of a row are objects, which may have a score each."""
    answers = (row.value or {}).get(there["completions"])
    return isinstance(answers, list) and any(isinstance(answer, Mapping) for answer in answers)
