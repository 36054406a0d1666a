"""Samples to be labelled, from a run's rollout files: the text and its context, as training would see them.

Leaves out: which of them are shown first (`label_queue.py`).
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from guerdon.core.arrays import loads
from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.runs.labels import Place, Row
from guerdon.runs.rollout_files import read_table
from guerdon.runs.rollout_table import tidy
from guerdon.runs.run import Missing, Run
from guerdon.runs.whole_files import file_mark

KEPT = 10  # steps that stay in memory
OF_A_SEGMENT = ("segment", "parent", "role", "view", "completion", "goes_on")
OF_A_TASK = ("answer", "family", "task_id", "level", "role")


def step_table(run: Run, step: int) -> Any:
    """The rows of a stored step with the columns of `runs/rollout_table.py`; read once for as long as the file stays."""
    path = run.folder.rollouts(step)
    mark = file_mark(path)
    if not mark:
        raise Missing(f"{run.folder.named} holds no rollouts of step {step}")
    return _table(str(path), mark, step)


@functools.lru_cache(maxsize=KEPT)
def _table(path: str, mark: tuple[int, ...], step: int) -> Any:
    raw = read_table(path, step)
    with _believed(path):
        return tidy(*raw, step)


@contextlib.contextmanager
def _believed(path: str) -> Iterator[None]:
    """A file without a checksum may hold anything: what makes no sense in it is damage."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise Damaged(f"{path} is damaged: its rows are not those of a rollout file") from error


def sample_row(run: Run, place: Place) -> Row:
    """What a label holds of the sample it is about: enough to train on, and to ask a reward about it."""
    step, episode, segment = place
    rows = {row["segment"]: row for row in _of_episode(step_table(run, step), episode)}
    if segment not in rows or segment < 0:
        raise Missing(f"{run.folder.named} has no segment {segment} of {episode[:40]} at step {step}")
    with _believed(str(run.folder.rollouts(step))):
        return _row_of(rows, place)


def _row_of(rows: Mapping[int, Row], place: Place) -> Row:
    step, episode, segment = place
    at = rows[segment]
    path = _path(rows, segment)
    prompt, completion, turns = _talk(path, at["prompt"])
    meta = json.loads(at["meta"]) | json.loads(at["ask"])["note"]
    return {
        "step": step,
        "episode": episode,
        "segment": segment,
        "prompt": prompt,
        "completion": completion,
        **{name: at[name] for name in OF_A_TASK},
        **({"asked": at["prompt"]} if prompt != at["prompt"] else {}),
        **({"turns": turns} if len(turns) > 1 else {}),
        **({"meta": meta} if meta else {}),
        **{name: at[name] for name in ("reward", "correct") if at[name] is not None and math.isfinite(at[name])},
    }


def _of_episode(table: Any, episode: str) -> list[Row]:
    import pyarrow.compute as pc

    own = table.filter(pc.equal(table["episode"], episode))
    return measured(own, [*{*OF_A_SEGMENT, *OF_A_TASK, "prompt", "meta", "ask"}])


def measured(table: Any, names: Sequence[str]) -> list[Row]:
    """Rows with some columns, what the sample was paid and whether it is right, each None where that is not known. A run
    without a reward of its own is paid for being right."""
    there = set(table.column_names)
    paid = "reward" if "reward" in there else "correct"
    wanted = {"reward": paid, "correct": "correct", "reason": f"{paid}:reason"}
    columns = {name: table[column].to_pylist() for name, column in wanted.items() if column in there}
    rows: list[Row] = table.select(names).to_pylist()
    nothing = dict.fromkeys(wanted)
    return [{**row, **nothing, **{name: each[n] for name, each in columns.items()}} for n, row in enumerate(rows)]


def _path(rows: Mapping[int, Row], segment: int) -> list[Row]:
    """The segments that one continues, root first: those of its own role, whose memory it shares."""
    path = [rows[segment]]
    while (parent := rows.get(path[0]["parent"])) is not None and parent["role"] == path[0]["role"]:
        if len(path) > len(rows):
            raise UserError(f"segment {segment} is its own ancestor: the rollout file is damaged")
        path.insert(0, parent)
    return path


def _talk(path: Sequence[Row], asked: str) -> tuple[Any, str, list[str]]:
    """What was shown (a text, or messages where it was more than that), the answer to it, and the text of each turn."""
    messages: list[dict[str, str]] = []
    turns: list[str] = []
    for row in path:
        view = loads(row["view"])
        if row["goes_on"] and turns:
            turns[-1] += f"{view if isinstance(view, str) else ''}{row['completion']}"
            continue
        if turns:
            messages.append({"role": "assistant", "content": turns[-1]})
        messages += _messages(view, asked if not turns else "")
        turns.append(row["completion"] or "")
    plain = len(messages) == 1 and messages[0]["role"] == "user"
    return (messages[0]["content"] if plain else messages), turns[-1], turns


def _messages(view: Any, otherwise: str) -> list[dict[str, str]]:
    """A view as messages; of one that is neither text nor messages, what was asked in words."""
    if isinstance(view, list) and view and all(isinstance(m, dict) and isinstance(m.get("content"), str) for m in view):
        return [{"role": str(m.get("role", "user")), "content": m["content"]} for m in view]
    words = view if isinstance(view, str) else otherwise
    return [{"role": "user", "content": words}] if words or otherwise else []
