"""Co-Reward: the label of a problem is the vote of the answers to its other wording."""

from __future__ import annotations

from math import nan

from harness import Mechanism, World, example, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack

EITHER = {"1+2": "2+1", "2+1": "1+2"}


def rewards(answers, others=EITHER, failed=()):
    """The column of answers to these wordings of a problem, by wording."""
    tries = []
    for number, (prompt, texts) in enumerate(answers.items()):
        note = {example("co_reward").OTHER: others[prompt]} if prompt in others else {}
        ask = gd.Ask(gd.Task(prompt, prompt), len(texts), note=note)
        tries += [episode(segment(text=text), ask=ask, number=number, attempt=i) for i, text in enumerate(texts)]
    tries = [each.but(info={"error": "x"}) if n in failed else each for n, each in enumerate(tries)]
    return example("co_reward").agreed()(pack(tries), ExamplePlay())["agreed"].tolist()


def asked(task):
    recipe = made("co_reward", task, tries=3)
    asks = recipe.curriculum.draw(2, ExamplePlay())
    other = [ask.note.get(example("co_reward").OTHER) for ask in asks]
    turned = other == [shown for a, b in zip(asks[::2], asks[1::2], strict=True) for shown in (b.shown, a.shown)]
    return [len(asks), turned, sum(ask.n for ask in asks)]


def collapsed(crossed=True):
    """What an answer earns that only one of two wordings leads to, and there always."""
    return rewards({"1+2": ["= 3"] * 3, "2+1": ["= 0"] * 3}, EITHER if crossed else {"1+2": "1+2", "2+1": "2+1"})[3]


mechanism = Mechanism(
    "co_reward",
    source="arXiv:2508.00410: r(y | x) = 1[ans(y) = vote(x')], r(y' | x') = 1[ans(y') = vote(x)]",
    numbers={
        "crossed votes": (lambda: rewards({"1+2": ["= 3", "= 3", "= 4"], "2+1": ["= 4", "= 4"]}), [0, 0, 1, 0, 0]),
        "last lines": (lambda: rewards({"1+2": ["x\n= 3"], "2+1": ["y\n= 3\n", "= 4"]}), [1, 1, 0]),
        "a failed try": (lambda: rewards({"1+2": ["= 3"], "2+1": ["= 4", "= 3"]}, failed=(1,)), [1, nan, 1]),
        "no other wording": (lambda: rewards({"1+2": ["= 3"]}, {}), [nan]),
        "no answers to the other": (lambda: rewards({"1+2": ["= 3"], "2+1": ["= 3"]}, failed=(0,)), [nan, nan]),
        "asked": (lambda: [asked("equation:4"), len(made("co_reward").curriculum.draw(2, ExamplePlay()))], [[4, True, 12], 2]),
        "composed": (lambda: [repr(each) for each in made("co_reward").stages[1:3]], ["agreed()", "centre(reward='agreed')"]),
    },
    world=World("an answer that one wording leads to is not its own label", collapsed, {"crossed": False}, -0.5),
)  # fmt: skip
