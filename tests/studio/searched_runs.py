"""Runs with rollouts of every sort, written as training writes them; and a plain-Python filter to hold searches against."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from run_configs import config

from guerdon.core.column import Column, Reason
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Task
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import write_batch
from guerdon.runs.run import Run
from guerdon.studio.rollouts.rollout_index import rollout_files_in

HOSTILE = ['he said "x"', "a.b", "Reward", "x'); DROP TABLE rows; --", "ünï", "where", "c0", "k1", "a:b"]
TEXTS = [
    "Carry the two\nthen nine", "wait, CARRY", "", "<script>alert(1)</script>\x00\x07 end", "Grüße aus Köln", "the  two",
    "a 'quoted' \"thing\" 100% _under_ \\back", "x" * 300 + " needle " + "y" * 300,
]  # fmt: skip
ROLES, ENDS = ("policy", "judge"), (End.DONE, End.CUT, End.DONE, End.FAILED, End.STOPPED)


def batch_of(step: int, asks: int = 3, tries: int = 4, names: tuple[str, ...] = (), seed: int = 0) -> Any:
    """`asks` x `tries` episodes, a second segment by a judge in some; rewards that fail here and there."""
    draw = np.random.default_rng([seed, step])
    episodes = []
    for number in range(asks):
        task = Task(f"t{number}", f"prompt {number} of a sum", "7", ("sums", "sorts")[number % 2], 1 + number % 3)
        for attempt in range(tries):
            segments = [_segment(draw, "policy", -1)]
            if draw.random() < 0.4:
                segments.append(_segment(draw, "judge", 0))
            episodes.append(Episode(Ask(task, tries), tuple(segments), step, number, attempt))
    batch = pack(episodes)
    columns = {"correct": _column(draw, batch.K, 0.1, whole=True), "reward": _column(draw, batch.K, 0.2)}
    columns |= {name: _column(draw, batch.K, 0.3) for name in names}
    batch = batch.with_cols(columns)
    batch = batch.put("advantage", "step", torch.from_numpy(draw.normal(size=batch.S).astype(np.float32)))
    return batch.take(torch.from_numpy(draw.random(batch.K) < 0.9)).recount()


def _segment(draw: np.random.Generator, role: str, parent: int) -> Segment:
    length = int(draw.integers(0, 9))
    text, end = TEXTS[draw.integers(len(TEXTS))], ENDS[draw.integers(len(ENDS))]
    return Segment(role, "seen", [1], np.arange(length), -np.ones(length), text, parent, end=end)


def _column(draw: np.random.Generator, size: int, missing: float, whole: bool = False) -> Column:
    value = torch.from_numpy(np.round(draw.normal(size=size), 0 if whole else 2))
    reason = torch.from_numpy(np.where(draw.random(size) < missing, draw.integers(1, 4, size), 0).astype(np.int8))
    value[reason != Reason.VALUE] = math.nan
    return Column("track", value, reason, {})


def write_step(folder: Path, step: int, **how: Any) -> None:
    path = RunFolder(folder).rollouts(step)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_batch(path, batch_of(step, **how), step)


def make_run(folder: Path, steps: int = 4, **how: Any) -> Path:
    folder.mkdir(parents=True)
    RunFolder(folder).create(config(format=2))
    for step in range(steps):
        write_step(folder, step, **how)
    return folder


def one_step(folder: Path, step: int, texts: list[str], **columns: list[float]) -> None:
    """A step of one segment for each text, with these columns."""
    episodes = [
        Episode(
            Ask(Task(f"t{n}", "a prompt", "7"), 1),
            (Segment("policy", "seen", [1], [1, 2], [-1.0, -1.0], text),),
            step,
            n,
            0,
        )
        for n, text in enumerate(texts)
    ]
    batch = pack(episodes)
    for name, values in columns.items():
        batch = batch.put(name, "track", torch.tensor(values, dtype=torch.float64))
    path = RunFolder(folder).rollouts(step)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_batch(path, batch.recount(), step)


# --- a plain filter ------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class PlainFilter:
    """Says of a row of `Run.rollouts` whether words of an address mean it."""

    asked: dict[str, list[str]]

    def __call__(self, row: dict[str, Any]) -> bool:
        row = {**row, "kind": f"{row['family']}:{row['level']}", "ask": row["episode"].rpartition(".")[0]}
        listed = all(row[n] in self.asked[n] for n in ("kind", "family", "role", "end", "ask") if n in self.asked)
        tests = ("step", "length", "where", "reason", "learned", "task", "text")
        return listed and all(getattr(self, f"_{n}")(row, value) for n in tests for value in self.asked.get(n, []))

    def _range(self, value: Any, wanted: str) -> bool:
        if wanted in ("none", "any"):
            return (value is None) == (wanted == "none")
        if value is None:
            return False
        if ".." in wanted:
            low, high = wanted.split("..")
            return (not low or value >= float(low)) and (not high or value <= float(high))
        sign, number = re.fullmatch(r"(>=|<=|>|<|=|)(.*)", wanted).groups()
        tests = {
            ">": value > float(number),
            "<": value < float(number),
            ">=": value >= float(number),
            "<=": value <= float(number),
        }
        return tests.get(sign, value == float(number))

    def _step(self, row, wanted):
        return self._range(row["step"], wanted)

    def _length(self, row, wanted):
        return self._range(row["length"], wanted)

    def _where(self, row, wanted):
        column, _, bounds = wanted.rpartition(":")
        return column in row and self._range(row[column], bounds)

    def _reason(self, row, wanted):
        column, _, word = wanted.rpartition(":")
        reasons = (
            [f"{column}:reason"]
            if column
            else [name for name in row if name.endswith(":reason") and name[:4] != "col."]
        )
        return any(row.get(name) == word for name in reasons)

    def _learned(self, row, wanted):
        return row["learned"] == (wanted == "yes")

    def _task(self, row, wanted):
        return wanted in (row["task_id"], f"{row['family']}/{row['task_id']}")

    def _text(self, row, wanted):
        both = (row["prompt"], row["completion"] or "")
        for sign, pattern, phrase, word in re.findall(r'(-?)(re:)?(?:"([^"]*)"|([^\s"]\S*))', wanted):
            said = phrase or word
            fits = [re.search(said if pattern else re.escape(said), text, re.IGNORECASE | re.DOTALL) for text in both]
            if any(fits) == bool(sign):
                return False
        return True


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """All rows of a run as the store gives them, read again when a file changed."""
    return _rows(folder, tuple(sorted(rollout_files_in(folder / "rollouts").items())))


@functools.cache
def _rows(folder: Path, marks: object) -> list[dict[str, Any]]:
    return Run(folder).rollouts.to_pylist()


def keys_of(rows: list[dict[str, Any]]) -> list[tuple[int, str, int]]:
    return [(row["step"], row["episode"], row["segment"]) for row in rows]
