"""LeDex: an explanation is paid by what followed explanations like it, a program by its tests, each on its own tokens."""

from __future__ import annotations

import asyncio
from math import nan
from types import SimpleNamespace

import torch
from harness import Later, Mechanism, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.episode import End
from guerdon.core.example import example_tries
from guerdon.core.pack import pack
from guerdon.recipes.code.ledex.parts import (
    KNOWN,
    by_spans,
    contrast,
    debug_rounds,
    in_phase,
    own_failures,
    refinement,
    right_by_round,
    words_shared,
)
from guerdon.rewards.stage.step_labels import line_ends
from guerdon.rewards.text.overlap import code_bleu
from guerdon.tasks import debugged


def program(passes):
    return f"def f(x):\n return x < {passes}"


RIGHT, OTHER = program(4), "def f(x):\n return 4 > x"


class written:
    """Functions to be written; `program(n)` passes the first n of four tests."""

    name, checker = "written", "plain"

    def get(self, split, index):
        return gd.Task(f"{index}", f"write {index}", RIGHT, "written", 1, {"tests": [([n], True) for n in range(4)]})

    def size(self, split):
        return 5

    def kinds(self):
        return {"written:1": self}

    def check(self, task, completion):
        return float(all(self.passed(task, completion)))

    def passed(self, task, text):
        return [text in (RIGHT, OTHER) or program(n + 1) <= text <= program(3) for n in range(4)]

    def solutions(self, task):
        return [RIGHT, OTHER]

    def near_misses(self, task, draw):
        return [SimpleNamespace(text=program(draw.randint(1, 3))), SimpleNamespace(text="def f(x): pass")]

    def explain(self, task, miss):
        return f"{miss.text[-1]} is not 4 in {task.prompt}"


SOURCE, TASK = debugged(written()), written().get("train", 0)


class trying(Later):
    """A `play` in which problem number n is answered with the n-th text, over and over; None fails, a cut one does not count."""

    models, seats = {"policy": SimpleNamespace(decode=bytes.decode)}, {"policy": "policy"}

    def __init__(self, *texts, end=End.DONE):
        super().__init__(0, 1)
        self.texts, self.end, self.asked = texts, end, []

    def __call__(self, asks, env=None, seats=None):
        self.asked += [(ask.task.id, ask.n, repr(env)) for ask in asks]
        said = [self.texts[int(ask.task.id) % len(self.texts)] for ask in asks]
        turns = [[segment([*t.encode()], text=t, end=self.end)] if t is not None else [] for t in said]
        return [episode(*turn, ask=ask) for turn, ask in zip(turns, asks, strict=True)]


def asked(n, *texts, explain=True, draws=1, **how):
    """What is shown in the last of some draws, tries, what is known, how often was tried and what is noted."""
    play, curriculum = trying(*texts, **how), own_failures(SOURCE, 3, explain)
    for _ in range(draws):
        asks = curriculum.draw(n, play)
    shown = [[ask.task.id, ask.shown.replace(RIGHT, "RIGHT"), ask.n, ask.note] for ask in asks]
    return [shown, len(play.asked), set(play.asked[0][1:]), curriculum.drawn, list(play.metrics.values())]


def debated(*replies, known="", **knobs):
    """The batch of replies to one ask, each with the number of tests that its program passes, after the recipe's stages of
    reward and credit, and the recipe."""
    of, play = recipe(**knobs), trying()
    note = {KNOWN: known} if known else {}
    texts = [f"{said}{program(n) if n < 4 else RIGHT}" for said, n in replies]
    ask = gd.Ask(TASK, len(texts), note=note)
    batch = pack([episode(segment([*t.encode()], text=t), ask=ask, attempt=n) for n, t in enumerate(texts)])
    for stage in of.stages[:-2]:
        batch = stage(batch, play)
    return batch


def recipe(**knobs):
    return made("ledex", written(), **knobs)


def worths(*replies, **how):
    return debated(*replies, **how)["explanation"].tolist()


def spans(*texts):
    """Advantages by parts of replies whose explanation has 1, 2, ... and whose program has -1, -2, ..."""
    batch = pack([episode(segment([*t.encode()], text=t), attempt=n) for n, t in enumerate(texts)])
    batch = line_ends()(batch, trying())
    worth = torch.arange(1.0, batch.K + 1)
    batch = batch.with_cols(
        {
            f"{name}_advantage": Column.full("track", sign * worth)
            for name, sign in (("explanation", 1), ("refinement", -1))
        }
    )
    return [values.tolist() for values in by_spans()(batch, trying())["advantage"].split([len(t) for t in texts])]


def phases(first, last, steps=4):
    return [in_phase(first, last)(example_tries([[1.0, 0.0]]), Later(step, steps)).K for step in range(max(steps, 1))]


def rounds_of(*replies, rounds=2, room=None, explain=True):
    """An episode whose drafts are these replies: what was shown, what is recited and what is noted."""
    shown, left = [], list(replies)

    class seat:
        def room(self, parent, view):
            return None if room is None else room - len(shown)

        async def act(self, view, fresh=False):
            shown.append([view.replace(RIGHT, "RIGHT"), fresh])
            return SimpleNamespace(text=left.pop(0), actions=[0] * len(shown))

        def teacher_force(self, view, text, fresh=False):
            shown.append([view, text.replace(RIGHT, "RIGHT"), fresh])

    class two(dict):
        def episode(self, **info):
            return info

    env = debug_rounds(SOURCE, rounds, explain)
    play = getattr(env.play, "__wrapped__", env.play)
    return [asyncio.run(play(gd.Ask(TASK), two(draft=seat(), policy=seat()))), shown]


def rates(*first, rounds=2):
    episodes = [episode(segment(), attempt=n) for n in range(len(first))]
    episodes = [
        e.but(info={"first_right": at} if at is not None else {"error": "no"})
        for e, at in zip(episodes, first, strict=True)
    ]
    return right_by_round(rounds)(SimpleNamespace(batch=SimpleNamespace(episodes=episodes)))


def composed(**knobs):
    of = recipe(**knobs)
    return [*map(repr, [*of.stages, *of.exams, of.curriculum])]


def explained(**knobs):
    """The advantage of an explanation like those of right programs, above which stands a wrong one."""
    return float(
        debated(("? a b\n", 1), ("? a b\n", 4), ("? a b\n", 4), ("? c d\n", 0), ("? e f\n", 0), **knobs)["advantage"][0]
    )


mechanism = Mechanism(
    "ledex",
    source="arXiv:2405.18649, section 3.3: 5 (S_CodeBLEU + S_unittest) - 5 of a program, an explanation by its likeness",
    numbers={
        "own failures": (lambda: asked(2, program(1), RIGHT, program(3), RIGHT, RIGHT), 0),
        "not explained, and where no program is heard": (
            lambda: [asked(1, program(2), explain=False)[0], asked(1, None), asked(1, program(2), end=End.CUT)],
            0,
        ),
        "a second draw": (lambda: asked(2, program(1), RIGHT, RIGHT, RIGHT, program(2), draws=2), 0),
        "words": (
            lambda: [words_shared("a b", "a b"), words_shared("a a b", "a b b b"), words_shared("a", "b")],
            [1.0, 2 * 2 / (3 + 4), 0.0],
        ),
        "like the right ones": (
            lambda: [
                contrast(*each)
                for each in (
                    ("a b", ["a b"], ["c d"]),
                    ("c d", ["a b"], ["c d"]),
                    ("a c", ["a b"], ["c d", "x y"]),
                    ("a", [], ["b"]),
                    ("a", ["a"], []),
                    ("", ["a"], ["b"]),
                )
            ],
            [5.0, -5.0, 5 * (0.5 - 0.25), None, None, -5.0],
        ),
        "a program": (lambda: [refinement(SOURCE)(f"? no\n{program(n)}", TASK) for n in (1, 3)], 0),
        "explanations": (lambda: worths(("? a b\n", 4), ("? a c\n", 4), ("? c d\n", 1), ("? x y\n", 0), ("", 0)), 0),
        "all wrong": (
            lambda: [worths(("? a b\n", 1), ("? c d\n", 1), known=known) for known in ("", "a b")],
            [[nan] * 2, [5.0, 0.0]],
        ),
        "spans": (lambda: spans("? ab\ncd", "cd\nef", "? ab"), [[1.0] * 5 + [-1.0] * 2, [-2.0] * 5, [3.0] * 4]),
        "phases": (
            lambda: [phases(0.0, 0.5), phases(0.5, 1.0), phases(0.0, 1.0, 0)],
            [[2, 2, 0, 0], [0, 0, 2, 2], [2]],
        ),
        "rounds": (
            lambda: [rounds_of(program(1), "? no\n" + RIGHT), rounds_of(RIGHT), rounds_of(*[program(2)] * 3)],
            0,
        ),
        "no room": (
            lambda: [
                rounds_of(*[program(2)] * 3, room=2),
                rounds_of(program(2), rounds=0),
                rounds_of(program(1), RIGHT, explain=False),
            ],
            0,
        ),
        "right by round": (lambda: [rates(0, 1, 2, 3, None), rates(2, rounds=1), rates(None)], 0),
        "composed": (lambda: composed(reinforce=0.25, lr=0.1, tries=3, rounds=1), 0),
        "imitation alone": (lambda: composed(reinforce=0.0, explain=False), 0),
        "one credit": (lambda: composed(split=False), 0),
    },
    world=World(
        says="a good explanation stands above a wrong program: it is not blamed for the program",
        measure=explained,
        off={"split": False},
        moves=0.5,
    ),
)
_ = code_bleu
