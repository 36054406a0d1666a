"""SPO: of preferences in a circle, which no reward model has, the average of a policy's iterates loses to no answer."""

from __future__ import annotations

import torch
from harness import Later, Mechanism, World, credited, made, said_tries

import guerdon as gd
from guerdon.core.column import Column
from guerdon.recipes.preference.spo_minimax_winner import in_turn_of

ARMS = "abcd"  # a beats b, b beats c, c beats a; d loses to all
P = torch.tensor([[0.5, 0.9, 0.12, 0.95], [0.1, 0.5, 0.89, 0.95], [0.88, 0.11, 0.5, 0.95], [0.05, 0.05, 0.05, 0.5]])
P = P.double()
STEPS, RATE = 600, 0.5


def recipe(**knobs):
    better = gd.preferred(
        gd.reward(lambda first, second: float(P[ARMS.index(first), ARMS.index(second)]), isolate=False)
    )
    return made("spo-minimax-winner", reward=better, **knobs)


class Three:
    """Three problems."""

    def size(self, split):
        return 3

    def get(self, split, index):
        return gd.Task(str(index), "")


def preferences(made_of):
    """[4, 4] how often each arm is preferred to each other, as the recipe pays them."""
    pairs = [(i, j) for i in range(4) for j in range(i)]
    said = [{"completion": ARMS[arm]} for pair in pairs for arm in pair]
    group = [number for number in range(len(pairs)) for _ in range(2)]
    paid = gd.score_samples(made_of.stages.scores[-1].reward, said, group).whole
    found = torch.full((4, 4), 0.5, dtype=torch.float64)
    for (i, j), mine, theirs in zip(pairs, paid[::2], paid[1::2], strict=True):
        found[i, j], found[j, i] = mine, theirs
    return found


def iterates(found, steps=STEPS):
    """[steps, 4] the policies that learn from r = P p by multiplicative weights, from the start that likes one arm."""
    logits, policies = torch.tensor([2.0, 0.0, 0.0, 0.0]).double(), []
    for _ in range(steps):
        policies.append(logits.softmax(0))
        logits = logits + RATE * (found @ policies[-1])
    return torch.stack(policies)


def worst(policy):
    """How often it is preferred to the answer that does best against it."""
    return float((policy @ P).min())


def bradley_terry(found):
    """What a policy comes to that maximises the scores which fit the preferences best."""
    score = torch.zeros(4, dtype=torch.float64)
    for _ in range(300):
        score = score + (found - torch.sigmoid(score[:, None] - score[None, :])).sum(1)
    return (score * 1000).softmax(0)


def examined(**knobs):
    """How often what the recipe's last exam asks is preferred to its best opponent."""
    made_of = recipe(**knobs)
    policies = iterates(preferences(made_of))
    models = {name: renewed(model, policies) for name, model in made_of.models.items() if name != "policy"}
    models["policy"] = policies[-1]
    asks = made_of.exams[-1].asks(24, 1, Later(0, 1))
    seats = [{**made_of.seats, **(ask.seats or {})}["policy"] for ask in asks]
    return worst(torch.stack([models[seat] for seat in seats]).mean(0))


def renewed(model, policies):
    """The policy that an iterate takes in a run of so many steps."""
    taken = []
    model.refresh = lambda: taken.append(step)
    for step in range(len(policies)):
        model.observe(None, Later(step, len(policies)))
    return policies[taken[0]] if len(taken) == 1 else policies[0]


def taken_at(**knobs):
    """After which step of ten each of the iterates is taken."""
    policies = list(range(1, 11))
    return [renewed(model, policies) for name, model in recipe(**knobs).models.items() if name != "policy"]


def advantages(*said, **knobs):
    made_of = recipe(**knobs)
    paid = gd.score_samples(made_of.stages.scores[-1].reward, [{"completion": each} for each in said]).whole
    batch = said_tries([([0], 0.0)] * len(said)).with_cols({"reward": Column.full("track", torch.tensor(paid))})
    return credited(made_of, batch)


mechanism = Mechanism(
    "spo-minimax-winner",
    source="arXiv:2401.04056, abstract: self-play on P(y > y') within a batch; the average of iterates is the minimax winner",
    numbers={
        "paid by the other tries of the group": (
            lambda: advantages("a", "b", "c", "d", **{"centre.std": False}),
            (P.sum(1) - 0.5) / 3 - 0.5,
        ),
        "or by the order of another reward": (
            lambda: (
                gd.score_samples(
                    made("spo-minimax-winner", reward=gd.length(1, margin=9, unit="words")).stages.scores[-1].reward,
                    [{"completion": text} for text in ("a", "b c", "d e f")],
                ).whole
            ),
            [1.0, 0.5, 0.0],
        ),
        "or by the task's verdict": (
            lambda: str(made("spo-minimax-winner").stages.scores[-1].reward),
            "win_rate(correct)",
        ),
        "a judge of two pays as it is": (
            lambda: str(made("spo-minimax-winner", reward=gd.pairwise("sprig")).stages.scores[-1].reward),
            "pairwise",
        ),
        "no answer beats the average of the iterates": (
            lambda: worst(iterates(preferences(recipe()), 1000).mean(0)) >= 0.49,
            True,
        ),
        "the last one cycles": (lambda: worst(iterates(preferences(recipe()))[-1]) < 0.15, True),
        "the best answer by Bradley and Terry is beaten": (lambda: worst(bradley_terry(preferences(recipe()))), 0.12),
        "iterates over the whole run": (lambda: [taken_at(keep=5), taken_at(keep=3)], [[2, 4, 6, 8, 10], [4, 7, 10]]),
        "of the policy": (
            lambda: [model.of for model in list(recipe(keep=2).models.values())[1:]],
            ["policy", "policy"],
        ),
        "the exam of the average": (
            lambda: [
                [e.name, [a.seats["policy"] for a in e.asks(3, 5, None)], [a.n for a in e.asks(1, 5, None)]]
                for e in recipe(keep=2).exams[1:]
            ],
            [["average", ["policy_1", "policy_2", "policy_1"], [5]]],
        ),
        "of other problems": (
            lambda: (
                [a.task.key for a in recipe().exams[1].asks(3, 1, None)]
                == [a.task.key for a in recipe().exams[0].asks(3, 1, None)]
            ),
            True,
        ),
        "no more problems than there are": (
            lambda: len(in_turn_of(Three(), ("policy_1",)).exam_asks(8, 1, None)),
            3,
        ),
        "or none": (lambda: [len(recipe(keep=0).exams), list(recipe(keep=0).models)], [1, ["policy"]]),
    },
    world=World(
        says="of preferences in a circle the average of twelve iterates loses to no answer as often as the last one does",
        measure=examined,
        on={"keep": 12},
        off={"keep": 0},
        moves=0.2,
    ),
)
