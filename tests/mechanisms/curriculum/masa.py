"""MASA: the policy forecasts how often it will solve a problem, is paid for being right, and skips what it calls settled."""

from __future__ import annotations

from math import nan

import torch
from harness import Mechanism, Scripted, World, made

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.recipes.curriculum.masa.parts import read_forecast

FORECASTS = {  # of a problem, in eighths; text that gives none
    "sure": ["8", "8"],
    "hopeless": ["0", "0"],
    "half": ["4", "4"],
    "torn": ["0", "8"],
    "mute": ["x", ""],
    "nearly": ["8", "7"],
}
RIGHT = {"sure": 4, "hopeless": 0, "half": 2, "torn": 1, "mute": 2, "nearly": 4}


class Named:
    """The problems of some names, in turn."""

    name = "named"

    def __init__(self, *names):
        self.names = names

    def size(self, split):
        return None

    def get(self, split, index):
        return gd.Task(str(index), self.names[index % len(self.names)])

    def check(self, task, completion):
        return None if completion == "?" else float(completion == "right")


def answer(ask, attempt):
    if ask.shown != ask.task.prompt:
        return (ask.prefix.segments[0].text if ask.prefix else "") + FORECASTS[ask.task.prompt][attempt % 2]
    return "?" if RIGHT[ask.shown] is None else "right" if attempt < RIGHT[ask.shown] else "wrong"


def step(*names, step=5, **knobs):
    """The recipe, its play at a step of ten, and what the curriculum asks."""
    recipe = made(
        "masa", Named(*names), gd.models.tabular("0123456789= x", length=3), **{"meta_tries": 2, "tries": 4, **knobs}
    )
    play = Scripted(answer, step, 10, policy=recipe.models["policy"])
    play.seats = dict(recipe.seats)
    return recipe, play, recipe.curriculum.draw(len(names), play)


def asked(*names, **knobs):
    return [ask.shown for ask in step(*names, **knobs)[2]]


def questions(**knobs):
    """How a forecast is asked for: the view, the tries, what the answer begins with, the tokens, and who answers."""
    recipe, _, _ = step("half", **knobs)
    ((episode, *_),) = recipe.curriculum.waiting
    (turn,) = episode.segments
    ask = episode.ask
    return [
        turn.view,
        ask.n,
        ask.prefix.segments[0].text,
        ask.prefix.step,
        ask.sampling.max_tokens,
        turn.role,
        recipe.seats,
    ]


def paid(*names, worth=None, **knobs):
    """What each forecast is paid, the rate of its problem beside it."""
    recipe, play, asks = step(*names, **knobs)
    batch = pack(play(asks))
    batch = recipe.stages[0](batch, play)
    if worth is not None:
        value = torch.tensor(worth)
        batch = batch.with_cols({"correct": Column("track", value, value.isnan().to(torch.int8))})
    tries, batch = batch.K, recipe.stages[1](batch, play)
    assert batch["aligned"][:tries].tolist() == batch["correct"][:tries].tolist() or worth
    return batch["aligned"][tries:].tolist()


def advantages(*names):
    """Of forecasts and tries, each among its like."""
    recipe, play, asks = step(*names)
    batch = pack(play(asks))
    for stage in recipe.stages[:-1]:
        batch = stage(batch, play)
    a = batch.up(batch["advantage"], "track", by="mean")
    return [[round(x, 3) for x in a.tolist()], recipe.stages[-1].loss.mean, recipe.stages.credit[0].reward]


def noted(*names, **knobs):
    """How many forecasts were asked for in plain language, and how many could not be read."""
    metrics = step(*names, **knobs)[1].metrics
    return [metrics.get(f"roles/forecast/{what}") for what in ("asked", "unreadable")]


def read(text, **info):
    (episode,) = Scripted(lambda ask, attempt: text)([gd.Ask(gd.Task("0", ""))])
    return read_forecast(episode.but(info=info), "= ")


def two_steps():
    """Forecasts wait for the tries of their own draw."""
    recipe, play, asks = step("half")
    recipe.curriculum.draw(1, play)
    _, second = recipe.curriculum.waiting
    recipe.stages[1](recipe.stages[0](pack(play(asks)), play), play)
    return [recipe.curriculum.waiting[0] is second, len(recipe.curriculum.waiting)]


def useful(**knobs):
    """The share of the tries' problems that teach something, where two of three are forecast as they are."""
    _, _, asks = step("sure", "half", "hopeless", **knobs)
    return sum(0 < RIGHT[ask.shown] < 4 for ask in asks) / len(asks)


def standings(*values):
    mean = sum(values) / len(values)
    deviation = (sum((x - mean) ** 2 for x in values) / (len(values) - 1)) ** 0.5
    return [(x - mean) / (deviation + 1e-4) for x in values]


PROSE = "It is hard.\nForecast: 5 of 8"
PLAIN = {"roles.forecast": "How often?\n{question}"}
ADVANTAGES = [*standings(1, 1, 0, 0), *standings(1, 0, 0, 0), 0.0, 0.0, *standings(0.01**0.25, 0.01**0.75)]
mechanism = Mechanism(
    "masa",
    source="akatigre/MASA-RL@fad5726e, verl/utils/reward_score/meta_cog.py, lines 129 to 135: 0.01 ** |mean score - rate / 8|;"
    " arXiv:2510.03259, predictive gating",
    numbers={
        "0.01^|p - forecast|": (
            lambda: paid("half", "torn", step=0),
            [1.0, 1.0, 0.01**0.25, 0.01**0.75],
        ),
        "none that can be read is paid 0": (lambda: paid("mute"), [0.0, 0.0]),
        "or nothing": (
            lambda: paid("mute", "half", step=0, **{"with_forecasts.unread": "left_out"}),
            [nan, nan, 1.0, 1.0],
        ),
        "in plain language": (
            lambda: [questions(**PLAIN)[0], *noted("half", "torn", "mute", **PLAIN), *noted("mute")],
            ["How often?\nhalf", 6.0, 2.0, None, None],
        ),
        "nothing for a problem that is left out": (lambda: paid("sure", "half"), [nan, nan, 1.0, 1.0]),
        "nothing without a verdict": (
            lambda: paid("half", "torn", worth=[nan] * 4 + [1.0, nan, 1.0, 0.0]),
            [nan, nan, 0.01 ** (2 / 3), 0.01 ** (1 / 3)],
        ),
        "all or none: skipped; others tried": (
            lambda: asked("sure", "half", "hopeless", "torn", "mute", "nearly"),
            ["half", "torn", "mute"],
        ),
        "not all of them": (lambda: [asked("sure", "hopeless"), asked("sure", "nearly")], [["sure"], ["nearly"]]),
        "from a quarter of the run on": (
            lambda: [len(asked("sure", "half", step=n)) for n in (2, 3)],
            [2, 1],
        ),
        "from later on": (lambda: [len(asked("sure", "half", step=n, after=0.5)) for n in (4, 5)], [2, 1]),
        "where forecasts agree well enough": (
            lambda: [asked("nearly", "half", spread=s) for s in (0.0625, 0.063)],
            [["nearly", "half"], ["half"]],
        ),
        "a question": (
            questions,
            ["rate\nhalf", 2, "= ", 2, 1, "meta", {"policy": "policy", "meta": "policy"}],
        ),
        "more of them": (lambda: questions(meta_tries=5)[1], 5),
        "without a start": (lambda: asked("sure", "half", **{"asked_first.start": ""}), ["half"]),
        "what is a forecast": (
            lambda: [read(text) for text in ("= 8", "= 0", "= 3 of 8", "= 9", "= 12", "x 3", "", "= ", "4", PROSE)],
            [1.0, 0.0, 0.375, None, None, None, None, None, 0.5, 0.625],
        ),
        "none of a failed one": (lambda: read("= 8", error="timeout"), None),
        "each among its like": (
            lambda: advantages("half", "torn"),
            [[round(x, 3) for x in ADVANTAGES], "step", "aligned"],
        ),
        "forecasts wait for their tries": (two_steps, [True, 1]),
    },
    world=World(
        says="two of three problems are settled, and forecast to be: the other alone is tried",
        measure=useful,
        off={"after": 1_000_000.0},
        moves=0.5,
    ),
)
