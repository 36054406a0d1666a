"""SELM: answers that the reference gives and nobody compared become less likely, beside what DPO does to those compared."""

from __future__ import annotations

from math import log

import torch
from harness import Later, Mechanism, World, made, said_tries

from guerdon.core.column import Column
from guerdon.core.learn import row_groups

START = torch.tensor([0.3, 0.3, 0.3, 0.09, 0.01])  # the last one is tried by nobody
WORTH = [1.0, 0.0, 0.5, 0.4]


def recipe(**knobs):
    return made("selm", **{"beta": 0.5, **knobs})


def tries(made_of, worth=WORTH):
    """Tries of the reference, of which the best and the worst are a pair."""
    batch = said_tries([([arm], value) for arm, value in enumerate(worth)])
    batch = batch.with_cols({"reference.logp": Column.full("step", START[: len(worth)].log())})
    return made_of.stages[1](batch, Later(0, 1))


def losses(worth=WORTH, at=0.0, **knobs):
    """Of each group of rows the loss, and its gradient at every try in it, where the policy's log-probs are `at` above."""
    made_of = recipe(**knobs)
    batch, (learner,) = tries(made_of, worth), made_of.stages.learners
    values = []
    for rows, loss in row_groups(learner.loss):
        mine = batch if rows is None else rows(batch, Later(0, 1))
        live = (mine["reference.logp"] + at).clone().requires_grad_()
        value, _ = loss(mine, {"logp": live})
        value.backward()
        values.append([float(value.detach()), *live.grad.tolist()])
    return values


def learned(steps=25, **knobs):
    """The policy after learning from the tries of one round."""
    made_of = recipe(**knobs)
    batch, (learner,) = tries(made_of), made_of.stages.learners
    logits = START.log().clone().requires_grad_()
    for _ in range(steps):
        logp, total = logits.log_softmax(0), torch.zeros(())
        for rows, loss in row_groups(learner.loss):
            mine = batch if rows is None else rows(batch, Later(0, 1))
            total = total + loss(mine, {"logp": logp[mine.action]})[0]
        (pull,) = torch.autograd.grad(total, logits)
        logits = (logits - pull).detach().requires_grad_()
    return logits.detach().softmax(0)


def longer():
    """The second term of tries of two tokens, whose policy has each of them e^0.2 times as likely."""
    batch = said_tries([([arm, arm], value) for arm, value in enumerate(WORTH)])
    batch = batch.with_cols({"reference.logp": Column.full("step", torch.full((8,), -1.0))})
    made_of = recipe(optimism=0.1)
    ((_, _), (rows, loss)) = row_groups(made_of.stages.learners[0].loss)
    mine = rows(made_of.stages[1](batch, Later(0, 1)), Later(0, 1))
    live = (mine["reference.logp"] + 0.2).requires_grad_()
    value, _ = loss(mine, {"logp": live})
    value.backward()
    return [float(value.detach()), *live.grad.tolist()]


HALF = 0.5 * 0.5  # of DPO's gradient where the policy is the reference: beta (1 - sigma(0))

mechanism = Mechanism(
    "selm",
    source="arXiv:2405.19332; shenao-zhang/SELM, scripts/selm_trainer.py:384-404: DPO + alpha beta (log pi(y') - log ref(y'))",
    numbers={
        "both terms": (
            lambda: losses(optimism=0.1, at=0.2),
            [[log(2.0), -HALF, HALF, 0.0, 0.0], [0.1 * 0.5 * 0.2, 0.1 * 0.5 / 2, 0.1 * 0.5 / 2]],
        ),
        "a sum over an answer's tokens": (lambda: longer(), [0.1 * 0.5 * 0.4, *[0.1 * 0.5 / 2] * 4]),
        "two tries": (lambda: losses(worth=[1.0, 0.0], optimism=0.1), [[log(2.0), -HALF, HALF], [0.0]]),
        "without optimism it is DPO": (
            lambda: [repr(recipe(optimism=0.0).stages.learners[0].loss), len(losses(optimism=0.0))],
            ["dpo(beta=0.5)", 1],
        ),
        "composed": (
            lambda: repr(recipe().stages.learners[0].loss),
            "total(terms=[dpo(beta=0.5), "
            "on(rows=unpaired(), loss=kl(weight=0.0005, kind='k1', mean='constant'), name='optimism')])",
        ),
        "who tries, and who is examined": (
            lambda: [recipe().seats, [exam.seats for exam in recipe().exams]],
            [{"policy": "reference"}, [{"policy": "policy"}]],
        ),
        "rounds": (lambda: repr(recipe(round_steps=7).models["reference"]), "snapshot(of='policy', every=7)"),
        "in a table an answer that nobody tried gains nothing": (
            lambda: float(learned(optimism=0.1)[4] - learned(optimism=0.0)[4]) < 0,
            True,
        ),
    },
    world=World(
        says="answers that the reference gives and nobody compared become less likely",
        measure=lambda **knobs: float(learned(**knobs)[2:4].sum()),
        on={"optimism": 0.1},
        off={"optimism": 0.0},
        moves=-0.05,
    ),
)
