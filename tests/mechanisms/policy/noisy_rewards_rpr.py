"""Noisy rewards and RPR: rewards are flipped by try or by group, and phrases of reasoning pay where the judge says no."""

from __future__ import annotations

import itertools

import torch
from harness import Mechanism, World, made, paid, said_tries

import guerdon as gd
from guerdon.core.example import ExamplePlay
from guerdon.rewards.formula.algebra import flipped
from guerdon.rewards.formula.scores import Outcome, Scores, Where

P, SAID, SHARE = [0.5, 0.3, 0.2], ("4", "5", "44"), 0.3  # three answers; how often a reward is flipped
RIGHT, WRONG = {"completion": "First, let me check: thus 4"}, {"completion": "5"}
JUDGE = gd.reward(lambda completion: float("4" in completion), isolate=False)


def scored(*texts, **knobs):
    return paid(made("noisy-rewards-rpr", reward=JUDGE, **knobs), texts)


def patterns(text, **knobs):
    return scored({"completion": text}, pay="patterns", **knobs)[0]


def gradient(first, second):
    """Of Dr. GRPO's loss, by the logits, averaged over all pairs of tries; each pair's rewards are what is given for it."""
    total, recipe = torch.zeros(3, dtype=torch.float64), made("dr_grpo")
    for pair in itertools.product(range(3), repeat=2):
        batch = said_tries([([a], r) for a, r in zip(pair, (first[pair[0]], second[pair[1]]), strict=True)])
        batch = recipe.stages.credit[0](batch, ExamplePlay())
        logits = torch.tensor(P, dtype=torch.float64).log().requires_grad_()
        logp = logits.log_softmax(0)[list(pair)]
        batch.logp[:] = logp.detach()
        recipe.stages.learners[0].loss(batch, {"logp": logp, "entropy": torch.zeros(2)})[0].backward()
        total += P[pair[0]] * P[pair[1]] * logits.grad
    return 1000 * total


def flips():
    """Both flips, none and all, with how often they come: the rewards of the answers."""
    return [
        (p, scored(*({"completion": text} for text in SAID), pay="noisy", flips=share))
        for share, p in ((0.0, 1 - SHARE), (1.0, SHARE))
    ]


def by_group():
    """Over both flips of the group."""
    return sum(p * gradient(worth, worth) for p, worth in flips()).tolist()


def by_try():
    """Over all flips of two tries."""
    pairs = itertools.product(flips(), repeat=2)
    return sum(p * q * gradient(first, second) for (p, first), (q, second) in pairs).tolist()


def less():
    clean = [1.0, 0.0, 1.0]
    return ((1 - 2 * SHARE) * gradient(clean, clean)).tolist()


def turned(share, by="try", groups=500, each=4, step=0):
    """Which of many tries, all of reward 0.9, are flipped."""
    scores = Scores.of([Outcome(gd.Reason.VALUE, 0.9)] * groups * each)
    where = Where(torch.arange(groups * each) // each, step)
    (part,) = [made("noisy-rewards-rpr", reward=JUDGE, pay="noisy", flips=share, flips_by=by).stages.scores[-1].reward]
    value = part.combine({"judge": scores}, where).value
    return (value - 0.1).abs().lt(1e-9).double().view(groups, each)


def shares():
    """How often tries are flipped, and how often all of a group alike."""
    made_of = [turned(0.3), turned(0.3, "group")]
    alike = [float((each.mean(1) % 1 == 0).double().mean()) for each in made_of]
    return [abs(float(each.mean()) - 0.3) < 0.05 for each in made_of] + [abs(alike[0] - 0.7**4) < 0.1, alike[1]]


def new_each_step():
    return [torch.equal(turned(0.3, step=step), turned(0.3)) for step in (0, 1)]


def gap(**knobs):
    """How much more a right try is paid than a wrong one, of many, where two in five rewards are flipped; right ones reason."""
    recipe = made("noisy-rewards-rpr", reward=JUDGE, flips=0.4, flips_by="try", enough=4, **knobs)
    right, wrong = torch.tensor(paid(recipe, [RIGHT, WRONG] * 200)).view(-1, 2).mean(0)
    return float(right - wrong)


REASONED = 4 / 12  # "first", "let me", "check", "thus"
mechanism = Mechanism(
    "noisy-rewards-rpr",
    source="arXiv:2505.22653, figure 9, and its experiments: flips by question, phrases each once, less repeated n-grams",
    also=[flipped],
    numbers={
        "flips of groups scale Dr. GRPO's gradient by 1 - 2p": (
            lambda: [a - b for a, b in zip(by_group(), less(), strict=True)],
            [0.0] * 3,
        ),
        "and so do flips of tries": (lambda: [a - b for a, b in zip(by_try(), less(), strict=True)], [0.0] * 3),
        "how many are flipped": (shares, [True, True, True, 1.0]),
        "other ones in each step": (new_each_step, [True, False]),
        "none, and all": (
            lambda: [scored(RIGHT, WRONG, pay="noisy", flips=share) for share in (0.0, 1.0)],
            [[1.0, 0.0], [0.0, 1.0]],
        ),
        "phrases, each once": (lambda: patterns("First, let me check, let me check: thus 4"), REASONED),
        "enough of them": (
            lambda: [patterns("first thus hence", enough=n) for n in (1, 2, 3, 6)],
            [1.0, 1.0, 1.0, 0.5],
        ),
        "other phrases": (lambda: patterns("aha so", phrases=("aha", "oho"), enough=2), 0.5),
        "less what occurs again": (
            lambda: [patterns(f"first {'a ' * n}", enough=1) for n in (18, 19, 20, 21)],
            [1.0, 1.0, 1.0, 1 - 1 / 3],  # twice twenty words alike, of three runs of twenty
        ),
        "at least 0": (lambda: patterns("a " * 60), 0.0),
        "a text without words": (lambda: patterns(""), 0.0),
        "their weight": (lambda: patterns("thus first", patterns=0.5), 1 / 12),
        "the larger": (lambda: scored(RIGHT, {"completion": "thus 5"}), [1.0, 1 / 12]),
        "where a right one is called wrong": (lambda: scored(RIGHT, WRONG, flips=1.0), [REASONED, 1.0]),
        "composed": (
            lambda: (
                [type(stage).__name__ for stage in made("noisy-rewards-rpr").stages]
                + [str(made("noisy-rewards-rpr", flips=0.2).stages.scores[-1].reward)[:38]]
            ),
            ["verified", "score", "centre", "Learn", "max(flipped(correct, 0.2 by group), 1 "],
        ),
    },
    world=World(
        says="where two in five rewards are flipped, right tries that reason are paid more above wrong ones that do not",
        measure=gap,
        off={"pay": "noisy"},
        moves=0.2,
    ),
    equal={
        "reasoning_patterns.__call__: 1 -> 2 (2)": "of one n-gram none occurs again",
        "flipped.combine: drawn[place] < where.now(self.share) -> drawn[place] <= where.now(self.share)": "none is drawn twice",
    },
)
