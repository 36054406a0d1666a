"""TP-GRPO: right thoughts of right answers are paid by the share of right tries, those of wrong answers are not blamed."""

from __future__ import annotations

from math import nan

import torch
from harness import Mechanism, World, made, small_model
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.recipes.process.tp_grpo_thought.parts import (
    by_line,
    each_line,
    marked_lines,
    paid_later,
    read_marks,
)
from guerdon.tasks.role_wordings import MARKED, marks_by_critique
from guerdon.tasks.roles import verify_view

FAMILY = gd.tasks.load("equation:2")
TASK = FAMILY.get("train", 0)  # 9x+12=48
TEXT = "9x=36\nx=5\n= 5"
CHAIN = gd.tasks.load("chain:1")  # 4 *4 *5
LINE = 9  # the action that ends a line


class speller:
    """A model whose tokens are letters, of which one ends a line."""

    def decode(self, tokens):
        return "".join("\n" if token == LINE else "x" for token in tokens)


def column(level, values, detail=None):
    value = torch.tensor(values)
    reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
    return Column(level, value, reason, detail or {})


def tries(*tried, play=None, problems=1, **knobs):
    """Advantages of tries of two lines of a token and its end, and an answer of one token; each with what a judge says of its
    lines and whether it is right. An outcome's advantage is 1 in right tries and -1 in wrong ones."""
    names = [n * problems // len(tried) for n in range(len(tried))]
    episodes = [
        episode(segment([1, LINE, 1, LINE, 1]), name=str(at), number=at, attempt=n) for n, at in enumerate(names)
    ]
    right = [value for _, value in tried]
    detail = {n: {"steps": said} for n, (said, _) in enumerate(tried) if said is not None}
    batch = pack(episodes).with_cols({"correct": column("track", right), "judged": column("track", right, detail)})
    signs = torch.tensor([2 * value - 1 for value in right]).repeat_interleave(5)
    batch = batch.with_cols({"outcome": column("step", signs.tolist())})
    play = play or ExamplePlay()
    play.models, play.seats = {"policy": speller()}, {"policy": "policy"}
    stage = recipe(**knobs).stages.credit[-1]
    return [values.tolist() for values in stage(batch, play)["advantage"].split(5)]


def recipe(**knobs):
    return made("tp-grpo-thought", "chain:1", small_model(), **knobs)


class verifier(ExamplePlay):
    """A `play` in which the judge replies so, in turn; the last of them says nothing."""

    def __init__(self, *replies):
        super().__init__()
        self.replies, self.asked = replies, []

    def __call__(self, asks, env=None, seats=None):
        self.asked = [[ask.task.id, ask.prompt, ask.sampling, ask.seats, repr(env)] for ask in asks]
        return [episode(segment(), segment(), segment(text=reply)) if reply else episode() for reply in self.replies]


def logged(*tried):
    play = ExamplePlay()
    tries(*tried, play=play)
    return [play.metrics[f"thoughts/{name}"] for name in ("judged", "mended", "spared")]


def marked(*tried, noted=False, **how):
    """What the judge's replies to tries make of their lines, and what was asked; but for the last, another turn comes first."""
    turns = [(segment(text="before"), segment(text=text, parent=0)) for text, *_ in tried[:-1]]
    turns.append((segment(text=tried[-1][0]),))
    batch = pack([episode(*pair, ask=gd.Ask(TASK), attempt=n) for n, pair in enumerate(turns)])
    batch = batch.with_cols({"correct": column("track", [right for *_, right in tried])})
    play = verifier(*(reply for _, reply, _ in tried))
    judged = marked_lines(max_tokens=7, **how)(batch, play).cols["judged"]
    if noted:
        return play.metrics
    return [judged.value, [judged.detail.get(n, {}).get("steps") for n in range(len(tried))], play.asked]


def composed(**knobs):
    made_of = recipe(**knobs)
    models = {name: str(model) for name, model in made_of.models.items() if name != "policy"}
    return [*map(repr, made_of.stages[1:-1]), models, *map(repr, made_of.exams[1:])]


def spared(judged=True):
    """The advantage of the right line of a wrong try, beside a right try of the same problem."""
    return tries(RIGHT, WRONG if judged else (None, 0.0))[1][0]


RIGHT, MENDED, WRONG = ([1.0, 1.0, 1.0], 1.0), ([1.0, 0.0, 1.0], 1.0), ([1.0, 0.4, 0.0], 0.0)
UNKNOWN = ([1.0, 1.0, 1.0], nan)
PAID, HALF = 1 + 0.5 * 2 / 3, 1 + 0.2 * 2 / 3
EXAM = "Exam(source=chain(), metrics=[sound(), judged_steps(reward=each_line(task=chain())), "
EXAM += "farmed(reward=each_line(task=chain()))], env=single_turn(), name='steps', tasks=128, tries=1)"
CRITIQUES = [("1", True), ("line 2", False), ("3", True), ("4", True), ("none", False)]
IN_WORDS = MARKED.plain.format(question=TASK.prompt, answer="1. 9x=36\n2. x=5\n3. = 5")
GREEDY = gd.Sampling(temperature=0.0, max_tokens=7)

mechanism = Mechanism(
    "tp-grpo-thought",
    source="arXiv:2507.23317: right thoughts of right answers are paid alpha acc, wrong ones -alpha acc; by what comes later",
    numbers={
        "thoughts by the share of right tries": (
            lambda: tries(RIGHT, MENDED, WRONG),
            [[PAID] * 5, [PAID, PAID, 1.0, 1.0, PAID], [0.0, 0.0, -1.0, -1.0, -1.0]],
        ),
        "another alpha": (lambda: tries(MENDED, WRONG, RIGHT, alpha=0.2)[0], [HALF, HALF, 1.0, 1.0, HALF]),
        "whatever is solved": (lambda: tries(MENDED, WRONG, adaptive=False)[0], [1.5, 1.5, 1.0, 1.0, 1.5]),
        "a try that ends in a wrong thought": (
            lambda: tries(([1.0, 1.0, 0.0], 1.0), adaptive=False)[0],
            [1.0] * 4 + [0.5],
        ),
        "by the share at its own problem": (
            lambda: [values[0] for values in tries(RIGHT, WRONG, MENDED, RIGHT, problems=2)],
            [1.25, 0.0, 1.5, 1.5],
        ),
        "of what is noted": (
            lambda: [logged(RIGHT, MENDED, WRONG, ([0.0] * 3, 0.0), (None, 0.0)), logged(MENDED), logged((None, 1.0))],
            [[4 / 5, 1 / 2, 2 / 10], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]],
        ),
        "lines that only follow from those before": (
            lambda: [
                each_line(CHAIN)(CHAIN.get("train", 0), text) for text in ("4*4=16\n16*5=80\n= 80", "16*5=80\n= 80")
            ],
            [[1, 1, 1], [0, 1]],
        ),
        "without a judgement of each line": (
            lambda: tries((None, 1.0), ([1.0, 1.0], 0.0), ([], 1.0), RIGHT, adaptive=False)[:3],
            [[1.0] * 5, [-1.0] * 5, [1.0] * 5],
        ),
        "half right is right": (lambda: tries(([0.5, 0.0, 0.0], 0.0))[0], [0.0, 0.0, -1.0, -1.0, -1.0]),
        "numbers of lines": (lambda: by_line([1.0, -1.0, 1.0], [1, 2, 4], 6), [1, 1, -1, 1, 1, 1]),
        "what is paid later": (
            lambda: [paid_later(torch.tensor(said)) for said in ([1.0, 1.0, -1.0, 1.0], [1.0, -1.0], [])],
            [[1, 1, 0, 1], [0, -1], []],
        ),
        "each line after right ones": (
            lambda: [
                each_line(FAMILY)(TASK, text) for text in ("9x=36\nx=5\nx=4\n= 4", "9x=37\n= 5", "9x=36", "= 4", "")
            ],
            [[1, 0, 1, 1], [0, 0], [1], [1], None],
        ),
        "marks of a verifier": (
            lambda: [
                read_marks(TEXT, "9x=36 +\nx=5 -\n= no", right=False),
                read_marks(TEXT, " 9x=36 + \nx=5 -\n= no", right=True),
                read_marks("9x=36\n\n x=5\n= 5", "9x=36 +\nx=5 +\n= 5 +\n= yes", right=True),
                read_marks(TEXT, "9x=35 +\nx=5 +", right=True),
                read_marks(TEXT, "9x=36 +", right=True),
                read_marks(TEXT, "9x=36 +\nx=5 +\n= 5 -\n= no", right=False),
                read_marks("", "", right=True),
            ],
            [[1, 0, 0], [1, 0, 1], [1, 1, 1], None, None, [1, 1, 0], None],
        ),
        "by a model": (
            lambda: marked((TEXT, "9x=36 +\nx=5 -", 0.0), (TEXT, "9x=36 -", 1.0), ("9x=36\n= 4", "", 1.0)),
            [
                *([1.0, 2.0, nan], [[1, 0, 0], [0, 1, 1], None]),
                [
                    [TASK.id, verify_view(TASK.prompt, text), GREEDY, {"policy": "judge"}, "single_turn()"]
                    for text in (TEXT, TEXT, "9x=36\n= 4")
                ],
            ],
        ),
        "the first wrong line in plain language": (
            lambda: [
                *(marks_by_critique(TEXT, f"First wrong line: {said}", right) for said, right in CRITIQUES),
                marks_by_critique(TEXT, "It is wrong.", right=True),
                marks_by_critique("\n9x=36\n\n= 4", "**First wrong line:** 2.", right=False),
            ],
            [[0, 1, 1], [1, 0, 0], [1, 1, 0], None, [1, 1, 1], None, [1, 0]],
        ),
        "by a model that follows instructions": (
            lambda: marked((TEXT, "First wrong line: 2", 0.0), (TEXT, "Hm.", 1.0), wording=MARKED.plain),
            [
                *([1.0, nan], [[1, 0, 0], None]),
                [[TASK.id, IN_WORDS, GREEDY, {"policy": "judge"}, "single_turn()"]] * 2,
            ],
        ),
        "of replies that cannot be read": (
            lambda: marked(*[(TEXT, "Hm.", 0.0)] * 3, (TEXT, "1", 1.0), wording=MARKED.plain, noted=True),
            {"judge/unread": 0.75, "roles/critique/asked": 4.0, "roles/critique/unreadable": 3.0},
        ),
        "of sprig's": (lambda: marked((TEXT, "", 0.0), noted=True), {"judge/unread": 1.0}),
        "composed": (
            lambda: composed(alpha=0.2, adaptive=False),
            [
                "score(reward=each_line(task=chain()), gives_to='judged')",
                *("centre(reward='correct', gives_to='outcome')", "thoughts(alpha=0.2, adaptive=False)", {}, EXAM),
            ],
        ),
        "judged by the start model": (
            lambda: composed(judge="sprig", max_tokens=7),
            [
                *("marked_lines(max_tokens=14)", "centre(reward='correct', gives_to='outcome')", "thoughts()"),
                *({"judge": "snapshot(of='policy')"}, EXAM),
            ],
        ),
    },
    world=World(
        says="a wrong try begins with a right line: it is not blamed for how the try ends",
        measure=spared,
        off={"judged": False},
        moves=0.9,
    ),
    equal={
        "thoughts.__call__: advantage[steps] shuffled": "an outcome's advantage is the same throughout a try",
        **dict.fromkeys(
            (
                *(f"thoughts.__call__: said < 0 -> said <= 0{n}" for n in ("", " (2)")),
                *(f"thoughts.__call__: said > 0 -> said >= 0{n}" for n in ("", " (2)")),
                *(f"thoughts.__call__: 0 -> 1 ({n})" for n in (5, 8)),
            ),
            "a line counts 1 or -1",
        ),
        "thoughts.__call__: 1 -> 2 (2)": "a wrong try has more than one token",
    },
)
