"""Regret preference model: of two segments the one that gives least away is preferred, and a reward is learned from that."""

from __future__ import annotations

from math import exp
from types import SimpleNamespace

import torch
from harness import Mechanism, World

from guerdon.core.seeds import generator
from guerdon.recipes.process.regret_preference_model.parts import (
    RewardReader,
    partial_return,
    preferences,
    random_segments,
    regret,
    summary,
    told,
)
from guerdon.studies.grid_worlds import FEATURES, MOVES, Worlds, random_worlds
from guerdon.training.catalog import find_recipe

LEFT, RIGHT = 2, 3
STEP, GOAL = FEATURES.index("step"), FEATURES.index("goal")
GAMMA = 0.9


def corridor(*rewards):
    """Three cells in a row, the last a goal; of each world what a step and the goal are worth. Up and down stay."""
    goes = torch.tensor([[0, 0, 0, 1], [1, 1, 0, 2], [2, 2, 2, 2]]).repeat(len(rewards), 1, 1)
    features = torch.zeros(len(rewards), 3, len(MOVES), len(FEATURES), dtype=torch.float64)
    features[:, :2, :, STEP] = 1.0
    features[:, 1, RIGHT] = torch.eye(len(FEATURES), dtype=torch.float64)[GOAL]
    weights = torch.tensor([[*each, 0.0, 0.0, 0.0] for each in rewards], dtype=torch.float64)
    return Worlds(goes, features, weights, torch.tensor([[True, True, False]] * len(rewards)), GAMMA)


WORLD = corridor((-1.0, 10.0))
# from the middle, left and right again; from the left to the goal; from the left to the middle; and back
CELLS = [[[1, 0, 1], [0, 1, 2]], [[0, 1, 1], [1, 0, 0]]]
TAKEN = [[[LEFT, RIGHT], [RIGHT, RIGHT]], [[RIGHT, 0], [LEFT, 0]]]
V = [8.0, 10.0, 0.0]  # the best values: 10 from the middle, -1 + 0.9 * 10 from the left
PAID = [[-1.9, -1 + 9.0], [-1.9, -1.9]]
LOST = [[10 + 1.9 - 0.81 * 10, 0.0], [8 + 1.9 - 0.81 * 10, 10 + 1.9 - 0.81 * 8]]


def segments(world=WORLD):
    return told(world, torch.tensor([CELLS] * len(world)), torch.tensor([TAKEN] * len(world)))


def two():
    """Two worlds, the second with its pairs in the other order, and what each is worth."""
    world = corridor((-1.0, 10.0), (-2.0, 4.0))
    return world, told(world, torch.tensor([CELLS, CELLS[::-1]]), torch.tensor([TAKEN, TAKEN[::-1]]))


def of_two():
    """What is paid and lost in each world, the second pair of each, and what is preferred."""
    world, both = two()
    values = torch.tensor([V, [1.6, 4.0, 0.0]]).double()
    second = both[1:]
    assert second.cells[:, 0].tolist() == [
        [each[:-1] for each in pair] for pair in CELLS[::-1]
    ] and second.moves.tolist() == [[TAKEN[1]], [TAKEN[0]]]
    assert second.end.tolist() == [[[1, 0]], [[1, 2]]]
    return [
        partial_return(both, world.reward)[1],
        regret(both, world.reward, values, GAMMA)[1],
        [preferences(world, both, by, 0.0, 3).tolist() for by in ("partial_return", "regret")],
    ]


def given_away():
    """What three moves gave away, one by one: the sum of gamma^t (V*(s_t) - Q*(s_t, a_t)) is the regret."""
    walks = random_segments(WORLD, 9, 3, torch.tensor([True]), 1)
    values = torch.tensor([V]).double()
    q = WORLD.q_values(values, WORLD.reward)[0]
    lost = sum(
        GAMMA**t * (values[0][walks.cells[..., t]] - q[walks.cells[..., t], walks.moves[..., t]]) for t in range(3)
    )
    return float((regret(walks, WORLD.reward, values, GAMMA) - lost).abs().max())


def walked(past_end):
    """Random segments: each goes where its moves lead, from an open cell, and stops at the end where it must; and how many
    start at each cell, and how many pass the goal."""
    world = corridor((-1.0, 10.0), (0.0, 1.0))
    walks = random_segments(world, 40, 3, torch.tensor([past_end, False]), 4)
    cells = torch.cat([walks.cells, walks.end[..., None]], 3)
    follow = all(
        bool((world.goes[m][cells[m, ..., t], walks.moves[m, ..., t]] == cells[m, ..., t + 1]).all())
        for m in range(2)
        for t in range(3)
    )
    passes = (cells[..., :-1] == 2).any(3).flatten(1).any(1).tolist()
    starts = sorted(set(walks.cells[0, ..., 0].flatten().tolist()))
    return [follow, list(walks.cells.shape), passes, starts, bool((walks.end == 2).any())]


def preferred(by, noise=0.0, world=WORLD):
    return preferences(world, segments(world), by, noise, 3)[0].tolist()


def chances(by):
    """With noise: the first by lot, with chance sigmoid(difference / noise)."""
    dice = torch.rand((1, 2), generator=generator(3, "noise"), dtype=torch.float64)[0].tolist()
    gaps = {"regret": [-(a - b) for a, b in LOST], "partial_return": [a - b for a, b in PAID]}[by]
    return [float(u < 1 / (1 + exp(-gap / 5.0))) for u, gap in zip(dice, gaps, strict=True)]


def reader(by, world=WORLD, **knobs):
    return RewardReader(world, by, **{"lr": 0.05, "updates": 1, **knobs})


def read(by, updates, **knobs):
    """Weights after updates of Adam, by the reader; and by hand, with the gradient of the cross-entropy."""
    here = reader(by, updates=updates, **knobs)
    target = torch.tensor([[1.0, 0.5]], dtype=torch.float64)
    weights = here.read(segments(), target, 6)
    draw = generator(6, "reader")
    w = ((torch.rand((1, 5), generator=draw, dtype=torch.float64) - 0.5) / 5**0.5).requires_grad_()
    again, optimiser, policy = reader(by, updates=updates, **knobs), torch.optim.Adam([w], lr=0.05), None
    if by == "regret":
        for _ in range(again.policies):
            random = 10 * torch.randn((1, 5), generator=draw, dtype=torch.float64)
            again.successors.append(WORLD.successors(WORLD.best(random)))
    for update in range(updates):
        if by == "regret" and update % again.every == 0:
            policy = WORLD.best(w.detach(), policy)
            again.successors.append(WORLD.successors(policy))
        optimiser.zero_grad()
        paid = (segments().gathered[0] * w[0]).sum(-1)
        if by == "regret":
            each = torch.stack([(s[0] * w[0]).sum(-1) for s in again.successors])
            values = (torch.softmax(each / 0.001, 0) * each).sum(0)
            start, end = segments().cells[0, ..., 0], segments().end[0]
            paid = -(values[start] - paid - GAMMA**2 * values[end])
        p = torch.sigmoid(paid[:, 0] - paid[:, 1])
        (-(target[0] * p.log() + (1 - target[0]) * (1 - p).log()).mean()).backward()
        optimiser.step()
    return [float((weights - w.detach()).abs().max()) < 1e-9, len(here.successors)]


def two_worlds():
    """Worlds are learned from by themselves: the second with another target does not change the first."""
    world, walks = corridor((-1.0, 10.0), (-1.0, 10.0)), None
    walks = segments(world)
    one, other = (
        reader("partial_return", world, updates=3).read(
            walks, torch.tensor([[1.0, 1.0], second], dtype=torch.float64), 1
        )
        for second in ([1.0, 1.0], [0.0, 0.0])
    )
    return [bool(torch.equal(one[0], other[0])), bool(torch.equal(one[1], other[1]))]


def soft_maximum():
    """Of two policies, in each cell: the better one's value, but for what the other is worth e^-(gap / 0.001) of."""
    here = reader("regret")
    here.successors = [torch.zeros(1, 3, 5, dtype=torch.float64) for _ in range(2)]
    here.successors[0][0, :, STEP] = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    here.successors[1][0, :, STEP] = torch.tensor([1.001, 5.0, 3.0], dtype=torch.float64)
    return here.values(torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0]], dtype=torch.float64))[0].tolist()


def study(**knobs):
    """The study with a run that remembers what it is asked: the keys, and what it comes to."""
    keys = []

    def remember(key, make):
        keys.append(key)
        return make()

    if "pairs" in knobs:
        return (
            find_recipe("regret-preference-model")
            .build({}, {"worlds": 1, "updates": 1, **knobs})
            .body(SimpleNamespace(remember=lambda key, make: keys.append(key) or make()), 5)
            and keys
        )
    small = {"pairs": 30, "worlds": 3, "updates": 10, **knobs}
    run = SimpleNamespace(remember=remember)
    result = find_recipe("regret-preference-model").build({}, small).body(run, 5)
    some = random_worlds(3, 5)
    walks = random_segments(some, 30, 3, torch.tensor([True, False, True]), 5)
    wanted = preferences(some, walks, knobs.get("prefers", "regret"), knobs.get("noise", 0.0), 5)
    weights = RewardReader(some, knobs.get("learns", "regret"), knobs.get("lr", 0.1), 10).read(walks, wanted, 5)
    earned = some.scaled(some.tied(weights)).clamp(-1, 1).mean()
    return [keys, abs(result["return"] - float(earned)) < 1e-6]


def found(by):
    """How much of what there is to earn the learned reward's best policy earns, of preferences by a model, read by it, between
    random segments none of which goes on after the end."""
    world = corridor(*[(-1.0, -1.0)] * 12)
    walks = random_segments(world, 60, 2, torch.tensor([False] * 12), 2)
    weights = reader(by, world, lr=0.1, updates=60).read(walks, preferences(world, walks, by, 0.0, 2), 2)
    return float(world.scaled(world.tied(weights)).clamp(-1, 1).mean())


NEAR = {3: [0.8, 0.95, 0.8, 0.9], 9: [0.95, -3.0, 0.91, 0.5]}
RAND = "torch.rand(chance.shape, generator=generator(*path, 'nois..."
RANDOM = "torch.randn(shape, generator=draw, dtype=torch"

mechanism = Mechanism(
    "regret-preference-model",
    source="arXiv:2206.02231, equations 1 to 5: partial return, regret V*(s_0) - (sum r + V*(s_T)), their sigmoid, successor"
    " features; SHARPNESS as in Stephanehk/Regret_Based_Reward_Learning",
    numbers={
        "what segments were paid": (lambda: partial_return(segments(), WORLD.reward)[0], PAID),
        "what they lost": (lambda: regret(segments(), WORLD.reward, torch.tensor([V]).double(), GAMMA)[0], LOST),
        "two worlds, and some of their pairs": (
            of_two,
            [
                [[-3.8, -3.8], [-3.8, -2 + 0.9 * 4]],
                [[1.6 + 3.8 - 0.81 * 4, 4 + 3.8 - 0.81 * 1.6], [4 + 3.8 - 0.81 * 4, 0.0]],
                [[[0.0, 0.5], [0.5, 0.0]], [[0.0, 1.0], [1.0, 0.0]]],
            ],
        ),
        "move by move": (given_away, 0.0),
        "where they go": (
            lambda: [walked(False), walked(True)[:3]],
            [[True, [2, 40, 2, 3], [False, False], [0, 1], True], [True, [2, 40, 2, 3], [True, False]]],
        ),
        "preferred by return, and by regret": (
            lambda: [preferred(by) for by in ("partial_return", "regret")],
            [[0.0, 0.5], [0.0, 1.0]],
        ),
        "with noise": (
            lambda: [preferred(by, 5.0) for by in ("partial_return", "regret")],
            [chances("partial_return"), chances("regret")],
        ),
        "to two decimals": (
            lambda: (
                preferred("partial_return", world=corridor((-1.0, -0.904 / 0.9)))[:1]
                + preferred("partial_return", world=corridor((-1.0, -1.2 / 0.9)))[:1]
            ),
            [0.5, 1.0],
        ),
        "the soft maximum": (soft_maximum, [1.0 + 0.001 / (1 + exp(-1)), 5.0, 3.0]),
        "learned by return": (lambda: read("partial_return", 5), [True, 0]),
        "learned by regret": (lambda: read("regret", 5, policies=3, every=2), [True, 3 + 3]),
        "world by world": (two_worlds, [True, False]),
        "summary": (
            lambda: summary(NEAR, torch.tensor([True, False, True, False])),
            {
                "near_optimal": 0.5,
                "past_end": 1.0,
                "to_the_end": 0.0,
                "return": (0.95 - 1.0 + 0.91 + 0.5) / 4,
                "curve": [{"spent": 3, "value": 0.25}, {"spent": 9, "value": 0.5}],
            },
        ),
        "the study": (study, [[["pairs", 3], ["pairs", 10], ["pairs", 30]], True]),
        "sizes of few": (lambda: study(pairs=5), [["pairs", 1], ["pairs", 5]]),
        "with other knobs": (
            lambda: study(learns="partial_return", prefers="partial_return", noise=20.0, lr=0.3)[1],
            True,
        ),
    },
    world=World(
        says="every step costs alike until the end: by return no segment is preferred, by regret some are",
        measure=found,
        on={"by": "regret"},
        off={"by": "partial_return"},
        moves=0.3,
    ),
    equal={
        "random_segments: 1000 -> 1001": "they are soon all within an episode",
        f"preferences: {RAND} -> {RAND} (2)": "no random number is just that",
        **dict.fromkeys(
            ("RewardReader.read: 10.0 -> 11.0", f"RewardReader.read: 10.0 * {RANDOM}.flo... -> {RANDOM}.float64)"),
            "best policies do not depend on a reward's scale",
        ),
        "RewardReader.read: losses.sum() -> losses.mean()": "Adam's steps do not depend on the gradient's scale",
        **dict.fromkeys(
            (f"summary: near[most][{which}] shuffled" for which in ("past_end", "~past_end")), "a share has no order"
        ),
        "summary: 1 -> 2": "no policy earns more than the best",
    },
)
