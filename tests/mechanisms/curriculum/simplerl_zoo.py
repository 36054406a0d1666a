"""SimpleRL-Zoo: RL from base models on problems that fit their ability, with no reward for format."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from harness import Mechanism, World, made, small_model

import guerdon as gd
from guerdon.recipes.curriculum.simplerl_zoo import blunted, fitting, insistent, is_marked, marked, unmarked
from guerdon.tasks import load

RATES = {"countdown:1": 1.0, "countdown:2": 0.7, "countdown:3": 0.3, "countdown:4": 0.0, "countdown:5": 0.1}
CHAIN = load("chain:1")
TASK = CHAIN.get("test", 0)  # its answer is 7


def noise(share, seed=3):
    """Whether matrices have noise of this share of their own deviation, by hand, and vectors none; the model keeps its own."""
    model, own = small_model(), small_model()
    own.start(seed, {})
    noisy, dice = blunted(model, share, seed), torch.Generator().manual_seed(seed)
    before, after = list(own.weights.parameters()), list(noisy.weights.parameters())
    with torch.no_grad():
        expected = [w + share * w.std() * torch.randn(w.shape, generator=dice) if w.dim() > 1 else w for w in before]
    blunted(own, share, seed)
    kept = all(map(torch.equal, before, own.weights.parameters()))
    return [all(torch.allclose(a, b, atol=1e-6) for a, b in zip(expected, after, strict=True)), kept]


def begun(seed):
    """Whether a model that has not begun begins by the seed."""
    first = gd.models.tabular("01", length=1, rows=8, spread=1.0)
    noisy = blunted(first, 0.0, seed)
    first.start(seed, {})
    return torch.equal(first.weights.logits, noisy.weights.logits)


def checked(*texts):
    """Answers by the lenient check, and as they are paid where the format is strict."""
    lenient = unmarked(CHAIN)
    strict = insistent(lenient)
    return [[lenient.check(TASK, text), strict.called(task=TASK, completion=text)] for text in texts]


class Run:
    """A run that trains nothing: models are known by how they were made, exams by kinds, and trainings end where they say."""

    budget = "budget"

    def __init__(self):
        self.lessons, self.evaluated = [], []

    def train(self, lesson, budget):
        self.lessons.append([lesson, budget])
        ends = 0.1 * len(self.lessons)
        curve = [[{"tokens": 1}, {"pass@1": 0.0, "point": "first"}], [{"tokens": 9}, {"pass@1": ends, "point": "last"}]]
        return SimpleNamespace(model=small_model, curve=curve)

    def eval(self, base, source, **how):
        self.evaluated.append([repr(source), how["tasks"], how["tries"], how["sampling"].max_tokens])
        return {"kinds": RATES}


def study(**knobs):
    run = Run()
    result = made("simplerl-zoo", load("countdown:1-5"), small_model(), max_tokens=9, **knobs).body(run, 4)
    return run, result


def lessons(**knobs):
    """Of each training: its budget, kinds of problems, what it is paid by; and what the study comes to."""
    run, result = study(**knobs)
    (taught, budget), *trained = run.lessons
    listed = [[repr(each.curriculum.task.kinds().keys()), str(b), each.stages.credit[0].reward] for each, b in trained]
    assert all(repr(each.stages.scores[0].task) == repr(each.exams[0].source) == UNMARKED for each, _ in trained)
    return [
        [taught.prompts, taught.stages.learners[0].opt.lr, str(budget)],
        listed,
        [
            result["accuracy"],
            [[name, each["before"], each["after"], each["kinds"]] for name, each in result["bases"].items()],
        ],
    ]


def bases():
    """Which of the bases are as the model was, and the exams by which problems are chosen."""
    run, _ = study()
    own = small_model()
    own.start(4, {})
    trained = [lesson.models["policy"] for lesson, _ in run.lessons[1:]]
    same = []
    for each in trained:
        if each.weights is None:
            each.start(4, {})
        same.append(all(map(torch.equal, own.weights.parameters(), each.weights.parameters())))
    return [same, run.evaluated]


def distance(hard):
    """How far the rates of the kinds that a base gets are from a half."""
    kinds = fitting(RATES, hard)
    return sum(abs(RATES[kind] - 0.5) for kind in kinds) / len(kinds)


UNMARKED = repr(unmarked(load("countdown:1-5")))
FIT, HARD = ["countdown:2", "countdown:3", "countdown:5"], ["countdown:3", "countdown:4", "countdown:5"]
BASES = "as it is", "unmarked", "blunted"
mechanism = Mechanism(
    "simplerl-zoo",
    source="arXiv:2503.18892: rewards of 1 for right and 0 for wrong answers, -1 for an answer without its mark where the"
    " format is strict; problems by the base's ability",
    numbers={
        "half of the kinds, rounded up: those next to a half": (lambda: fitting(RATES), FIT),
        "or the hardest": (lambda: fitting(RATES, hard=True), HARD),
        "of equals the first": (lambda: fitting({"a": 0.4, "b": 0.6, "c": 0.5, "d": 0.5}), ["c", "d"]),
        "of two one": (lambda: fitting({"a": 0.4, "b": 0.6}), ["a"]),
        "noise on matrices": (lambda: [noise(0.25), noise(0.0)], [[True, True]] * 2),
        "a model that has not begun": (lambda: begun(5), True),
        "right, wrong, and right or wrong without its mark": (
            lambda: checked("3*4=12\n= 7", "= 6", "3*4=12\n7", "6\n"),
            [[1.0, 1.0], [0.0, 0.0], [1.0, -1.0], [0.0, -1.0]],
        ),
        "the mark of the last line": (
            lambda: [
                [is_marked(text) for text in ("= 7", " = 7 \n", "= 7\n8", "7", "")],
                marked("a\nb\n"),
                marked(" 7"),
            ],
            [[True, True, False, False, False], "a\n= b", "= 7"],
        ),
        "worked solutions without it": (
            lambda: [unmarked(CHAIN).solution(TASK), CHAIN.solution(TASK)],
            ["3*4=12\n12-5=7\n7", "3*4=12\n12-5=7\n= 7"],
        ),
        "the study": (
            lessons,
            [
                [64, 1e-4, "Budget(amount=5, unit='steps')"],
                [[repr(dict.fromkeys(FIT).keys()), "budget", "correct"]] * 3,
                [0.3, [[name, 0.0, 0.1 * n, FIT] for n, name in enumerate(BASES, 2)]],
            ],
        ),
        "hard and strict": (
            lambda: lessons(hard=True, strict=True)[1],
            [[repr(dict.fromkeys(HARD).keys()), "budget", "reward"]] * 3,
        ),
        "three bases": (bases, [[True, True, False], [[UNMARKED, 192, 2, 9]] * 3]),
    },
    world=World(
        says="some problems are always solved, some never: a base gets those that it solves now and then",
        measure=distance,
        on={"hard": False},
        off={"hard": True},
        moves=-0.05,
    ),
    equal=dict.fromkeys(
        ("insistent: reward(...) without isolate=", "insistent: False -> True"), "where it runs, not what it comes to"
    ),
)
