"""SaySelf: a model learns to state how sure it is of its answer, first as sure as its samples agree, then paid for being right.

Paper: Xu et al. 2024 (arXiv:2405.20974); code: xu1868/SaySelf, utils/utils.py, lines 55-66, and training/rlhf_train.py, lines
806-875. First stage: the start model tries problems several times, and the policy imitates its tries, and statements of the
share of them that agree with an answer. Second stage: a statement p about an answer earns 2 (1/2 - (c - p)^2), c being whether
the answer is right, and -1 where none can be read; as in the code, whose mask leaves out all before the confidence, only the
statement is learned. Different: the statement is a turn of a role of its own, shown problem and answer, so that a checker reads
answers as ever; several statements about an answer are compared with each other (GRPO for the code's PPO); agreement is equal
answers, for the paper's clusters; the code pays a statement without a single number as a confidence of 0, here it is
unreadable. Leaves out: the rationale, which GPT-4 writes in the paper and the policy then learns. Sprig, which has no word for
it, learns to say a number in the first stage. `said_*` are numbers of held-out statements. Nothing here pays accuracy:
watch it.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.recipe import Recipe, Study, recipe
from guerdon.core.statistics import auc, brier, calibration_error
from guerdon.core.task import Ask, Sampling
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import TRUTH, Sitting
from guerdon.exams.rates import accuracy, answer_length
from guerdon.losses.imitation import sft
from guerdon.losses.terms import on
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.sft import SOLUTION, told
from guerdon.recipes.house.shared import learn, paid
from guerdon.rewards.asking.function import reward as function_reward
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.agreement import majority
from guerdon.rewards.text.confidence import brier_pay, stated_confidence
from guerdon.select.second_roles import Tried, follow_up
from guerdon.tasks.role_wordings import ABOUT, RoleWording
from guerdon.text.verdicts import read_number

ROLE, START, AGREED, PAY, TOP = "confidence", "start", "agreed", "pay", 10
RIGHT = 0.5  # the least score of a right answer, as in exams
WORDING = RoleWording(
    ROLE,
    "how sure it is of an answer, from 0 to 10",
    ("question", "answer"),
    "sure\n{question}\n{answer}",
    "How sure are you that your answer to a problem is right? Say it in one line: "
    '"Confidence: 10 of 10" if you are certain, down to "Confidence: 0 of 10" if it is surely wrong.' + ABOUT,
    "Confidence: {} of 10",
    lambda reply: read_number(reply, 0, TOP, ROLE),
)


@recipe(
    "sayself",
    family="self_reward",
    paper="arXiv:2405.20974",
    on=grpo,
    needs=Needs(text=True, one_turn=True),
)
def sayself(
    base: Recipe,
    model: Model,
    *,
    sft_steps: int = 20,  # of the first stage; ours. 0 leaves it out
    sft_lr: float = 5e-5,  # of the first stage; ours: at 2e-4 sprig forgot how to solve
    votes: Literal["number", "text"] = "number",  # what tries agree in; ours
    statements: int = 8,  # about each answer, in the second stage; ours
) -> Study:
    """State a confidence: imitate the agreement of samples, then be paid by Brier's rule."""
    scores, (credit,), (learner,) = base.stages.scores, base.stages.credit, base.stages.learners
    agreed = score(majority(answer=votes, share=True), AGREED)
    both = on("policy", sft(), name="answers") + on(ROLE, sft(), name="statements")
    imitated = [*scores, agreed, follow_up(told(ROLE), agreed_said(), tells=(AGREED,)), learn(both, sft_lr)]
    credit.reward, credit.by = PAY, "ask"
    seats = {"policy": "policy", ROLE: "policy"}
    for exam in base.exams:
        exam.metrics, exam.seats = [accuracy(), answer_length(), said(stated(TRUTH, 1))], seats
    first = base.but(stages=imitated, seats={**seats, "policy": START}, steps=sft_steps)
    first.models = {"policy": model, START: snapshot("policy")}
    second = base.but(stages=[*scores, stated(paid(scores), statements), credit, learner], seats=seats)

    def body(run: Any, seed: int) -> dict[str, Any]:
        now = run.train(first, seed=2 * seed).model() if sft_steps else model
        done = run.train(second.but(models={**second.models, "policy": now}), seed=2 * seed + 1)
        return dict(done.evaluations[-1]) if done.evaluations else {}

    return Study(body)


@part
class asked_how_sure:
    """What is shown to be told how sure the policy is of a try.

    >>> asked_how_sure().template
    'sure\\n{prompt}\\n{attempt}'
    """

    template: str = WORDING.knob(joined=False, question="prompt", answer="attempt")

    def __call__(self, tried: Tried) -> Any:
        return self.template.format(prompt=tried.prompt, attempt=tried.text)


@part
class agreed_said(asked_how_sure):
    """The same, with the statement to imitate: the share of tries that agree with the answer, in tenths.

    >>> agreed_said().template
    'sure\\n{prompt}\\n{attempt}'
    """

    def __call__(self, tried: Tried) -> Any:
        sure = round(TOP * tried.columns[AGREED])
        says = f"= {sure}" if WORDING.is_sprigs(self.template) else WORDING.reply(sure)
        return Ask(tried.episode.task, 1, prompt=super().__call__(tried), note={SOLUTION: says})


def stated(column: str, statements: int) -> follow_up:
    """A stage: the policy says how sure it is of each try, and is paid by what the try is worth."""
    known = function_reward(lambda meta: meta[column], isolate=False)
    pay = score(brier_pay(known, stated_confidence(ROLE, TOP)), PAY, role=ROLE)
    brief = Sampling(max_tokens=24)
    return follow_up(single_turn(ROLE), asked_how_sure(), [pay], tries=statements, tells=(column,), sampling=brief)


@part
class said:
    """Of statements about held-out tries: `said_ece`, `said_brier`, `said_auroc`, of those that can be read; `said_mean`;
    and `said_unread`, the share of the others.

    >>> said(None).needs
    ('correct',)
    """

    ask: Any

    needs = (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        batch = self.ask(sitting.batch, sitting.play)
        mine = batch.tracks_of([ROLE])
        right, sure = (batch[f"{PAY}.{name}"][mine].double() for name in ("right", "confidence"))
        read = ~sure.isnan()
        p, c = sure[read], right[read]
        unread = {"said_unread": 1 - len(p) / max(len(sure), 1)}
        if not len(p):
            return unread
        numbers = {"said_ece": calibration_error(p.tolist(), c.tolist()), "said_brier": brier(p.tolist(), c.tolist())}
        area = auc(p[c >= RIGHT], p[c < RIGHT])
        return {**numbers, "said_mean": float(p.mean()), **({"said_auroc": area} if area == area else {}), **unread}
