"""Self-PRM: solving and finding errors are measured along outcome-only GRPO, and own verdicts choose among own solutions."""

from __future__ import annotations

from types import SimpleNamespace

import torch
from harness import Later, Mechanism, World, made, said_texts

import guerdon as gd
from guerdon.core.column import Column
from guerdon.exams import Exam, Sitting, best_of, majority_vote
from guerdon.exams.example_sitting import example_sitting
from guerdon.recipes.self_reward.self_prm import found_errors, together, verdict_precision

TASK = gd.tasks.load("chain:4")
SURE = gd.reward(lambda completion: 0.5 if "!" in completion else 0.49, isolate=False)
TRIES = [  # the second problem is solved by one try in four, the third by two, the first by all
    ["!= 4", "!= 4", "!= 4", "= 4"],
    ["= 4", "= 5", "!= 5", "!= 6"],
    ["= 5", "!= 4", "= 4", "!= 5"],
]


def critiques(*said):
    """Rates of replies, each (the true verdict, and whether the reply names it)."""
    asks = [(gd.Ask(gd.Task(str(n), "", f"a +\n= {truth}")), ["r"]) for n, (truth, _) in enumerate(said)]
    batch = said_texts(*asks).with_cols(
        {"correct": Column.full("track", torch.tensor([float(right) for _, right in said]))}
    )
    return list(found_errors()(Sitting(Exam(TASK), batch, Later(0, 1), 1)).values())


def precision(share, tries=TRIES, reward=SURE):
    return verdict_precision(reward, share)(example_sitting(tries, answer="4"))


class Run:
    """A run whose model number n solves and judges as is given, and keeps what was asked."""

    def __init__(self, solved, judged):
        self.rates, self.asked, self.models = (solved, judged), [], 0

    def train(self, lesson, seed):
        self.asked.append([seed, lesson.models["policy"].length, lesson.steps])
        self.models += 1
        return SimpleNamespace(model=lambda: gd.models.tabular("01", length=1 + self.models))

    def eval(self, policy, exam, tasks, tries, sampling=None):
        judging = exam.source.name.startswith("critique")
        self.asked.append([exam.source.name, policy.length, tasks, tries, sampling and sampling.max_tokens])
        return {"error_f1" if judging else "pass@1": self.rates[judging][policy.length - 1]}


def studied(solved=(0.2, 0.4, 0.6), judged=(0.1, 0.2, 0.3), **knobs):
    run = Run(solved, judged)
    study = made(
        "self-prm", task=TASK, model=gd.models.tabular("01", length=1), rounds=2, max_tokens=32, steps=3, **knobs
    )
    return [study.body(run, 2), run.asked]


def composed():
    """The metrics of the exam of solving, and who gives verdicts."""
    seen = []
    study = made("self-prm", task=TASK, model=gd.models.tabular("01", length=1), rounds=0)
    run = SimpleNamespace(
        eval=lambda policy, exam, **how: (
            seen.append([repr(each) for each in exam.metrics]) or {"pass@1": 0.1, "error_f1": 0.1}
        )
    )
    study.body(run, 0)
    return seen


def chosen(own=True):
    """How often the chosen one of eight own tries is right where five share a mistake and the own verdict is mostly right."""
    tries = [["!= 4", "!= 4", "= 4", *["= 5"] * 4, "= 5"], ["!= 4", "!= 4", "!= 4", "!= 5", *["= 5"] * 4]]
    sitting = example_sitting(tries, answer="4")
    metric = best_of(SURE, "own") if own else majority_vote()
    return metric(sitting)["own@8" if own else "majority@8"]


JUDGE = "judge(by=run_model(), scale='yes', sure=True, name='own')"
mechanism = Mechanism(
    "self-prm",
    source="arXiv:2505.11227, abstract: solving and judging along outcome-only RL, own scores rerank own solutions",
    equal={
        "found_errors.__call__: all(rates) -> any(rates)": "0 times any rate is 0",
        "self_prm: together(...) with judged before solved": "a correlation has no order",
        "together: correlation(...) with second before first": "a correlation has no order",
        "verdict_precision.__call__: score(...) without role=": "the exam's role is the policy's",
    },
    numbers={
        "one of four errors is found, two of three right ones cleared": (
            lambda: critiques(("1", 1), ("2", 0), ("4", 0), ("1", 0), ("none", 1), ("none", 1), ("none", 0)),
            [2 / 3, 1 / 4, 2 * (2 / 3) * (1 / 4) / (2 / 3 + 1 / 4)],
        ),
        "one who always says none": (lambda: critiques(("1", 0), ("2", 0), ("none", 1)), [1.0, 0.0, 0.0]),
        "no right solution": (lambda: critiques(("1", 1), ("2", 0)), [0.0, 0.5, 0.0]),
        "the hardest": (lambda: precision(0.1), {"hard_precision": 0.0, "hard_rate": 0.25}),
        "the two hardest of three": (lambda: precision(0.5), {"hard_precision": 0.25, "hard_rate": 3 / 8}),
        "all": (lambda: precision(1.0), {"hard_precision": 4 / 7, "hard_rate": 7 / 12}),
        "those that tie": (
            lambda: precision(0.1, [TRIES[0]] * 3),
            {"hard_precision": 1.0, "hard_rate": 1.0},
        ),
        "one who likes all is as right as the tries are": (
            lambda: precision(1.0, reward=gd.reward(lambda completion: 1.0, isolate=False)),
            {"hard_precision": 7 / 12, "hard_rate": 7 / 12},
        ),
        "one who likes none": (
            lambda: precision(0.1, reward=gd.reward(lambda completion: 0.0, isolate=False)),
            {"hard_rate": 0.25},
        ),
        "curves": (
            lambda: [
                together(*each)
                for each in (
                    ([0.1, 0.2, 0.4], [0.3, 0.2, 0.0]),
                    ([1.0, 1.0], [0.0, 1.0]),
                    ([0, 1], [1, 1]),
                    ([0, 1], [3, 2]),
                )
            ],
            [-1.0, None, None, -1.0],
        ),
        "along the way": (
            studied,
            [
                {"pass@1": 0.6, "error_f1": 0.3, "together": 1.0, "solved": [0.2, 0.4, 0.6], "judged": [0.1, 0.2, 0.3]},
                [
                    *[["chain", 1, 64, 8, 32], ["critique/chain", 1, 64, 1, None], [200, 1, 3]],
                    *[["chain", 2, 64, 8, 32], ["critique/chain", 2, 64, 1, None], [201, 2, 3]],
                    *[["chain", 3, 64, 8, 32], ["critique/chain", 3, 64, 1, None]],
                ],
            ],
        ),
        "own verdicts choose the right one where five of eight share a mistake": (
            lambda: [chosen(), chosen(own=False)],
            [0.875, 0.0],
        ),
        "what is measured": (
            composed,
            [
                [
                    "accuracy()",
                    "majority()",
                    f"best_of(reward={JUDGE}, name='own')",
                    f"verdict_precision(reward={JUDGE})",
                ],
                ["found_errors()"],
            ],
        ),
    },
    world=World(
        says="verdicts that are right where most tries are right are found out on the problems that are solved least",
        measure=lambda share=0.1: precision(share)["hard_precision"],
        off={"share": 1.0},
        moves=-0.5,
    ),
)
