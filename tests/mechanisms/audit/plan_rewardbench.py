"""Plan-RewardBench: pairs of a tool user's trajectories, one with a single fault, by how long they are."""

from __future__ import annotations

import random
from unittest.mock import patch

from harness import Mechanism, World, small_model
from pools import HandRun

from guerdon.recipes.audit import plan_rewardbench
from guerdon.recipes.audit.plan_rewardbench import (
    FAULTS,
    TracePair,
    accuracies,
    by_last_step,
    by_length,
    operations,
    tabled,
    task_prompt,
    trace_pair,
    trace_pairs,
    trajectory,
    worked,
)

TODO = [("+", 5), ("*", 3), ("-", 9)]
PAIRS = [
    TracePair("p", "aa", "a", "dropped", 2),
    TracePair("q", "b", "b", "ignored", 2),
    TracePair("r", "c", "cc", "dropped", 3),
]


def lines(fault="", at=1, failing=(0,)):
    return trajectory(7, TODO, failing, fault, at).split("\n")


def drawn(length=40):
    """Whether results stay within bounds, and which numbers and signs are drawn."""
    values, numbers, signs, starts = [], set(), set(), set()
    for seed in range(30):
        value, todo = operations(length, random.Random(seed))
        starts.add(value)
        for each in todo:
            value = worked(value, each)
            values.append(value)
        numbers |= {n for _, n in todo}
        signs |= {sign for sign, _ in todo}
    inside = 0 <= min(values) < 5 and 900 < max(values) <= 999
    return [inside, sorted(numbers), sorted(signs), min(starts) >= 2 and max(starts) <= 20, len(todo)]


def checked(pair):
    """Whether a trajectory is worked out from its prompt, whatever fails at first."""
    _, start, *todo = pair.prompt.removesuffix(" tools: call").split(" ")
    todo = [(each[0], int(each[1:])) for each in todo]
    wanted = trajectory(int(start), todo, []).split("\n")
    good = pair.good.split("\n")
    kept = [line for before, line in zip(["", *good], good, strict=False) if "error" not in (before, line)]
    return kept == wanted and len(todo) == pair.length


def faults(number=200):
    """Of many pairs: good ones worked out, bad ones in bounds, those ignored failing in both, the share of failed calls."""
    pairs = [trace_pair(6, FAULTS[n % 4], "seed", n) for n in range(number)]
    ignored = [pair for pair in pairs if pair.fault == "ignored"]
    results = [int(line) for pair in pairs for line in pair.bad.split("\n") if line.lstrip("-").isdigit()]
    failed = [pair.good.count("error") / 6 for pair in pairs if pair.fault != "ignored"]
    return [
        all(map(checked, pairs)),
        min(results) >= 0 and max(results) <= 999,
        all("error" in pair.good and "error" in pair.bad for pair in ignored),
        0.1 < sum(failed) / len(failed) < 0.2,
        len({pair.prompt for pair in pairs}) == number,
    ]


def study(judge=by_last_step, **knobs):
    """What a study finds of a judge in the place of the reward model, and what that would have been taught."""
    run, entry = HandRun(), plan_rewardbench.plan_rewardbench
    body = entry.build({"model": small_model()}, {"each": 8, "steps": 3, "prompts": 16, "rm_lr": 0.5, **knobs}).body
    with patch.object(plan_rewardbench, "said_of", lambda scorer, texts: judge(texts)):
        found = body(run, 0)
    ((taught, budget),) = run.trained
    rows = taught.curriculum.task.path
    lengths = sorted({row["prompt"].count(" ") - 3 for row in rows})
    good = sum(by_last_step([(row["prompt"], row["chosen"]) for row in rows]))
    how = [taught.prompts, taught.steps, taught.stages.learners[0].opt.lr, repr(budget)]
    return found, [lengths, len(rows), good, *how]


def misled(texts):
    """Likes good trajectories of up to eighteen operations, and bad ones of more."""
    return [float((prompt.count(" ") > 22) != (text in GOOD[prompt])) for prompt, text in texts]


GOOD = {pair.prompt: pair.good for pair in trace_pairs(plan_rewardbench.LENGTHS, 48, 0, "test")}
ANSWERS = [("agent 7 +5 *3 tools: call", text) for text in (
    "call 7+5\n12\ncall 12*3\n36\n= 36", "call 7+5\n12\ncall 12*3\n46\n= 46", "call 7+5\n12\nsearch 12*3\n36\n= 36",
    "call 7+5\n12\n= 12", "call 12*3\nerror\ncall 12*3\n36\n= 36", "call x*3\n36\n= 36", "36\n= 36", "= 1",
)]  # fmt: skip


def found_by_last_step(length=2):
    """How often the last step alone tells which of two trajectories is the good one."""
    return accuracies(by_last_step, trace_pairs((length,), 80, "world"))["all"]


mechanism = Mechanism(
    "plan-rewardbench",
    source="arXiv:2604.08178: pairwise accuracy by length and by fault; perturbations by rules (nothing is released)",
    numbers={
        "a good trajectory": (
            lines,
            ["call 7+5", "error", "call 7+5", "12", "call 12*3", "36", "call 36-9", "27", "= 27"],
        ),
        "without an operation": (lambda: lines("dropped")[4:], ["call 12-9", "3", "= 3"]),
        "with another number": (lambda: lines("argument")[4:], ["call 12*4", "48", "call 48-9", "39", "= 39"]),
        "nine becomes one": (lambda: lines("argument", 2)[6:], ["call 36-1", "35", "= 35"]),
        "a failed call made up": (lambda: lines("ignored")[4:7], ["call 12*3", "error", "46"]),
        "a tool that there is not": (lambda: lines("unavailable")[4:7], ["search 12*3", "46", "call 46-9"]),
        "what is asked": (lambda: task_prompt(7, TODO), "agent 7 +5 *3 -9 tools: call"),
        "numbers and signs that are drawn": (drawn, [True, [*range(2, 10)], ["*", "+", "-"], True, 40]),
        "many pairs": (faults, [True] * 5),
        "lengths and faults in turn": (
            lambda: [[pair.length, pair.fault] for pair in trace_pairs((2, 3), 10, "x")],
            [[length, fault] for length in (2, 3, 2) for fault in FAULTS][:10],
        ),
        "accuracies": (
            lambda: accuracies(lambda texts: [float(len(text)) for _, text in texts], PAIRS),
            {"all": 0.5, "length_2": 0.75, "dropped": 0.5, "ignored": 0.5, "length_3": 0.0},
        ),
        "the longer the better": (lambda: by_length([("p", "a\nb"), ("p", "a")]), [1.0, 0.0]),
        "the last step alone": (lambda: by_last_step(ANSWERS), [1, 0, 0, 0, 1, 0, 0, 0]),
        "judges": (
            lambda: {
                name: found["dropped"] for name, found in tabled(lambda texts: [0.0] * len(texts), PAIRS[:1]).items()
            },
            {"rm": 0.5, "last": 0.5, "length": 0.5},
        ),
        "a study of short ones": (
            lambda: study(teach="short")[1],
            [[2, 3], 48, 48.0, 16, 3, 0.5, "Budget(amount=3, unit='steps')"],
        ),
        "of all lengths": (lambda: study()[1][0], [2, 3, 6, 12, 18, 24]),
        "what is lost on long ones": (
            lambda: {name: value for name, value in study(misled)[0].items() if name != "table"},
            {"long": 0.5, "fall": 0.5, "all": 5 / 6},
        ),
    },
    world=World(
        says="a judge that sees the last step alone: it is wrong more often the longer the trajectories are",
        measure=found_by_last_step,
        off={"length": 18},
        moves=0.2,
    ),
    equal={
        "trace_pair: draw.random() < ERRORS -> draw.random() <= ERRORS": "a lot is never just that",
        "accuracies: a > b -> a >= b": "a tie has been counted before",
        "plan_rewardbench: trace_pairs(...) with 'train' before seed": "other pairs by lot",
        "plan_rewardbench: for p in lessons if p.good != p.bad -> for p in lessons": "every fault changes something",
    },
)
