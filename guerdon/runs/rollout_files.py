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
from pathlib import Path
from typing import Any

import numpy as np
import torch

from guerdon.core.arrays import loads
from guerdon.core.batch import Batch, Count, Pairs
from guerdon.core.column import Column
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import UserError, require_extra
from guerdon.core.manifest import Damaged, read_regular
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Prefix, Sampling, Task
from guerdon.runs.rollout_columns import file_columns
from guerdon.runs.whole_files import atomic

FORMAT = 2  # 1 had neither pay by the action, nor what was made, nor the seed of an episode's dice, nor muted steps
OLDEST = 1
SUM = "guerdon-sum:"  # in the metadata, and eight digits after it
NO_SUM = b"0" * 8


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise require_extra("pyarrow", "store") from error
    return pyarrow


def write_batch(path: Path, batch: Batch, step: int | None = None, run: str = "") -> None:
    """The file says which `step` of which `run` it is of, where it is of one."""
    data = batch_bytes(batch, step, run)
    with atomic(path) as scratch:
        scratch.write_bytes(data)


def batch_bytes(batch: Batch, step: int | None = None, run: str = "") -> bytes:
    """What such a file holds."""
    pa = _arrow()
    batch = batch.to("cpu")
    table = pa.table(file_columns(batch, pa))
    meta = {
        "format": FORMAT,
        "step": step,
        "run": run,
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


def read_table(path: str | Path, step: int | None = None, run: str | None = None) -> tuple[Any, dict[str, Any]]:
    """A file's rows as a pyarrow table, and what it says of the batch as a whole. A damaged one is refused by name, and so is
    that of another `step` or `run` than it is asked for; files from before they said it are believed."""
    pa = _arrow()
    try:
        data = read_regular(Path(path))
    except OSError as error:
        raise UserError(f"{path} is not a rollout file: {error.strerror or error}") from error
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
    if run and meta.get("run") not in (None, "", run):
        raise Damaged(f"{path} is of another run: put the file of this run back")
    if step is not None and meta.get("step") not in (None, step):
        raise Damaged(f"{path} has changed: it holds step {meta['step']}")
    return table, meta


def read_batch(path: str | Path, step: int | None = None, run: str | None = None) -> Batch:
    """The batch a file holds; of that `step` of that `run`, or it is refused."""
    table, meta = read_table(path, step, run)
    try:
        return _rebuilt(table.to_pylist(), meta)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError, AssertionError) as error:
        if b"sum" in table.schema.metadata:  # it is as it was written, so this is not damage
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


# --- episodes -----------------------------------------------------------------------------------------------------


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
