"""RewardBench 2: a reward model is right where the right answer scores above three wrong ones, which goes with best-of-N."""

from __future__ import annotations

from harness import Mechanism, World, small_model
from pools import FOOL, studied

from guerdon.core.statistics import ranks
from guerdon.exams.best_of_n import chosen
from guerdon.recipes.audit.foretelling import benchmarked, choosing, foretold, items_of, measured_pool
from guerdon.recipes.audit.scorer_pool import ProblemTries
from guerdon.studies.benchmarks import first_places, ranked_first, spearman

HOW = {"problems": 5, "tries": 4, "max_tokens": 7, "steps": 9, "prompts": 3, "rm_lr": 0.5}


def is_right(text):
    return text.endswith("= 10")


def often(share):
    """Likes right answers best, of so many tenths of the problems, and least of the others."""
    return lambda prompt, text: is_right(text) == (int(prompt.split()[1]) % 10 < share)


def fooled(prompt, text):
    """Likes one wrong answer best, then right ones, then all others."""
    return 2 if text == FOOL else is_right(text)


THREE = (often(6), fooled, often(2))


def study(likes=THREE, **knobs):
    return studied("rewardbench-2", likes, small_model(), **{**HOW, **knobs})


def drawn():
    """What was played: how many problems of which split, how often, and how reward models are taught."""
    _, run, (call, *_) = study()
    asked = [(ask.task.id[:4], ask.n) for _, asks in run.played for ask in asks]
    (_, _, lessons, model), (items, _, tries, *_) = call.args, run.read
    counts = [
        asked.count(("trai", 4)),
        asked.count(("test", 4)),
        len(lessons),
        len(items),
        len(tries),
        len(items & tries),
    ]
    return [counts, run.played[0][0].sampling.max_tokens, type(model).__name__, call.kwargs]


def found(*likes, **knobs):
    table = study(likes, **knobs)[0]["table"]
    return [[row[name] for name in ("matched_1", "matched_3", "best_of@4", "gain")] for row in table.values()]


def longest(texts):
    return [float(len(text)) for _, text in texts]


PROBLEM = ProblemTries(
    "q", ["1+1=2\n= 2"], ["1+1=3\n1+1=3\n= 3", "= 4"], [("= 22", True), ("= 333", False), ("= 2", True)]
)
SOLVED = ProblemTries("r", [], [], [("= 1", True)] * 3)
TABLE = {
    "a": {"matched_3": 0.9, "confounded_1": 0.2, "gain": 0.3, "drop": 0.0},
    "b": {"matched_3": 0.5, "confounded_1": 0.4, "gain": 0.1, "drop": 0.0},
    "c": {"matched_3": 0.7, "confounded_1": 0.4, "gain": 0.2, "drop": 0.0},
}

mechanism = Mechanism(
    "rewardbench-2",
    source="arXiv:2506.01937; allenai/reward-bench@05a9005, rewardbench/utils.py, lines 569 to 572",
    also=[
        items_of,
        benchmarked,
        choosing,
        measured_pool,
        foretold,
        ranked_first,
        first_places,
        ranks,
        spearman,
        chosen,
    ],
    numbers={
        "the first place is shared by equals": (
            lambda: [ranked_first(2.0, wrong) for wrong in ([1.0, 0.0], [2.0, 1.0], [2.0, 2.0], [3.0, 2.0])],
            [1.0, 1 / 2, 1 / 3, 0.0],
        ),
        "among so many wrong ones": (
            lambda: [first_places([(1.0, [0.0, 2.0]), (1.0, [1.0, 0.0])], n) for n in (1, 2)],
            [3 / 4, 1 / 4],
        ),
        "ranks": (lambda: ranks([0.5, 0.1, 0.5, 0.9]), [2.5, 1.0, 2.5, 4.0]),
        "correlation of ranks": (
            lambda: [spearman([1, 2, 3], [10, 30, 20]), spearman([5, 5, 1], [1, 1, 0]), spearman([1, 2], [3, 3])],
            [0.5, 1.0, 0.0],
        ),
        "best of so many tries": (
            lambda: [chosen([(0.1, True), (0.3, False), (0.2, True), (0.3, True)], n) for n in (1, 2, 4)],
            [3 / 4, (1 + 2 * (1 + 0) + 1 / 2) / 6, 1 / 2],
        ),
        "a try without a score is chosen last": (lambda: chosen([(float("nan"), True), (-9.0, False)], 2), 0.0),
        "items, as they are and confounded": (
            lambda: items_of([PROBLEM, ProblemTries("few", ["= 1"], ["= 2"], [])], 2, 1),
            {
                "matched": [["q", "1+1=2\n= 2", ["1+1=3\n1+1=3\n= 3", "= 4"]]],
                "confounded": [["q", "1+1=2\n= 2", ["first we find 1+1=3\nfrom this we get 1+1=3\n= 3", "= 4"]]],
            },
        ),
        "who likes what is long": (
            lambda: benchmarked(longest, {"matched": [("q", "= 12", ["= 1", "= 123"])]}, (1, 2)),
            {"matched_1": 1.0, "matched_1_rank": 1.0, "matched_2": 0.0, "matched_2_rank": 0.5},
        ),
        "and what choosing by it is worth": (
            lambda: choosing(longest, [PROBLEM, SOLVED], 3),
            {"best_of@1": 5 / 6, "best_of@2": 4 / 6, "best_of@3": 3 / 6, "gain": -2 / 6, "drop": 2 / 6},
        ),
        "what a table foretells": (
            lambda: [foretold(TABLE, "gain"), foretold(TABLE, "drop")],
            [{"matched_3": 1.0, "confounded_1": -(0.75**0.5)}, {"matched_3": 0.0, "confounded_1": 0.0}],
        ),
        "right in all problems, in none": (
            lambda: found(often(10), often(0)),
            [[1.0, 1.0, 1.0, 0.5], [0.0, 0.0, 0.0, -0.5]],
        ),
        "fooled by one of four": (lambda: found(fooled, often(10))[0][2:], [0.0, -0.5]),
        "the score is the mean over the pool": (lambda: study((often(10), often(0)))[0]["score"], 0.5),
        "of three it is the item's that is reported": (
            lambda: (lambda found: [found["spearman"], found["foretold"]["matched_1_rank"]])(study(problems=10)[0]),
            [0.5, -0.5],
        ),
        "lessons; items and tries at other problems; how reward models are taught": (
            drawn,
            [[6, 10, 6, 5, 5, 0], 7, "lm", {"steps": 9, "prompts": 3, "lr": 0.5}],
        ),
    },
    world=World(
        says="one reward model beats all wrong answers but one, which it likes best: items of several foretell its loss",
        measure=lambda **knobs: study(**knobs)[0]["spearman"],
        on={"against": 4, "problems": 10},
        off={"against": 1, "problems": 10},
        moves=0.4,
    ),
    equal=dict.fromkeys(
        (
            "foretold: spearman(...) with truth before [row[name] for row in table.values()]",
            "spearman: statistics.spearman(...) with b before a",
        ),
        "a correlation is symmetric",
    ),
)
