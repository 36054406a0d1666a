"""The stored segments of a run as a table to look at: a row a segment, plain columns first, lists and stored text last.

`COLUMNS` says what each column holds. Every column of the batch is there by its own name, with the reason beside it where a
number is missing; what the rollout files hold by names of their own (`rollout_files.py`) comes last, as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from guerdon.core.arrays import loads
from guerdon.core.column import Reason

COLUMNS = {
    "step": "the step that learned from it",
    "episode": "which try it belongs to: the step it was played in, the ask, the attempt (`4.0.2`)",
    "segment": "its number within the episode, from 0; -1 for an episode that broke before anybody acted",
    "role": "the acting role",
    "task_id": "the problem, unique within its family",
    "family": "what kind of problem it is",
    "level": "how hard it is, as the family counts",
    "prompt": "what was asked: the ask's own prompt, or the task's",
    "completion": "the generated text",
    "answer": "the task's answer",
    "end": "how it ended: done, cut, failed or stopped",
    "length": "actions (tokens) in it",
    "learned": "whether it is in the batch; false if a stage removed it",
    "paid": "what the environment paid for it, if it did",
    "reward": "the reward; null with a `reward:reason` where there is none",
    "correct": "1.0 right, 0.0 wrong; likewise",
    "advantage": "the mean over its steps; likewise",
}
RENAMED = {"segment": "place", "completion": "text", "paid": "reward"}  # ours: the files'
KEPT = ("role", "task_id", "family", "level", "answer", "end")
LISTS = ("context", "actions", "logp", "weight", "muted", "rewards")
STORED = ("parent", "version", "given", "goes_on", "seed", "sampling", "view", "made", "meta", "ask", "info")
MEASURED = ("reward", "correct", "advantage")
WORDS = {int(reason): reason.name.lower().replace("_", " ") for reason in Reason}


def tidy(raw: Any, meta: dict[str, Any], step: int) -> Any:
    """The rows of one rollout file, as `read_table` gives them, with the columns above."""
    import pyarrow as pa
    import pyarrow.compute as pc

    places = zip(*(raw[name].to_pylist() for name in ("step", "number", "attempt")), strict=True)
    asks = raw["ask"].to_pylist()
    prompt_of = {ask: loads(ask)["prompt"] for ask in set(asks)}  # tries at a task share theirs
    own = [prompt_of[ask] for ask in asks]
    prompts = [task if ask is None else ask for ask, task in zip(own, raw["prompt"].to_pylist(), strict=True)]
    columns = {
        **{name: raw[name] for name in KEPT},
        **{ours: raw[theirs] for ours, theirs in RENAMED.items()},
        "step": pa.array([step] * raw.num_rows, pa.int64()),
        "episode": pa.array([".".join(map(str, place)) for place in places], pa.string()),
        "prompt": pa.array(prompts, pa.string()),
        "length": pc.list_value_length(raw["logp"]),
        "learned": pc.greater_equal(raw["row"], 0),
    }
    for name, _, _, shape in meta["columns"]:
        if not shape and name not in columns:  # one number each; what is ours already is under `col.NAME` alone
            columns[name], columns[f"{name}:reason"] = _numbers(raw, f"col.{name}", pa, pc)
    own_names = [name for name in raw.column_names if name.startswith("col.")]
    last = {name: raw[name] for name in (*LISTS, *STORED, *own_names) if name in raw.column_names}
    return pa.table({**columns, **last})


def in_order(table: Any) -> Any:
    """Plain columns first, in the order above, then the batch's others; what is nested or stored last."""
    names = table.column_names
    first = [n for n in COLUMNS if n in names and n not in MEASURED]
    measured = [n for name in MEASURED for n in (name, f"{name}:reason") if n in names]
    last = [n for n in names if n in LISTS or n in STORED or n.startswith("col.")]
    others = [n for n in names if n not in first and n not in measured and n not in last]
    return table.select([*first, *measured, *others, *last])


def _numbers(raw: Any, name: str, pa: Any, pc: Any) -> tuple[Any, Any]:
    """A column's number for each segment, the mean where there is one for each step; null and a reason where there is none. A
    number of a whole track stands in the row of the track's last segment, and nowhere else."""
    values, reasons = raw[name].combine_chunks(), raw[f"{name}:reason"].combine_chunks()
    value, row = (np.asarray(of(values)) for of in (pc.list_flatten, pc.list_parent_indices))
    why, why_row = (np.asarray(of(reasons)) for of in (pc.list_flatten, pc.list_parent_indices))
    there = ~np.isnan(value)
    count = np.bincount(row[there], minlength=raw.num_rows)
    total = np.bincount(row[there], weights=value[there], minlength=raw.num_rows)
    worst = np.zeros(raw.num_rows, np.int64)
    is_missing = why != 0  # of few
    np.maximum.at(worst, why_row[is_missing], why[is_missing])
    words = [WORDS[int(w)] if w and not n else None for w, n in zip(worst, count, strict=True)]
    return pa.array(total / np.maximum(count, 1), pa.float64(), mask=count == 0), pa.array(words, pa.string())
