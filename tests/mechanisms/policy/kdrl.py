"""KDRL: GRPO with the divergence from a teacher beside it, on the tries that the reward says nothing good of."""

from __future__ import annotations

import torch
from harness import Later, Mechanism, World, made, said_tries

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.schedule import settled

TRIES = [([1, 2], 1.0), ([3], 0.0)], [([4], 0.0), ([5], 0.0)]  # the second problem is not solved
LOGP, TEACHER = [-1.0, -2.0, -1.0, -3.0, -1.0], [-1.5, -2.0, -3.0, -1.0, -1.0]
SQUARES = [0.125, 0.0, 2.0, 2.0, 0.0]  # (log pi - log teacher)^2 / 2
MODEL = gd.models.tabular("01", length=1, rows=64)


def recipe(**knobs):
    return made("kdrl", teacher=MODEL, **knobs)


def heard(**knobs):
    (stage,) = [each for each in recipe(**knobs).stages if type(each).__name__ == "taught"]
    return stage(said_tries(*TRIES), Later(0, 9))["taught"].tolist()


def loss(step=0, **knobs):
    """GRPO's part is 0: no try has an advantage, and none moved. By steps, all as many as there are."""
    made_of = recipe(**knobs)
    batch = said_tries(*TRIES)
    for stage in made_of.stages[1:-1]:
        batch = stage(batch, Later(step, 9))
    batch = batch.with_cols(
        {
            "advantage": Column.full("track", torch.zeros(4)),
            "teacher.logp": Column.full("step", torch.tensor(TEACHER)),
        }
    )
    batch.logp[:] = torch.tensor(LOGP)
    live = {"logp": torch.tensor(LOGP), "entropy": torch.zeros(5)}
    return float(settled(made_of.stages.learners[0].loss, step, 9)(batch, live)[0])


def by_track(*shares):
    """Each track counts the same: the first has two steps."""
    first, *others = [(SQUARES[0] + SQUARES[1]) / 2, *SQUARES[2:]]
    return sum(s * x for s, x in zip(shares, [first, *others], strict=True)) / 4


def without_reward(**knobs):
    """How far a policy of three answers is from its teacher after learning without any reward."""
    made_of, teacher = recipe(**{"teaching": 0.5, "least": 0.5, **knobs}), torch.tensor([0.7, 0.2, 0.1]).log()
    logits = torch.zeros(3, requires_grad=True)
    batch = said_tries([([n], 0.0) for n in range(3)])
    for stage in made_of.stages[1:-1]:
        batch = stage(batch, Later(0, 9))
    batch = batch.with_cols({"teacher.logp": Column.full("step", teacher)})
    objective = settled(made_of.stages.learners[0].loss.terms[1], 0, 9)
    for _ in range(60):
        logp = logits.log_softmax(0)
        batch.cols["taught"].value[:] = 3 * logp.detach().exp() * (batch.cols["taught"].value > 0)  # as often as drawn
        (pull,) = torch.autograd.grad(objective(batch, {"logp": logp, "entropy": torch.zeros(3)})[0], logits)
        logits = (logits - 4.0 * pull).detach().requires_grad_()
    logp = logits.detach().log_softmax(0)
    return float((logp.exp() * (logp - teacher)).sum())


def composed(**knobs):
    return [repr(stage) for stage in recipe(**knobs).stages[1:]]


mechanism = Mechanism(
    "kdrl",
    source="arXiv:2506.02208 in a summary: J_GRPO - beta KL(pi || pi_T), k2, beta max(beta0 - delta step, beta_min), masked",
    numbers={
        "wrong tries": (heard, [0.0, 1.0, 1.0, 1.0]),
        "every try": (lambda: heard(over="tries"), [1.0] * 4),
        "problems that none solved": (lambda: heard(over="unsolved problems"), [0.0, 0.0, 1.0, 1.0]),
        "the divergence of wrong tries": (loss, 0.1 * by_track(0, 1, 1, 1)),
        "of every try": (lambda: loss(over="tries"), 0.1 * by_track(1, 1, 1, 1)),
        "of unsolved problems": (lambda: loss(over="unsolved problems"), 0.1 * by_track(0, 0, 1, 1)),
        "beta falls": (lambda: loss(3, teaching=0.2, falls=0.05), 0.05 * by_track(0, 1, 1, 1)),
        "to the least": (lambda: loss(8, teaching=0.2, falls=0.05, least=0.02), 0.02 * by_track(0, 1, 1, 1)),
        "composed": (
            lambda: composed(over="tries"),
            [
                "centre(reward='correct')",
                "taught(over='tries', reward='correct')",
                "Learn(model='policy', loss=total(terms=[clipped(), weighed(loss=kl(weight=falling(start=0.1, falls=0.001, "
                "least=0.01), to='teacher', kind='k2'), by='taught')]), opt=adam(lr=2e-05))",
            ],
        ),
        "the teacher": (lambda: sorted(recipe().models), ["policy", "teacher"]),
    },
    world=World(
        says="without any reward the policy comes to its teacher",
        measure=without_reward,
        off={"teaching": 0.0, "least": 0.0},
        moves=-0.2,
    ),
)
