"""Full trees of segments: from every place the same number of ways on, each a few tokens or a line.

Leaves out: searches that evaluate what they have before they continue.
"""

from __future__ import annotations

from guerdon.core.episode import End, Episode
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.play import Seats, seats_alone
from guerdon.core.task import Ask

LINE = "\n"


@part(was="grown")
class sampled_tree:
    """One answer as a tree: `branch[0]` ways from the start, `branch[1]` on from each that is not over, and so on; a segment is
    so many `tokens` long, or, with `tokens=0`, a line. The last ones continue to the answer's end.

    Every way from the start to an end is a track, and an answer like any other: its tokens may be as many as the sampling's
    `max_tokens`, all segments together, and it ends DONE, or CUT where that limit ends it. A way that is over is not branched;
    so a tree of (4, 4, 4) has 64 tracks at most, and fewer where answers are short. The tree of SPO (Guo et al. 2025,
    arXiv:2505.23564; 6, 6, 6 and 30 tokens for short answers) is this one, with `prefix_gain(mean="child")` for its credit.

    A line ends with the token that has its line break. A trunk's tokens count once in a budget, for they are sampled once. An
    episode that branches cannot be started again in its middle.

    Args:
        branch: continuations at each depth.
        tokens: length of a segment; 0 for a line.
        role: the role that searches.

    >>> import guerdon as gd
    >>> gd.search.sampled_tree(branch=(2, 3), tokens=0).roles
    ('policy',)
    """

    branch: tuple[int, ...] = (4, 4, 4)
    tokens: int = knob(default=30, ge=0)
    role: str = "policy"

    def __post_init__(self) -> None:
        if not self.branch or min(self.branch) < 1:
            raise UserError(
                f"sampled_tree needs a branching factor for each level, 1 or more: branch=(4, 4), not {self.branch}"
            )

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        how, seat = seats.sampling, seats[self.role]
        if how.stop and not self.tokens:
            raise UserError("sampled_tree(tokens=0) stops at line ends itself: remove sampling.stop, or cut by tokens")
        over = (End.DONE, End.FAILED) if not self.tokens else (End.DONE, End.FAILED, End.STOPPED)
        left: dict[int | None, int] = {
            None: how.max_tokens
        }  # the open places, and the tokens that may still come there
        for level, ways in enumerate(self.branch):
            is_last = level + 1 == len(self.branch)
            places = [place for place in left for _ in range(ways)]
            limits = [left[place] if is_last or not self.tokens else min(self.tokens, left[place]) for place in places]
            stop = how.stop if is_last or self.tokens else (LINE,)
            sampling = [how.but(max_tokens=limit, stop=stop) for limit in limits]
            view = ask.shown if level == 0 else ""
            made = await seat.branch(places, view, sampling=sampling, go_on=level > 0)
            rest = {n: left[p] - len(s.actions) for p, (n, s) in zip(places, made, strict=True) if s.end not in over}
            left = {n: room for n, room in rest.items() if room > 0}
            if not left:
                break
        return _ended(seats.episode(), how.stop)


def _ended(episode: Episode, stop: tuple[str, ...]) -> Episode:
    """A way that is not continued and has stopped: at a line break that met the limit it was CUT; at one of the strings
    that end an answer, its text ends before that, as for any answer."""
    gone_on = {s.parent for s in episode.segments}
    segments = list(episode.segments)
    for n, s in enumerate(segments):
        if s.end is End.STOPPED and n not in gone_on:
            places = [at for at in map(s.text.find, stop) if at >= 0]
            segments[n] = s.but(text=s.text[: min(places)]) if places else s.but(end=s.end if stop else End.CUT)
    return episode.but(segments=tuple(segments))
