"""TP-GRPO's own parts: who judges every line, and the advantage of lines joined into thoughts.

Leaves out: judging by what a solution says of itself ("wait, that is wrong"), which needs a policy that does.
Axes: S steps, K tracks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.task import Ask, Sampling, Task
from guerdon.credit.track_steps import with_step_column
from guerdon.envs.simple import single_turn
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.stage.step_labels import line_ends
from guerdon.tasks.family import read_solution
from guerdon.tasks.role_wordings import MARKED, marks_by_critique, numbered
from guerdon.tasks.stepwise import by_steps


@part
class each_line(Leaf):
    r"""$r_j = 1$ where line $j$ follows from the problem and the right lines before it, 0 where it does not: unlike
    `true_lines` a line after an error may be right again. In steps, a number a line; the answer is a line like any other.

    By the task's step checker, so exact: wrong lines are left out before the next is looked at. A line that only makes sense
    after a wrong one is wrong. One without text does not apply.

    >>> import guerdon as gd
    >>> family = gd.tasks.load("equation:2")
    >>> each_line(family)(family.get("train", 0), "9x=36\nx=5\nx=4\n= 4")  # 9x+12=48
    [1.0, 0.0, 1.0, 1.0]
    """

    task: Any

    def __post_init__(self) -> None:
        by_steps(self.task)  # refuses what has no step checker

    def __call__(self, task: Task, completion: str) -> list[float] | None:
        family, (steps, answer) = by_steps(self.task), read_solution(completion)
        right: list[str] = []
        said = []
        for step in steps:
            follows = family.first_wrong(task, [*right, step]) is None
            said.append(float(follows))
            right += [step] if follows else []
        if answer is not None:
            said.append(float(family.right(task, answer)))
        return said or None


@part
class marked_lines(FieldColumns):
    """A track column in lines by a model that verifies: shown a problem and a solution it writes every line with `+` or `-`,
    and stops at the first `-` (the role `verify` of the generated families, which sprig knows). A model that does not know
    sprig's roles is shown the lines with their numbers, and says in plain language which is the first wrong one (`critique`).

    What it marks + is 1, what it marks - is 0. Lines after a - are as their try's answer is: right in a try that ends right,
    where the error must have been corrected, wrong in one that does not. A reply that does not mark the lines of the try in
    their order, or names no line, leaves it without a value. The model `judge` is asked greedily and through `play`: what it
    says counts in the budget. Logs `judge/unread`, the share of tries it could not be followed on.

    >>> marked_lines().needs, marked_lines().gives
    (('correct',), ('judged',))
    """

    judge: str = "judge"
    correct: Needs = "correct"
    max_tokens: int = knob(default=256, ge=1)
    gives_to: Gives = "judged"
    wording: str = MARKED.knob()

    shelf = "scores"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        tried = [batch.episodes[int(batch.episode[g])] for g in batch.leaf.tolist()]
        texts = [
            episode.segments[int(batch.place[g])].text for episode, g in zip(tried, batch.leaf.tolist(), strict=True)
        ]
        greedy, is_sprig = Sampling(temperature=0.0, max_tokens=self.max_tokens), MARKED.is_sprigs(self.wording)
        shown = [text if is_sprig else numbered(text) for text in texts]
        asked = [self.wording.format(question=e.task.prompt, answer=text) for e, text in zip(tried, shown, strict=True)]
        how: dict[str, Any] = {"sampling": greedy, "seats": {"policy": self.judge}}
        asks = [Ask(episode.task, prompt=prompt, **how) for episode, prompt in zip(tried, asked, strict=True)]
        replies = [episode.segments[-1].text if episode.segments else "" for episode in play(asks, single_turn())]
        value, detail = torch.full((batch.K,), float("nan")), {}
        for k, (text, reply, right) in enumerate(zip(texts, replies, batch[self.correct].tolist(), strict=True)):
            said = (read_marks if is_sprig else marks_by_critique)(text, reply, right > 0)
            if said:
                value[k], detail[k] = sum(said), {"steps": said}
        play.log(**{"judge/unread": float(value.isnan().double().mean()) if batch.K else 0.0})
        MARKED.log_read(self.wording, (~value.isnan()).tolist(), play)
        reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("track", value, reason, detail)})


def read_marks(text: str, reply: str, right: bool) -> list[float] | None:
    """A number for every line of a solution by what a verifier wrote of them; None where it did not go through its lines.

    >>> read_marks("9x=36\\nx=5\\n= 5", "9x=36 +\\nx=5 -\\n= no", right=False)
    [1.0, 0.0, 0.0]
    """
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    said: list[float] = []
    for line, mark in zip(lines, reply.split("\n"), strict=False):
        if mark.strip() not in (f"{line} +", f"{line} -"):
            return None
        said.append(float(mark.strip().endswith("+")))
        if not said[-1]:
            break
    if not said or (len(said) < len(lines) and said[-1]):
        return None
    return said + [float(right)] * (len(lines) - len(said))


@part
class thoughts(FieldColumns):
    r"""Advantages of tokens from those of answers, $r_o$, and from thoughts: runs of lines that are all judged right, or all
    wrong (at least `least` in `judged` is right). $r_c = \alpha\cdot acc$, with $acc$ the share of right tries at the problem.

    In a right answer a right thought is paid $r_c$ at its end and a wrong one $-r_c$, the end of the answer $r_o$, and a token
    has the sum of what is paid from it on. Thoughts alternate, so the sum is one of $r_o + r_c$, $r_o$ and $r_o - r_c$ however
    many there are. In a wrong answer the tokens of wrong thoughts have $r_o$ and all others 0. `adaptive=False` takes 1 for
    $acc$. Tries without a judgement, or whose lines are not those judged, have $r_o$ throughout.

    TP-GRPO (He et al. 2025, arXiv:2507.23317). *Assumes* a judge of every line.
    *Biased* on purpose where the judge is not the value of what it judges: right
    beginnings of wrong answers are never blamed. Logs `thoughts/judged` (the share of tries with a judgement),
    `thoughts/mended` (of right ones those with a wrong thought) and `thoughts/spared` (of the tokens of wrong ones those that
    are not blamed).

    >>> thoughts().needs, thoughts().gives
    (('outcome', 'judged', 'correct'), ('advantage',))
    """

    outcome: Needs = "outcome"
    judged: Needs = "judged"
    correct: Needs = "correct"
    alpha: float = knob(default=0.5, ge=0.0)
    adaptive: bool = True
    least: float = 0.5
    gives_to: Gives = "advantage"

    shelf = "credit"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        outcome, right = batch.cols[self.outcome], batch[self.correct]
        group, size = batch.group("task")
        able = gather_up(right, group, size, "mean")[group] if self.adaptive else torch.ones(batch.K)
        ends = line_ends()(batch, play)["line_ends"]
        advantage, spared, blamed, mended, followed = outcome.value.clone(), 0, 0, [], 0
        for k, steps in enumerate(batch.steps_by_track()):
            said = self._said(batch, k, ends[steps])
            followed += said is not None
            if said is None or bool(right[k].isnan()):
                continue
            if right[k] > 0:
                advantage[steps] += play.at(self.alpha) * float(able[k]) * paid_later(said)
                mended.append(bool((said < 0).any()))
            else:
                advantage[steps] = advantage[steps].masked_fill(said > 0, 0.0)
                spared, blamed = spared + int((said > 0).sum()), blamed + int((said < 0).sum())
        logged = {"judged": followed / max(batch.K, 1), "spared": spared / max(spared + blamed, 1)}
        logged["mended"] = sum(mended) / max(len(mended), 1)
        play.log(**{f"thoughts/{name}": value for name, value in logged.items()})
        return with_step_column(batch, self.gives_to, advantage, outcome)

    def _said(self, batch: Batch, track: int, ends: Tensor) -> Tensor | None:
        """[steps of the track] 1 in lines that are judged right, -1 in others."""
        lines = (batch.cols[self.judged].detail.get(track) or {}).get("steps")
        at = torch.nonzero(~ends.isnan()).flatten()
        if not lines or len(lines) != len(at):
            return None
        return by_line([1.0 if said >= self.least else -1.0 for said in lines], at.tolist(), len(ends))


def by_line(said: Sequence[float], ends: Sequence[int], steps: int) -> Tensor:
    """[steps] each step the number of its line; steps after the last line have the last line's.

    >>> by_line([1.0, -1.0], [1, 2], 4).tolist()
    [1.0, 1.0, -1.0, -1.0]
    """
    starts = [0, *(end + 1 for end in ends[:-1]), steps]
    return torch.cat([torch.full((b - a,), x) for x, (a, b) in zip(said, pairwise(starts), strict=True)])


def paid_later(said: Tensor) -> Tensor:
    """[steps] of runs of 1 and -1, each paid its sign at its end, what is paid from each step on.

    >>> paid_later(torch.tensor([1.0, 1.0, -1.0, 1.0])).tolist()
    [1.0, 1.0, 0.0, 1.0]
    """
    runs = [(sign, len(list(run))) for sign, run in groupby(said.tolist())]
    later, pieces = 0.0, []
    for sign, length in reversed(runs):
        later += sign
        pieces.append(torch.full((length,), later))
    return torch.cat(pieces[::-1]) if pieces else said
