"""ReST-RL's own parts: problems whose tries differ and lines of their best tries to start from, values of the lines of a tree,
and the best of several programs.

Leaves out: the tree search itself (`guerdon/search/uct.py`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import Any, ClassVar

import torch

from guerdon.core.batch import ENDS, Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End, Episode
from guerdon.core.extra_play import play_scored
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play, Seats, seats_alone
from guerdon.core.task import Ask, Task
from guerdon.credit.track_steps import track_steps
from guerdon.curricula.plain import EpochSampler
from guerdon.search.line_tree import Keep, LineTree, OneRole, best
from guerdon.search.step_scorers import value_scorer, worth
from guerdon.select.hints import begun

LINES = "lines"  # the note of an ask: how many lines of a good try it starts with


def beginnings(text: str, share: float, decay: float, dice: torch.Generator) -> list[int]:
    r"""How many lines of a text to start with, `share` of as many times as it has beginnings, drawn with replacement by
    $p_i \propto \alpha^i$: `decay` is $\alpha$. The whole text is no beginning of it.

    >>> import torch
    >>> beginnings("a\nb\nc", 0.5, 1e-9, torch.Generator().manual_seed(0)), beginnings("a", 0.5, 0.9, torch.Generator())
    ([1], [])
    """
    count = text.count("\n")
    if not count:
        return []
    weights = decay ** torch.arange(count, dtype=torch.float64)
    drawn = torch.multinomial(weights, math.ceil(share * count), replacement=True, generator=dice)
    return [int(i) + 1 for i in drawn]


@part
class promising_starts:
    r"""Problems of `task` whose tries differ, and beginnings of their best tries, `tries` tries each.

    ReST-GRPO (Zhoubian et al. 2025, arXiv:2508.19576): each problem is tried `sample` times; where the standard deviation of
    what `score` gives is under `spread` it is dropped; else it is a start, and where its best try reaches `least` so are
    beginnings of that, `share` of as many as it has lines, the first of them most (`beginnings`). New problems are sampled,
    with the policy as it is then, when fewer starts are left than are drawn: as many problems as are drawn, up to `MOST` times;
    if that is not enough, problems as they come make up the number. A start is asked once. What is sampled counts in the
    budget.

    Compare tries `by="ask"`: several starts are of one problem. *Biased* on purpose towards problems solved now and then, and
    towards where the policy can come by itself. Notes `starts/kept`, the share of sampled problems that were kept, and
    `starts/inside`, the share of a step's asks that start after the first line.
    """

    task: Any
    score: Any
    tries: int = knob(default=8, ge=2)
    sample: int = knob(default=5, ge=2)
    spread: float = knob(default=0.05, ge=0.0)
    least: float = 0.9
    share: float = knob(default=0.5, ge=0.0, le=1.0)
    decay: float = knob(default=0.95, gt=0.0, le=1.0)

    drawn: int = state(default=0)
    waiting: list[dict[str, Any]] = state(
        factory=list
    )  # starts that were not asked yet: a task, and what was said by then
    laps: EpochSampler | None = live()

    MOST: ClassVar[int] = 4

    def draw(self, n: int, play: Play) -> list[Ask]:
        for again in range(self.MOST):
            if len(self.waiting) >= n:
                break
            self.waiting += self._sampled(n, play, again)
        taken, self.waiting = self.waiting[:n], self.waiting[n:]
        asks = [self._ask(start, play) for start in taken]
        asks += [Ask(self._next(play), self.tries) for _ in range(n - len(asks))]
        play.log(**{"starts/inside": fmean(float(ask.note.get(LINES, 0) > 0) for ask in asks)})
        return asks

    def _sampled(self, n: int, play: Play, again: int) -> list[dict[str, Any]]:
        """The starts of some new problems, in an order by lot."""
        batch = play_scored([Ask(self._next(play), self.sample) for _ in range(n)], [self.score], play)
        value, tried = batch[self.score.gives[0]].tolist(), dict[int, list[tuple[float, Episode]]]()
        for k, e in enumerate(batch.episode[batch.leaf].tolist()):
            if value[k] == value[k]:
                tried.setdefault(int(batch.ask_E[e]), []).append((value[k], batch.episodes[e]))
        dice = play.generator("starts", self.drawn, again)
        kept = [tries for tries in tried.values() if pstdev(score for score, _ in tries) >= self.spread]
        play.log(**{"starts/kept": len(kept) / n})
        starts = [start for tries in kept for start in self._starts(tries, dice)]
        return [starts[i] for i in torch.randperm(len(starts), generator=dice).tolist()]

    def _starts(self, tries: Sequence[tuple[float, Episode]], dice: torch.Generator) -> list[dict[str, Any]]:
        score, episode = max(tries, key=lambda each: each[0])
        task, last = dataclasses.asdict(episode.task), episode.segments[-1]
        text, starts = last.text.rstrip(), [{"task": task, "said": ""}]
        if score >= self.least and last.end is not End.CUT:
            lines = text.splitlines(keepends=True)
            starts += [{"task": task, "said": "".join(lines[:count])} for count in self._counts(text, dice)]
        return starts

    def _counts(self, text: str, dice: torch.Generator) -> list[int]:
        return beginnings(text, self.share, self.decay, dice) if self.share else []

    def _ask(self, start: dict[str, Any], play: Play) -> Ask:
        ask = Ask(Task(**start["task"]), self.tries, note={LINES: start["said"].count("\n")})
        return ask.but(prefix=begun(ask, start["said"], play)) if start["said"] else ask

    def _next(self, play: Play) -> Task:
        if self.laps is None or self.laps.source is not self.task:
            self.laps = EpochSampler(self.task)
        self.drawn += 1
        return self.laps.task(self.drawn - 1, play.seed)


@part
class tree_values(FieldColumns):
    """A step column: on the last step of every segment of a tree what came of it, the mean of `reward` over all ways through it
    that ended by themselves; no other step has one. Of a search whose segments are lines these are the values that it backs up.
    Ways that were given up, as those that say what another says, or cut by a limit, are in no mean.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> tree_values()(example_tries([[1.0, 0.5]], steps=2), ExamplePlay())["labels"].tolist()
    [nan, 1.0, nan, 0.5]
    """

    reward: Needs = "reward"
    gives_to: Gives = "labels"

    shelf = "scores"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        unrolled, cut = track_steps(batch), (batch.end == ENDS.index(End.CUT))[batch.leaf]
        reward = batch.track_column(self.reward, "tree_values").value.masked_fill(cut, float("nan"))
        through = unrolled.back(unrolled.of(reward))
        last = torch.zeros(batch.S, dtype=torch.bool)
        last[(torch.cumsum(batch.length, 0) - 1)[batch.length > 0]] = True
        value = through.masked_fill(~last, float("nan"))
        reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", value, reason)})


@part
class best_whole(OneRole):
    """Whole answers, `tries` of them, of which the one is chosen that `scorer` likes best at its end: what searches by a value
    are held against. `keep` and the limits are as in `beam`.

    >>> best_whole(tries=4).roles
    ('policy',)
    """

    tries: int = knob(default=8, ge=1)
    scorer: Any = knob(factory=value_scorer)
    keep: Keep = "tree"
    role: str = "policy"

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        tree = LineTree(seats, self.role, ask)
        ends = await tree.grow([None] * self.tries, whole=True)
        return tree.episode(best(ends, await worth(self.scorer, tree, ends)), self.keep)
