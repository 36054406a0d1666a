"""ReST-RL: GRPO starts from problems whose tries differ and from beginnings of their best tries; values of lines decode."""

from __future__ import annotations

from math import nan

import torch
from harness import Mechanism, World, made, small_model
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.credit.tree import tree_values
from guerdon.curricula.plain import EpochSampler
from guerdon.engine.player import Player
from guerdon.models.tables import tabular
from guerdon.recipes.code.rest_rl import LINES, beginnings, promising_starts
from guerdon.search.whole_answers import best_whole

GOOD, BAD = "a\nb\nc\nd", "no\nno"


class listed:
    """Problems in their order."""

    name = "listed"

    def get(self, split, index):
        return gd.Task(str(index), f"p{index}", "d")

    def size(self, split):
        return 40

    def check(self, task, completion):
        return float(completion == GOOD)


class tried(ExamplePlay):
    """A `play` in which every third problem is always solved, every third never, and every third at its second try. The last
    try at each has no score."""

    models = {"policy": tabular("abcdno\n", length=9, rows=8)}
    seats = {"policy": "policy"}

    def __init__(self, end=End.DONE):
        super().__init__()
        self.end, self.asked = end, []
        self.models["policy"].start(0, {})

    def generator(self, *path):
        return torch.Generator().manual_seed(10 * int(path[1]) + int(path[2]))

    def __call__(self, asks, env=None, seats=None):
        self.asked += [(ask.task.id, ask.n) for ask in asks]
        texts = {0: [GOOD] * 9, 1: [BAD, f"{GOOD}\n", BAD, GOOD], 2: [BAD] * 9}
        before = (segment(text="x"), segment(text="y", parent=0))
        return [
            episode(
                *before,
                segment(text=texts[int(ask.task.id) % 3][n], parent=1, end=self.end),
                ask=ask,
                number=i,
                attempt=n,
            )
            for i, ask in enumerate(asks)
            for n in range(ask.n)
        ]


class scored:
    """The score of a try: whether it is right; none where it is the third."""

    gives, needs = ("worth",), ()

    def __call__(self, batch, play):
        value = torch.tensor(
            [nan if e.attempt == 2 else float(e.segments[-1].text.strip() == GOOD) for e in batch.episodes]
        )
        reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
        return batch.with_cols({"worth": Column("track", value, reason)})


def starts(n=3, play=None, **knobs):
    """Asks from promising starts: the problem, how many tries, after how many lines and which text."""
    play = play or tried()
    curriculum = promising_starts(listed(), scored(), **{"tries": 4, "sample": 3, **knobs})
    asks = curriculum.draw(n, play)
    return asks, curriculum, play


def told(*how, **knobs):
    """Of starts: whether problems are solved now and then, tries, and that what is given is the first lines of a right one."""
    asks, *_ = starts(*how, **knobs)
    kinds = [int(ask.task.id) % 3 == 1 for ask in asks]
    texts = [ask.prefix.segments[0].text if ask.prefix else "" for ask in asks]
    given = [
        GOOD.startswith(text) and ask.note == {LINES: text.count("\n")} for ask, text in zip(asks, texts, strict=True)
    ]
    return [all(kinds), {ask.n for ask in asks}, all(given), sorted({text.count("\n") for text in texts})]


def waiting():
    """What is left for a second draw, which samples no more; and that nothing is asked twice."""
    first, curriculum, play = starts(2)
    sampled, left = len(play.asked), len(curriculum.waiting)
    second = curriculum.draw(2, play)
    again = [(ask.task.id, ask.note[LINES]) for ask in [*first, *second]]
    return [left >= 2, len(play.asked) == sampled, len(set(again)) > 2, len(curriculum.waiting) == left - 2]


def nothing():
    """Where no tries differ enough: what is asked, how often was sampled, and what is noted."""
    asks, curriculum, play = starts(2, spread=0.6)
    return [
        [ask.prefix for ask in asks],
        [ask.n for ask in asks],
        curriculum.drawn,
        len(play.asked),
        list(play.metrics.values()),
    ]


def drawn(text, share, decay, number=400):
    dice = torch.Generator().manual_seed(0)
    counts = [count for _ in range(number) for count in beginnings(text, share, decay, dice)]
    return [len(counts) / number, [round(counts.count(n) / len(counts), 1) for n in sorted(set(counts))]]


def values():
    """Of a tree: a trunk of two steps, a line that ends, one that goes two ways and one that was cut."""
    parts = [(-1, 2), (0, 1), (0, 2), (2, 1), (2, 1)]
    segments = [segment([0] * steps, parent=parent) for parent, steps in parts]
    batch = pack([episode(*segments, segment([0], parent=0, end=End.CUT), segment([], parent=0))])
    batch = batch.with_cols({"reward": Column.full("track", torch.tensor([0.0, 1.0, 0.5, 9.0, 1.0]))})
    return tree_values()(batch, ExamplePlay())["labels"]


class longest:
    """A scorer that likes long answers."""

    reduce_steps = "last"

    async def steps(self, tree, lines):
        return [float(len(line.text)) for line in lines]


def chosen(tries, keep="chosen"):
    said = iter(["a", "ab\nc", "ab", "abcd"])
    model = gd.models.scripted(lambda view, past, seed: next(said))
    model.start(0, {})
    env = best_whole(tries, longest(), keep)
    (of,) = Player({"policy": model}, {"policy": "policy"}, env, gd.Sampling(), 0, 1)([gd.Ask(gd.Task("1", "p"))])
    return [[each.text for each in of.segments], of.info["tokens"], of.segments[0].sampling.stop]


def composed(**knobs):
    made_of = made("rest-rl", "functions:1", small_model(), **knobs)
    models = {name: str(each).split("(")[0] for name, each in made_of.models.items()}
    exams = [repr(exam) for exam in made_of.exams]
    return [*map(repr, made_of.stages[1:]), repr(made_of.curriculum), repr(made_of.env), models, made_of.seats, *exams]


def worthwhile(promising=True):
    """The share of what is asked that is neither solved always nor never."""
    play = tried()
    asks = starts(9, play)[0] if promising else gd.curricula.uniform(listed(), tries=4).draw(9, play)
    return sum(int(ask.task.id) % 3 == 1 for ask in asks) / 9


KNOBS = {"tries": 3, "sample": 4, "spread": 0.1, "least": 0.2, "share": 0.3, "decay": 0.4, "lr": 0.1}
DECODED = "Exam(source=functions(), metrics=[accuracy(), tokens_spent()], env={}, keep='chosen'))"
HEADED = "scorer=value_scorer(model='vm', reduce_steps='last')"
PASSED, BY_ASK = "score(reward=tests_passed(source=functions()))", "centre(by='ask')"
PLAIN, VALUES = (
    ["single_turn()", {"policy": "lm"}, {"policy": "policy"}, "Exam(source=functions())"],
    {"vm": "lm", "author": "snapshot"},
)

mechanism = Mechanism(
    "rest-rl",
    source="arXiv:2508.19576; THUDM/ReST-RL, experiment/process_gen_data.py: spread 0.05, best try from 0.9, alpha 0.95",
    also=[tree_values, best_whole],
    numbers={
        "starts of problems solved now and then": (lambda: told(9), [True, {4}, True, [0, 1, 2, 3]]),
        "no beginnings": (lambda: told(9, share=0.0), [True, {4}, True, [0]]),
        "the best try is not good enough": (
            lambda: [told(9, least=1.5)[3], told(9, least=1.0)[3]],
            [[0], [0, 1, 2, 3]],
        ),
        "a try that was cut is not begun again": (lambda: told(9, tried(End.CUT))[3], [0]),
        "what waits is asked next": (waiting, [True] * 4),
        "just as far apart": (lambda: told(9, spread=0.5)[0], True),
        "where no tries differ": (nothing, [[None, None], [4, 4], 10, 8, [0.0, 0.0]]),
        "of what is noted": (lambda: list(starts(9)[2].metrics.values()), [1 / 3, 2 / 3]),
        "of equal tries the first": (lambda: told(9, sample=4), [True, {4}, True, [0, 1, 2, 3]]),
        "problems in their order": (
            lambda: [id_ for id_, _ in starts(3)[2].asked],
            [EpochSampler(listed()).task(n, 0).id for n in range(3)],
        ),
        "how much is sampled": (lambda: [len(starts(9, sample=n)[2].asked) for n in (2, 3)], [9, 9]),
        "beginnings by powers of the decay": (lambda: drawn("a\nb\nc", 1.0, 0.5), [2.0, [0.7, 0.3]]),
        "half of them, rounded up": (lambda: drawn("a\nb\nc\nd", 0.5, 1.0)[0], 2.0),
        "of one line none": (lambda: beginnings("a", 0.5, 0.9, torch.Generator()), []),
        "values of lines": (values, [nan, (0 + 1 + 0.5 + 1) / 4, 0.0, nan, 0.75, 1.0, 0.5, nan]),
        "the longest of three, of two": (lambda: [chosen(3), chosen(1)[0]], [[["ab\nc"], 7, []], ["a"]]),
        "all of them kept": (lambda: sorted(chosen(3, "tree")[0]), ["a", "ab", "ab\nc"]),
        "composed": (
            lambda: composed(**KNOBS),
            [
                *(PASSED, BY_ASK, "Learn(model='policy', loss=clipped(), opt=adam(lr=0.1))"),
                f"promising_starts(task=functions(), score={PASSED}, tries=3, sample=4, spread=0.1, least=0.2, share=0.3, "
                "decay=0.4)",
                *PLAIN,
            ],
        ),
        "plain": (lambda: composed(starts=False)[3:], ["uniform(task=functions())", *PLAIN]),
        "values to decode by": (
            lambda: composed(stage="decoding", lr=0.1),
            [
                *(PASSED, "tree_values()", "Learn(model='vm', loss=step_values(), opt=adam(lr=0.1))"),
                "uniform(task=functions(), tries=1)",
                "mcts(simulations=6, branch=3, scorer=monte_carlo_scorer(by=functions(), tries=1), explore=0.2)",
                *(
                    VALUES,
                    {"policy": "author"},
                    DECODED.format(f"mcts(simulations=12, branch=3, {HEADED}, explore=0.2"),
                ),
            ],
        ),
        "an outcome model": (
            lambda: composed(stage="decoding", by="outcome", lr=0.1),
            [
                *(PASSED, "Learn(model='vm', loss=whole_value(target='reward'), opt=adam(lr=0.1))"),
                *("uniform(task=functions())", "single_turn()", VALUES, {"policy": "author"}),
                DECODED.format(f"best_whole(tries=6, {HEADED}"),
            ],
        ),
    },
    world=World(
        says="a third of problems is solved now and then, and the others always or never: those are asked",
        measure=worthwhile,
        off={"promising": False},
        moves=0.5,
    ),
    equal={
        "promising_starts._sampled: play.generator(...) with again before self.drawn": "by another lot",
        "promising_starts._next: self.laps.source is not self.task -> self.laps.source is self.task": "the same order again",
        "tree_values.__call__: (torch.cumsum(batch.length, 0) - 1)[batch.length > 0] shuffled": "a set of steps has no order",
        "tree_values.__call__: batch.length > 0 -> batch.length >= 0": "an empty line ends where the one before it does",
    },
)
