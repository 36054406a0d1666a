"""SAR: beside the reward an answer earns what its question takes from its perplexity."""

from __future__ import annotations

from math import exp, log

import torch
from harness import Later, Mechanism, World, forced_tries, made, table_after

import guerdon as gd
from guerdon.core.pack import pack
from guerdon.select.other_views import read_under


def table(ask=1.0, nothing=1.0):
    """A model of two digits, with odds of a 1 where the question was asked and where it was not."""
    return table_after({"ask": {"1": ask}, "": {"1": nothing}})


def scored(*texts, model=None, reward="zero", view="ask", **knobs):
    model = model or table(ask=3.0, nothing=1 / 3)
    recipe = made(
        "sar", reward=gd.reward(lambda completion: float(reward != "zero"), isolate=False), model=model, **knobs
    )
    play = Later(0, 9)
    play.models = {"policy": model}
    return recipe.stages.scores[-1](pack(forced_tries(model, view, *texts)), play)["reward"].tolist()


def gap(odds_without):
    """Of two tries, `1` is likelier where the question was asked; the second step is even in both."""
    asked, alone = log(3 / 4), log(odds_without / (1 + odds_without))
    return 1 - exp((alone - asked) / 2)  # means over two steps, of which the second is the same


def order(alignment=1.0):
    """How far answers that need their question are paid above those that are as likely without it, over 5 planted pairs."""
    total = 0.0
    for n in range(5):
        model = table(ask=3.0, nothing=0.1 + 0.08 * n)
        needs, idle = scored("11", "00", model=model, reward="one", alignment=alignment)
        total += float(needs > idle) / 5
    return total


def conversation():
    """A system message stays, and the question is taken away."""
    model = table()
    talk = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "2+2"}]
    read = []
    model.read = lambda changed, want: (
        read.append(changed.episodes[0].segments[0].view) or {"logp": torch.zeros(changed.S)}
    )
    read_under(pack(forced_tries(model, talk, "1")), "", model)
    return read


mechanism = Mechanism(
    "sar",
    source="arXiv:2509.05489; amazon-science/Self-Aligned-Reward, efficiency_reward.py, lines 50-70",
    also=[read_under],
    equal={
        "self_aligned.score: alone[steps] shuffled": "a mean over the same steps",
        "self_aligned.score: asked[steps] shuffled": "a mean over the same steps",
    },
    numbers={
        "what the question takes from the perplexity": (
            lambda: scored("11", "10", alignment=1.0),
            [gap(1 / 3), gap(1 / 3)],
        ),
        "an answer that it makes less likely": (
            lambda: scored("01", "10", "00", alignment=1.0),
            [1 - exp((log(3 / 4) - log(1 / 4)) / 2), gap(1 / 3), 1 - exp((log(3 / 4) - log(1 / 4)) / 2)],
        ),
        "at least -1": (lambda: scored("01", model=table(ask=99.0, nothing=0.01), alignment=1.0), [-1.0]),
        "beside the reward, with the released weight": (lambda: scored("11", reward="one"), [1 + 0.2 * gap(1 / 3)]),
        "without it": (lambda: scored("11", "01", reward="one", alignment=0.0), [1.0, 1.0]),
        "a conversation": (
            conversation,
            [[{"role": "system", "content": "be brief"}, {"role": "user", "content": ""}]],
        ),
    },
    world=World(
        says="answers that depend on their question are paid more than those that are as likely without it",
        measure=order,
        off={"alignment": 0.0},
        moves=0.9,
    ),
)
