"""LaSeR: a try's own score is the probability of one token after its end, and it learns the reward."""

from __future__ import annotations

from math import nan

import torch
from harness import Later, Mechanism, World, made, said_tries, small_model

from guerdon.core.column import Column
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.pack import pack, unpack

TRIES = [([1, 2], 1.0), ([3], 0.0), ([4], 0.0), ([5], 0.0)], [([6], 1.0), ([7], 0.0)]
CUT = 3  # of the tries, which has no end
START = [-20.0, -21.0, -22.0, -20.0, -20.0, -20.0]  # what the start model gives the token
NOW = [-10.0, -20.0, -19.0, 0.0, -19.9, -20.0]  # and the policy: 1.0, 0.1, 0.3, cut, 0.01, 0.0
ADVANTAGE = [1.5, 1.5, -0.5, -0.5, -0.5, 0.7, -0.7]
MODEL = small_model()


def recipe(**knobs):
    return made("laser", model=MODEL, **knobs)


def tries(problems=TRIES, cut=CUT, start=START, now=NOW, advantage=ADVANTAGE):
    batch = said_tries(*problems)
    reward = batch.cols["correct"]
    episodes = list(unpack(batch))
    if cut is not None:
        episodes[cut] = episodes[cut].but(segments=(episodes[cut].segments[0].but(end=End.CUT),))
    batch = pack(episodes).with_cols({"correct": reward, "advantage": Column.full("step", torch.tensor(advantage))})
    return batch.put("reference.next:?", "track", torch.tensor(start)).put("policy.next:?", "track", torch.tensor(now))


def credit(step=0, batch=None, **knobs):
    """The weights of tries, advantages of steps, and the share of tries whose own scores are used."""
    (stage,) = [each for each in recipe(**knobs).stages if type(each).__name__ == "own_scores"]
    play = Later(step, 9)
    batch = stage(batch if batch is not None else tries(), play)
    return [batch["verdict_weight"].tolist(), batch["advantage"].tolist(), play.metrics.get("own_share")]


def loss(now=NOW, **knobs):
    """The term for the score over tries that ended, and its metric."""
    built = recipe(**knobs)
    (stage,) = [each for each in built.stages if type(each).__name__ == "own_scores"]
    term, play = built.stages.learners[0].loss.terms[1], Later(0, 9)
    batch = term.rows(stage(tries(), play), play)
    live = torch.tensor([x for k, x in enumerate(now) if k != CUT])
    value, noted = term(batch, {"next:?": live, "logp": torch.zeros(batch.S)})
    return [batch.K, float(value), *(float(x) for name, x in noted.items() if name.endswith("accuracy"))]


def told(align=0.1, steps=300):
    """How far the scores of two right tries are above those of four wrong ones, when each is learned alone from the start."""
    built = recipe(align=align, constant=-20.0)
    (stage,) = [each for each in built.stages if type(each).__name__ == "own_scores"]
    term, play = built.stages.learners[0].loss.terms[1], Later(0, 9)
    batch = stage(tries(cut=None), play)
    logp = torch.full((6,), -20.0, requires_grad=True)
    for _ in range(steps // 10):
        value, _ = term(batch, {"next:?": logp, "logp": torch.zeros(batch.S)})
        (pull,) = torch.autograd.grad(value, logp)
        logp = (logp - 500.0 * pull).detach().requires_grad_()
    score = 0.1 * (logp.detach() + 20)
    return float(score[[0, 4]].mean() - score[[1, 2, 3, 5]].mean())


def composed(**knobs):
    built = recipe(**knobs)
    return [repr(stage) for stage in built.stages[1:]] + sorted(built.models)


def refused():
    try:
        made("laser").check()
    except UserError as error:
        return "next:?" in str(error)


W = [5 / 4, 5 / 6, 5 / 6, 0.0, 5 / 4, 5 / 6]  # of five that ended two are right
OWN = torch.tensor([1.0, 0.1, 0.3, 0.0])
A = ((OWN - OWN.mean()) / OWN.std()).tolist()
RIGHT = [1, 0, 0, 0, 1, 0]
CLIPPED = torch.tensor([1.0, 0.0, 0.3, 0.0])
CLAMPED = ((CLIPPED - CLIPPED.mean()) / CLIPPED.std()).tolist()
GAPS = [0.0, 0.1, 0.3, None, 0.99, 0.0]
mechanism = Mechanism(
    "laser",
    source="arXiv:2510.14943; RUCBM/LaSeR, dp_actor.py, lines 547-575, and ray_trainer.py, lines 1347-1452",
    equal={"own_scores.__call__: reward > 0.5 -> reward <= 0.5": "right and wrong are counted alike"},
    numbers={
        "right and wrong weigh the same, and cut tries nothing": (
            lambda: credit(),
            [W, ADVANTAGE, None],
        ),
        "a step without a right try": (
            lambda: credit(batch=tries([[([n], 0.0) for n in range(6)]], advantage=[0.0] * 6))[0],
            [0.5, 0.5, 0.5, 0.0, 0.5, 0.5],
        ),
        "a try without a reward": (
            lambda: credit(batch=tries([TRIES[0][:3], [([6], nan), ([7], 0.0), ([8], 1.0)]], cut=None))[0],
            [5 / 4, 5 / 6, 5 / 6, 0.0, 5 / 6, 5 / 4],
        ),
        "a right try that was cut": (lambda: credit(batch=tries(cut=0))[0], [0.0, 5 / 8, 5 / 8, 5 / 8, 5 / 2, 5 / 8]),
        "graded rewards": (
            lambda: credit(
                batch=tries(
                    [[([n], r) for n, r in enumerate((0.9, 0.5, 0.6, 0.2))]],
                    cut=None,
                    start=[-20.0] * 4,
                    now=[-20.0] * 4,
                    advantage=[0.0] * 4,
                )
            )[0],
            [1.0] * 4,
        ),
        "scores that are all the same": (
            lambda: credit(300, tries(now=START), spread=0.0)[1:],
            [ADVANTAGE, 0.0],
        ),
        "after the warm-up own scores have their share where they spread": (
            lambda: credit(200),
            [W, [0.9 * a + 0.1 * s for a, s in zip(ADVANTAGE, [A[0], *A], strict=False)] + [0.7, -0.7], 4 / 6],
        ),
        "of any size": (
            lambda: credit(3, warm_up=3, own=0.5, spread=0.0)[1][-2:],
            [0.5 * 0.7 + 0.5 * 0.5**0.5, -0.5 * 0.7 - 0.5 * 0.5**0.5],
        ),
        "or none": (lambda: credit(300, own=0.0), [W, ADVANTAGE, None]),
        "scores lie between 0 and 1": (
            lambda: credit(300, tries(now=[5.0, -30.0, -19.0, 0.0, -20.0, -20.0]), own=1.0)[1][:5],
            [CLAMPED[0], *CLAMPED],
        ),
        "the loss": (
            loss,
            [5, 0.1 * sum(w * g**2 for w, g in zip(W, GAPS, strict=True) if g is not None) / 5, 4 / 5],
        ),
        "against a constant, at other weights": (
            lambda: loss(constant=-20.0, align=1.0, scale=0.2)[:2],
            [
                5,
                sum(
                    w * (0.2 * (NOW[k] + 20) - r) ** 2
                    for k, (w, r) in enumerate(zip(W, RIGHT, strict=True))
                    if k != CUT
                )
                / 5,
            ],
        ),
        "composed": (
            lambda: composed(token="z", constant=-23.0),
            [
                "centre(reward='correct')",
                "own_scores(token='z', constant=-23.0, reward='correct')",
                "Learn(model='policy', loss=total(terms=[clipped(), on(rows=finished(), loss=last_token(token='z', "
                "constant=-23.0, reward='correct'), weight=0.1, name='self')]), opt=adam(lr=2e-05))",
                "policy",
                "reference",
            ],
        ),
        "what is read": (
            lambda: [recipe().stages.learners[0].loss.terms[1].wants, recipe().stages[-2].needs],
            [("next:?",), ("correct", "reference.next:?", "advantage", "policy.next:?")],
        ),
        "a model that cannot read it": (refused, True),
    },
    world=World(
        says="scores of right and wrong tries, equal at first, come to be 1 and 0",
        measure=told,
        off={"align": 0.0},
        moves=0.9,
    ),
)
