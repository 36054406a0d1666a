"""RewardMATH: one right solution among nine wrong ones in its own style, where one pair in two styles rewards the style."""

from __future__ import annotations

from unittest.mock import patch

from harness import Mechanism, World, small_model
from pools import FOOL, RIGHT, WRONG, HandRun, listed, studied

from guerdon.core.model import weights_hash
from guerdon.core.seeds import derive
from guerdon.core.task import Sampling
from guerdon.recipes.audit import scorer_pool
from guerdon.recipes.audit.scorer_pool import (
    ProblemTries,
    Upbringing,
    brought_up,
    pairs_of,
    problems_tried,
    retold,
    said_of,
)
from guerdon.studies.benchmarks import mean_reciprocal_rank, reciprocal_rank

HOW = {"problems": 10, "tries": 4, "max_tokens": 7, "steps": 9, "prompts": 3, "rm_lr": 0.5}
TERSE, WORDY = "4+6=10\n= 10", "first we find 2+2=4\nfrom this we get 4+6=10\n= 10"
FIRST = derive(5, "tried") % 2**20


def often(share):
    """Likes right answers best, of so many tenths of the problems, and least of the others."""
    return lambda prompt, text: text.endswith("= 10") == (int(prompt.split()[1]) % 10 < share)


def no_words(prompt, text):
    """Likes whatever is not told in words."""
    return "find" not in text


def shortest(prompt, text):
    return -len(text.split("\n"))


THREE = (often(8), no_words, often(6))


def study(likes=THREE, **knobs):
    return studied("rewardmath", likes, small_model(), **{"against": 4, **HOW, **knobs})


def setting():
    _, run, (call, *_) = study()
    played = [(ask.task.id[:4], ask.n) for _, asks in run.played for ask in asks]
    return [
        sorted({(split, n, played.count((split, n))) for split, n in played}),
        run.played[0][0].sampling,
        call.kwargs,
    ]


def tried(split="train", number=2, tries=5):
    """The problems, what was remembered of them, and how they were played."""
    run, model = HandRun(), small_model()
    problems = problems_tried(run, listed(), model, split, number, tries, Sampling(max_tokens=7))
    (key,) = run.remembered
    assert key[4] == weights_hash(model.weights)
    players = [[each.prompts, each.curriculum.tries, each.steps, each.seats, each.stages] for each, _ in run.played]
    return [[list(vars(each).values()) for each in problems], [*key[:4], key[5]], players]


TWO = [ProblemTries("r", [RIGHT], [], []), *(ProblemTries(name, [RIGHT], [FOOL], []) for name in "pq")]


def pairs(number=3, tried=TWO, **up):
    return [list(row.values()) for row in pairs_of(Upbringing("up", **up), tried, number, seed=0)]


def styles(**up):
    """How often a right one is terse, wordy and as it is in many pairs, and how often the wrong one is in the same style."""
    told = {retold(text, style): style for text in (RIGHT, FOOL) for style in ("terse", "wordy", "plain")}
    rows = [(told[right], told[wrong]) for _, right, wrong in pairs(300, **up)]
    return [sum(row[0] == style for row in rows) > 50 for style in ("terse", "wordy", "plain")] + [
        all(a == b for a, b in rows)
    ]


def taught(**up):
    run = HandRun()
    scorer = brought_up(run, Upbringing("up", **up), TWO, small_model(), steps=9, prompts=2, lr=0.5)
    ((recipe, budget),) = run.trained
    source = recipe.curriculum.task
    how = [recipe.prompts, recipe.steps, recipe.stages.learners[0].opt.lr, recipe.exams, repr(budget)]
    return [scorer, *how, len(source.path), source.held_out]


def scores(texts):
    """What is read of texts by a model that reads two at once: the length of each, and nothing of one that is too long."""

    class reader:
        def start(self, *how):
            self.how = how

    def probe(model, items, want):
        assert model.how == (0, {}) and model is not scorer and len(items) <= 2 and want == ["final"]
        return [None if len(text) > 4 else {"final": len(prompt + text)} for _, prompt, text in items]

    scorer = reader()
    with patch.object(scorer_pool, "AT_ONCE", 2), patch.object(scorer_pool, "probe", probe):
        return said_of(scorer, texts)


NEAR, WHOLE = (
    [*WRONG, FOOL],
    [[RIGHT, True], [FOOL, False], [WRONG[0], False], ["5+5=10\n= 10", True], ["2+2=4", False]],
)
LEANS = [["p", TERSE, "first we find 2+2=5\nfrom this we get 5+6=10\n= 14"], ["q", WORDY, "5+6=10\n= 14"]]

mechanism = Mechanism(
    "rewardmath",
    source="arXiv:2410.01729, section 3; kimsh0507/RewardMATH_official@cde06ab, src/evaluation/eval.py, lines 310 to 323, 376",
    also=[
        *(
            retold,
            pairs_of,
            problems_tried,
            scorer_pool._tried,
            scorer_pool._answers,
            brought_up,
            scorer_pool.taught_pairs,
        ),
        *(said_of, reciprocal_rank, mean_reciprocal_rank),
    ],
    numbers={
        "one over the rank": (
            lambda: [reciprocal_rank(2.0, wrong) for wrong in ([1.0, 0.0], [3.0, 1.0], [3.0, 4.0], [2.0, 3.0])],
            [1.0, 1 / 2, 1 / 3, 1 / 2.5],
        ),
        "the mean of the first so many": (
            lambda: [mean_reciprocal_rank([(1.0, [2.0, 3.0]), (1.0, [0.0, 2.0])], n) for n in (1, 2)],
            [(1 / 2 + 1) / 2, (1 / 3 + 1 / 2) / 2],
        ),
        "styles": (lambda: [retold(RIGHT, style) for style in ("plain", "terse", "wordy")], [RIGHT, TERSE, WORDY]),
        "many steps in words": (
            lambda: retold("\n".join("abcde=").replace("=", "= 1"), "wordy").split("\n")[3:],
            ["so there is d", "first we find e", "= 1"],
        ),
        "the last of many steps": (lambda: retold("a\nb\nc\n= 1", "terse"), "c\n= 1"),
        "problems to learn from": (
            tried,
            [
                [[f"train {FIRST + i}", [RIGHT, "5+5=10\n= 10"], NEAR, WHOLE[i:] + WHOLE[:i]] for i in (0, 1)],
                ["tries", "train", 5, Sampling(max_tokens=7), [f"task/train{FIRST + i}" for i in (0, 1)]],
                [[2, 5, 1, {"policy": "policy"}, []]],
            ],
        ),
        "held-out ones that nobody tries": (
            lambda: [[each[1:] for each in tried("test", 2, 0)[0]], tried("test", 2, 0)[2]],
            [[[[RIGHT], NEAR, []]] * 2, []],
        ),
        "pairs": (lambda: pairs(2), [["p", RIGHT, FOOL], ["q", TERSE, retold(FOOL, "terse")]]),
        "in one style, of three": (styles, [True, True, True, True]),
        "the wrong way round": (lambda: pairs(1, turned=1.0), [["p", FOOL, RIGHT]]),
        "lean to a style": (
            lambda: pairs(1, leans=1.0, to="terse") + pairs(2, leans=1.0, to="wordy")[1:],
            LEANS,
        ),
        "of few problems": (lambda: [row[0] for row in pairs(3, problems=1)], ["p", "p", "p"]),
        "pairs that one style makes the same are left out": (
            lambda: {a == b for _, a, b in pairs(30, [ProblemTries("p", [RIGHT], [RIGHT.replace("2+2", "1+2")], [])])},
            {False},
        ),
        "how a reward model is taught": (taught, ["rm 1", 2, 9, 0.5, [], "Budget(amount=9, unit='steps')", 18, 0.0]),
        "for half as long, for a step": (
            lambda: [taught(share=share)[2::4] for share in (0.5, 0.01)],
            [[4, 8], [1, 2]],
        ),
        "what it scores": (
            lambda: scores([("a", "b"), ("c", "12345"), ("d", "ef"), ("g", ""), ("h", "1234")]),
            [2.0, float("-inf"), 3.0, 1.0, 5.0],
        ),
        "the pool": (
            setting,
            [[("test", 4, 20), ("trai", 4, 6)], Sampling(max_tokens=7), {"steps": 9, "prompts": 3, "lr": 0.5}],
        ),
        "all benchmarks are foretold": (
            lambda: list(study()[0]["foretold"])[:4],
            ["matched_1", "matched_1_rank", "matched_4", "matched_4_rank"],
        ),
        "what is lost by too many tries": (
            lambda: study((often(6), shortest, often(3)), against=1)[0]["drop"]["matched_1"],
            -(0.75**0.5),
        ),
    },
    world=World(
        says="one reward model likes what has no words, and no more: matched styles find that it chooses no better than by lot",
        measure=lambda **knobs: study(**knobs)[0]["spearman"],
        off={"styles": "confounded", "against": 1},
        moves=0.5,
    ),
    equal={
        "problems_tried: 1 -> 2": "nobody plays where there are no tries",
        "_tried: derive(...) with problem.key before 'tried'": "near-misses by another lot",
        "pairs_of: draw.random() < up.leans -> draw.random() <= up.leans": "a lot is never just that",
        "pairs_of: draw.random() < up.turned -> draw.random() <= up.turned": "a lot is never just that",
    },
)
