"""LERL: a planner narrows the categories, all other items have probability 0, and with all categories it is the flat policy."""

from __future__ import annotations

import json
import tempfile
from math import exp
from pathlib import Path

import numpy as np
import torch
from harness import Mechanism, World

from guerdon.core.errors import UserError
from guerdon.core.task import Sampling
from guerdon.models.control import mlp
from guerdon.recipes.allocation.lerl import PlannedFeed, by_rule, masked, planned, planner_of
from guerdon.recipes.house.catalogues import own_catalogue
from guerdon.training.catalog import find_recipe
from guerdon.worlds import Catalogue, Feed

NAME = "lerl"
ITEMS = Catalogue(
    np.array([0, 1, 2, 0, 1, 2]), np.array([1.0, 0.6, 0.8, 0.3, 0.2, 0.1]), names=("news", "music", "sport")
)
TOLD = {
    "news": {"shown": 4.0, "clicked": 3.0, "lately": 2.0},
    "music": {"shown": 0.0, "clicked": 0.0, "lately": 0.0},
    "sport": {"shown": 8.0, "clicked": 2.0, "lately": 0.0},
}
LINES = [{"category": c, "appeal": a} for c, a in (("news", 0.5), ("music", "0.25"), ("news", 1))]


def feed(plan="all", allowed=2, every=1, diversity=0.0, items=ITEMS):
    made = PlannedFeed(items, planner_of(plan) if isinstance(plan, str) else plan, allowed, every, diversity)
    made.reset(seed=2)
    return made


def turns(*kinds):
    """A planner that names one of these after the other, and what it was told."""
    told, names = [], list(kinds)

    def plan(summary, allowed, dice):
        told.append({name: list(row.values()) for name, row in summary.items()})
        return [names[min(len(told), len(names)) - 1]]

    return plan, told


def walked(every=1):
    """Three steps under a planner: what may be shown, and what it was told."""
    plan, told = turns("news", "sport", "music")
    made = feed(plan, every=every)
    seen, pays = [made.may.tolist()], []
    for item in (0, 0, 2):
        view, pay, *_ = made.step(item)
        pays.append(pay)
        seen.append(view[-6:].tolist())
    return made, seen, told, pays


def summary():
    """What the planner was told last, against the clicks that were paid."""
    _, _, told, pays = walked()
    news, sport = pays[0] + pays[1], pays[2]
    by_hand = {"news": [2.0, news, 0.8 * 1.8], "music": [0.0, 0.0, 0.0], "sport": [1.0, sport, 1.0]}
    return all(np.allclose(told[-1][name], row) for name, row in by_hand.items()) and len(told) == 4


def flat_view(seed):
    return Feed(ITEMS).reset(seed=seed)[0]


def bonus(diversity):
    """What four steps pay: a category twice, another, and the first again."""
    made = feed(diversity=diversity)
    return [made.step(item)[1] for item in (0, 3, 1, 0)]


def actor(kind=masked, inputs=4 + 6, hidden=(8,)):
    model = kind(inputs, (6,), 0, hidden)
    model.start(3, {})
    return model


@torch.no_grad()
def acted(model, views, temperature=1.0, n=64):
    dice = np.random.default_rng(0)
    rows = np.repeat(np.asarray(views, np.float32), n, 0)
    return model.act_rows(rows, model.noise(dice, len(rows)), Sampling(temperature=temperature))


VIEW = np.array([[0.5, -1.0, 2.0, 0.1]], np.float32)
SOME = np.array([[0, 1, 0, 0, 1, 0]], np.float32)


def flat():
    """With everything allowed it acts and reads as the flat actor, to the bit."""
    one, other = actor(), actor(mlp, 4)
    (a, p), (b, q) = acted(one, np.concatenate([VIEW, np.ones((1, 6))], 1)), acted(other, VIEW)
    rows = torch.from_numpy(np.concatenate([VIEW, 2 * VIEW, -VIEW]))
    wide = torch.cat([rows, torch.ones(3, 6)], 1)
    return [
        bool((a == b).all() and (p == q).all()),
        torch.equal(one.policy_of(wide), other.policy_of(rows)),
        torch.equal(one.value_of(wide), other.value_of(rows)),
    ]


@torch.no_grad()
def narrowed():
    """Items that may not be shown have probability 0 exactly, and the others share what is left."""
    wide = torch.from_numpy(np.concatenate([VIEW, SOME], 1))
    p = torch.softmax(actor().policy_of(wide), 1)[0]
    free = torch.softmax(actor(mlp, 4).policy_of(torch.from_numpy(VIEW))[0, [1, 4]], 0)
    drawn, logp = acted(actor(), wide.numpy())
    return [
        p[[0, 2, 3, 5]].tolist(),
        (p[[1, 4]] - free).tolist(),
        sorted(set(drawn.tolist())),
        bool(np.isfinite(logp).all()),
    ]


def built(**knobs):
    return find_recipe(NAME)(**{"worlds": 2, "horizon": 16, "hidden": (8,), **knobs})


def composed():
    made = built(planner="random", allowed=3, every=2, diversity=0.25, worlds=3, limit=7)
    train, held, actor = made.env.env, made.exams[0].env.env, made.models["policy"]
    return [
        [made.env.at_once, made.env.limit, made.exams[0].env.at_once, made.exams[0].env.limit, made.curriculum.steps],
        [(each.planner, each.allowed, each.every, each.diversity) for each in (train, held)],
        [made.exams[0].source.env is held, made.curriculum.env is train, made.exams[0].tasks, made.steps],
        [actor.inputs, actor.choices, tuple(actor.hidden), held().observation_space.shape],
    ]


def own(rows):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        try:
            made = own_catalogue(str(file))
            opened = planned(str(file), allowed=1)()
            return [made.category.tolist(), made.appeal.tolist(), made.names, opened.items.names, opened.allowed]
        except UserError as error:
            return str(error).split("mine.jsonl ")[-1].split(";")[0]


def written(text, name="plan"):
    """A planner of a user's file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plans.py"
        file.write_text(text)
        return planner_of(f"{file}:{name}")(TOLD, 2, None)


def refused(make):
    try:
        make()
    except UserError as error:
        return str(error)


def kept(planner="rule"):
    """How long users stay with a policy that has learned nothing, and shows any item that it may."""
    made, stayed = PlannedFeed(Catalogue.drawn(40, 8, 0), planner_of(planner), 3, 1, 0.0), 0
    for seed in range(12):
        made.reset(seed=seed)
        dice, over = np.random.default_rng(seed), False
        while not over:
            over = made.step(int(dice.choice(np.flatnonzero(made.may))))[2]
            stayed += 1
    return stayed / 12


mechanism = Mechanism(
    NAME,
    source="arXiv:2601.19585 as its abstract has it: categories by a planner, items within them by a policy; the rule is ours",
    numbers={
        # (1 + 3) / 8 e^-1, 1 / 4 and 3 / 12: the first of equals
        "the rule": (lambda: [by_rule(TOLD, n, None) for n in (1, 3)], [["music"], ["music", "sport", "news"]]),
        "the rule, of what was clicked more": (
            lambda: by_rule({**TOLD, "sport": {"shown": 8.0, "clicked": 3.0, "lately": 0.5}}, 2, None),
            ["sport", "music"] if 4 / 12 * exp(-0.25) > 1 / 4 else ["music", "sport"],
        ),
        "the rule forgets": (
            lambda: by_rule({**TOLD, "news": {"shown": 4.0, "clicked": 3.0, "lately": 1.3}}, 1, None),
            ["news"] if 0.5 * exp(-0.65) > 0.25 else ["music"],
        ),
        "all": (lambda: planner_of("all")(TOLD, 1, None), ["news", "music", "sport"]),
        "random": (
            lambda: sorted(
                {name for n in range(20) for name in planner_of("random")(TOLD, 1, np.random.default_rng(n))}
            ),
            ["music", "news", "sport"],
        ),
        "as many at random": (lambda: len(planner_of("random")(TOLD, 2, np.random.default_rng(0))), 2),
        "what may be shown": (
            lambda: walked()[1],
            [[1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1], [0, 1, 0, 0, 1, 0], [0, 1, 0, 0, 1, 0]],
        ),
        "a plan for two steps": (
            lambda: walked(2)[1],
            [[1, 0, 0, 1, 0, 0], [1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1], [0, 0, 1, 0, 0, 1]],
        ),
        "what the planner is told": (summary, True),
        "a new session": (
            lambda: [walked()[0].reset(seed=3)[0][-6:].tolist(), walked()[0].shown.tolist()],
            [[0, 1, 0, 0, 1, 0], [2, 0, 1]],
        ),
        "a new user has no history": (
            lambda: [(made := walked()[0]).reset(seed=3) and made.shown.tolist(), made.clicked.tolist()],
            [[0, 0, 0], [0, 0, 0]],
        ),
        "the same user as the flat feed's": (
            lambda: [
                bool((feed().reset(seed=4)[0] == np.append(flat_view(4), [1] * 6)).all()),
                feed().reset(seed=4)[0].dtype.name,
            ],
            [True, "float32"],
        ),
        "a bonus for what was not shown lately": (
            lambda: [round(x - y, 9) for x, y in zip(bonus(0.5), bonus(0.0), strict=True)],
            [0.5, 0.25, 0.5, 0.5 / (1 + 0.8 * 1.8)],
        ),
        "flat": (flat, [True, True, True]),
        "choices have no spread": (lambda: hasattr(actor().towers, "log_std"), False),
        "a planned feed": (
            lambda: [
                [made.every, made.diversity, made.allowed, made.observation_space.low.max(), len(made.kind)]
                for made in [planned("", "all", 4, 3, 0.5)()]
            ],
            [[3, 0.5, 4, 0.0, 200]],
        ),
        "narrowed": (narrowed, [[0, 0, 0, 0], [0, 0], [1, 4], True]),
        "composed": (
            composed,
            [
                [3, 7, 3, 7, 16],
                [("random", 3, 2, 0.25), ("random", 3, 2, 0.0)],
                [True, True, 64, 30],
                [243, (200,), (8,), (243,)],
            ],
        ),
        "knobs": (lambda: [built(exam=3, steps=4).exams[0].tasks, built(steps=4).steps], [3, 4]),
        "entropy": (
            lambda: [
                t.weight for t in built(entropy_weight=0.03).stages[-1].loss.terms if type(t).__name__ == "entropy"
            ],
            [0.03],
        ),
        "a file": (lambda: own(LINES), [[0, 1, 0], [0.5, 0.25, 1.0], ("news", "music"), ("news", "music"), 1]),
        "files that are refused": (
            lambda: [
                own([{"category": "a", "appeal": 1.5}]),
                own([{"category": "a", "appeal": -1}]),
                own([{"appeal": 1}]),
            ],
            ["line 1: appeal is 1.5", "line 1: appeal is -1", 'line 1: no "category"'],
        ),
        "your own planner": (lambda: written("def plan(told, n):\n    return sorted(told)[:n]\n"), ["music", "news"]),
        "planners that are refused": (
            lambda: [
                refused(lambda: planner_of("rules")),
                refused(lambda: feed(lambda *_: ["jazz"])),
                refused(lambda: feed(lambda *_: [])),
            ],
            [
                "lerl.planner is rule, all, random, or FILE.py:NAME of a function, not 'rules'",
                "the planner named ['jazz']; categories are news, music, sport",
                "the planner named []; categories are news, music, sport",
            ],
        ),
    },
    world=World(
        says="a policy that knows nothing keeps users longer within the categories of the rule",
        measure=kept,
        off={"planner": "all"},
        moves=2.0,
    ),
)
