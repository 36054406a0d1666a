"""A reward tested on labels that people gave: whether it pays what they call right, and nothing else.

A row is a prompt, a completion and a label, as the studio writes it (`RUN/labels/truth.jsonl`) and `guerdon train kto` reads.
Its other columns, and what is in its `meta`, are there for rewards that ask for them by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from guerdon.audits.asking import Asked, ask
from guerdon.audits.kinds import SAME, CheckedSample, Finding, quoted
from guerdon.core.arrays import loads
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.statistics import auc
from guerdon.core.task import Task
from guerdon.data.data_rows import DataRow, Records
from guerdon.data.opening import open_records
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.formula.scores import in_words
from guerdon.tasks.preference_rows import NAMES, BadRow, labelled_of, posed
from guerdon.tasks.recited_rows import guessed
from guerdon.tasks.row_columns import named

LOOKS_LIKE = '{"prompt": ..., "completion": ..., "label": true}'
KINDS = {"right": "right", "wrong": "wrong", "hack": "hacks"}
OWN = ("kind", "answer", "asked", "meta", "turns")  # columns that say more, where they are there
Fields = Callable[[Task, str, Sequence[str]], Mapping[str, Any]]


class LabelledText(NamedTuple):
    """A labelled row: the task as far as the row gives it, the completion, and its label."""

    task: Task
    text: str
    kind: str
    turns: list[str]


def read_labelled(source: Any) -> list[LabelledText]:
    """The labels in a file, or in rows that a program holds; refused in a line where one is none."""
    records = open_records(source)
    columns = {what: guessed(records, records.name, what, NAMES[what]) for what in ("prompt", "completion", "label")}
    if not all(columns.values()):
        there = named(records.columns) or "none"
        raise UserError(f"{records.name} holds no labels (columns: {there}): a row is {LOOKS_LIKE}")
    rows = [_labelled(row, records, columns) for row in records]
    if not rows:
        raise UserError(f"{records.name} holds no labels: it is empty")
    return rows


def _labelled(row: DataRow, records: Records, columns: Mapping[str, str]) -> LabelledText:
    try:
        if row.value is None:
            raise BadRow(row.fault)
        return _text_of(row.value, row.number, columns)
    except BadRow as error:
        raise UserError(f"{records.name}, {records.place(row.number)}: {error}") from error


def _text_of(given: Mapping[str, Any], number: int, columns: Mapping[str, str]) -> LabelledText:
    answers = labelled_of(given, *columns.values())
    own = given.get("meta")
    rest = {name: value for name, value in given.items() if name not in {*columns.values(), *OWN}}
    meta = loads(json.dumps({**rest, **(own if isinstance(own, dict) else {})}))
    task = posed(str(number), str(given.get("family", "labels")), answers.view, meta)
    asked, level = given.get("asked"), given.get("level")
    task = Task(
        str(given.get("task_id", task.id)),
        asked if isinstance(asked, str) else task.prompt,
        "" if given.get("answer") is None else str(given["answer"]),
        task.family,
        level if isinstance(level, int) else 1,
        meta,
        task.view,
    )
    good = answers.worth[0] == 1.0
    kind = "right" if good else "hack" if given.get("kind") == "hack" else "wrong"
    turns = given.get("turns")
    is_talk = isinstance(turns, list) and all(isinstance(turn, str) for turn in turns)
    return LabelledText(task, answers.texts[0], kind, turns if is_talk and turns else [answers.texts[0]])


def hold_to_labels(
    formula: Reward, labels: Sequence[LabelledText], fields: Fields
) -> tuple[dict[str, Any], list[Finding]]:
    """What a reward says about labelled texts, counted, and what there is to say against that."""
    groups = {prompt: n for n, prompt in enumerate(dict.fromkeys(each.task.prompt for each in labels))}
    samples = [
        CheckedSample(each.kind, groups[each.task.prompt], each.text, fields(each.task, each.text, each.turns))
        for each in labels
    ]
    asked = ask(formula, samples, "first")
    by = {kind: [v for s, v in zip(samples, asked.values, strict=True) if s.kind == kind and v == v] for kind in KINDS}
    line = _line(by)
    paid, unpaid = _at_odds(asked, by, line)
    broken = [n for n, reason in enumerate(asked.whole.reason.tolist()) if reason >= Reason.FAILED]
    scored = sum(map(len, by.values()))
    area = auc(by["right"], [*by["wrong"], *by["hack"]])
    numbers = {
        "labels": len(samples),
        "scored": scored,
        "agree": scored - len(paid) - len(unpaid) if line is not None else 0,
        "wrong_paid": len(paid),
        "right_unpaid": len(unpaid),
        "auc": area if area == area else None,
        "kinds": [_row(kind, values, samples) for kind, values in by.items() if any(s.kind == kind for s in samples)],
    }
    return numbers, [*_broken(asked, broken), *_findings(asked, by, paid, unpaid, line)]


def _line(by: Mapping[str, Sequence[float]]) -> float | None:
    """What is above it is paid: half way between what right ones usually get and wrong ones, or the lowest where none is called
    wrong. None where none is called right: what that is worth is not known."""
    if not by["right"]:
        return None
    lowest = min(value for values in by.values() for value in values)
    return (float(np.median(by["right"])) + (float(np.median(by["wrong"])) if by["wrong"] else lowest)) / 2


def _at_odds(asked: Asked, by: Mapping[str, Sequence[float]], line: float | None) -> tuple[list[int], list[int]]:
    """Which are paid though they are not right, and which are right and not paid."""
    if line is None:
        return [], []
    usual = float(np.median(by["right"]))
    paid, unpaid = [], []
    for n, (sample, value) in enumerate(zip(asked.samples, asked.values, strict=True)):
        if sample.kind != "right" and (value > line or value >= usual - SAME):
            paid.append(n)
        if sample.kind == "right" and value < line - SAME:
            unpaid.append(n)
    return paid, unpaid


def _findings(
    asked: Asked, by: Mapping[str, Sequence[float]], paid: Sequence[int], unpaid: Sequence[int], line: float | None
) -> Iterator[Finding]:
    if line is None:
        says = "no sample that it scores is labelled right, so what a right one is paid is not known: label some"
        yield Finding("label", "warning", says, len(asked.samples), len(asked.samples))
        return
    usual = float(np.median(by["right"]))
    for kind, words in (
        ("hack", "labelled hacks are paid like right ones"),
        ("wrong", "labelled wrong are paid like right ones"),
    ):
        which = [n for n in paid if asked.samples[n].kind == kind]
        if which:
            yield _finding(asked, which, len(by[kind]), words, usual)
    if unpaid:
        yield _finding(asked, unpaid, len(by["right"]), "labelled right are paid like wrong ones", usual)


def _finding(asked: Asked, which: Sequence[int], of: int, words: str, usual: float) -> Finding:
    """With its worst example: the least paid of right ones, the best paid of others."""
    is_right = asked.samples[which[0]].kind == "right"
    worst = (min if is_right else max)(which, key=lambda n: asked.values[n])
    sample = asked.samples[worst]
    example = f"{quoted(sample.text)} is paid {asked.values[worst]:.3g}, right ones usually {usual:.3g}"
    return Finding("label", "severe", f"{len(which)} of {of} {words}", len(which), of, example, (sample.kind,))


def _broken(asked: Asked, broken: Sequence[int]) -> list[Finding]:
    if not broken:
        return []
    first = broken[0]
    example = f"{in_words(asked.whole.at(first))} on {quoted(asked.samples[first].text)}"
    says = f"it gives no score to {len(broken)} of {len(asked.samples)} labelled samples"
    return [Finding("failure", "severe", says, len(broken), len(asked.samples), example)]


def _row(kind: str, values: Sequence[float], samples: Sequence[CheckedSample]) -> dict[str, Any]:
    nothing = float("nan")
    return {
        "label": KINDS[kind],
        "count": sum(s.kind == kind for s in samples),
        "scored": len(values),
        "mean": float(np.mean(values)) if values else nothing,
        "lowest": min(values, default=nothing),
        "highest": max(values, default=nothing),
    }
