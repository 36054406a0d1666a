"""DNO: preferences are regressed, so that one of 60 % is learned as that and does not grow without end."""

from __future__ import annotations

from math import exp, log

import torch
from harness import Later, Mechanism, World, made, said_tries

import guerdon as gd
from guerdon.core.column import Column

ARMS = "abcd"
P = torch.tensor([[0.5, 0.6, 0.7, 0.9], [0.4, 0.5, 0.6, 0.8], [0.3, 0.4, 0.5, 0.6], [0.1, 0.2, 0.4, 0.5]]).double()
START = torch.tensor([0.1, 0.2, 0.3, 0.4]).double()  # pi_t
ETA = 0.5


def recipe(**knobs):
    better = gd.preferred(
        gd.reward(lambda first, second: float(P[ARMS.index(first), ARMS.index(second)]), isolate=False)
    )
    return made("dno", **{"reward": better, "beta": ETA, **knobs})


def paid(made_of, arms):
    return gd.score_samples(made_of.stages.scores[-1].reward, [{"completion": ARMS[arm]} for arm in arms]).whole


def pairs(arms=(0, 1, 2, 3), **knobs):
    """The learner, and the pairs of tries from pi_t."""
    made_of = recipe(**knobs)
    reward = Column.full("track", torch.tensor(paid(made_of, arms)))
    reference = Column.full("step", START[list(arms)].log())
    batch = said_tries([([arm], 0.0) for arm in arms]).with_cols({"reward": reward, "reference.logp": reference})
    *_, pair, learner = made_of.stages
    return learner, pair(batch, Later(0, 1))


def listed(**knobs):
    found = pairs(**knobs)[1].pairs
    return [found.better.tolist(), found.worse.tolist(), found.label.tolist()]


def learned(steps=80, **knobs):
    """What learning from all tries makes of pi_t."""
    learner, batch = pairs(**knobs)
    logits = START.log().clone().requires_grad_()
    optimiser = torch.optim.LBFGS([logits], lr=1.0, max_iter=steps, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        value, _ = learner.loss(batch, {"logp": logits.log_softmax(0)})
        value.backward()
        return value

    optimiser.step(closure)
    return logits.detach().softmax(0)


def value_of(arms):
    """The loss where the first try is e^2 times as likely as pi_t has it, and the other as likely."""
    learner, batch = pairs(arms)
    at = START[list(arms)].log() + torch.tensor([2.0, 0.0])
    return float(learner.loss(batch, {"logp": at})[0])


def sigma(z):
    return 1 / (1 + exp(-z))


def minimiser():
    """pi_t exp(r_t / eta) / Z, with r_t over the other three tries."""
    best = START * ((P.sum(1) - 0.5) / 3 / ETA).exp()
    return best / best.sum()


def growth(**knobs):
    """How far the log-odds of the best answer over the worst are from what their preferences are worth."""
    p = learned(**knobs)
    gained = ETA * float((p[0] / p[3]).log() - (START[0] / START[3]).log())
    return -abs(gained - float((P[0] - P[3]).sum()) / 3)


R = ((P.sum(1) - 0.5) / 3).tolist()


def label(i, j):
    return sigma(R[i] - R[j])


EVERY = [(i, j) for i in range(4) for j in range(i + 1, 4)]

mechanism = Mechanism(
    "dno",
    source="arXiv:2404.03715, section 3: labels sigma(r_t(y1) - r_t(y2)), the minimiser pi_t exp(r_t / eta) / Z",
    numbers={
        "every two tries, with their label": (
            lambda: listed(),
            [[i for i, _ in EVERY], [j for _, j in EVERY], [label(i, j) for i, j in EVERY]],
        ),
        "two of one answer": (lambda: listed(arms=(0, 0, 1)), [[0, 0, 1], [1, 2, 2], [0.5] + [sigma(0.15)] * 2]),
        "or the best against the worst": (lambda: listed(form="pairs"), [[0], [3], [1.0]]),
        "of a difference that is large": (
            lambda: [len(listed(form="pairs", least=0.6)[0]), len(listed(least=0.2)[0])],
            [0, sum(R[i] - R[j] >= 0.2 for i, j in EVERY)],
        ),
        "the minimiser": (lambda: (learned() - minimiser()).abs().max() < 1e-4, True),
        "the loss of a pair": (
            lambda: value_of(arms=(0, 3)),
            -sigma(0.8) * log(sigma(ETA * 2.0)) - (1 - sigma(0.8)) * log(sigma(-ETA * 2.0)),
        ),
        "by another reward's order": (
            lambda: (
                gd.score_samples(
                    recipe(reward=gd.length(1, margin=9, unit="words")).stages.scores[-1].reward,
                    [{"completion": text} for text in ("a", "b c", "d e f")],
                ).whole
            ),
            [1.0, 0.5, 0.0],
        ),
        "who tries, and who is examined": (
            lambda: [recipe().seats, [exam.seats for exam in recipe().exams]],
            [{"policy": "reference"}, [{"policy": "policy"}]],
        ),
        "rounds": (
            lambda: [repr(recipe(round_steps=7).models["reference"]), len(recipe().stages)],
            ["snapshot(of='policy', every=7)", 4],
        ),
        "the truth is scored first": (
            lambda: [stage.gives[0] for stage in recipe().stages.scores],
            ["correct", "reward"],
        ),
    },
    world=World(
        says="log-odds of answers grow no further than their preferences, where the best is pulled from the worst without end",
        measure=growth,
        off={"form": "pairs"},
        moves=1.0,
    ),
)
