"""NFT: right tries are imitated, wrong ones teach through the policy that would have made them; at ratio 1 it is Dr. GRPO."""

from __future__ import annotations

from math import log, sqrt

import torch
from harness import Mechanism, World, made, said_tries

from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay

TRIES = [([1, 2], 1.0), ([3], 0.0), ([4], 0.0), ([5], 0.0)], [([6], 1.0), ([7], 1.0)]  # solved at 1/4, and always
RATIO = [1.2, 1.1, 1.3, 0.7, 1.0, 1.5, 1.4]
OVER = 6 * 256  # six tries, over the longest length


def loss(ratio=RATIO, tries=TRIES, recipe=None, **knobs):
    """The loss, and its gradient by the log-probs, of tries that were sampled with log-prob -1."""
    recipe, batch = recipe or made("nft", **knobs), said_tries(*tries)
    for stage in recipe.stages.credit:
        batch = stage(batch, ExamplePlay())
    logp = (torch.tensor(ratio).log() + batch.logp).requires_grad_()
    value, noted = recipe.stages.learners[0].loss(batch, {"logp": logp, "entropy": torch.zeros(batch.S)})
    value.backward()
    return value.item(), logp.grad, noted["clipped"].item()


def by_hand(rate=0.25, weight=0.75, negative=1.0, floor=1.0):
    """Of the first problem's steps: the loss, and the gradient by each log-prob."""
    other = [(1 - rate * r) / (1 - rate) for r in RATIO[2:5]]
    right = -weight * (log(RATIO[0]) + log(RATIO[1]))
    wrong = -weight * negative * sum(log(max(x, floor)) for x in other)
    pulls = [weight * negative * rate * r / (1 - rate) / max(x, floor) for r, x in zip(RATIO[2:5], other, strict=True)]
    return [(right + wrong) / OVER, *(x / OVER for x in [-weight, -weight, *pulls, 0.0, 0.0])]


def found(**knobs):
    value, pulls, _ = loss(**knobs)
    return [value, *pulls.tolist()]


def apart_from_dr_grpo():
    """The largest difference of the two gradients where nothing moved yet, over all rates in groups of some sizes."""
    both, differences = (made("nft"), made("dr_grpo")), []
    for n in (2, 3, 7, 13):
        for k in range(1, n, 2):
            tries = [[([1, 2], 1.0)] * k + [([3], 0.0)] * (n - k)]
            nft, dr_grpo = (loss([1.0] * (n + k), tries, recipe)[1] for recipe in both)
            differences.append((nft - dr_grpo).abs().max().item())
    return max(differences) == 0.0


def often(right, wrong):
    """The weight of a right try at a problem of so many tries."""
    tries = right + wrong
    pulls = loss([1.0] * tries, [[([1], 1.0)] * right + [([2], 0.0)] * wrong])[1]
    return -pulls[0].item() * 256 * tries


def refused():
    try:
        loss([1.0, 1.0], [[([1], 0.5), ([2], 0.0)]])
    except UserError as error:
        return "a try has 0.5" in str(error)


def with_kl():
    return [type(term).__name__ for term in made("nft", kl=0.1).stages.learners[0].loss.terms]


def wrong_one(**knobs):
    """The share of a wrong answer that was tried among the wrong ones, of which two begin alike, after updates of one batch."""
    recipe, batch = made("nft", **knobs), said_tries([([0], 1.0), ([1], 0.0)])
    for stage in recipe.stages.credit:
        batch = stage(batch, ExamplePlay())
    batch.logp[:] = log(1 / 3)
    logits = torch.zeros(3, requires_grad=True)
    for _ in range(20):
        logp = logits.log_softmax(0)
        objective = recipe.stages.learners[0].loss(batch, {"logp": logp[:2], "entropy": torch.zeros(2)})[0]
        (pull,) = torch.autograd.grad(objective, logits)
        logits = (logits - 100 * pull).detach().requires_grad_()
    p = logits.detach().softmax(0)
    return float(p[1] / (p[1] + p[2]))


mechanism = Mechanism(
    "nft",
    source="arXiv:2505.18116; NVlabs/NFT at ed8e5b09, dp_actor.py: normalize 1 and 2, clamp_negative",
    numbers={
        "the released configuration": (found, by_hand()),
        "a lower floor": (lambda: found(floor=0.9), by_hand(floor=0.9)),
        "by the odds": (lambda: found(by="odds"), by_hand(weight=sqrt(3))),
        "wrong tries weigh less": (lambda: found(negative=0.5), by_hand(negative=0.5)),
        "without wrong tries it is rejection sampling": (lambda: found(negative=0.0), by_hand(negative=0.0)),
        "the gradient of Dr. GRPO at ratio 1, to the bit": (apart_from_dr_grpo, True),
        "what is at the floor": (lambda: loss()[2], 1 / 7),
        "a rate is held off 0 and 1": (lambda: [often(1, 99), often(99, 1)], [0.98, 0.02]),
        "verdicts alone": (refused, True),
        "with a divergence": (with_kl, ["negative_aware", "kl"]),
        "a group all alike is passed over": (
            lambda: made("nft").stages.learners[0].loss.silent(credited_tries()).tolist(),
            [False] * 4 + [True] * 2,
        ),
        "composed": (
            lambda: [repr(stage) for stage in made("nft", by="odds", negative=0.5, floor=0.1).stages[1:]],
            [
                "centre(reward='correct', std=False)",
                "Learn(model='policy', loss=negative_aware(by='odds', negative=0.5, floor=0.1, reward='correct', "
                "mean='constant', constant=256), opt=adam(lr=2e-05))",
            ],
        ),
        "needs": (lambda: list(made("nft").stages.learners[0].loss.needs), ["advantage", "correct"]),
    },
    world=World(
        says="a wrong answer that was tried becomes less likely than one that was not, which imitation alone does not bring",
        measure=wrong_one,
        off={"negative": 0.0},
        moves=-0.05,
    ),
    equal={
        "negative_aware.__call__: verdict[(verdict != 0) & (verdict != 1)] shuffled": "whichever is named, it is refused",
        "negative_aware.surrogate: advantage > 0 -> advantage >= 0": "a group all alike has a loss of 0",
    },
)


def credited_tries():
    batch = said_tries(*TRIES)
    for stage in made("nft").stages.credit:
        batch = stage(batch, ExamplePlay())
    return batch
