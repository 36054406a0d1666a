"""RISE: the policy solves problems and verifies its own fresh solutions, and learns from both in one update.

Paper: Liu et al. 2025, Trust, But Verify (arXiv:2505.13445), read in its abstract; code: xyliu-cs/RISE, verl_utils/reward/
reward_func_verification.py and scripts/train/start_qwen3b_rise_example.sh. In every step some of the step's own solutions are
shown to the same policy, with their problem, and it is asked whether they are right. A verification earns 1 if its verdict is
that of the outcome verifier and 0 if it is the other, exactly; solutions earn what they did. Both kinds of tries are in one
update of one optimiser, each compared with its like: solutions of one problem, verifications of one solution. Different: GRPO,
where the paper has PPO with a critic; the code pays a wrong verdict -0.5, and one that cannot be read -1 (`unread=-1`), where
such a reply has no score here and is left out, as no wrong verdict was given. The code verifies 128 solutions a step of 1,024
problems, each 8 times. Leaves out: the critic, and the paper's offline verification data.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import FieldColumns
from guerdon.core.field_columns import Needs as Reads
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Sampling
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import TRUTH, Exam, Sitting
from guerdon.exams.rates import accuracy, majority_vote, voted
from guerdon.exams.tries import checked, rights, with_interval
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid
from guerdon.select.second_roles import Tried, follow_up
from guerdon.tasks.role_wordings import ROLE_WORDINGS, verdict_in

ROLE, EARNED = "verifier", "earned"
VERIFY = ROLE_WORDINGS["verify"]


@recipe(
    "rise-verify",
    family="self_reward",
    paper="arXiv:2505.13445",
    on=grpo,
    needs=Needs(text=True, one_turn=True),
    helps=("few-labels",),
)
def rise_verify(
    base: Recipe,
    task: Any,
    *,
    verified: int = 1,  # of a problem's tries, how many are verified; 0: none, which is GRPO; ours
    verify_tries: int = 4,  # verifications of each; the released scripts have 8
    unread: float | None = None,  # what a reply without a verdict earns; left out where it is None; the code has -1
) -> Recipe:
    """GRPO that also learns to verify the solutions it has just written."""
    if not verified:
        return base
    (credit,), column, show = base.stages.credit, paid(base.stages.scores), asked_to_verify(verified)
    credit.reward, credit.by = EARNED, "ask"
    verify = follow_up(single_turn(ROLE), show, [true_verdict(column, unread)], tries=verify_tries, tells=(column,))
    base.seats = {**base.seats, ROLE: "policy"}
    base.exams = [*base.exams, Exam(task, [accuracy(), majority_vote(), verified_vote(show)], name="vote", tries=4)]
    return base.but(before={"centre": [earned_by(column), verify]})


@part
class asked_to_verify:
    """What the policy is shown of a try that it is to verify: of each ask's tries the first `first`.

    >>> asked_to_verify(1).first
    1
    """

    first: int = knob(default=1, ge=1)
    wording: str = VERIFY.knob(joined=False, question="prompt", answer="attempt")

    def __call__(self, tried: Tried) -> str | None:
        return self.shown(tried.prompt, tried.text) if tried.episode.attempt < self.first else None

    def shown(self, prompt: Any, attempt: str) -> str:
        """The question about an attempt."""
        return self.wording.format(prompt=prompt, attempt=attempt)


@part
class earned_by(FieldColumns):
    """Column `earned`: what solutions are paid, so that verifications have a column in common with them."""

    column: Reads = "correct"

    gives = (EARNED,)
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        return batch.with_cols({EARNED: batch.cols[self.column]})


@part
class true_verdict(FieldColumns):
    """Column `earned` of verifications: 1 where the verdict is true, which yes is of a try whose `column` is above 1/2, and
    0 where it is not. A reply without a verdict has no score (*not applicable*), or earns `unread`. Logs `verifier/right`, of
    the verdicts that could be read, and `verifier/unreadable`, of all replies.

    >>> true_verdict().gives
    ('earned',)
    """

    column: str = "correct"
    unread: float | None = None

    gives = (EARNED,)
    shelf = "scores"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value, reason, detail = [], [], {}
        for k, (ask, text, lost) in enumerate(zip(batch.asks, batch.texts, batch.failed_K.tolist(), strict=True)):
            said = None if lost else verdict_in(text)
            if said is None:
                value.append(math.nan if lost or self.unread is None else self.unread)
                detail[k] = {"error": "the verification failed"} if lost else {"why": "the reply has no verdict"}
            else:
                value.append(float((said == "yes") == (ask.note[self.column] > 0.5)))
            missing = (
                Reason.FAILED if lost else Reason.NOT_APPLICABLE
            )  # it said something, if no verdict: no fault of the run
            reason.append(int(missing if math.isnan(value[k]) else Reason.VALUE))
        read = [value[k] for k in range(batch.K) if k not in detail]
        play.log(**{f"{ROLE}/right": fmean(read)} if read else {})
        play.log(**{f"{ROLE}/unreadable": len(detail) / batch.K} if batch.K else {})
        column = Column("track", torch.tensor(value), torch.tensor(reason, dtype=torch.int8), detail)
        return batch.with_cols({EARNED: column})


@part
class verified_vote:
    r"""`verified_vote@k`: how often the answer is right that most of `k` tries give whose own verification says yes, all tries
    where none does; `self_verified`, how often a verdict that could be read is true. Ties count as the mean of their answers.

    >>> verified_vote(asked_to_verify()).needs
    ('correct',)
    """

    asked: asked_to_verify
    votes: Any = knob(factory=majority_vote)

    needs = (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        batch, play, right = sitting.batch, sitting.play, rights(sitting)
        asks = [
            ask.but(n=1, prompt=self.asked.shown(ask.shown, text), view=None, sampling=Sampling(temperature=0.0))
            for ask, text in zip(batch.asks, batch.texts, strict=True)
        ]
        replies = play(asks, single_turn(ROLE), {ROLE: play.seats[sitting.exam.role]})
        said = [None if each.failed else verdict_in(each.segments[-1].text) for each in replies]
        answers, each, true = self.votes.answers(sitting), [], []
        for problem in checked(sitting):
            for tries in problem:
                true += [(said[k] == "yes") == right[k] for k in tries if said[k] is not None]
                voters = [k for k in tries if said[k] == "yes"] or tries
                each.append(voted([(answers[k], right[k]) for k in voters]))
        numbers = with_interval(f"verified_vote@{sitting.tries}", each)
        return {**numbers, "self_verified": fmean(true)} if true else numbers
