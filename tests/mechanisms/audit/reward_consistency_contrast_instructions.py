"""Contrast instructions: whether a reward model puts a solution with its own of two instructions that differ in a digit."""

from __future__ import annotations

import random
from math import cos, sin
from unittest.mock import patch

import numpy as np
from harness import Mechanism, World, made, small_model
from pools import HandRun

import guerdon as gd
from guerdon.recipes.audit.reward_consistency_contrast_instructions import recipe
from guerdon.recipes.audit.reward_consistency_contrast_instructions.parts import (
    Contrast,
    augmented,
    consistency,
    contrast,
    corners,
    counts,
    fused,
    hull,
    spelled,
)
from guerdon.recipes.audit.scorer_pool import ProblemTries

FAMILY = gd.tasks.load("chain:1")
MIXED = gd.tasks.load("chain:1+addition:1")
TWO = [Contrast(("p", "q"), ("a", "b")), Contrast(("r", "s"), ("c", "d"))]
SCORES = {"p": (2.0, 1.0), "q": (3.0, 3.0), "r": (0.0, 1.0), "s": (0.0, 2.0)}  # of the first solution and of the second
ROWS = [{"prompt": "p", "chosen": "1+2=3\n= 3", "rejected": "= 4"}, {"prompt": "q", "chosen": "ab", "rejected": "b"}]


def found(source=FAMILY, number=30):
    """Of problems and their contrasts: whether texts differ in one digit, and answers and solutions are their own."""
    draw, fine = random.Random(0), []
    for i in range(number):
        task = source.get("train", i)
        family = source.of(task) if hasattr(source, "of") else source
        made_of = contrast(source, task, draw)
        (here, there), (own, other) = made_of.prompts, made_of.solutions
        differ = [(a, b) for a, b in zip(here, there, strict=True) if a != b]
        problem = family.read_problem(there)
        fine.append(
            here == task.prompt
            and len(differ) == 1
            and differ[0][0].isdigit()
            and differ[0][1] in "123456789"
            and own == family.solution(task)
            and other.endswith(f"= {problem.answer}")
            and family.check(task, own) == 1
            and family.check(task, other) == 0
        )
    return all(fine)


def fusion(most=5, least=0.9, texts=(("p", "aaaa"), ("p", "bbbb"))):
    """What is said of texts by a model that says 0 of them, and 1, 2, 3 of those known, of which two are like the first."""
    known = [("p", "aaaa"), ("p", "aaab"), ("p", "cccc")]
    said = {"aaaa": 1.0, "aaab": 2.0, "cccc": 3.0}
    calls = []

    def say(pairs):
        calls.append(pairs)
        return [said[text] if len(calls) == 1 else 0.0 for _, text in pairs]

    return fused(say, known, most, least)(list(texts))


def just_alike():
    """A text that is known and says 4 now, and 2 when it was learned."""
    said = iter([[2.0], [4.0]])
    return fused(lambda texts: next(said), [("", "a")], least=1.0)([("", "a")])


def alike(a, b):
    """The cosine of two texts' counts of three letters."""
    return float(counts([a])[0] @ counts([b])[0])


def hulls(points):
    return sorted(hull(np.array(points, dtype=float)))


def study(mend="both", say=None, tries=2):
    """What a study finds of a reward model that says so, how it is taught, and what it is asked."""
    run, asked = HandRun(), []

    def tried(run, task, model, split, number, tries, how):
        asked.append([split, number, tries, how.max_tokens])
        names = "ab" if split == "train" else "cd"
        both = [("x\n= 1", True), ("long line\n= 2", False)]
        return [ProblemTries(f"{split} {name}", [LONG + name], ["= 2 wrong"], both[:tries]) for name in names]

    with (
        patch.object(recipe, "problems_tried", tried),
        patch.object(recipe, "said_of", lambda scorer, texts: say(texts)),
    ):
        made_of = made(
            NAME,
            "chain:1",
            small_model(),
            mend=mend,
            prompts=3,
            lr=0.1,
            problems=12,
            tries=tries,
            max_tokens=7,
            steps=4,
        )
        found = made_of.body(run, 0)
    ((taught, budget),) = run.trained
    how = [taught.prompts, taught.stages.learners[0].opt.lr, taught.steps, repr(budget)]
    return found, how, [row["chosen"] for row in taught.curriculum.task.path], asked


def own_reader(texts):
    """Looks at a solution alone."""
    return [float(text.startswith(("1+1", "x"))) for _, text in texts]


def memory(texts):
    """Knows what it was taught and nothing else."""
    return [float(text in (f"{LONG}a", f"{LONG}b")) for _, text in texts]


def instructed(share=1.0):
    """How consistent a reward model is that reads a solution alone, and one that reads the instruction beside it."""
    draw = random.Random(1)
    pairs = [contrast(FAMILY, FAMILY.get("train", i), draw) for i in range(20)]
    own = {(prompt, text) for each in pairs for prompt, text in zip(each.prompts, each.solutions, strict=True)}
    said = lambda texts: [share * (each in own) + (1 - share) * len(each[1]) for each in texts]  # noqa: E731
    return consistency(said, pairs)["contrast"]


LONG = "1+1=1 " * 10
NAME = "reward-consistency-contrast-instructions"
TURN = "_turn(points[kept[-2]], points[kept[-1]], points[i])"
MENDS = ("convex", "fusion", "both")
ROUND = [[cos(0.7 * n), sin(0.7 * n)] for n in range(9)]
INNER = ["abc" * 3, "xyz" * 3, "lmn" * 3, "abcxyzlmn"]
TRIANGLE = [[0, 0], [4, 1], [2, 1], [1, 4], [1, 1]]
SQUARE = [[0, 0], [2, 0], [2, 2], [0, 2]]
NEAR = alike("p\naaaa", "p\naaab")

mechanism = Mechanism(
    NAME,
    source="arXiv:2309.16155; shadowkiller33/Contrast-Instruction@20f7193, DA_convex.py, 30 to 54; reward_fusion.py, 277 on",
    numbers={
        "a digit, another answer": (lambda: [found(), found(MIXED)], [True, True]),
        "no digit, no other answer": (
            lambda: [
                contrast(FAMILY, gd.Task("x", "chain"), random.Random(0)),
                contrast(FAMILY, FAMILY.get("train", 0), random.Random(0), tries=0),
            ],
            [None, None],
        ),
        "consistency": (
            lambda: consistency(lambda texts: [SCORES[p]["abcd".index(t) % 2] for p, t in texts], TWO),
            {"responses": (1 + 0.5 + 0 + 1) / 4, "instructions": (0 + 1 + 0.5 + 1) / 4, "contrast": 5 / 8},
        ),
        "spaces around signs": (
            lambda: [spelled("1+2=3\n= 3-", random.Random(0), share) for share in (1.0, 0.0)],
            ["1 + 2 = 3\n= 3-", "1+2=3\n= 3-"],
        ),
        "some of them": (lambda: 10 < spelled("1" + "+1" * 60, random.Random(0)).count(" ") / 2 < 26, True),
        "corners": (
            lambda: [
                hulls([*SQUARE, [1, 1], [1, 0]]),
                hulls([[0, 0], [1, 1], [2, 2]]),
                hulls([[3, 4]]),
                hulls(TRIANGLE),
            ],
            [[0, 1, 2, 3], [0, 2], [0], [0, 1, 3]],
        ),
        "many corners": (lambda: hulls([[0, 0], *ROUND, [0.5, 0.5], [-0.9, 0.1]]), [*range(1, 10)]),
        "of texts": (
            lambda: [corners(["a", "a", "b"]), sorted(corners(INNER))],
            [["a", "b"], ["abc" * 3, "lmn" * 3, "xyz" * 3]],
        ),
        "counts of three letters": (
            lambda: [
                alike("abcd", "abcx"),
                alike("abab", "baba"),
                alike("ab", "ab"),
                alike("", ""),
                alike("a", "b"),
                alike("ab", "b"),
            ],
            [1 / 2, 1.0, 1.0, 1.0, 0.0, 0.0],
        ),
        "fusion": (lambda: fusion(least=0.5), [(1 + 2 * NEAR) / (2 + NEAR), 0.0]),
        "of the nearest": (lambda: fusion(most=1, least=0.5), [1 / 2, 0.0]),
        "what is just near enough": (just_alike, [3.0]),
        "of those that are near enough": (lambda: fusion(least=0.99), [1 / 2, 0.0]),
        "augmented": (
            lambda: [sorted(row["chosen"] for row in augmented(ROWS, 0)), len(augmented(ROWS, 0, spellings=1))],
            [["1+2 = 3\n= 3", "1+2=3\n= 3", "ab"], 2],
        ),
        "shuffled": (lambda: [row["prompt"] for row in augmented(ROWS * 4, 0)][:8] == ["p", "q"] * 4, False),
        "a study that mends nothing": (
            lambda: study("none", own_reader),
            [
                {
                    "responses": 0.5,
                    "instructions": 0.5,
                    "contrast": 0.5,
                    "standard": 1.0,
                    "best_of": 1.0,
                    "contrasts": 6,
                },
                [3, 0.1, 4, "Budget(amount=4, unit='steps')"],
                [f"{LONG}a", f"{LONG}b"],
                [["train", 12, 0, 7], ["test", 6, 2, 7], ["test", 6, 0, 7]],
            ],
        ),
        "rows and hulls of spellings": (
            lambda: [[len(study(mend, own_reader)[2]), study(mend, own_reader)[0]["standard"]] for mend in MENDS],
            [[9, 1.0], [2, 1.0], [9, 1.0]],
        ),
        "fusion is asked for": (
            lambda: [study(mend, memory)[0]["standard"] for mend in ("none", *MENDS)],
            [0.5, 0.5, 1.0, 1.0],
        ),
    },
    world=World(
        says="one reads the solution alone, and puts no solution with its instruction; one that reads both does",
        measure=instructed,
        off={"share": 0.0},
        moves=0.4,
    ),
    equal={
        "spelled: draw.random() < share -> draw.random() <= share": "a lot is never just that",
        f"hull: {TURN} <= 1... -> {TURN} < 1e-12": "a turn is never just that",
        "hull: _turn(...) with points[i] before points[kept[-1]]": "the halves change places",
        "hull: 1 -> 2 (3)": "where there is one point",
        "corners: len(different) < 3 -> len(different) <= 3": "three are corners all",
        "corners: 3 -> 4": "three are corners all",
        **dict.fromkeys(
            (
                *("corners: np.linalg.svd(...) without full_matrices=", "corners: False -> True", "corners: 2 -> 3"),
                "fused: np.argsort(...) without kind=",
            ),
            "the first two directions are the same; so few are sorted in a stable way anyhow",
        ),
        "counts: row[zlib.crc32(text[at:at + 3].encode()) % WIDTH] += 1 -> row[zlib.crc32(text[at:at + 3].encode()) % WIDTH]"
        " -= 1": "all counts below zero: the same cosine",
        "counts: 1 -> 2 (2)": "all counts twice: the same cosine",
        **dict.fromkeys(
            (f"counts: {change}" for change in ("lengths > 0 -> lengths >= 0", "0 -> 1", "1.0 -> 2.0")),
            "no count is empty",
        ),
        "fused: np.argsort(...) without axis=": "the last axis of two",
        "fused: np.take_along_axis(...) without axis=": "the last axis of two",
    },
)
