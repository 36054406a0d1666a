"""Solutions in steps from a file, each step labelled right or wrong: what process reward models learn from.

Forms: `prompt, completions, labels` with lists of steps and of labels, as TRL has them (`steps` and `ratings` are other names
for them), steps that are objects with a text and a label; and Math-Shepherd's, a text whose lines end with + or -.
Leaves out: labels of generated families, which are checked and not read (`rewards/stage/step_labels.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.part import knob, live, part
from guerdon.core.task import Conversation, Task
from guerdon.data.data_rows import Records
from guerdon.data.lines import shown
from guerdon.tasks.preference_rows import BadRow, good_or_bad, posed, view_of
from guerdon.tasks.recited_rows import SAY, WORTH, RecitedRows, check_columns, guessed
from guerdon.tasks.row_columns import PROMPTS, OtherRows, named
from guerdon.tasks.row_sets import OpenedRows

STEPS, LABELS = "steps", "labels"  # in a task's meta
NAMES: dict[str, tuple[str, ...]] = {
    "prompt": PROMPTS,
    "steps": ("steps", "completions", "solution"),
    "labels": ("labels", "step_labels", "ratings", "label"),
}
STEP_TEXT, STEP_LABEL = ("text", "step", "content"), ("label", "rating", "correct")
MARKED = re.compile(r"^(.*\S)\s*([-+])\s*$")  # a line of Math-Shepherd's
FIRST_STEP = re.compile(r"\s*Step 1:")


@part
class labelled_steps(RecitedRows):
    """Solutions in steps and a label for each step, from `path`: what `process_reward_model` learns from.

    A solution is recited with its steps below each other. Labels count up to the first wrong one. 1 and true are right; 0,
    false and -1 are wrong; but in a file that has a -1, 0 is neither and has no say. Columns go by their usual names, or by
    those that `columns` gives to `prompt`, `steps` and `labels`. The last `held_out` share of the prompts is never trained on,
    with all of its rows; with `test`, another file, all of its own are.

    Args:
        path: a file, or rows.
        columns: names of the columns.
        held_out: share of the prompts that is never trained on.
        test: a file of held-out rows in its place.
        skip_bad: skip malformed rows.

    >>> import json, tempfile
    >>> import guerdon as gd
    >>> with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
    ...     for n in range(4):
    ...         row = {"prompt": f"{n}+1+1=", "completions": [f"{n}+1={n + 1}", "= 9"], "labels": [True, False]}
    ...         print(json.dumps(row), file=file, flush=True)
    ...     source = gd.tasks.labelled_steps(file.name)
    ...     task = source.get("train", 0)
    ...     source.size("train"), task.meta["say"], task.meta["labels"]
    (3, ['0+1=1\\n= 9'], [1.0, 0.0])
    """

    path: Any = knob(hashed=False)
    columns: dict[str, str] = knob(factory=dict)
    held_out: float = knob(default=0.1, ge=0.0, le=0.9)
    test: Any = knob(default=None, hashed=False)
    skip_bad: bool = False

    opened: OpenedRows | None = live()
    signed: bool = live(default=False)  # whether there is a -1 among its labels

    @property
    def brings(self) -> frozenset[str]:
        return frozenset({"step_labels"})

    def __post_init__(self) -> None:
        check_columns(self.columns, NAMES)

    def find_columns(self, records: Records, title: str) -> dict[str, str]:
        there = {
            what: guessed(records, title, what, names, self.columns.get(what, "")) for what, names in NAMES.items()
        }
        if not (there["steps"] or there["labels"]) or (there["steps"] and not there["prompt"]):
            raise OtherRows(
                f"{title} holds no labelled steps (columns: {named(records.columns) or 'none'}): a row is"
                ' {"prompt": ..., "completions": ["step", ...], "labels": [true, ...]}; name other columns with'
                " --column labels=NAME"
            )
        self.signed = self.signed or any(-1 in _labels(row.value, there) for row in records if row.value is not None)
        return {what: column for what, column in there.items() if column}

    def tasks_of(self, row: Mapping[str, Any], number: int, columns: Mapping[str, str]) -> tuple[list[Task], int]:
        marked = row.get(columns.get("labels", ""))
        view: str | Conversation
        if isinstance(marked, str):
            view, steps, given = _math_shepherd(marked, columns["labels"])
        else:
            view, steps = _view(row, columns), _steps(row, columns)
            given = _labels(row, columns)
        if len(given) != len(steps):
            raise BadRow(f"{len(steps)} steps and {len(given)} labels: give one for each")
        labels = [None if self.signed and each == 0 else good_or_bad(each, "labels") for each in given]
        if 0.0 in labels:
            labels = labels[: labels.index(0.0) + 1]
        meta: dict[str, Any] = {SAY: ["\n".join(steps)], WORTH: [float(0.0 not in labels)]}
        meta |= {STEPS: steps, LABELS: labels}
        return [posed(f"{number}", self.name, view, meta)], 0


def _view(row: Mapping[str, Any], columns: Mapping[str, str]) -> str | Conversation:
    column = columns.get("prompt", "prompt")
    return view_of(row.get(column), column)


def _steps(row: Mapping[str, Any], columns: Mapping[str, str]) -> list[str]:
    given = row.get(columns.get("steps", ""))
    if not isinstance(given, list) or not given:
        raise BadRow(f"no list of steps in column {shown(columns.get('steps', 'completions'))}")
    texts = [_of(each, STEP_TEXT) if isinstance(each, Mapping) else each for each in given]
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise BadRow(f"a step without text: {shown(text)}")
    return [text.strip("\n") for text in texts]


def _labels(row: Mapping[str, Any], columns: Mapping[str, str]) -> list[Any]:
    given = row.get(columns.get("labels", ""))
    if given is None and isinstance(steps := row.get(columns.get("steps", "")), list):
        return [_of(each, STEP_LABEL) for each in steps if isinstance(each, Mapping)]
    return given if isinstance(given, list) else []


def _math_shepherd(text: str, column: str) -> tuple[str, list[str], list[Any]]:
    """The question, its steps and their marks: `... Step 1: 3*4=12 +` and so on, a line each."""
    begin = FIRST_STEP.search(text)
    if begin is None:
        raise BadRow(f"column {shown(column)} is neither a list of labels nor steps that begin with 'Step 1:'")
    lines = [line.strip() for line in text[begin.start() :].split("\n") if line.strip()]
    marks = [MARKED.match(line) for line in lines]
    lost = next((line for line, mark in zip(lines, marks, strict=True) if mark is None), None)
    if lost is not None:
        raise BadRow(f"a step that ends with neither + nor -: {shown(lost)}")
    return text[: begin.start()].strip(), [m[1] for m in marks if m], [m[2] for m in marks if m]


def _of(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if name in value), None)
