"""SAR: beside the reward an answer earns what its question takes from its perplexity."""

from __future__ import annotations

from math import exp, log

import torch
from harness import Later, Mechanism, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.pack import pack
from guerdon.models.tables import FNV_START, _mix, _place
from guerdon.select.other_views import read_under


def table(**shown):
    """A model of the digits 0 and 1 with other odds of a 1 after each view, and even odds at every later step."""
    model = gd.models.tabular("01", length=2, rows=4096)
    model.start(0, {})
    with torch.no_grad():
        for view, odds in shown.items():
            row = _place(_mix(FNV_START, model.encode("" if view == "nothing" else view)), model.rows)
            model.net.logits[row] = torch.tensor([1.0, odds]).log()
    return model


def batch(model, *texts, view="ask"):
    episodes = []
    for attempt, text in enumerate(texts):
        reply = model.teacher_force(view, text)
        turn = segment(reply.actions, view=view, context=reply.context, logp=reply.logp, text=text)
        episodes.append(episode(turn, name="a", number=0, attempt=attempt))
    return pack(episodes)


def scored(*texts, model=None, reward="zero", view="ask", **knobs):
    model = model or table(ask=3.0, nothing=1 / 3)
    recipe = made(
        "sar", reward=gd.reward(lambda completion: float(reward != "zero"), isolate=False), model=model, **knobs
    )
    play = Later(0, 9)
    play.models = {"policy": model}
    return recipe.stages.scores[-1](batch(model, *texts, view=view), play)["reward"].tolist()


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
    read_under(batch(model, "1", view=talk), "", model)
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
