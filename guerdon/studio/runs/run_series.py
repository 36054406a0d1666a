"""Runs over each other: a series for each arm, which is a run, or runs that differ in the seed alone, by `loop/compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from guerdon.display.run.curves import X
from guerdon.results.compare.as_page import compared_arms
from guerdon.results.compare.comparison import chosen_metric
from guerdon.results.compare.differences import AFTER, BEFORE, difference
from guerdon.results.compare.prompts import shown_prompt
from guerdon.results.compare.run_arms import RunArm, RunsRead, read_arms
from guerdon.results.compare.words import difference_words
from guerdon.runs.run import Missing
from guerdon.studio.library import Library
from guerdon.studio.runs.run_snapshot import snapshot

MOST = 24  # arms that colours and dashes can distinguish


def arms_of(library: Library, ids: Sequence[str], apart: bool = False) -> tuple[RunsRead, dict[str, str]]:
    """The arms of some runs, each run its own with `apart`; and the ids of the runs by the names of their
    folders. What is gone is noted and left out."""
    gone, runs, named = [], [], {}
    for id in dict.fromkeys(ids):
        try:
            runs.append(snapshot(library.shelved(id)))
            named[runs[-1].folder.named] = id
        except Missing as error:
            gone.append(str(error))
    read = read_arms(runs)
    if apart:
        every = [run for arm in read.arms for run in arm.runs]
        read.arms = [RunArm(f"R{i}" if len(every) > 26 else chr(64 + i), [run]) for i, run in enumerate(every, start=1)]
    read.notes = [*gone, *read.notes]
    if len(read.arms) > MOST:
        read.notes.append(f"the first {MOST} of {len(read.arms)} are shown: more lines are unreadable")
        read.arms = read.arms[:MOST]
    return read, named


def compared(
    library: Library, ids: Sequence[str], x: X, smooth: float, metric: str, apart: bool, also: Sequence[str]
) -> dict[str, Any]:
    """All that the page shows of several runs but what takes long; `also` are curves wanted besides those drawn large."""
    read, named = arms_of(library, ids, apart)
    return compared_arms(read.arms, chosen_metric(read.arms, metric or None), read.notes, named, x, smooth, also)


def apart_by(library: Library, ids: Sequence[str], metric: str, apart: bool, arm: str, at: str) -> dict[str, Any]:
    """The difference of an arm from the first one, before or after training: per problem where both were evaluated on the
    same ones."""
    arms = arms_of(library, ids, apart)[0].arms
    other = next((each for each in arms[1:] if each.letter == arm), None)
    if other is None:
        raise Missing(f"there is no arm {arm[:8]} to compare with the first")
    chosen = chosen_metric(arms, metric or None)
    between = difference(other, arms[0], chosen, BEFORE if at == "before" else AFTER)
    return {**asdict(between), "verdict": between.verdict, "words": difference_words(chosen, between)}


def prompt_of(library: Library, ids: Sequence[str]) -> dict[str, Any]:
    """The prompt on which the runs differ most, as addresses of the page that shows both sides."""
    read, named = arms_of(library, ids)
    asked = shown_prompt(read.arms, None, None)
    sides = [
        {"arm": each.arm, "run": named[each.run.named], "step": each.step, "mean": each.mean} for each in asked.runs
    ]
    return {
        "task": f"{asked.family}/{asked.id}",
        "prompt": asked.prompt,
        "column": asked.column,
        "sides": sides,
        "note": asked.note,
    }
