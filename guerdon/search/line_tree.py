"""What every search stands on: the tree of lines that one episode grows, and which track of it a search chose.

A step is a line: the model is sampled up to a line's end, and each way continues in the same turn, so that the tokens are those
of an answer that never stopped. A line ends with the token that ends it, which is where a scorer that was trained at the ends
of lines was trained (`rewards/stage/step_labels.py`): that is where it is read.
Leaves out: which ways are followed (the searches), and their values (`step_scorers.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.part import part
from guerdon.core.play import Play, Seats
from guerdon.core.task import Ask, Sampling

Keep = Literal["tree", "chosen"]


class OneRole:
    """A search in which one role plays: the model in the seat `role`."""

    role: str

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)


@dataclass(eq=False)
class TreeLine:
    """A line of the tree, and the way to it."""

    number: int  # of its segment
    segment: Segment
    parent: TreeLine | None
    count: int  # lines up to here
    tokens: int  # of the answer up to here
    text: str  # of the answer up to here
    over: bool  # whether the answer ends here
    step: float = math.nan  # a scorer's value of it

    @property
    def way(self) -> list[TreeLine]:
        """From the first line down to this one."""
        return [*(self.parent.way if self.parent is not None else ()), self]

    @property
    def done(self) -> bool:
        """Whether the model ended the answer here itself, no limit."""
        return self.over and self.segment.end is not End.CUT


class LineTree:
    """The lines of one episode as they are grown. An answer has the ask's `max_tokens` over all its lines, and at most
    `lines` of them."""

    def __init__(self, seats: Seats, role: str, ask: Ask, stop: str = "\n", lines: int = 64) -> None:
        self.seats, self.seat, self.ask = seats, seats[role], ask
        self.stop, self.lines = stop, lines
        self.grown: list[TreeLine] = []

    async def grow(
        self, places: Sequence[TreeLine | None], whole: bool = False, greedy: bool = False, view: Any = None
    ) -> list[TreeLine]:
        """A further line after each of the places, which are all None (the start) or all not over; with `whole` all that is
        left of the answer. At the start the ask is shown, or another `view`."""
        if not places:
            return []
        starts = places[0] is None
        ways = await self.seat.branch(
            [None if place is None else place.number for place in places],
            (self.ask.shown if view is None else view) if starts else "",
            sampling=[self._sampling(place, whole, greedy) for place in places],
            go_on=not starts,
        )
        new = [self._line(place, *way) for place, way in zip(places, ways, strict=True)]
        self.grown += new
        return new

    async def to_the_end(self, count: int) -> list[TreeLine]:
        """So many answers from the start, each line by line to its end: their last lines."""
        ways = await self.grow([None] * count)
        while any(not line.over for line in ways):
            more = iter(await self.grow([line for line in ways if not line.over]))
            ways = [line if line.over else next(more) for line in ways]
        return ways

    def _sampling(self, place: TreeLine | None, whole: bool, greedy: bool) -> Sampling:
        how = self.seats.sampling
        stop = how.stop if whole else (*how.stop, self.stop)
        return how.but(stop=stop, max_tokens=self._left(place), **({"temperature": 0.0} if greedy else {}))

    def _left(self, place: TreeLine | None) -> int:
        """How many tokens an answer may still have."""
        most = self.seats.sampling.max_tokens
        if place is None:
            return most
        room = self.seat.room(place.number)
        return min(most - place.tokens, most if room is None else room)

    def _line(self, parent: TreeLine | None, number: int, segment: Segment) -> TreeLine:
        before = (parent.count, parent.tokens, parent.text) if parent is not None else (0, 0, "")
        text, own_end = _before(segment.text, self.seats.sampling.stop)
        line = TreeLine(
            number, segment, parent, before[0] + 1, before[1] + len(segment.actions), before[2] + text, over=False
        )
        line.over = own_end or segment.end is not End.STOPPED or line.count >= self.lines or self._left(line) < 1
        return line

    def episode(self, chosen: TreeLine, keep: Keep) -> Episode:
        """The record: the whole tree or the chosen way alone. Ways that were given up or that a limit ended end CUT. `info`
        has the number of the chosen way's last segment, and all the tokens that were sampled."""
        ends = {line.number: End.DONE if line.done and not self._limited(line) else End.CUT for line in self.grown}
        spoken = {line.number: line for line in self.grown}
        episode = self.seats.episode()
        inner = {s.parent for s in episode.segments}
        segments = [
            s if n in inner or n not in ends else s.but(end=ends[n], text=_before(s.text, self.seats.sampling.stop)[0])
            for n, s in enumerate(episode.segments)
        ]
        kept = list(range(len(segments))) if keep == "tree" else [line.number for line in spoken[chosen.number].way]
        place = {-1: -1, **{old: new for new, old in enumerate(kept)}}
        told = tuple(segments[n].but(parent=place[segments[n].parent]) for n in kept)
        spent = sum(len(s.actions) for s in segments)
        return episode.but(segments=told, info={**episode.info, "chosen": place[chosen.number], "tokens": spent})

    def _limited(self, line: TreeLine) -> bool:
        """Whether a limit ended an answer whose last line is whole."""
        stopped = line.segment.end is End.STOPPED
        return stopped and not _before(line.segment.text, self.seats.sampling.stop)[1]


def distinct(lines: Iterable[TreeLine]) -> list[TreeLine]:
    """Ways with equal text are one: the first of them."""
    said: dict[tuple[str, bool], TreeLine] = {}
    for line in lines:
        said.setdefault((line.text, line.over), line)
    return list(said.values())


def best(lines: Sequence[TreeLine], worth: Sequence[float]) -> TreeLine:
    """The way that is worth most among those that ended by themselves, or among all where none did; the first of equals."""
    numbered = list(zip(lines, worth, strict=True))
    return max([each for each in numbered if each[0].done] or numbered, key=lambda each: each[1])[0]


def _before(text: str, stops: Sequence[str]) -> tuple[str, bool]:
    """A text up to where a stop string of the ask's own begins, and whether there is one."""
    places = [text.find(stop) for stop in stops if stop and stop in text]
    return (text[: min(places)], True) if places else (text, False)


def view_of(shown: Any, text: str) -> Any:
    """A text in the place of what was asked: alone, or as the user's last message in a conversation."""
    return shown.saying(text) if hasattr(shown, "saying") else text


@part(was="chosen_way")
class chosen_path(FieldColumns):
    """A track column: 1 for the way that a search chose, 0 for every other of its tree. Not applicable where nothing searched.

    With `select.at_least("chosen")` and a loss that imitates, a policy is taught what search made of it (expert iteration,
    Anthony et al. 2017, arXiv:1705.08439). No formula. A way that was chosen need not be right: filter by `correct` too.

    Args:
        gives_to: column of the mark.

    >>> import guerdon as gd
    >>> gd.search.chosen_path().gives
    ('chosen',)
    """

    gives_to: Gives = "chosen"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        at = list(zip(batch.episode[batch.leaf].tolist(), batch.place[batch.leaf].tolist(), strict=True))
        chosen = [batch.episodes[e].info.get("chosen") for e, _ in at]
        value = torch.tensor(
            [float("nan") if c is None else float(c == place) for c, (_, place) in zip(chosen, at, strict=True)]
        )
        reason = torch.where(torch.isnan(value), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("track", value, reason)})
