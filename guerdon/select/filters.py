"""Which tracks and steps a learner learns from: selections for `Learn(on=...)`, and stages that add or keep tries.

Selections hide nothing from other stages. They keep whole tracks, whose denominators are then those of what is kept, or mute
single steps. `again` samples more tries in the same step until there is enough to learn from; it goes through `play`, so it
counts in the run's budget.
Leaves out: tracks that were cut short (`losses.signs.finished`), and asking the same problems again with help (`hints.py`).
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from typing import Annotated, Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch, Group
from guerdon.core.errors import UserError
from guerdon.core.extra_play import check_scores, play_more
from guerdon.core.field_columns import ColumnField, FieldColumns, Needs
from guerdon.core.knob_values import is_schedule
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play


@part
class in_turn(FieldColumns):
    """Several selections one after the other: each sees what the one before it kept.

    Args:
        filters: the selections in order.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> keep = gd.select.in_turn([gd.select.at_least("reward"), gd.select.best("reward")])
    >>> keep(example_tries([[0.0, 1.0, 2.0]]), ExamplePlay())["reward"].tolist()
    [2.0]
    """

    filters: Annotated[list[Any], ColumnField("needs")]

    def __post_init__(self) -> None:
        if not self.filters:
            raise UserError("in_turn needs at least one selection: in_turn([at_least('correct'), distinct()])")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        for each in self.filters:
            batch = each(batch, play)
        return batch


@part
class during(FieldColumns):
    """What `rows` keeps (without it all), from step `first` on and up to `end` (None: the last); nothing in other steps.

    One learner may so have phases: `on(during(0, 20), sft()) + on(during(20), clipped(), name="then")`. The first step is 0.

    Args:
        first: step from which tracks are kept.
        end: step from which they are not any more.
        rows: a selection within these steps.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> [gd.select.during(first)(example_tries([[1.0, 0.0]]), ExamplePlay()).K for first in (0, 1)]
    [2, 0]
    """

    first: int = knob(default=0, ge=0)
    end: int | None = knob(default=None, ge=0)
    rows: Annotated[Any, ColumnField("needs")] = None

    def __call__(self, batch: Batch, play: Play) -> Batch:
        if play.step < self.first or (self.end is not None and play.step >= self.end):
            return batch.take(torch.zeros(batch.K, dtype=torch.bool))
        return batch if self.rows is None else self.rows(batch, play)


@part
class at_least(FieldColumns):
    """Tracks whose `column` is `least` or more. One without a value is not kept.

    With `correct` and a loss that imitates it is rejection sampling: `kept_share` logs how many were good enough. Biased
    towards what is easy: a task that is never solved teaches nothing, one that is always solved teaches most.

    Args:
        column: the column.
        least: least value that is kept.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.select.at_least("reward")(example_tries([[0.0, 1.0, None]]), ExamplePlay())["reward"].tolist()
    [1.0]
    """

    column: Needs = "correct"
    least: float = 1.0

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.track_column(self.column, "at_least")
        kept = torch.where(column.missing, False, column.value >= play.at(self.least))
        play.log(kept_share=float(kept.double().mean()) if batch.K else 0.0)
        return batch.take(kept)


@part
class distinct(FieldColumns):
    """Of tracks of a group that did exactly the same, one: a frequent right answer is learned once.

    Groups are those of `Batch.group`. What is equal is equal, so which one is kept changes nothing but the record.

    Args:
        by: what a group is.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.select.distinct()(example_tries([[1.0, 1.0], [1.0]]), ExamplePlay()).K
    2
    """

    by: Group = "task"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        group, _ = batch.group(self.by)
        paths: list[list[Any]] = [[] for _ in range(batch.K)]
        for track, place in zip(batch.path_track.tolist(), batch.path_seg.tolist(), strict=True):
            segment = batch.episodes[int(batch.episode[place])].segments[int(batch.place[place])]
            paths[track].append((segment.context.tobytes(), segment.actions.tobytes()))
        first: dict[Any, int] = {}
        for track, key in enumerate(zip(group.tolist(), map(tuple, paths), strict=True)):
            first.setdefault(key, track)
        fresh = torch.zeros(batch.K, dtype=torch.bool, device=batch.seg.device)
        fresh[list(first.values())] = True
        play.log(repeated_share=1.0 - float(fresh.double().mean()) if batch.K else 0.0)
        return batch.take(fresh)


@part
class best(FieldColumns):
    """Of each group the `most` tracks with the highest `column`, of equals the first. One without a value is not kept.

    Groups are those of `Batch.group`. With a loss that imitates it is best-of-n distillation; in a memory (`remembered`) it
    keeps the best that was ever tried of each task.

    Args:
        column: the column.
        most: tracks kept of each group.
        by: what a group is.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.select.best("reward")(example_tries([[0.0, 2.0, 2.0], [None, -1.0], [None]]), ExamplePlay())["reward"].tolist()
    [2.0, -1.0]
    """

    column: Needs = "reward"
    most: int = knob(default=1, ge=1)
    by: Group = "task"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value_K, group_K, _ = _compared(batch, self.column, self.by)
        order = torch.argsort(torch.nan_to_num(value_K, nan=float("-inf")), descending=True, stable=True).tolist()
        taken, kept = Counter[int](), torch.zeros(batch.K, dtype=torch.bool)
        for k in order:
            kept[k] = not torch.isnan(value_K[k]) and taken[int(group_K[k])] < self.most
            taken[int(group_K[k])] += 1
        return batch.take(kept)


@part
class with_spread(FieldColumns):
    """Groups whose values of `column` differ; of those the first `most` (0: all of them).

    Where all tries of a group have one value, its advantages are 0: it pulls at nothing and still counts in every
    denominator. Leaving it out is the second half of DAPO's dynamic sampling (Yu et al. 2025, arXiv:2503.14476); the
    first, asking until there are enough, is `until_enough`. A group of one value has no spread. The order is that in which
    the groups were asked.

    Args:
        column: the column.
        by: what a group is.
        most: the most groups; 0 for all.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.select.with_spread("reward")(example_tries([[0.0, 1.0], [1.0, 1.0], [1.0, None]]), ExamplePlay())["reward"].tolist()
    [0.0, 1.0]
    """

    column: Needs = "reward"
    by: Group = "task"
    most: int = knob(default=0, ge=0)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value_K, group_K, size = _compared(batch, self.column, self.by)
        # a comparison, not a deviation: equal numbers may differ from their mean by rounding
        differs = gather_up(value_K, group_K, size, "max") > gather_up(value_K, group_K, size, "min")
        return _take_groups(batch, group_K, differs, self.most)


@part
class with_rate(FieldColumns):
    r"""Groups with $low \le \hat p \le high$, where $\hat p$ is the mean of `column` over the group's tries: of right and
    wrong answers, the rate of right ones. Of those the first `most` (0: all of them), in the order they were asked.

    Balanced online difficulty filtering (Bae et al. 2025, arXiv:2504.03380) is a band around 1/2, with `until_enough` to ask
    until there are enough. A band inside (0, 1) leaves out all that `with_spread` does, and groups with so few right or so
    few wrong tries that each of these weighs much where advantages are divided by the spread.

    A try without a value is in no rate; a group without any has none and is not kept. A single try is right or wrong: only
    a band that reaches 0 or 1 keeps it. *Biased* by the choice: the tries that decide whether a group is kept are the ones
    that are learned from. `rate/below` and `rate/above` are the shares of groups outside, too hard and too easy.

    Args:
        column: column whose mean is the rate.
        low: least rate.
        high: greatest rate.
        by: what a group is.
        most: the most groups; 0 for all.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0, 1.0], [1.0, 1.0], [0.0, None]])
    >>> gd.select.with_rate("reward", 0.25, 0.75)(batch, ExamplePlay())["reward"].tolist()
    [0.0, 1.0]
    """

    column: Needs = "correct"
    low: float = knob(default=0.2, ge=0.0, le=1.0)
    high: float = knob(default=0.8, ge=0.0, le=1.0)
    by: Group = "task"
    most: int = knob(default=0, ge=0)

    def __post_init__(self) -> None:
        if not any(map(is_schedule, (self.low, self.high))) and self.low > self.high:
            raise UserError(f"with_rate keeps rates from low to high, and low={self.low} is above high={self.high}")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value_K, group_K, size = _compared(batch, self.column, self.by)
        rate = gather_up(value_K.double(), group_K, size, "mean")  # in full: a rate at an edge is kept
        below, above = rate < play.at(self.low), rate > play.at(self.high)
        valued = ~torch.isnan(rate)
        there = max(int(valued.sum()), 1)
        play.log(**{"rate/below": float(below.sum()) / there, "rate/above": float(above.sum()) / there})
        return _take_groups(batch, group_K, valued & ~below & ~above, self.most)


def _compared(batch: Batch, name: str, by: Group) -> tuple[Tensor, Tensor, int]:
    """[K] a column's values, [K] the group of each track, and how many groups there are."""
    return batch.track_column(name, "a selection of groups").value, *batch.group(by)


def _take_groups(batch: Batch, group_K: Tensor, wanted: Tensor, most: int) -> Batch:
    """The tracks of the groups that are wanted; with `most`, of the first so many of them."""
    if most:
        wanted = wanted & (torch.cumsum(wanted.long(), 0) <= most)
    return batch.take(wanted[group_K])


@part
class unlikely(FieldColumns):
    r"""The steps that were sampled with a probability under `below`: $\pi_{old}(a_t|s_t) < \rho$. All others are muted, in no
    sum and no denominator; their tracks stay.

    SPO's probability mask (Guo et al. 2025, arXiv:2505.23564; 0.9 is the paper's): a step that could hardly have gone otherwise
    decided nothing, and a segment's advantage is for those that did. Steps that were recited, and have no probability, are
    kept. Biased where many unlikely alternatives would together have changed the outcome: what is always generated is
    never unlearned. Logs `unlikely_share`.

    Args:
        below: probability from which a step is not trained on.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.select.unlikely()(example_tries([[1.0]], steps=2), ExamplePlay()).muted.tolist()  # sampled with probability 1
    [True, True]
    """

    below: float = knob(default=0.9, gt=0.0, le=1.0)

    gives = ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        likely = batch.logp >= math.log(play.at(self.below))
        play.log(unlikely_share=1 - float(likely.double().mean()) if batch.S else 0.0)
        return dataclasses.replace(batch, muted=batch.muted | likely)


@part
class until_enough(FieldColumns):
    """Draw more asks from `curriculum`, and score them with `scores`, until the selection `keep` leaves tracks of `groups`
    groups, or `rounds` times.

    With `with_spread` it is dynamic sampling as DAPO has it (Yu et al. 2025, arXiv:2503.14476), with `with_rate` balanced
    online difficulty filtering (Bae et al. 2025, arXiv:2504.03380). DAPO's code redraws whole batches; here each round
    draws as many asks as groups are missing, so that little is thrown away. All tries stay in the batch: rates of success
    are then over everything that was tried, and it is for the learner to make the same selection: `Learn(on=keep)`.
    `curriculum` and `scores` are the recipe's own, the same objects: a draw is counted once, in its state, and a resumed
    run draws what an unbroken one does.

    *Biased* towards tasks that `keep` likes, on purpose. Steps differ in cost: `again/asked` are the asks that were added,
    `again/rounds` how often, `again/short` the groups that are still missing (then it is learned from what there is).

    Args:
        curriculum: what draws the asks.
        scores: stages that score them.
        keep: the selection.
        groups: groups that must be left.
        by: what a group is.

    >>> import guerdon as gd
    >>> task = gd.tasks.load("countdown:2")
    >>> problems, right, keep = gd.curricula.uniform(task), gd.rewards.verified(task), gd.select.with_spread("correct")
    >>> more = gd.select.until_enough(problems, [right], keep, groups=8)
    >>> more.needs, more.gives
    (('correct',), ('correct',))
    """

    curriculum: Any
    scores: Annotated[list[Any], ColumnField("gives")]
    keep: Annotated[Any, ColumnField("needs")]
    groups: int = knob(default=16, ge=1)
    rounds: int = knob(default=10, ge=0)  # of verl's recipe for DAPO
    by: Group = "ask"

    def __post_init__(self) -> None:
        check_scores(self.scores, label(self))

    def __call__(self, batch: Batch, play: Play) -> Batch:
        asked = rounds = 0
        while (missing := self.groups - self._found(batch, play)) > 0 and rounds < self.rounds:
            asks = self.curriculum.draw(missing, play)
            if not asks:
                break
            batch, _ = play_more(batch, asks, self.scores, play)
            asked, rounds = asked + len(asks), rounds + 1
        play.log(**{"again/asked": asked, "again/rounds": rounds, "again/short": max(missing, 0)})
        return batch

    def _found(self, batch: Batch, play: Play) -> int:
        return int(self.keep(batch, play).group(self.by)[1])


@part
class top_share:
    r"""Of all tracks the share `share` that scores highest in `column`, rounded up, of equals the first; or with
    `column=""` as many by lot. One without a score is not kept.

    How reward models choose traces to imitate: ReasonFlux-PRM (Zou et al. 2025, arXiv:2506.18896) keeps the highest
    thousand of 59,000 with no regard to the problem. *Biased* towards problems whose tries score high, easy ones; `best`
    takes of every problem its own. Each step's batch is chosen from by itself.

    Args:
        column: column that ranks; "" draws at random.
        share: share that is kept.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.select.top_share("reward", 0.4)(example_tries([[0.0, 2.0, 1.0], [None, 3.0]]), ExamplePlay())["reward"].tolist()
    [2.0, 3.0]
    """

    column: str = "reward"
    share: float = knob(default=0.2, gt=0.0, le=1.0)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.column,) if self.column else ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        if self.column:
            score = batch.track_column(self.column, "top_share").value.double()
        else:
            score = torch.rand(batch.K, generator=play.generator("top_share"), dtype=torch.float64)
        score = score.masked_fill(batch.failed_K, float("nan"))
        size = -(-round(self.share * batch.K * 1e6) // 1_000_000)
        order = torch.argsort(torch.nan_to_num(score, nan=float("-inf")), descending=True, stable=True)[:size]
        kept = torch.zeros(batch.K, dtype=torch.bool)
        kept[order] = ~score[order].isnan()
        return batch.take(kept)
