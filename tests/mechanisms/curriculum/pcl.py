"""PCL: of more prompts than needed, those that a value model expects to be solved half of the time are tried."""

from __future__ import annotations

from math import nan

import torch
from harness import Mechanism, Scripted, World, credited, made, said_tries, small_model

import guerdon as gd
from guerdon.core.pack import pack
from guerdon.curricula.forecast_problems import ask_rates, forecasts, nearest, predicted, prompt_rows, prompts_alone

RATES = {"a": 0.0, "b": 0.1, "c": 0.45, "d": 1.0, "e": 0.6, "f": 0.9, "g": 0.2, "h": 0.8}


class Letters:
    """Problems of one letter, each solved as often as `RATES` says; `again`: the first is read twice."""

    name = "letters"

    def __init__(self, again=False):
        self.prompts = "aabcdefgh" if again else "abcdefgh"

    def size(self, split):
        return None

    def get(self, split, index):
        assert index >= 0
        prompt = self.prompts[index % len(self.prompts)]
        return gd.Task(prompt, prompt)

    def check(self, task, completion):
        return float(completion)


class Forecaster(gd.models.tabular):
    """A value model that knows the rates."""

    reads = {"final": "track"}

    def read(self, batch, want):
        ends = torch.cumsum(batch.context_length, 0) - 1
        return {"final": torch.tensor([RATES[chr(letter)] for letter in batch.context[ends][batch.leaf].tolist()])}


def play():
    forecaster = Forecaster()
    forecaster.start(0, {})
    return Scripted(lambda ask, attempt: str(float(attempt < 4 * RATES[ask.shown])), forecaster=forecaster)


def recipe(again=False, **knobs):
    return made("pcl", Letters(again), small_model(), **knobs)


def drawn(*sizes, again=False, **knobs):
    """The prompts of draws of these sizes."""
    curriculum, here = recipe(again, **knobs).curriculum, play()
    return ["".join(ask.shown for ask in curriculum.draw(n, here)) for n in sizes]


def asked(**knobs):
    (ask,) = recipe(**knobs).curriculum.draw(1, play())
    return [ask.shown, ask.n, ask.note]


def taught(*tries):
    """The rows that the forecaster is taught on: prompts, and the mean of what their tries were worth; and its loss there."""
    here, made_of = play(), recipe()
    asks = [gd.Ask(gd.Task(n, n), 4) for n in "abcd"]
    batch = pack(here(asks)).with_cols({"correct": said_tries(*tries).cols["correct"]})
    learner = made_of.stages.learners[1]
    rows = learner.on(batch, here)
    loss, _ = learner.loss(rows, {"final": torch.full((rows.K,), 0.5)})
    return [
        bytes(rows.context.tolist()).decode(),
        rows["rate"].tolist(),
        rows.S,
        float(loss),
        [e.number for e in rows.episodes],
    ]


def wired(**knobs):
    made_of = recipe(**knobs)
    policy, forecaster = made_of.stages.learners
    return [
        [each.model for each in (policy, forecaster)],
        [forecaster.epochs, forecaster.opt.lr, bool(made_of.models["forecaster"].value), made_of.curriculum.column],
    ]


def columns(**knobs):
    """What is learned from, by curriculum, teaching and credit."""
    made_of = made("pcl", Letters(), small_model(), reward=gd.exact(), **knobs)
    return [made_of.curriculum.column, made_of.stages.learners[1].on.column, made_of.stages.credit[0].reward]


def variance(**knobs):
    """How much the tries at the prompts of a step vary: p (1 - p), mean over prompts."""
    rates = [RATES[letter] for letter in drawn(2, **knobs)[0]]
    return sum(p * (1 - p) for p in rates) / len(rates)


FOUR = [((0,), 1), ((0,), 0), ((0,), 0), ((0,), 0)]
mechanism = Mechanism(
    "pcl",
    source="arXiv:2510.01135, algorithm 1: the m of k m prompts with the smallest |V(x) - tau|, then (V(x) - mean reward)^2",
    also=[predicted.draw, prompts_alone, nearest, forecasts, prompt_rows, ask_rates],
    numbers={
        "2 of 8: those next to a half, in the order read": (lambda: drawn(2), ["ce"]),
        "3 of 6 in two draws": (lambda: drawn(2, 1, times=2), ["bc", "e"]),
        "another target": (lambda: drawn(2, target=0.85), ["fh"]),
        "as far on either side: the first": (lambda: drawn(1, times=8, target=0.15), ["b"]),
        "one read twice is taken again last": (lambda: drawn(2, 2, again=True, times=2, target=0.0), ["ab", "eg"]),
        "and before nothing": (lambda: drawn(3, again=True, times=1), ["aab"]),
        "tries, with the forecast": (lambda: asked(tries=3, times=3), ["c", 3, {"forecast": 0.45}]),
        "the mean of a prompt's tries, those without a value left out": (
            lambda: taught(FOUR, [((0,), 1)] * 4, [((0,), nan)] * 4, [((0,), 1), *[((0,), nan)] * 2, ((0,), 0)]),
            ["abd", [0.25, 1.0, 0.5], 0, (0.0625 + 0.25) / 3, [0, 1, 2]],
        ),
        "wired": (wired, [["policy", "forecaster"], [4, 1e-4, True, "correct"]]),
        "with other knobs": (lambda: wired(forecast_lr=0.1, forecast_epochs=2)[1][:2], [2, 0.1]),
        "a reward of one's own": (columns, ["reward"] * 3),
        "the advantage is not divided": (lambda: credited(recipe(), said_tries(FOUR)), [0.75, -0.25, -0.25, -0.25]),
    },
    world=World(
        says="problems range from never to always solved: the tries at those that are chosen differ most",
        measure=variance,
        off={"target": 0.0},
        moves=0.15,
    ),
    equal={
        "predicted.draw: self.laps.source is not self.task -> self.laps.source is self.task": "made anew they are the same",
        "forecasts: for each in readings if each -> for each in readings": "none is missing after the check above",
        "prompt_rows: Segment(...) with no_logp before none": "both are empty",
        "ask_rates: sorted(asks) -> asks": "asks are numbered in order",
    },
)
