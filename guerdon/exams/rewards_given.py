"""What a reward or an environment gives on held-out problems: means, returns, and who won a game, seat by seat.

Leaves out: the value of a reward for choosing (`best_of_n.py`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import fmean, pstdev, stdev
from typing import Any

from guerdon.core.errors import RunStopped
from guerdon.core.part import part
from guerdon.core.statistics import Z95
from guerdon.exams.exam import Exam, Sitting
from guerdon.exams.tries import with_interval
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.score_stages import score


@part
class mean_reward:
    r"""`reward` $= \frac1m\sum_i \bar r_i$: the mean over problems of the mean of what `reward` gives to the tries at each.

    With two problems or more, `reward_low` and `reward_high` are the ends of its 95 % interval over problems,
    $\pm 1.96\,s/\sqrt m$. Tries that it gives no value to (failed, timed out, not applicable) are in no mean: their share is
    `reward_missing`. `name` is what the numbers are called, where an exam has several.

    Args:
        reward: the reward.
        name: name of the numbers.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> size = gd.reward(lambda completion: float(len(completion)), isolate=False)
    >>> numbers = gd.exams.mean_reward(size)(example_sitting([["ab", "abcd"], ["a", "a"]]))
    >>> numbers["reward"], round(numbers["reward_high"], 2), numbers["reward_missing"]
    (2.0, 3.96, 0.0)
    """

    reward: Any
    name: str = "reward"

    def __post_init__(self) -> None:
        self.reward = as_reward(self.reward)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        batch = sitting.batch
        given = score(self.reward, role=sitting.exam.role)(batch, sitting.play)["reward"].tolist()
        group, _ = batch.group("task")
        mine = batch.tracks_of([sitting.exam.role]).tolist()
        by_problem: dict[int, list[float]] = defaultdict(list)
        for problem, value, counts in zip(group.tolist(), given, mine, strict=True):
            if counts and not math.isnan(value):
                by_problem[problem].append(value)
        tried = sum(mine)
        scored = sum(map(len, by_problem.values()))
        numbers: dict[str, Any] = {f"{self.name}_missing": 1.0 - scored / tried if tried else 1.0}
        means = [fmean(values) for values in by_problem.values()]
        if not means:
            return {self.name: math.nan, **numbers}
        mean = fmean(means)
        if len(means) > 1:
            half = Z95 * stdev(means) / math.sqrt(len(means))
            numbers = {f"{self.name}_low": mean - half, f"{self.name}_high": mean + half, **numbers}
        return {self.name: mean, **numbers}


@part
class mean_return:
    r"""`return` $= \frac1E \sum_e \sum_t r_{e,t}$: what the environment paid the exam's role in an episode, all its turns
    together, on average; `return_std`, the deviation over episodes; `episodes`, how many were paid.

    Episodes that failed, or paid the role nothing at all, are left out. Unbiased.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> gd.exams.mean_return()(example_sitting([["a", "b"], ["c", "d"]], paid=[[1.0, 3.0], [1.0, 3.0]]))
    {'return': 2.0, 'return_std': 1.0, 'episodes': 4}
    """

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        paid = [value for values in returns(sitting).values() for value in values]
        return {"return": fmean(paid), "return_std": pstdev(paid), "episodes": len(paid)}


@part(name="win_rate", aliases=("games_won",))
class games_won:
    r"""`win_rate`, `draw_rate`, `loss_rate`: in which share of its games the exam's role was paid more than `even`, just
    that, or less, over all its turns; the first with its interval over deals.

    No formula. Which model plays the role, and against whom, is the exam's `seats`; `seat_exams` makes an exam for each seat.
    Games that failed, or paid the role nothing at all, are left out; `games` are the others.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> numbers = gd.exams.games_won()(example_sitting([["a", "b"], ["c", "d"]], paid=[[1.0, 1.0], [-1.0, 0.0]]))
    >>> numbers["win_rate"], numbers["draw_rate"], numbers["loss_rate"], numbers["games"]
    (0.5, 0.25, 0.25, 4)
    """

    even: float = 0.0  # what a draw pays

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        deals = returns(sitting)
        paid = [value for values in deals.values() for value in values]
        return {
            **with_interval("win_rate", [fmean(value > self.even for value in values) for values in deals.values()]),
            "draw_rate": fmean(value == self.even for value in paid),
            "loss_rate": fmean(value < self.even for value in paid),
            "games": len(paid),
        }


def seat_exams(opponent: str, source: Any, env: Any, model: str = "policy", **more: Any) -> list[Exam]:
    """A game, examined from each of its seats: `model` in that seat and `opponent` in all the others. The numbers are called by
    opponent and seat, `start@first/win_rate`; `more` are further fields of each `Exam`.

    >>> from types import SimpleNamespace
    >>> from guerdon.tasks.families.tiny import parity
    >>> [e.name for e in seat_exams("start", parity(), SimpleNamespace(roles=("white", "black")))]
    ['start@white', 'start@black']
    """
    fields = {"metrics": [games_won(), mean_return()], **more}
    return [
        Exam(
            source,
            env=env,
            seats={role: model if role == mine else opponent for role in env.roles},
            role=mine,
            name=f"{opponent}@{mine}",
            **fields,
        )
        for mine in env.roles
    ]


def returns(sitting: Sitting) -> dict[str, list[float]]:
    """For each problem what the exam's role was paid in each of its episodes. An episode that branches is one all the same."""
    by_problem: dict[str, list[float]] = defaultdict(list)
    for episode in sitting.batch.episodes:
        mine = [s for s in episode.segments if s.role == sitting.exam.role]
        paid = [s.reward for s in mine if s.reward is not None]
        paid += [float(s.rewards.sum()) for s in mine if s.rewards is not None]
        if paid and not episode.failed:
            by_problem[episode.task.key].append(sum(paid))
    if not by_problem:
        errors = [str(e.info["error"]).strip().splitlines()[-1] for e in sitting.batch.episodes if e.failed]
        why = errors[0] if errors else "seats.reward(...) pays a role in an environment"
        raise RunStopped(f"the environment paid {sitting.exam.role!r} nothing in any episode: {why}")
    return by_problem
