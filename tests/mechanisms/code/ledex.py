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
    """A `play` in which problem number n is answered with the n-th text, over and over; None fails."""

    models, seats = {"policy": SimpleNamespace(decode=lambda tokens: bytes(tokens).decode())}, {"policy": "policy"}

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


def debated(*replies, known="", more=(), **knobs):
    """The batch of replies to an ask, and of `more` to another, each with the number of tests that its program passes, after
    the recipe's stages of reward and credit."""
    asks, batch, play = [gd.Ask(TASK, 9, note={KNOWN: known} if known else {}), gd.Ask(TASK, 9)], [], trying()
    for number, told in enumerate((more, replies)):
        texts = [f"{said}{program(n) if n < 4 else RIGHT}" for said, n in told]
        turns = [segment([*t.encode()], text=t) for t in texts]
        batch += [episode(turn, ask=asks[1 - number], number=number, attempt=n) for n, turn in enumerate(turns)]
    columns = pack(batch)
    for stage in recipe(**knobs).stages[:-2]:
        columns = stage(columns, play)
    return columns


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
        def __init__(self, name):
            self.name = name

        def room(self, parent, view):
            assert (self.name, parent) == ("draft", None)
            return None if room is None else room - len(shown)

        async def act(self, view, fresh=False):
            assert self.name == "draft"
            shown.append([view, fresh])
            return SimpleNamespace(text=left.pop(0), actions=[0] * len(shown))

        def teacher_force(self, view, text, fresh=False):
            assert self.name == "policy"
            shown.append([view, text.replace(RIGHT, "RIGHT"), fresh])

    class two(dict):
        def episode(self, **info):
            return info

    env = debug_rounds(SOURCE, rounds, explain)
    return [asyncio.run(env.play(gd.Ask(TASK), two(draft=seat("draft"), policy=seat("policy")))), shown]


def rates(*first, rounds=2):
    episodes = [episode(segment(), attempt=n) for n in range(len(first))]
    episodes = [
        e.but(info={"first_right": at} if at is not None else {"error": "no"})
        for e, at in zip(episodes, first, strict=True)
    ]
    return right_by_round(rounds)(SimpleNamespace(batch=SimpleNamespace(episodes=episodes)))


def composed(**knobs):
    of = made("ledex", "functions:1", **knobs)
    return [*map(repr, [*of.stages, *of.exams, of.curriculum])]


def explained(**knobs):
    """The advantage of an explanation like those of right programs, above which stands a wrong one."""
    return float(
        debated(("? a b\n", 1), ("? a b\n", 4), ("? a b\n", 4), ("? c d\n", 0), ("? e f\n", 0), **knobs)["advantage"][0]
    )


def failed(number, n, form="debug"):
    """What is asked of a problem whose program passes n tests."""
    return [str(number), f"{form}\nwrite {number}\n{program(n)}\nf({n}) gives False, not True", 3, {}]


def twice(n, form="debug"):
    """What is shown at first, and after a program that passes n tests."""
    return [["write 0", True], [failed(0, n, form)[1], True]]


def learner(loss, on, lr):
    return f"Learn(model='policy', loss={loss}(), on={on}, opt=adam(lr={lr}))"


def exam(rounds, how=None):
    env = ", ".join([f"source={FUNCTIONS}", *filter(None, [rounds if how is None else how])])
    seats = "{'draft': 'policy', 'policy': 'policy'}"
    return f"Exam(source=functions(), metrics=[accuracy(), right_by_round({rounds})], env=debug_rounds({env}), seats={seats})"


FUNCTIONS = "debugged(source=functions())"
CHECK, REFINED = f"verified(task={FUNCTIONS})", f"score(reward=refinement(source={FUNCTIONS}), gives_to='refinement')"
IMITATED = "in_turn(filters=[in_phase({}), at_least()])"
TURNED = "def f(x):\n return 3 > x"
NEAR = "def f(x):\n y = x\n return y < 4"

mechanism = Mechanism(
    "ledex",
    source="arXiv:2405.18649, section 3.3: 5 (S_CodeBLEU + S_unittest) - 5 of a program, an explanation by its likeness",
    numbers={
        "own failures": (
            lambda: asked(2, program(1), RIGHT, program(3), RIGHT, RIGHT),
            [[failed(2, 3), failed(0, 1)], 4, {1, "single_turn()"}, 4, [0.5, 0.0]],
        ),
        "not explained, and where no program is heard": (
            lambda: [asked(1, program(2), explain=False)[0], asked(1, None), asked(1, program(2), end=End.CUT)],
            [
                [failed(2, 2, "fix")],
                *[[[[*failed(0, 3)[:3], {KNOWN: "3 is not 4 in write 0"}]], 6, {1, "single_turn()"}, 7, [0.0, 1.0]]]
                * 2,
            ],
        ),
        "a second draw": (
            lambda: asked(2, program(1), RIGHT, RIGHT, RIGHT, program(2), draws=2),
            [[failed(0, 1), failed(4, 2)], 10, {1, "single_turn()"}, 10, [0.5, 0.0]],
        ),
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
        "a program": (
            lambda: [
                [refinement(SOURCE)(f"? no\n{text}", TASK).value, refinement(SOURCE)(text, TASK).parts]
                for text in (program(3), NEAR, TURNED, RIGHT)
            ],
            [
                [5 * (code_bleu(program(3), RIGHT) + 0.75) - 5, {"tests": 0.75, "alike": code_bleu(program(3), RIGHT)}],
                *(
                    [5 * code_bleu(t, r) - 5, {"tests": 0.0, "alike": code_bleu(t, r)}]
                    for t, r in ((NEAR, RIGHT), (TURNED, OTHER))
                ),
                [5.0, {"tests": 1.0, "alike": 1.0}],
            ],
        ),
        "explanations": (
            lambda: worths(("? a b\n", 4), ("? a c\n", 4), ("? c d\n", 1), ("? x y\n", 0), ("", 0)),
            [2.5, 1.25, 1.25, 0.0, -5.0],
        ),
        "explanations of another program": (
            lambda: worths(
                ("? a b\n", 1), ("? c d\n", 1), known="a b", more=[("? a b\n", 4), ("? c d\n", 0), ("? a e\n", 0)]
            ),
            [nan, 0.0, 2.5, 5.0, 0.0],
        ),
        "all wrong": (
            lambda: [worths(("? a b\n", 1), ("? c d\n", 1), known=known) for known in ("", "a b")],
            [[nan] * 2, [5.0, 0.0]],
        ),
        "spans of prose": (
            lambda: spans("ab\n\ncd\n```python\nef\n```", "```\nef\n```\ngh"),
            [[1.0] * 7 + [-1.0] * 16, [-2.0] * 13],
        ),
        "spans": (lambda: spans("? ab\ncd", "cd\nef", "? ab"), [[1.0] * 5 + [-1.0] * 2, [-2.0] * 5, [3.0] * 4]),
        "phases": (
            lambda: [phases(0.0, 0.5), phases(0.5, 1.0), phases(0.0, 1.0, 0)],
            [[2, 2, 0, 0], [0, 0, 2, 2], [2]],
        ),
        "rounds": (
            lambda: [rounds_of(program(1), "? no\n" + RIGHT), rounds_of(RIGHT), rounds_of(*[program(2)] * 3)],
            [
                [{"first_right": 2, "attempts": 2, "tokens": 3}, [*twice(1), ["write 0", "RIGHT", True]]],
                [{"first_right": 1, "attempts": 1, "tokens": 1}, [["write 0", True], ["write 0", "RIGHT", True]]],
                [
                    {"first_right": 0, "attempts": 3, "tokens": 6},
                    [*twice(2), twice(2)[1], ["write 0", program(2), True]],
                ],
            ],
        ),
        "no room": (
            lambda: [
                rounds_of(*[program(2)] * 3, room=2),
                rounds_of(program(2), rounds=0),
                rounds_of(program(1), RIGHT, explain=False),
            ],
            [
                [{"first_right": 0, "attempts": 2, "tokens": 3}, [*twice(2), ["write 0", program(2), True]]],
                [{"first_right": 0, "attempts": 1, "tokens": 1}, [["write 0", True], ["write 0", program(2), True]]],
                [{"first_right": 2, "attempts": 2, "tokens": 3}, [*twice(1, "fix"), ["write 0", "RIGHT", True]]],
            ],
        ),
        "right by round": (
            lambda: [rates(0, 1, 2, 3, None), rates(2, rounds=1), rates(None)],
            [
                {"right_after_0": 0.25, "right_after_1": 0.5, "right_after_2": 0.75},
                {"right_after_0": 0.0, "right_after_1": 1.0},
                {"right_after_0": 0.0, "right_after_1": 0.0, "right_after_2": 0.0},
            ],
        ),
        "composed": (
            lambda: composed(reinforce=0.25, lr=0.1, tries=3, rounds=1),
            [
                *(
                    CHECK,
                    REFINED,
                    "centre(reward='refinement', by='ask', gives_to='refinement_advantage')",
                    "explanation()",
                ),
                "centre(reward='explanation', by='ask', gives_to='explanation_advantage')",
                *("line_ends()", "by_spans()", learner("sft", IMITATED.format("last=0.75"), 0.1)),
                *(
                    learner("clipped", "in_phase(first=0.75)", 0.1),
                    exam("rounds=1"),
                    f"own_failures(source={FUNCTIONS}, tries=3)",
                ),
            ],
        ),
        "imitation alone": (
            lambda: composed(reinforce=0.0, explain=False),
            [
                *(CHECK, learner("sft", IMITATED.format(""), 2e-05), exam("", "explain=False")),
                f"own_failures(source={FUNCTIONS}, explain=False)",
            ],
        ),
        "one credit": (
            lambda: composed(split=False),
            [
                *(
                    CHECK,
                    REFINED,
                    "centre(reward='refinement', by='ask')",
                    learner("sft", IMITATED.format("last=0.5"), 2e-05),
                ),
                *(learner("clipped", "in_phase(first=0.5)", 2e-05), exam(""), f"own_failures(source={FUNCTIONS})"),
            ],
        ),
    },
    world=World(
        says="a good explanation stands above a wrong program: it is not blamed for the program",
        measure=explained,
        off={"split": False},
        moves=0.5,
    ),
    equal={
        "own_failures.draw: len(asks) >= n -> len(asks) > n": "nothing more is wanted then",
        "own_failures._next: self.laps.source is not self.source -> self.laps.source is self.source": "it stays the same",
        "words_shared: f1(...) with theirs.total() before ours.total()": "symmetric",
        "contrast: words_shared(...) with other before said": "symmetric",
        "explanation.__call__: correct[j] >= 0.5 -> correct[j] > 0.5": "a program is right or wrong",
        "explanation.__call__: correct[j] < 0.5 -> correct[j] <= 0.5": "a program is right or wrong",
        "replies: batch.place[batch.leaf] shuffled": "replies have one turn",
        "by_spans.__call__: steps[:ends[0] + 1 if ends else 0] shuffled": "all of them are marked",
        "by_spans.__call__: with_step_column(...) with rest before first": "both say why there is no value",
        "in_phase.__call__: 1 -> 2": "a run of one step has only its first",
        "ledex: -1 -> 1": "there are two",
    },
)
