"""PEAR: a right try is paid 1 less what the entropy of its thinking exceeds that of its answer."""

from __future__ import annotations

from math import nan

import torch
from harness import Later, Mechanism, World, forced_tries, made

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.pack import pack

LETTERS = gd.models.tabular(vocab="0123456789=+# \n</think>", length=20)
LETTERS.start(0, {})
NOTED = [gd.reward(lambda meta, name=name: meta[name], isolate=False) for name in ("s", "h", "a")]


def judged(*tries, **knobs):
    """What tries are paid, by their scores and entropies, None where there is none."""
    return scores_of(tries, **knobs).whole


def scores_of(tries, **knobs):
    recipe = made("pear", model=LETTERS, **knobs)
    pay = recipe.stages.scores[-1].reward
    pay.right, pay.think, pay.said = NOTED
    return gd.score_samples(pay, [{"meta": dict(zip("sha", each, strict=True))} for each in tries])


def scored(text, *entropy, right=1.0, **knobs):
    """What a text is paid whose tokens have these entropies, and its two phases."""
    recipe = made("pear", model=LETTERS, reward=gd.reward(lambda completion: right, isolate=False), **knobs)
    play, batch = Later(0, 9), pack(forced_tries(LETTERS, "x", text))
    play.models, play.warn = {"policy": LETTERS}, lambda message: None  # that no try has the mark
    values = torch.tensor([*entropy, *[9.0] * (batch.S - len(entropy))])
    batch = batch.with_cols({"policy.entropy": Column.full("step", values)})
    batch = recipe.stages[1](batch, play)
    return [round(float(batch[name]), 4) for name in ("reward", "reward.think", "reward.said")]


def composed(**knobs):
    recipe = made("pear", model=LETTERS, **knobs)
    return [repr(stage).replace("</think>", "t") for stage in recipe.stages[1:]]


def gap(alpha=1.0):
    """How much more than a try with certain thoughts one is paid whose thoughts are uncertain, both right."""
    calm, lost = judged((1.0, 0.3, 0.2), (1.0, 0.9, 0.2), alpha=alpha)
    return lost - calm


THOUGHT = "79</think>16"
mechanism = Mechanism(
    "pear",
    source="arXiv:2510.08026, abstract and summaries: r = min(1, s - max(0, H_think - alpha H_answer)) where right",
    numbers={
        "right and wrong": (lambda: judged((1.0, 0.6, 0.2), (0.0, 0.6, 0.2)), [0.6, 0.0]),
        "a calmer thought costs nothing": (lambda: judged((1.0, 0.2, 0.6), (0.5, 0.2, 0.6)), [1.0, 0.5]),
        "at most 1": (lambda: judged((3.0, 0.9, 0.2), (1.5, 0.9, 0.2)), [1.0, 0.8]),
        "other settings": (lambda: judged((1.0, 0.6, 0.2), (0.4, 0.6, 0.2), alpha=2.0, formed=0.1), [0.8, 0.1]),
        "a right try without a phase": (
            lambda: judged((1.0, None, 0.2), (1.0, 0.2, None), (0.0, None, None), (None, 0.6, 0.2)),
            [None, None, 0.0, None],
        ),
        "which does not apply": (
            lambda: [int(each) for each in scores_of([(1.0, None, 0.2), (1.0, 0.2, None), (None, 0.6, 0.2)]).reasons],
            [1, 1, 1],
        ),
        "of a text": (lambda: scored(THOUGHT, 0.7, 0.5, *[5.0] * 8, 0.1, 0.3), [0.6, 0.6, 0.2]),
        "in sprig's form": (lambda: scored("79\n= 16", 0.7, 0.5, 5.0, 5.0, 5.0, 0.1, 0.3), [0.6, 0.6, 0.2]),
        "the last mark": (lambda: scored("7#1#6", 0.1, 9.0, 0.5, 9.0, 0.2, marks=("#",))[2], 0.2),
        "without a mark": (lambda: scored("7916", 0.7, 0.5), [nan, nan, nan]),
        "a wrong text": (lambda: scored("7916", 0.7, right=0.0, formed=0.25), [0.25, nan, nan]),
        "composed": (
            lambda: composed(marks=("#",), alpha=0.5),
            [
                "score(reward=phase_pay(right=reward(function=correct, isolate=False), think=span_mean(reading='entropy',"
                " over='before', marks=('#',)), said=span_mean(reading='entropy', over='after', marks=('#',)), alpha=0.5))",
                "centre()",
                "Learn(model='policy', loss=clipped(), opt=adam(lr=2e-05))",
            ],
        ),
    },
    world=World(
        says="of two right tries the one with less certain thoughts is paid less",
        measure=gap,
        off={"alpha": 9.0},
        moves=-0.5,
    ),
)
