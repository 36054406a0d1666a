"""BLEUBERI: BLEU against references is the reward, on the prompts where the start model scores lowest."""

from __future__ import annotations

from math import exp

from harness import Mechanism, Scripted, World, made, paid

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.part import get_state, set_state

SAID = {"a": "the cat sat", "b": "dog", "c": "the sat", "d": "dog", "e": None, "f": "the cat sat"}
WANTED = "the cat sat"


class prompts:
    """Some prompts that are answered by one text; the last has none."""

    name = "prompts"

    def __init__(self, names="abcdef", unanswered="f"):
        self.names, self.unanswered = names, unanswered

    def get(self, split, index):
        name = self.names[index]
        return gd.Task(str(index), name, "" if name in self.unanswered else WANTED)

    def size(self, split):
        return len(self.names)

    def check(self, task, completion):
        return float(completion == task.answer)


class Start(Scripted):
    """The start model, which says the same at each prompt; what it was asked is kept."""

    def __init__(self):
        super().__init__(lambda ask, attempt: SAID[ask.shown], step=0)
        self.calls = []

    def __call__(self, asks, env=None, seats=None):
        self.calls += [(ask.shown, ask.n, ask.sampling.temperature, ask.sampling.max_tokens) for ask in asks]
        return super().__call__(asks, env, seats)


def drawn(*steps, play=None, names="abcdef", **knobs):
    """The prompts of some steps, each of so many."""
    curriculum, play = made("bleuberi", prompts(names), **knobs).curriculum, play or Start()
    return ["".join(ask.shown for ask in curriculum.draw(n, play)) for n in steps]


def asked():
    play = Start()
    drawn(1, 1, play=play, names="abcd", pool=3, max_tokens=7)
    return [len({row[0] for row in play.calls}), len(play.calls), *play.calls[0][1:]]


def noted(**knobs):
    play = Start()
    drawn(2, play=play, **knobs)
    return [play.metrics["pool_score"], play.metrics["taken_score"]]


def tries():
    curriculum = made("bleuberi", prompts(), tries=3).curriculum
    return [ask.n for ask in curriculum.draw(2, Start())]


def hardest_first():
    (step,) = drawn(4, names="abcd", hardest=1.0)
    return [sorted(step[:2]), step[2:]]


def resumed():
    """What is drawn by a part and, without asking again, by another that has its state; they agree."""
    first, second = (made("bleuberi", prompts(), hardest=1.0).curriculum for _ in range(2))
    first.draw(1, Start())
    set_state(second, get_state(first))
    play = Start()
    drawn_next = [[ask.shown for ask in each.draw(2, play)] for each in (first, second)]
    return [drawn_next[0] == drawn_next[1], len(play.calls)]


class Chains(Start):
    """A start model for other problems, where it is asked for two."""

    def __init__(self):
        super().__init__()
        self.answer = lambda ask, attempt: "4"


def scored(text, *references, **knobs):
    recipe = made("bleuberi", prompts(), **knobs)
    return paid(recipe, [{"completion": text, "answer": references[0], "meta": {"answers": list(references)}}])[0]


def refused(run):
    try:
        return run()
    except UserError as error:
        return str(error).partition(":")[0]


def start_score(**knobs):
    """The start model's mean score on what a step draws."""
    named = "".join(drawn(4, names="abcd", **knobs))
    return sum(paid(made("bleuberi", prompts()), [{"completion": SAID[x], "answer": WANTED}])[0] for x in named) / 4


TWO = exp(-0.5)  # of "the cat": both words are right, and a third is lacking
mechanism = Mechanism(
    "bleuberi",
    source="arXiv:2505.11080, abstract: BLEU as GRPO's reward, challenging instructions first; BLEU of Papineni et al. 2002",
    numbers={
        "against one reference": (lambda: scored("the cat", WANTED), TWO),
        "the example of the BLEU paper": (
            lambda: scored("the " * 7, "the cat is on the mat", "there is a cat on the mat", order=1),
            2 / 7,
        ),
        "the closest length, of two the shorter": (
            lambda: [
                scored("the cat", "the", "the cat sat", order=1),
                scored("the cat", "the cat sat", "x" + " x" * 5),
            ],
            [1.0, TWO],
        ),
        "orders": (
            lambda: scored("a b x", "a b c d"),
            exp(-1 / 3) * (2 / 3 * 1 / 2 * 0.5) ** (1 / 3),  # the third order has none of one, which counts as half
        ),
        "several orders without a match": (lambda: scored("a x b", "a b c"), (2 / 3 * 0.5 / 2 * 0.25) ** (1 / 3)),
        "nothing in common": (lambda: [scored("x", WANTED), scored("", WANTED)], [0.0, 0.0]),
        "the hardest first": (hardest_first, [["b", "d"], "ca"]),
        "a share of them": (lambda: sorted(drawn(2, hardest=0.5)[0]), ["b", "d"]),
        "rounded up": (lambda: sorted(set(drawn(9, hardest=0.51)[0])), ["b", "c", "d"]),
        "over and over": (lambda: sorted(drawn(4, hardest=0.5)[0]), list("bbdd")),
        "step by step": (lambda: [step[-1] for step in drawn(3, 1, 3, 1, names="abcd", hardest=1.0)], list("caca")),
        "from where it was": (resumed, [True, 0]),
        "without score or reference it is not taken": (lambda: sorted(set(drawn(9, hardest=1.0)[0])), list("abcd")),
        "asked once, greedily, some of them": (asked, [3, 3, 1, 0.0, 7]),
        "what is noted": (lambda: [*noted(), *noted(order=1)], [(TWO * 0.5**0.5 + 1) / 4, 0.0, (TWO + 1) / 4, 0.0]),
        "tries": (tries, [3, 3]),
        "an endless source": (lambda: len(made("bleuberi", "chain:1", pool=2).curriculum.draw(3, Chains())), 3),
        "no reference anywhere": (
            lambda: refused(lambda: drawn(1, names="f")),
            "bleuberi found no prompt with a reference",
        ),
        "a reward that is given": (
            lambda: refused(lambda: made("bleuberi", prompts(), reward=gd.exact())),
            "bleuberi has its own reward, BLEU against references",
        ),
        "composed": (
            lambda: [repr(stage) for stage in made("bleuberi", prompts(), order=2).stages[1:3]],
            ["score(reward=bleu(order=2))", "centre()"],
        ),
    },
    world=World(
        says="what is trained on is what the start model is worst at",
        measure=start_score,
        on={"hardest": 0.5},
        off={"hardest": 1.0},
        moves=-0.3,
    ),
)
