"""Episode memory: what was tried in earlier steps, kept in the checkpoint and joined to later ones.

Leaves out: which tracks are worth keeping (`filters.py`), and correcting for their age:
they carry the log-probs they were sampled with, so a loss with a ratio does.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.pack import cat, of_episodes, pack
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play


@part
class remembered(FieldColumns):
    r"""Joins `draw` episodes of earlier steps to the batch, and remembers this step's.

    `which` is a selection of tracks (`at_least("correct")`, `best("reward", by="task")`; None: all of them) that is remade
    in each step from what is remembered and what is new; of that the newest `keep` episodes stay, and with `older` none
    that is more than so many steps old. What failed, and what has a score that failed, is never remembered.

    `by` decides which are drawn: each alike (`"chance"`), with $p \propto e^{-age/temperature}$ (`"age"`, in steps), with
    $p \propto e^{r/temperature}$ and $r$ the mean `column` of an episode (`"reward"`; one without a value is not drawn), or as
    many of each family of tasks as there are (`"family"`). With `"alike"` they are drawn where a group has no spread: of each
    task at which all tries of this step by one role have the same `column`, the newest episode of that role, one a task.
    Nothing is drawn twice in a step.

    An episode keeps its name, and so its ask: old tries are compared `by="ask"` with those of the same ask that are drawn
    with them, `by="task"` with today's too. A group that is remembered in part has another mean than it had: where that
    must not be, stand behind the credit, whose columns then come along as they were. Columns that models gave are dropped
    and read again. Stages that ask again (`until_solved`, `follow_up`) come before it.

    Old episodes are in no mean that a step reports and seen by no curriculum; stored rollouts have them. Column `gives_to` is
    the age of each track, 0 for what is new. *Biased* as far as a loss does not correct for older weights. Notes
    `memory/size`, `memory/drawn` and, where there are any, `memory/age`, the mean age of what was drawn.

    Args:
        keep: episodes that are remembered.
        draw: episodes that join each batch.
        by: how they are drawn.
        column: column that weighs the draw, or in which tries are alike.
        temperature: of the draw.
        older: greatest age in steps; 0 for no limit.
        which: selection of the tracks that are remembered; all when None.
        gives_to: column of the age.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> memory, play = gd.select.remembered(draw=1, by="reward", temperature=0.01), ExamplePlay()
    >>> first = memory(example_tries([[0.0, 1.0]]), play)
    >>> play.step = 3
    >>> later = memory(example_tries([]), play)
    >>> later["reward"].tolist(), later["age"].tolist()
    ([1.0], [3.0])
    """

    keep: int = knob(default=512, ge=1)
    draw: int = knob(default=32, ge=0)
    by: Literal["chance", "age", "reward", "family", "alike"] = "chance"
    column: str = "reward"
    temperature: float = knob(default=1.0, gt=0.0)
    older: int = knob(default=0, ge=0)
    which: Any = None
    gives_to: Gives = "age"

    bank: Batch | None = state(default=None)

    def __post_init__(self) -> None:
        if self.draw > self.keep:
            raise UserError(f"remembered keeps {self.keep} episodes, of which it cannot draw {self.draw}")

    @property
    def needs(self) -> tuple[str, ...]:
        own = (self.column,) if self.by in ("reward", "alike") else ()
        return (*own, *(name for name in getattr(self.which, "needs", ()) if name not in own))

    def __call__(self, batch: Batch, play: Play) -> Batch:
        bank = pack([]) if self.bank is None else self.bank
        if self.older:
            bank = of_episodes(bank, _age(bank, play) <= self.older)
        drawn = of_episodes(bank, self._drawn(bank, batch, play))
        self.bank = self._kept(bank, batch, play)
        play.log(**{"memory/size": len(self.bank.episodes), "memory/drawn": len(drawn.episodes)})
        if drawn.episodes:
            play.log(**{"memory/age": float(_age(drawn, play).mean())})
            batch = cat([_unread(batch, play), drawn])
        return batch.with_cols({self.gives_to: Column.full("track", batch.down(_age(batch, play), "episode", "track"))})

    def _kept(self, bank: Batch, batch: Batch, play: Play) -> Batch:
        """What is remembered from now on, the oldest first."""
        sound = ~batch.failed_K & (_age(batch, play) == 0)[batch.episode][batch.leaf]
        for column in batch.cols.values():
            if column.level == "track":
                sound &= ~column.broken
        whole = cat([bank, batch.take(sound)])
        chosen = self.which(whole, play) if self.which is not None else whole
        there = torch.zeros(len(chosen.episodes), dtype=torch.bool)
        there[chosen.episode] = True
        there &= there.flip(0).cumsum(0).flip(0) <= self.keep  # counted from the newest
        return _unread(of_episodes(chosen, there), play)

    def _drawn(self, bank: Batch, batch: Batch, play: Play) -> Tensor:
        """[E] the episodes of the bank that are joined to the batch; those that are there already are not."""
        here = {episode.key for episode in batch.episodes}
        free = torch.tensor([episode.key not in here for episode in bank.episodes], dtype=torch.bool)
        if self.by == "alike":
            return self._of_alike(bank, batch, free)
        dice = torch.rand(len(free), generator=play.generator("remembered"), dtype=torch.float64)
        if self.by == "family":
            turn = _turns([episode.task.family for episode in bank.episodes], dice)
            order = -(turn + dice).masked_fill(~free, float("inf"))
        else:
            # the largest of p's logarithm and Gumbel noise: a draw by p without putting back
            order = (self._liking(bank, play) - torch.log(-torch.log(dice))).masked_fill(~free, float("-inf"))
        place = torch.argsort(order, descending=True, stable=True)[: self.draw]
        drawn = torch.zeros(len(free), dtype=torch.bool)
        drawn[place] = torch.isfinite(order[place])
        return drawn

    def _of_alike(self, bank: Batch, batch: Batch, free: Tensor) -> Tensor:
        """[E] of each task and role whose tries of this step are alike the newest episode that is free."""
        value = batch.track_column(self.column, "remembered").value
        seen: dict[tuple[str, str], set[float]] = {}
        for name, each in zip(_whose(batch), value.masked_fill(batch.failed_K, float("nan")).tolist(), strict=True):
            if each == each:
                seen.setdefault(name, set()).add(each)
        rows = zip(_whose(bank), bank.episode[bank.leaf].tolist(), strict=True)
        newest = {name: e for name, e in rows if free[e]}
        drawn = torch.zeros(len(free), dtype=torch.bool)
        drawn[[newest[name] for name, values in seen.items() if len(values) == 1 and name in newest][: self.draw]] = (
            True
        )
        return drawn

    def _liking(self, bank: Batch, play: Play) -> Tensor:
        """[E] the logarithm of each episode's chance, but for a constant; none where it is never drawn."""
        if self.by == "chance" or not bank.episodes:
            return torch.zeros(len(bank.episodes), dtype=torch.float64)
        if self.by == "age":
            return -_age(bank, play).double() / play.at(self.temperature)
        column = bank.track_column(self.column, "remembered")
        value = bank.up(column.value.double(), "episode", of="track", by="mean")
        return (value / play.at(self.temperature)).nan_to_num(nan=float("-inf"))


def _whose(batch: Batch) -> list[tuple[str, str]]:
    """[K] each track's task, and its role."""
    return [(ask.task.key, batch.roles[r]) for ask, r in zip(batch.asks, batch.role_K.tolist(), strict=True)]


def _age(batch: Batch, play: Play) -> Tensor:
    """[E] how many steps ago each episode was played."""
    return torch.tensor([float(play.step - episode.step) for episode in batch.episodes])


def _turns(families: list[str], dice: Tensor) -> Tensor:
    """[E] which turn each has among its family's, in the order of the dice."""
    seen: Counter[str] = Counter()
    turn = torch.zeros(len(families), dtype=torch.float64)
    for e in torch.argsort(dice, stable=True).tolist():
        turn[e] = seen[families[e]]
        seen[families[e]] += 1
    return turn


def _unread(batch: Batch, play: Play) -> Batch:
    """Without the columns that models of the run gave."""
    return batch.without(*(name for name in batch.cols if name.partition(".")[0] in play.models))
