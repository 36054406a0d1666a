"""FLR: an answer is worth how much likelier a satisfied reply is after it than a dissatisfied one."""

from __future__ import annotations

from math import log

from harness import Later, Mechanism, World, forced_tries, made, table_after

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.pack import pack

SHOW = "{prompt} {completion}"
HEARD = {"2+2 4": {"t": 6.0, "n": 1.0}, "2+2 5": {"t": 1.0, "n": 2.0}}  # what people said of two answers, of t, n and o
POLICY = gd.models.tabular("0123456789", length=1)
POLICY.start(0, {})


def reader(odds=HEARD):
    """A model of replies of one letter, t, n or o, that ends after it as often as it does not."""
    return table_after(odds, vocab="tno", length=0)


def scored(*texts, odds=HEARD, said=("t",), unsaid=("n",), prompts=("2+2",)):
    replies = reader(odds)
    recipe = made("flr", reader=replies, positive=said, negative=unsaid, asking=SHOW)
    play = Later(0, 9)
    play.models = {"policy": POLICY, "reader": replies, "reference": POLICY}
    tries = [each for n, prompt in enumerate(prompts) for each in forced_tries(POLICY, prompt, *texts, number=n)]
    batch = pack(tries)
    for stage in recipe.stages[1:-1]:
        batch = stage(batch, play)
    return batch


def worth(*texts, **kinds):
    return scored(*texts, **kinds)["reward"].tolist()


def pairs(*texts, **kinds):
    found = scored(*texts, **kinds).pairs
    return [found.better.tolist(), found.worse.tolist()]


def logp(letter, odds):
    """The mean over a letter and the end after it, which has one chance in four; the first step can end as well."""
    return (log(odds[letter] / (sum(odds.values()) + 1)) + log(1 / 4)) / 2


def right_pairs(taught=True):
    """The share of problems of which the right try is chosen, by a reader that heard people's replies."""
    prompts = [f"{n}+{n}" for n in range(4)]
    odds = {f"{p} {2 * n}": {"t": 3.0} for n, p in enumerate(prompts)} if taught else {}
    found = scored("0", "2", "4", "6", odds=odds, prompts=prompts).pairs
    return sum(int(k) % 4 == int(k) // 4 for k in found.better.tolist()) / 4


def too_long():
    """A reader whose context does not hold the question fails the sample."""
    replies = reader()
    type(replies).max_positions = property(lambda self: 4)
    try:
        recipe, play = made("flr", reader=replies, asking=SHOW, positive=("t",), negative=("n",)), Later(0, 9)
        play.models = {"policy": POLICY, "reader": replies}
        column = recipe.stages[1](pack(forced_tries(POLICY, "2+2", "4")), play).cols["reward"]
        return column.detail[0]["error"]
    finally:
        del type(replies).max_positions


def refused(**knobs):
    try:
        made("flr", **knobs)
    except UserError as error:
        return str(error)


FOUR, FIVE = {"t": 6.0, "n": 1.0, "o": 1.0}, {"t": 1.0, "n": 2.0, "o": 1.0}
mechanism = Mechanism(
    "flr",
    source="arXiv:2409.13948, abstract: the likelihood of follow-up utterances ranks own generations for DPO",
    numbers={
        "satisfied less dissatisfied": (
            lambda: worth("4", "5"),
            [logp("t", FOUR) - logp("n", FOUR), logp("t", FIVE) - logp("n", FIVE)],
        ),
        "the lists swapped": (
            lambda: worth("4", "5", said=("n",), unsaid=("t",)),
            [logp("n", FOUR) - logp("t", FOUR), logp("n", FIVE) - logp("t", FIVE)],
        ),
        "means over the lists": (
            lambda: worth("4", said=("t", "o"), unsaid=("n",)),
            [(logp("t", FOUR) + logp("o", FOUR)) / 2 - logp("n", FOUR)],
        ),
        "and over the other": (
            lambda: worth("5", said=("t",), unsaid=("n", "o", "o")),
            [logp("t", FIVE) - (logp("n", FIVE) + 2 * logp("o", FIVE)) / 3],
        ),
        "the best against the worst": (lambda: pairs("7", "5", "4"), [[2], [1]]),
        "a reader that heard nothing ranks nothing": (lambda: pairs("4", "5", "6", odds={}), [[], []]),
        "too long": (too_long, "ValueError: longer than the context of the model 'reader'"),
        "composed": (
            lambda: [
                [type(stage).__name__ for stage in made("flr").stages],
                made("flr").stages[1].reward.model,
                sorted(made("flr", reader=POLICY).models),
                made("flr", reader=POLICY).stages[1].reward.model,
                type(made("flr", reader="sprig").models["reader"]).__name__,
            ],
            [
                ["verified", "score", "paired", "Learn"],
                "reference",
                ["policy", "reader", "reference"],
                "reader",
                "lm",
            ],
        ),
        "no replies": (
            lambda: refused(positive=()),
            "follow_up_likelihood.positive is a list of replies, like ('Thanks.',), not ()",
        ),
        "a template without the answer": (lambda: "{completion}" in refused(asking="{prompt}?"), True),
    },
    world=World(
        says="of four tries the right one is chosen by a reader that heard what people reply to right answers",
        measure=right_pairs,
        off={"taught": False},
        moves=0.9,
    ),
)
