"""The columns of a rollout file, made of a batch: a row for each segment, and one for each episode without any.

Columns are made whole, of flat arrays where there are numbers; what tries share, as their ask, is spelled once.
Leaves out: the file (`rollout_files.py`), and how a batch is made of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from guerdon.core.arrays import dumps
from guerdon.core.batch import Batch
from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.core.one_turn import OneTurn
from guerdon.core.part import knobs
from guerdon.core.task import Ask, Task

NOTHING: dict[str, Any] = {}  # is spelled once for all that are empty


def file_columns(batch: Batch, pa: Any) -> dict[str, Any]:
    """Arrow arrays by their names, in the order of a file."""
    types = _types(pa, batch.action.is_floating_point(), batch.context.is_floating_point())
    known: dict[str, Any]
    if isinstance(batch.episodes, OneTurn):
        kept = np.full(len(batch.episodes), -1)
        kept[batch.episode.numpy()] = np.arange(batch.G)
        known = _one_turn_columns(batch.episodes, types, pa)
    else:
        row_of = {(e, p): g for g, (e, p) in enumerate(zip(batch.episode.tolist(), batch.place.tolist(), strict=True))}
        rows = [FileRow(e, ep, i) for e, ep in enumerate(batch.episodes) for i in (range(len(ep.segments)) or (-1,))]
        kept = np.array([row_of.get((row.number, row.place), -1) for row in rows], np.int64)
        known = _episode_columns(rows) | _segment_columns(rows, types, pa)
    known["row"] = kept
    arrays = {name: x if isinstance(x, pa.Array) else pa.array(x, types[name]) for name, x in known.items()}
    return {name: arrays[name] for name in types} | _column_arrays(batch, kept, pa)


def _types(pa: Any, continuous: bool, observed: bool) -> dict[str, Any]:
    """`continuous` actions, `observed` floats as contexts: else whole numbers."""
    text, big, small = pa.string(), pa.int64(), pa.int32()
    action, context = (pa.float32() if is_float else big for is_float in (continuous, observed))
    return {
        "row": small, "episode": small, "place": small, "step": big, "number": big, "attempt": big,
        "task_id": text, "family": text, "level": big, "prompt": text, "answer": text, "meta": text, "ask": text, "info": text,
        "seed": big, "role": text, "parent": small, "view": text, "text": text, "context": pa.list_(context),
        "actions": pa.list_(action), "logp": pa.list_(pa.float32()), "sampling": text, "version": big, "given": big,
        "reward": pa.float64(), "end": text, "rewards": pa.list_(pa.float32()), "made": text,
        "goes_on": pa.bool_(),
    }  # fmt: skip


def _one_turn_columns(tries: OneTurn, types: dict[str, Any], pa: Any) -> dict[str, Any]:
    """JSON of tries in columns: what those at an ask share is spelled once, and no episode is built."""
    asked, tasks = tries.asked, [one.ask.task for one in tries.asked]
    shared = {
        "number": [one.number for one in asked],
        **_task_columns(tasks),
        "ask": [_json(f"the note of ask {tries.step}.{one.number}.0", _told(one.ask)) for one in asked],
        "view": [_json(f"what {tries.role} was shown", one.view) for one in asked],
        "sampling": _each_once([one.sampling for one in asked], lambda at, sampling: json.dumps(knobs(sampling))),
        "context": _lists([one.context for one in asked], types["context"], pa),
    }
    arrays = {name: x if isinstance(x, pa.Array) else pa.array(x, types[name]) for name, x in shared.items()}
    E, sizes = len(tries), tries.length.tolist()
    alike = {"step": tries.step, "place": 0, "info": "{}", "role": tries.role, "parent": -1, "version": tries.version}
    alike |= {"given": 0, "made": "null", "goes_on": False, "reward": None, "rewards": None}
    return {
        **{name: array.take(pa.array(tries.ask_E)) for name, array in arrays.items()},
        **{name: pa.repeat(pa.scalar(value, types[name]), E) for name, value in alike.items()},
        "episode": np.arange(E),
        "attempt": np.concatenate([np.zeros(0, np.int64), *(np.arange(one.ask.n) for one in asked)]),
        "seed": tries.seeds,
        "text": list(tries.text),
        "end": list(map(str, tries.end)),
        "actions": _cut(tries.action, sizes, types["actions"], pa),
        "logp": _cut(tries.logp, sizes, types["logp"], pa),
    }


class FileRow(NamedTuple):
    """A row of a file: an episode and one of its segments, -1 where it has none."""

    number: int
    episode: Episode
    place: int


def _episode_columns(rows: Sequence[FileRow]) -> dict[str, list[Any]]:
    """JSON of the episodes. Tries share their ask, which is spelled once."""
    episodes = [row.episode for row in rows]
    tasks = [ep.ask.task for ep in episodes]
    keys = [ep.key for ep in episodes]
    return {
        "episode": [row.number for row in rows],
        **{name: [getattr(ep, name) for ep in episodes] for name in ("step", "number", "attempt", "seed")},
        **_task_columns(tasks),
        "ask": _each_once(
            [ep.ask for ep in episodes], lambda at, ask: _json(f"the note of ask {keys[at]}", _told(ask))
        ),
        "info": _each_once(
            [ep.info for ep in episodes], lambda at, info: _json(f"the info of episode {keys[at]}", info)
        ),
    }


def _task_columns(tasks: Sequence[Task]) -> dict[str, list[Any]]:
    return {
        "task_id": [task.id for task in tasks],
        **{name: [getattr(task, name) for task in tasks] for name in ("family", "level", "prompt", "answer")},
        "meta": _each_once([t.meta for t in tasks], lambda at, meta: _json(f"the meta of task {tasks[at].key}", meta)),
    }


def _told(ask: Ask) -> dict[str, Any]:
    """What is stored of an ask beside its task's own columns."""
    return {
        "n": ask.n,
        "prompt": ask.prompt,
        "sampling": ask.sampling and knobs(ask.sampling),
        "prefix": ask.prefix and {name: getattr(ask.prefix, name) for name in ("of", "segment", "step", "seed")},
        "note": ask.note,
        "view": ask.view,
        "seats": ask.seats,
        **({"task_view": ask.task.view} if ask.task.view is not None else {}),
    }


def _segment_columns(rows: Sequence[FileRow], types: dict[str, Any], pa: Any) -> dict[str, Any]:
    """JSON of the segments; nothing where an episode has none."""
    segments = [row.episode.segments[row.place] if row.place >= 0 else None for row in rows]
    roles = [None if s is None else s.role for s in segments]

    def each(name: str) -> list[Any]:
        return [None if s is None else getattr(s, name) for s in segments]

    def spelled(name: str, spell: Callable[[int, Any], str]) -> list[str | None]:
        values = [segments if s is None else getattr(s, name) for s in segments]  # means none: None may be a value
        return _each_once(values, lambda at, value: None if value is segments else spell(at, value))

    lists = {name: _lists(each(name), types[name], pa) for name in ("context", "actions", "logp", "rewards")}
    return {
        "place": [row.place for row in rows],
        **{name: each(name) for name in ("role", "parent", "text", "version", "given", "reward", "goes_on")},
        **lists,
        "view": spelled("view", lambda at, view: _json(f"what {roles[at]} was shown", view)),
        "made": spelled("made", lambda at, made: _json(f"what {roles[at]} made", made)),
        "sampling": spelled("sampling", lambda at, sampling: json.dumps(knobs(sampling))),
        "end": spelled("end", lambda at, end: str(end)),
    }


def _each_once(values: Sequence[Any], spell: Callable[[int, Any], Any]) -> list[Any]:
    """What `spell` makes of each value and its place; of one that stands in several places, once."""
    known: dict[int, Any] = {}
    for at, value in enumerate(values):
        if id(value) not in known:
            known[id(value)] = spell(at, value)
    return [known[id(value)] for value in values]


def _lists(values: Sequence[np.ndarray | None], kind: Any, pa: Any) -> Any:
    """Arrays as lists of an Arrow type, one after the other; null where there is none."""
    flat = [value.reshape(-1) for value in values if value is not None]
    number = kind.value_type.to_pandas_dtype()
    whole = np.concatenate(flat).astype(number, copy=False) if flat else np.zeros(0, number)
    return _cut(whole, [None if value is None else value.size for value in values], kind, pa)


def _cut(flat: np.ndarray, sizes: Sequence[int | None], kind: Any, pa: Any) -> Any:
    """A flat array as lists of so many numbers each; null where no size is given."""
    ends = np.cumsum([0, *(size or 0 for size in sizes)])
    absent = np.array([*(size is None for size in sizes), False])
    values = pa.array(flat, kind.value_type)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32(), mask=absent if absent.any() else None), values)


# --- columns of the batch --------------------------------------------------------------------------------------------


def _column_arrays(batch: Batch, kept: np.ndarray, pa: Any) -> dict[str, Any]:
    """Arrow arrays in row order: weights, and for every column its values, reasons and details."""
    length = batch.length.numpy()
    begin = np.cumsum(length) - length
    track_of = np.append(np.full(batch.G, -1), -1)  # the last is of rows that are not there
    track_of[batch.leaf.numpy()] = np.arange(batch.K)
    steps = _Rows(kept, begin, length)
    of = {
        "step": steps,
        "segment": _Rows(kept, np.arange(batch.G), np.ones(batch.G, np.int64)),
        "track": _Rows(track_of[kept], np.arange(batch.K), np.ones(batch.K, np.int64)),
    }
    arrays = {
        "weight": steps.lists(batch.weight.numpy(), pa.list_(pa.float32()), pa),
        "muted": steps.lists(batch.muted.numpy(), pa.list_(pa.bool_()), pa),
    }
    for name, col in batch.cols.items():
        at_name = f"col.{name}"
        arrays[at_name] = of[col.level].lists(col.value.double().numpy(), pa.list_(pa.float64()), pa)
        arrays[f"{at_name}:reason"] = of[col.level].lists(col.reason.numpy(), pa.list_(pa.int8()), pa)
        spans = of[col.level].spans() if col.detail else []
        notes = [None if span is None else _notes(name, col.detail, span) for span in spans]
        arrays[f"{at_name}:detail"] = pa.array(notes, pa.string()) if col.detail else pa.nulls(len(kept), pa.string())
    return arrays


class _Rows:
    """Which entries of a level stand in each row of a file: those of one of its units (-1: of none), which begin somewhere."""

    def __init__(self, unit: np.ndarray, begin: np.ndarray, length: np.ndarray) -> None:
        self.unit, self.there = unit, unit >= 0
        self.begin, self.length = begin[unit[self.there]], length[unit[self.there]]
        first = np.cumsum(self.length) - self.length
        self.index = np.repeat(self.begin - first, self.length) + np.arange(self.length.sum())

    def lists(self, values: np.ndarray, kind: Any, pa: Any) -> Any:
        wide = int(np.prod(values.shape[1:]))
        sizes = iter((self.length * wide).tolist())
        return _cut(values[self.index].reshape(-1), [next(sizes) if there else None for there in self.there], kind, pa)

    def spans(self) -> list[range | None]:
        taken = (range(b, b + n) for b, n in zip(self.begin.tolist(), self.length.tolist(), strict=True))
        return [next(taken) if there else None for there in self.there]


def _notes(name: str, detail: dict[int, Any], span: range) -> str | None:
    notes = {i - span.start: detail[i] for i in span if i in detail}
    return _json(f"a detail of column {name!r}", notes) if notes else None


def _json(what: str, value: Any) -> str:
    try:
        return dumps(value)
    except TypeError as error:
        raise UserError(f"{what} cannot be stored: {error}; use numbers, strings, lists, dicts and arrays") from error
