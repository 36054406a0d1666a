"""MEL: the policy contrasts a right and a wrong try of its own, names the line where they part, and learns what it wrote.

Paper: Huang et al. 2026, internalizing meta-experience into memory (arXiv:2602.10224), sections 3.2 to 3.4; its code was not
found. Where a problem has right and wrong tries the policy is shown one of each and writes an experience: the bifurcation (the
first wrong line), why it is wrong, and a rule for later. One that is verified is learned by its negative log-likelihood under
the prompt that it was written to, the mean over its tokens (eq. 7), beside GRPO's loss with weight 1 (eq. 9). Verified is, as
in the paper, one with which the policy then solves the problem again (`replay`, one try, eq. 6); or, where the family checks
lines, one that names the first wrong line of the wrong try (`steps`, ours). The others are left out, and counted. The paper
takes several pairs of a problem and does not say how many; here it is one pair, the first of each kind, and `experiences` texts
about it. The wording is ours (`--set roles.contrast=FILE`); sprig is asked in its role `critique`, about the wrong try alone.
Leaves out: several pairs of one problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns
from guerdon.core.field_columns import Needs as Column
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask, Task
from guerdon.core.wordings import by_model
from guerdon.envs.simple import single_turn
from guerdon.losses.imitation import sft
from guerdon.losses.terms import on
from guerdon.recipes.house.grpo import grpo
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.select.other_views import reworded
from guerdon.select.second_roles import Tried, aggregate_followups, follow_up
from guerdon.tasks.judging.judge_roles import NONE, critique_view, wrong_line
from guerdon.tasks.role_wordings import numbered
from guerdon.tasks.stepwise import by_steps, has_steps
from guerdon.text.verdicts import read_line

WRITES, REPLAYS = "experience", "replay"  # the roles of the policy beside its own
FIELDS = {name: name for name in ("question", "right", "wrong")}
SPRIG = critique_view("{question}", "{wrong}")
PLAIN = (
    "Here are a problem, a solution that comes to the right answer, and one that does not. Find the first line of the wrong"
    " solution that is wrong. Say why it is wrong, what the right solution does there, and in a sentence what to watch in"
    ' problems of this kind. Then end with one line: "First wrong line: N".\n\nProblem:\n{question}\n\nRight solution:\n{right}'
    "\n\nWrong solution:\n{wrong}"
)
REMINDED = "{prompt}\n\nThis was learned from an earlier mistake:\n"

Check = Literal["best", "replay", "steps", "none"]


@recipe("mel", family="policy", paper="arXiv:2602.10224", on=grpo, needs=Needs(answers=True, text=True, one_turn=True))
def mel(
    base: Recipe,
    task: Any,
    *,
    learned: float = 1.0,  # weight of the experiences' loss; eq. 9 adds them as they are
    experiences: int = 1,  # texts about a pair; ours
    check: Check = "best",  # what verifies one: the family's lines where it has them, else the paper's replay
) -> Recipe:
    """GRPO, and the policy's own verified lessons from a right try beside a wrong one."""
    if base.curriculum.tries < 2:
        raise UserError("mel contrasts a right try with a wrong one: set tries=2 or more")
    if check == "steps" and not has_steps(task):
        raise UserError(f"{task.name} has no checker of single lines: leave check=steps out, or use check=replay")
    by = ("steps" if has_steps(task) else "replay") if check == "best" else check
    written = [score(names_bifurcation(task), "verified", WRITES)] if by == "steps" else []
    stages: list[Any] = [
        follow_up(single_turn(WRITES), contrast(), written, per="ask", tries=experiences, tells=("correct",)),
    ]
    if by == "replay":
        again = verified(task, gives_to="replayed", role=REPLAYS)
        stages += [follow_up(single_turn(REPLAYS), with_experience, [again], of=WRITES)]
        stages += [aggregate_followups("replayed", gives_to="verified")]
    (learner,) = base.stages.learners
    rows = WRITES if by == "none" else kept_experiences()
    learner.loss = learner.loss + on(rows, sft(mean="track"), weight=learned, name=WRITES)
    base.seats |= {WRITES: "policy"} | ({REPLAYS: "policy"} if by == "replay" else {})
    return base.but(after={"centre": stages})


def pair_of(texts: Sequence[str], correct: Sequence[float]) -> tuple[str, str] | None:
    """The first right and the first wrong of some tries; None where there are not both.

    >>> pair_of(["= 3", "= 4", "= 5"], [0.0, 1.0, 0.0]), pair_of(["= 4"], [1.0])
    (('= 4', '= 3'), None)
    """
    right, wrong = (
        [text for text, is_right in zip(texts, correct, strict=True) if (is_right > 0) == kind]
        for kind in (True, False)
    )
    return (right[0], wrong[0]) if right and wrong else None


@part
class contrast:
    """What is asked about a pair of tries at a problem; nothing where all are right, or none is."""

    wording: str = by_model(SPRIG, PLAIN, role="contrast", places=FIELDS)

    def __call__(self, tried: list[Tried]) -> str | None:
        pair = pair_of([each.text for each in tried], [each.columns["correct"] for each in tried])
        if pair is None:
            return None
        right, wrong = pair if self.wording == SPRIG else map(numbered, pair)
        return self.wording.format(question=tried[0].episode.task.prompt, right=right, wrong=wrong)


def with_experience(tried: Tried) -> Any:
    """The problem as it was first shown, with an experience below it."""
    lesson = tried.text.replace("{", "{{").replace("}", "}}")
    return reworded(REMINDED + lesson, Ask(tried.episode.task).shown)


@part
class names_bifurcation(Leaf):
    """1 for an experience that names the first wrong line of the wrong try, by the family's step checker; 0 for one that names
    another; one that names none cannot be read, and does not apply.

    >>> import guerdon as gd
    >>> family = gd.tasks.load("chain:2")
    >>> task = family.get("train", 0)  # chain 5 *2 -3 -2
    >>> tries = {"attempts": [family.solution(task), "5*2=10\\n10-3=6\\n6-2=4\\n= 4"], "correct": [1.0, 0.0]}
    >>> names = names_bifurcation(family)
    >>> [names(task, text, **tries) for text in ("It is 7.\\nFirst wrong line: 2", "First wrong line: 1", "Be careful.")]
    [1.0, 0.0, None]
    """

    task: Any

    def __call__(self, task: Task, completion: str, attempts: Sequence[str], correct: Sequence[float]) -> float | None:
        pair, named = pair_of(attempts, correct), read_line(completion)
        assert pair is not None, "what is asked about a pair has one"
        return None if named is None else float(named == (wrong_line(by_steps(self.task), task, pair[1]) or NONE))


@part
class kept_experiences(FieldColumns):
    """The experiences that were verified. Logs `experience/kept` and `experience/left_out`, how many were and were not.

    >>> kept_experiences().needs
    ('verified',)
    """

    column: Column = "verified"

    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column, mine = batch.track_column(self.column, "kept_experiences"), batch.tracks_of([WRITES])
        kept = torch.where(column.missing, False, column.value >= 1.0)
        play.log(**{f"{WRITES}/kept": float(kept.sum()), f"{WRITES}/left_out": float((mine & ~kept).sum())})
        return batch.take(kept)
