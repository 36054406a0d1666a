"""Rollout files: a batch as Parquet, and the same batch, to the last bit, from that file.

A row is a segment. Columns of the batch are named `col.NAME` (a column `reward` is not the segment's own `reward`).
A track's numbers stand in the row of its last segment, a segment's in its own, those of steps in lists; reasons and details
stand beside them.
What belongs to the batch as a whole (pairs, denominators, types) is JSON in the file's metadata.

Parquet's own page checksums are written for other readers; they leave out the footer.
So the metadata also has a checksum of the whole file, taken with zeros in its own place.
Files from before have none, and are read as they are.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from guerdon.core.arrays import dumps, loads
from guerdon.core.batch import Batch, Count, Pairs
from guerdon.core.column import Column
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import UserError, require_extra
from guerdon.core.manifest import Damaged
from guerdon.core.pack import pack
from guerdon.core.part import knobs
from guerdon.core.task import Ask, Prefix, Sampling, Task
from guerdon.store.whole_files import atomic

FORMAT = 2  # 1 had neither pay by the action, nor what was made, nor the seed of an episode's dice, nor muted steps
OLDEST = 1
SUM = "guerdon-sum:"  # in the metadata, and eight digits after it
NO_SUM = b"0" * 8
NOTHING: dict[str, Any] = {}  # is spelled once for all that tell nothing


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise require_extra("pyarrow", "store") from error
    return pyarrow


def write_batch(path: Path, batch: Batch, step: int | None = None) -> None:
    """The file says which `step` of a run it is of, where it is of one."""
    data = batch_bytes(batch, step)
    with atomic(path) as scratch:
        scratch.write_bytes(data)


def batch_bytes(batch: Batch, step: int | None = None) -> bytes:
    """A batch as a file holds it."""
    pa = _arrow()
    batch = batch.to("cpu")
    row_of = {(e, p): g for g, (e, p) in enumerate(zip(batch.episode.tolist(), batch.place.tolist(), strict=True))}
    rows = [Row(e, ep, i) for e, ep in enumerate(batch.episodes) for i in (range(len(ep.segments)) or (-1,))]
    kept = np.array([row_of.get((row.number, row.place), -1) for row in rows], np.int64)
    types = _types(pa, batch.action.is_floating_point(), batch.context.is_floating_point())
    known = {"row": kept, **_episode_columns(rows), **_segment_columns(rows, types, pa)}
    arrays = {name: x if isinstance(x, pa.Array) else pa.array(x, types[name]) for name, x in known.items()}
    table = pa.table({name: arrays[name] for name in types} | _column_arrays(batch, kept, pa))
    meta = {
        "format": FORMAT,
        "step": step,
        "count": dataclasses.asdict(batch.count),
        "columns": [[n, c.level, str(c.value.dtype), list(c.value.shape[1:])] for n, c in batch.cols.items()],
        "actions": [str(batch.action.dtype), list(batch.action.shape[1:])],
        "context": str(batch.context.dtype),
        "pairs": None if batch.pairs is None else _pairs_row(batch.pairs),
    }
    table = table.replace_schema_metadata({"guerdon": json.dumps(meta), "sum": SUM + NO_SUM.decode()})
    written = pa.BufferOutputStream()
    pa.parquet.write_table(table, written, compression="zstd", write_page_checksum=True)
    return _summed(written.getvalue().to_pybytes())


def _summed(data: bytes) -> bytes:
    """A file with its checksum in the place of the zeros."""
    at = data.rindex(SUM.encode()) + len(SUM)  # the last: what was sampled may hold the word too, and stands before it
    return data[:at] + _sum(data, at) + data[at + len(NO_SUM) :]


def _sum(data: bytes, at: int) -> bytes:
    """The checksum of a file that has its own at some place."""
    view = memoryview(data)
    checksum = zlib.crc32(view[at + len(NO_SUM) :], zlib.crc32(NO_SUM, zlib.crc32(view[:at])))
    return f"{checksum:08x}".encode()


def read_table(path: str | Path, step: int | None = None) -> tuple[Any, dict[str, Any]]:
    """A file's rows as a pyarrow table, and what it says of the batch as a whole. A damaged one is refused by name, and so is
    that of another `step` than it is asked for; files from before they said it are believed."""
    pa = _arrow()
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UserError(f"{path} is not a rollout file: {error.strerror}") from error
    at = data.rfind(SUM.encode()) + len(SUM)
    if at >= len(SUM) and data[at : at + len(NO_SUM)] != _sum(data, at):
        raise Damaged(f"{path} is damaged: it does not match its checksum")
    try:
        table = pa.parquet.read_table(pa.BufferReader(data), page_checksum_verification=True)
        meta = json.loads(table.schema.metadata[b"guerdon"])
    except (OSError, KeyError, TypeError, ValueError, RecursionError, pa.ArrowException) as error:
        raise Damaged(f"{path} is not a rollout file: {(str(error).splitlines() or ['empty'])[0]}") from error
    if not isinstance(meta, dict) or meta.get("format") not in range(OLDEST, FORMAT + 1):
        written_as = meta.get("format") if isinstance(meta, dict) else meta
        raise UserError(f"{path} was written by another version of guerdon (format {written_as})")
    if step is not None and meta.get("step") not in (None, step):
        raise Damaged(f"{path} is not what it was: it holds step {meta['step']}")
    return table, meta


def read_batch(path: str | Path, step: int | None = None) -> Batch:
    """The batch a file holds; of that `step`, or it is refused."""
    table, meta = read_table(path, step)
    try:
        return _rebuilt(table.to_pylist(), meta)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError, AssertionError) as error:
        if b"sum" in table.schema.metadata:  # it is as it was written, so this is no damage
            raise
        raise Damaged(f"{path} is damaged: its rows do not make a batch") from error


def _rebuilt(rows: list[dict[str, Any]], meta: dict[str, Any]) -> Batch:
    whole = pack(_episodes(rows, meta))
    kept = torch.zeros(whole.G, dtype=torch.bool)
    at = {(e, p): g for g, (e, p) in enumerate(zip(whole.episode.tolist(), whole.place.tolist(), strict=True))}
    in_order = [r for r in rows if r["row"] >= 0]
    for row in in_order:
        kept[at[row["episode"], row["place"]]] = True
    batch = whole.take(kept[whole.leaf])
    weight = _per_step("weight", in_order, np.float32)
    muted = _per_step("muted", in_order, np.bool_) if meta["format"] > 1 else batch.muted
    cols = {n: _read_column(n, level, dtype, shape, in_order, batch) for n, level, dtype, shape in meta["columns"]}
    pairs = None if meta["pairs"] is None else Pairs(**{n: _tensor(*saved) for n, saved in meta["pairs"].items()})
    count = Count(**meta["count"])
    return dataclasses.replace(batch, weight=weight, muted=muted, cols=cols, pairs=pairs, count=count)


def _per_step(name: str, rows: list[dict[str, Any]], kind: type[np.generic]) -> torch.Tensor:
    """[S] from the lists of the segments."""
    return torch.from_numpy(np.concatenate([np.zeros(0, kind), *(np.array(r[name], kind) for r in rows)]))


def _pairs_row(pairs: Pairs) -> dict[str, Any]:
    tensors = {f.name: getattr(pairs, f.name) for f in dataclasses.fields(Pairs)}
    return {name: [str(t.dtype), t.tolist()] for name, t in tensors.items()}


def _tensor(dtype: str, values: list[Any]) -> torch.Tensor:
    return torch.tensor(values, dtype=getattr(torch, dtype.removeprefix("torch.")))


def _json(what: str, value: Any) -> str:
    try:
        return dumps(value)
    except TypeError as error:
        raise UserError(f"{what} cannot be stored: {error}; use numbers, strings, lists, dicts and arrays") from error


# --- episodes -----------------------------------------------------------------------------------------------------


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


class Row(NamedTuple):
    """A row of a file: an episode and one of its segments, -1 where it has none."""

    number: int
    episode: Episode
    place: int


def _episode_columns(rows: Sequence[Row]) -> dict[str, list[Any]]:
    """What is told of the episodes. Tries share their ask, which is spelled once."""
    episodes = [row.episode for row in rows]
    tasks = [ep.ask.task for ep in episodes]
    keys = [ep.key for ep in episodes]
    return {
        "episode": [row.number for row in rows],
        **{name: [getattr(ep, name) for ep in episodes] for name in ("step", "number", "attempt", "seed")},
        "task_id": [task.id for task in tasks],
        **{name: [getattr(task, name) for task in tasks] for name in ("family", "level", "prompt", "answer")},
        "meta": _each_once([t.meta for t in tasks], lambda at, meta: _json(f"the meta of task {tasks[at].key}", meta)),
        "ask": _each_once(
            [ep.ask for ep in episodes], lambda at, ask: _json(f"the note of ask {keys[at]}", _told(ask))
        ),
        "info": _each_once(
            [ep.info for ep in episodes], lambda at, info: _json(f"the info of episode {keys[at]}", info)
        ),
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


def _segment_columns(rows: Sequence[Row], types: dict[str, Any], pa: Any) -> dict[str, Any]:
    """What is told of the segments; nothing where an episode has none."""
    segments = [row.episode.segments[row.place] if row.place >= 0 else None for row in rows]
    roles = [None if s is None else s.role for s in segments]

    def each(name: str) -> list[Any]:
        return [None if s is None else getattr(s, name) for s in segments]

    def spelled(name: str, spell: Callable[[int, Any], str]) -> list[str | None]:
        values = [segments if s is None else getattr(s, name) for s in segments]  # stands for none: None may be one
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


def _episodes(rows: list[dict[str, Any]], meta: dict[str, Any]) -> list[Episode]:
    kind, tail = meta["actions"]
    dtype = _number(kind)
    context = _number(meta.get("context", "torch.int64"))
    sampling_of = functools.cache(lambda text: _sampling(json.loads(text)))  # most segments share theirs
    episodes: list[Episode] = []
    for row in rows:
        if row["episode"] == len(episodes):
            episodes.append(_episode(row))
        if row["place"] >= 0:
            segment = _segment(row, dtype, tail, context, sampling_of(row["sampling"]))
            episodes[-1] = episodes[-1].but(segments=(*episodes[-1].segments, segment))
    return episodes


def _number(kind: str) -> type:
    return np.float32 if kind == "torch.float32" else np.int64


def _episode(row: dict[str, Any]) -> Episode:
    asked = loads(row["ask"])
    meta, view = loads(row["meta"]), asked.get("task_view")
    task = Task(row["task_id"], row["prompt"], row["answer"], row["family"], row["level"], meta, view)
    sampling = asked["sampling"] and _sampling(asked["sampling"])
    prefix = asked["prefix"] and Prefix(**asked["prefix"])
    ask = Ask(task, asked["n"], asked["prompt"], sampling, prefix, asked["note"], asked.get("view"), asked.get("seats"))
    return Episode(ask, (), row["step"], row["number"], row["attempt"], loads(row["info"]), row.get("seed", 0))


def _sampling(saved: dict[str, Any]) -> Sampling:
    return Sampling(**{**saved, "stop": tuple(saved["stop"])})


def _segment(row: dict[str, Any], dtype: type, tail: list[int], context: type, sampling: Sampling) -> Segment:
    rewards = row.get("rewards")
    return Segment(
        role=row["role"],
        view=loads(row["view"]),
        context=np.array(row["context"], context),
        actions=np.array(row["actions"], dtype).reshape(-1, *tail),
        logp=np.array(row["logp"], np.float32),
        text=row["text"],
        parent=row["parent"],
        sampling=sampling,
        version=row["version"],
        given=row["given"],
        reward=row["reward"],
        end=End(row["end"]),
        rewards=None if rewards is None else np.array(rewards, np.float32),
        made=loads(row.get("made") or "null"),
        goes_on=bool(row.get("goes_on")),
    )


# --- columns ------------------------------------------------------------------------------------------------------


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
        found = (range(b, b + n) for b, n in zip(self.begin.tolist(), self.length.tolist(), strict=True))
        return [next(found) if there else None for there in self.there]


def _notes(name: str, detail: dict[int, Any], span: range) -> str | None:
    notes = {i - span.start: detail[i] for i in span if i in detail}
    return _json(f"a detail of column {name!r}", notes) if notes else None


def _read_column(
    name: str, level: Any, dtype: str, shape: list[int], rows: list[dict[str, Any]], batch: Batch
) -> Column:
    at_name = f"col.{name}"
    holders = [rows[g] for g in batch.leaf.tolist()] if level == "track" else rows
    value = np.concatenate([np.array(r[at_name], np.float64) for r in holders]) if holders else np.zeros(0)
    reason = (
        np.concatenate([np.array(r[f"{at_name}:reason"], np.int8) for r in holders])
        if holders
        else np.zeros(0, np.int8)
    )
    detail: dict[int, Any] = {}
    offset = 0
    for r in holders:
        for i, note in json.loads(r[f"{at_name}:detail"] or "{}").items():
            detail[offset + int(i)] = note
        offset += len(r[f"{at_name}:reason"])
    kind = getattr(torch, dtype.removeprefix("torch."))
    return Column(level, torch.from_numpy(value.reshape(-1, *shape)).to(kind), torch.from_numpy(reason), detail)
