"""The seats of one episode, one for each role, and its segments as they come.

A seat remembers its role's earlier turns and derives the seed of every call from its place in the run.
It answers the first calls of a restarted episode from the record.
Leaves out: batching (`engine/batching.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import UserError, unknown
from guerdon.core.model import NOTHING, Model, Reply, Request
from guerdon.core.renamed import OldName
from guerdon.core.seeds import Place
from guerdon.core.task import Ask, Sampling
from guerdon.models.probing import Item
from guerdon.models.standin import behind

Call = Callable[[str, Request], Awaitable[Reply]]
Read = Callable[[str, Item, Sequence[str]], Awaitable[dict[str, Tensor]]]


class EpisodeSeat:
    """One role in one episode. `act` shows it something and returns what it did; by default it remembers its own past."""

    def __init__(self, table: EpisodeSeats, role: str, name: str, model: Model) -> None:
        self.table, self.role, self.name, self.model = table, role, name, model

    @property
    def calls(self) -> str:
        """How the model was taught to call tools."""
        return str(getattr(_who_spells(self.model), "calls", "hermes"))

    async def act(
        self,
        view: Any,
        *,
        after: int | None = None,
        fresh: bool = False,
        sampling: Sampling | None = None,
        go_on: bool = False,
    ) -> Segment:
        """Show `view` (what is new since this role last acted) and wait for its actions.

        `after` branches off an earlier segment by its number; `fresh` starts without memory. With `go_on` the turn of that
        segment continues: it is not closed and no new one is opened, and `view` stands in it as plain text (a tool's output;
        or "", after a stop string or a limit).
        """
        table = self.table
        parent = self._parent(after, fresh)
        if go_on:
            self._check_open(parent)
        recorded, given = table.recorded(self.role)
        if recorded is not None:
            return table.add(recorded.but(parent=parent))
        how = sampling or table.sampling
        request = Request(self._memory(parent), view, how, table.next_seed(), given, go_on)
        version = self.model.version
        segment = self._segment(view, await table.call(self.name, request), parent, how, version, len(given))
        return table.add(segment.but(goes_on=True) if go_on else segment)

    async def branch(
        self,
        ways: Sequence[int | None],
        view: Any,
        *,
        sampling: Sampling | Sequence[Sampling] | None = None,
        go_on: bool = False,
    ) -> list[tuple[int, Segment]]:
        """One way on from each of several places (numbers of segments; None: from the start), all sampled together: the new
        segments with their numbers, in the order of the places. A place may come several times, and each may be sampled in
        its own way. A way that generated a stop string has it in its text, for the text continues after
        it. Otherwise as `act`.

        An episode that branches cannot be started again in its middle: the record does not show which way is meant.
        """
        table = self.table
        if table.ask.prefix is not None:
            raise UserError(f"{self.role!r} branches, and an episode that does cannot be started again in its middle")
        version = self.model.version
        parents = [-1 if place is None else place for place in ways]
        hows = [sampling or table.sampling] * len(parents) if isinstance(sampling, Sampling | None) else list(sampling)
        for parent in dict.fromkeys(parents if go_on else ()):
            self._check_open(parent)
        promised = [
            table.call(self.name, Request(self._memory(p), view, how, table.next_seed(), NOTHING, go_on))
            for p, how in zip(parents, hows, strict=True)
        ]
        numbered = []
        for parent, how, promise in zip(parents, hows, promised, strict=True):
            segment = self._segment(view, await promise, parent, how, version, 0)
            if segment.end is End.STOPPED:
                segment = segment.but(text=_spelled(self.model, segment))
            numbered.append((len(table.segments), table.add(segment.but(goes_on=True) if go_on else segment)))
        return numbered

    def _memory(self, parent: int) -> tuple[Segment, ...]:
        """What the model is given of the role's past: nothing where it reads a step without those before it."""
        return () if behind(self.model).apart else self.table.path(self.role, parent)

    def room(self, after: int | None = None, view: Any = None) -> int | None:
        """How many more actions the model's context holds at a place (before anything: None), once it was shown `view` there,
        if it has a limit."""
        most = self.model.max_positions
        if most is None:
            return None
        path = self.table.path(self.role, -1 if after is None else after)
        seen = 0 if view is None else len(self.model.encode(view, path))
        return most - seen - sum(len(s.context) + len(s.actions) for s in path)

    async def read(
        self,
        want: str | Sequence[str],
        *,
        view: Any = None,
        text: str | np.ndarray | None = None,
        after: int | None = None,
    ) -> dict[str, Tensor]:
        """A model's readings of this role's path so far, or of `text` after it: `await seat.read("final")`.

        `logp`, `entropy`, `value`, `after` and `hidden` are of the text's steps, `final` is a number at the end of it all. By
        default it is the role's own model; `"critic.final"` asks another of the run. `view` is shown first; without it,
        the text continues where the role stopped. Nothing is recorded and nothing learned.
        """
        item = (self.table.path(self.role, self._parent(after, fresh=False)), view, text)
        return (await self._read([item], want))[0]

    async def read_each(
        self, want: str | Sequence[str], places: Sequence[int], *, said: bool = False
    ) -> list[dict[str, Tensor]]:
        """A model's readings at each of several places (numbers of segments), in one pass; `want` as in `read`. With `said`
        those of the generated steps there, which a model of other tokens cannot read."""
        if not said:
            return await self._read([(self.table.path(self.role, place), None, None) for place in places], want)
        segments = [self.table.segments[place] for place in places]
        before = [self.table.path(self.role, s.parent) for s in segments]
        items: list[Item] = [
            (path, None if s.goes_on else s.view, s.actions) for s, path in zip(segments, before, strict=True)
        ]
        return await self._read(items, want)

    async def read_texts(self, want: str | Sequence[str], view: Any, texts: Sequence[str]) -> list[dict[str, Tensor]]:
        """A model's readings of each of several texts, from the start after `view`; `want` as in `read`."""
        return await self._read([((), view, text) for text in texts], want)

    async def _read(self, items: Sequence[Item], want: str | Sequence[str]) -> list[dict[str, Tensor]]:
        asked: dict[str, dict[str, str]] = {}  # by model: reading, and what it was asked for as
        for name in [want] if isinstance(want, str) else want:
            model, _, reading = name.rpartition(".")
            asked.setdefault(model or self.name, {})[reading] = name
        read: list[dict[str, Tensor]] = [{} for _ in items]
        for model, named in asked.items():
            promised = [self.table.read(model, item, list(named)) for item in items]
            for by_name, promise in zip(read, promised, strict=True):
                values = await promise
                by_name |= {name: values[reading] for reading, name in named.items()}
        return read

    def teacher_force(self, view: Any, text: str, *, after: int | None = None, fresh: bool = False) -> Segment:
        """Append `text` as this role's own output, to learn from or to score. Its tokens count as generated."""
        parent = self._parent(after, fresh)
        reply = self.model.teacher_force(view, text, self.table.path(self.role, parent))
        self.model.meter.tokens += len(reply.actions)
        return self.table.add(self._segment(view, reply, parent, self.table.sampling, self.model.version, 0))

    recite = OldName("teacher_force")

    def _check_open(self, parent: int) -> None:
        """Refuse to continue a turn that is over, or that never was."""
        path = self.table.path(self.role, parent)
        if not path:
            raise UserError(f"{self.role!r} cannot continue: it has not acted; remove go_on=True")
        if path[-1].end in (End.DONE, End.FAILED):
            raise UserError(
                f"{self.role!r} cannot continue: its turn is over ({path[-1].end}); continue after CUT or STOPPED, or remove"
                " go_on=True"
            )

    def _parent(self, after: int | None, fresh: bool) -> int:
        if after is not None:
            return after
        return -1 if fresh else self.table.last(self.role)

    def _segment(self, view: Any, reply: Reply, parent: int, how: Sampling, version: int, given: int) -> Segment:
        return Segment(
            role=self.role,
            view=view,
            context=reply.context,
            actions=reply.actions,
            logp=reply.logp,
            text=reply.text,
            parent=parent,
            sampling=how,
            version=version,
            given=given,
            end=reply.end,
            made=reply.made,
        )


class EpisodeSeats(Mapping[str, EpisodeSeat]):
    """The seats of one episode by role, and the record of it so far."""

    def __init__(
        self,
        ask: Ask,
        names: Mapping[str, str],
        models: Mapping[str, Model],
        sampling: Sampling,
        place: tuple[int, int, int, int],
        call: Call,
        read: Read,
    ) -> None:
        self.ask, self.sampling, self.call, self.read = ask, ask.sampling or sampling, call, read
        self.place = place  # (run seed, step, number of the ask, attempt)
        self._seeds = Place(*place)
        self.segments: list[Segment] = []
        self.calls = 0
        self._seats = {role: EpisodeSeat(self, role, name, models[name]) for role, name in names.items()}
        prefix = ask.prefix
        self.seed = self._seeds.derive("dice") if prefix is None or prefix.seed is None else prefix.seed
        self._record = list(prefix.segments) if prefix is not None else []
        if prefix is not None and len(self._record) <= prefix.segment:
            raise UserError(
                f"restart of {prefix.of}: what was played up to segment {prefix.segment} is not there; make the prefix"
                " with Episode.prefix (an ask read from a file has only its name)"
            )

    def __getitem__(self, role: str) -> EpisodeSeat:
        if role not in self._seats:
            raise unknown("seat", role, self._seats)
        return self._seats[role]

    def __iter__(self) -> Iterator[str]:
        return iter(self._seats)

    def __len__(self) -> int:
        return len(self._seats)

    def last(self, role: str) -> int:
        """The number of the role's latest segment, -1 before its first."""
        at = len(self.segments) - 1
        while at >= 0 and self.segments[at].role != role:
            at -= 1
        return at

    def path(self, role: str, parent: int) -> tuple[Segment, ...]:
        """What a role remembers at a place: its own segments from the first down to `parent`."""
        segments: list[Segment] = []
        while parent >= 0 and self.segments[parent].role == role:
            segments.append(self.segments[parent])
            parent = self.segments[parent].parent
        return tuple(reversed(segments))

    def add(self, segment: Segment) -> Segment:
        self.segments.append(segment)
        return segment

    def next_seed(self) -> int:
        self.calls += 1
        return self._seeds.derive(self.calls - 1)

    def recorded(self, role: str) -> tuple[Segment | None, np.ndarray]:
        """For a restart: the next segment of the record, or the part of it that is given before sampling resumes."""
        at = len(self.segments)
        prefix = self.ask.prefix
        if prefix is None or at >= len(self._record):
            return None, NOTHING
        segment = self._record[at]
        if segment.role != role:
            raise UserError(
                f"restart of {prefix.of}: {role!r} acts where {segment.role!r} acted; is the environment random?"
            )
        if at < prefix.segment:
            self.calls += 1
            return segment.but(given=len(segment.actions), reward=None), NOTHING  # the environment pays again
        return None, segment.actions[: prefix.step]

    def reward(self, **paid: float | Sequence[float]) -> None:
        """Pay roles for their latest segment: `seats.reward(first=1.0, second=-1.0)`. A list pays each of its actions."""
        for role, value in paid.items():
            at = self.last(role)
            if at < 0:
                raise UserError(f"{role!r} is paid before it acted")
            latest = self.segments[at]
            if isinstance(value, Sequence | np.ndarray):
                along = np.asarray(value, np.float32)
                self.segments[at] = latest.but(rewards=along if latest.rewards is None else latest.rewards + along)
            else:
                self.segments[at] = latest.but(reward=(latest.reward or 0.0) + float(value))

    def cut(self, **seen: Any) -> None:
        """A limit ended the episode: `seats.cut(policy=observation)`. Each role's track ends CUT with what it would have been
        shown next, a segment without actions, so that a critic can estimate what was still to come. Of a view that does not fit
        the model's context, as much as does: a track that nothing can read could not be learned from."""
        for role, view in seen.items():
            seat, parent = self[role], self.last(role)
            room = seat.room(parent)
            context = seat.model.encode(view, self.path(role, parent))[: None if room is None else max(0, room)]
            nothing: np.ndarray = np.zeros(0, np.float32)
            how, version = self.sampling, seat.model.version
            self.add(Segment(role, view, context, nothing, nothing, "", parent, how, version, end=End.CUT))

    def episode(self, **info: Any) -> Episode:
        """Close the record. What an environment's `play` returns."""
        _, step, number, attempt = self.place
        return Episode(self.ask, tuple(self.segments), step, number, attempt, info, self.seed)

    def failed(self, error: str) -> Episode:
        """The record of an episode that broke: what was played stays, and ends FAILED."""
        if self.segments:
            self.segments[-1] = self.segments[-1].but(end=End.FAILED)
        return self.episode(error=error)


def _spelled(model: Any, segment: Segment) -> str:
    """All that a segment's actions spell; a copy of a model spells as that one does."""
    return str(_who_spells(model).decode(segment.actions.tolist()))


def _who_spells(model: Any) -> Any:
    while not hasattr(model, "decode") and hasattr(model, "shell"):
        model = model.shell()
    return model
