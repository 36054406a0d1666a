"""Rollout files that are being read: opened once, checked by their checksum, the last few kept.

A batch is not rebuilt: an episode is its few rows of the table. What goes over all rows (which episode lies where, which
segments end a track, the scale of a column) is found out once a file.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from guerdon.core.arrays import loads
from guerdon.core.errors import UserError
from guerdon.runs.rollout_files import read_table
from guerdon.runs.run import Missing, Run
from guerdon.runs.whole_files import file_mark

FILES, BYTES = 6, 1 << 30  # that are kept, at most
PLAIN = ("row", "episode", "place", "step", "number", "attempt", "role", "parent", "family", "task_id")
FOLLOWS = "follows"  # in an ask's note
SHARE = 0.99  # of the numbers of a column lie within its scale

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]


def followed_by(asked: Mapping[str, Any]) -> list[str]:
    """The episodes that an ask is about, as `follow_up` names them in its note."""
    note = asked.get("note")
    links = note.get(FOLLOWS) if isinstance(note, dict) else None
    return [str(link[0]) for link in links if isinstance(link, list) and link] if isinstance(links, list) else []


class StepFile:
    """One step's rows, and where the episodes and tracks lie in them."""

    def __init__(self, table: Any, meta: dict[str, Any], step: int) -> None:
        self.table, self.meta, self.step = table, meta, step
        self.plain: dict[str, list[Any]] = table.select(PLAIN).to_pydict()
        self.columns: dict[str, tuple[str, str, list[int]]] = {name: (*rest,) for name, *rest in meta["columns"]}
        self._lists: dict[str, tuple[npt.NDArray[Any], ...]] = {}  # offsets, which rows have one, values
        self.episodes: dict[str, range] = {}  # by "STEP.NUMBER.ATTEMPT": its rows
        self.asks: dict[str, list[str]] = {}  # by "STEP.NUMBER": its episodes
        self.groups: dict[str, dict[str, Any]] = {}  # by an ask, once requested (`ask_groups.py`)
        self.tasks: dict[str, list[str]] = {}  # by "FAMILY/ID": likewise
        first = 0
        number = self.plain["episode"]
        for at in range(1, len(number) + 1):
            if at == len(number) or number[at] != number[first]:
                self._add(range(first, at))
                first = at

    def _add(self, rows: range) -> None:
        step, ask, attempt, family, task = (
            self.plain[name][rows.start] for name in ("step", "number", "attempt", "family", "task_id")
        )
        places, parents = (self.plain[name][rows.start : rows.stop] for name in ("place", "parent"))
        nobody_acted = places == [-1]
        if not nobody_acted and (places != [*range(len(rows))] or not all(-1 <= p < i for i, p in enumerate(parents))):
            raise ValueError(f"the segments of episode {self.plain['episode'][rows.start]} are out of order")
        key = f"{step}.{ask}.{attempt}"
        self.episodes[key] = rows
        self.asks.setdefault(f"{step}.{ask}", []).append(key)
        self.tasks.setdefault(f"{family}/{task}", []).append(key)

    def key(self, row: int) -> str:
        return ".".join(str(self.plain[name][row]) for name in ("step", "number", "attempt"))

    def of(self, episode: str) -> range:
        """The rows of an episode."""
        rows = self.episodes.get(episode)
        if rows is None:
            raise Missing(f"step {self.step} holds no rollout {episode[:40]}")
        return rows

    def rows(self, rows: range, *names: str) -> list[Row]:
        """Rows as they were written, all columns or some."""
        part = self.table.slice(rows.start, len(rows))
        listed: list[Row] = (part.select(names) if names else part).to_pylist()
        return listed

    def list_at(self, name: str, row: int) -> npt.NDArray[Any] | None:
        """What a column of lists holds in a row; None where it holds none."""
        if name not in self.table.column_names:
            return None
        if name not in self._lists:
            column = self.table[name].combine_chunks()
            offsets, there = column.offsets.to_numpy(), column.is_valid().to_numpy(zero_copy_only=False)
            self._lists[name] = offsets, there, column.values.to_numpy(zero_copy_only=False)
        offsets, there, values = self._lists[name]
        return values[offsets[row] : offsets[row + 1]] if there[row] else None

    @cached_property
    def followers(self) -> dict[str, list[str]]:
        """By an episode: those that were asked about it (`follow_up`)."""
        first = [rows.start for rows in self.episodes.values()]
        asks = self.table["ask"].take(first).to_pylist()
        follow: dict[str, list[str]] = {}
        for key, ask in zip(self.episodes, asks, strict=True):
            for followed in followed_by(loads(ask)) if FOLLOWS in ask else ():
                follow.setdefault(followed, []).append(key)
        return follow

    # --- tracks -------------------------------------------------------------------------------------------------

    @cached_property
    def leaves(self) -> list[int]:
        """The row in which each track of the batch ends, by the track's number."""
        return [row for row in self._ends if self.plain["row"][row] >= 0]

    @cached_property
    def track_of(self) -> dict[int, int]:
        return {row: track for track, row in enumerate(self.leaves)}

    @cached_property
    def paired(self) -> set[int] | None:
        """The rows that end a track of a pair; None where the batch has no pairs to learn from."""
        pairs = self.meta["pairs"]
        return None if pairs is None else {self.leaves[k] for name in ("better", "worse") for k in pairs[name][1]}

    @cached_property
    def _ends(self) -> list[int]:
        """Rows that none of their own role continue: each ends a track, of the batch or of none."""
        continued = {self.before(row) for row in range(len(self.plain["row"])) if self._continues(row)}
        return [row for row, place in enumerate(self.plain["place"]) if place >= 0 and row not in continued]

    def _continues(self, row: int) -> bool:
        """Whether it continues one of its own role, and is in the batch if that is."""
        before = self.before(row)
        return before is not None and (self.plain["row"][row] >= 0 or self.plain["row"][before] < 0)

    def before(self, row: int) -> int | None:
        """The row of the same role that a segment continues."""
        parent = self.plain["parent"][row]
        if parent is None or parent < 0:
            return None
        above: int = row - self.plain["place"][row] + parent
        return above if self.plain["role"][above] == self.plain["role"][row] else None

    def ends_in(self, rows: range) -> list[int]:
        """Of some rows those that end a track, in the batch or not."""
        return self._ends[bisect_left(self._ends, rows.start) : bisect_left(self._ends, rows.stop)]

    def path(self, row: int) -> list[int]:
        """The rows of the track that ends in one, root first."""
        path, at = [row], self.before(row)
        while at is not None:
            path.append(at)
            at = self.before(at)
        return path[::-1]

    # --- numbers ------------------------------------------------------------------------------------------------

    @cached_property
    def scales(self) -> dict[str, tuple[float, float]]:
        """The span of every number that steps can be coloured by, over the whole file, but for its most extreme hundredth;
        without `advantage` columns nothing of these is left out."""
        names = {"logp": "logp", "paid": "rewards", **{name: f"col.{name}" for name in self.columns}}
        spans = {}
        for name, stored in names.items():
            if stored not in self.table.column_names or (name in self.columns and self.columns[name][2]):
                continue
            values = np.asarray(
                self.table[stored].combine_chunks().flatten().to_numpy(zero_copy_only=False), np.float64
            )
            values = values[np.isfinite(values)]
            if len(values):
                share = 1.0 if "advantage" in name else SHARE
                spans[name] = (float(np.quantile(values, 1 - share)), float(np.quantile(values, share)))
        return spans

    @cached_property
    def spelled(self) -> dict[str, bool]:
        """By role: whether every action is one character of the text."""
        if self.meta["actions"] != ["torch.int64", []]:
            return {}
        texts = self.table["text"].to_pylist()
        acted = [row for row, place in enumerate(self.plain["place"]) if place >= 0]
        return spelled_roles((self.plain["role"][row], texts[row] or "", self._actions(row)) for row in acted)

    def _actions(self, row: int) -> list[int]:
        actions = self.list_at("actions", row)
        return [] if actions is None else actions.tolist()


class StepFiles:
    """The files that were read last."""

    def __init__(self) -> None:
        self._opened: OrderedDict[tuple[str, int], tuple[tuple[int, ...], StepFile]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, run: Run, step: int) -> StepFile:
        """The rows of a step of a run, as they are now."""
        path = run.folder.rollouts(step)
        mark = file_mark(path)
        with self._lock:
            if not mark or not path.is_file():
                self._opened.pop((str(path), step), None)
                raise Missing(_nothing(run, step))
            kept = self._opened.get((str(path), step))
            if kept is None or kept[0] != mark:
                kept = mark, _opened(run, step)
            self._opened[str(path), step] = kept
            self._opened.move_to_end((str(path), step))
            while len(self._opened) > 1 and (len(self._opened) > FILES or self._size() > BYTES):
                self._opened.popitem(last=False)
            return kept[1]

    def _size(self) -> int:
        return sum(file.table.nbytes for _, file in self._opened.values())


def _opened(run: Run, step: int) -> StepFile:
    table, meta = read_table(run.folder.rollouts(step), step)
    with believed(run, step):
        return StepFile(table, meta, step)


@contextmanager
def believed(run: Run, step: int) -> Iterator[None]:
    """A file may come from elsewhere, checksum included: rows in another form are reported in a line."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        path, why = run.folder.shown(run.folder.rollouts(step)), (str(error).splitlines() or [""])[0][:120]
        raise UserError(f"{path} is not as a batch is stored: {type(error).__name__}: {why}") from error


def _nothing(run: Run, step: int) -> str:
    kept = run.rollout_steps
    has = f"it has {kept[0]} to {kept[-1]}" if kept else "it has none"
    return f"{run.folder.named} holds no rollouts of step {step}: {has}"


def spelled_roles(rows: Iterable[tuple[str, str, Sequence[int]]]) -> dict[str, bool]:
    """By role: whether every action is one character of the text, but for an end action after the last. A row is a role's
    text and its actions.

    There is no tokeniser here, so a whole batch is asked: lengths must fit, and an action must mean the same character
    everywhere. Equal lengths alone would be fooled by two-character tokens with an end token behind them.
    """
    fits: dict[str, bool] = {}
    means: dict[tuple[str, int], str] = {}
    for role, text, actions in rows:
        if not fits.setdefault(role, True) or len(actions) - len(text) not in (0, 1):
            fits[role] = False
            continue
        spelled = [*text, ""][: len(actions)]  # "" is the text of an end action
        fits[role] = all(means.setdefault((role, a), c) == c for a, c in zip(actions, spelled, strict=True))
    return fits
