"""Plan-RewardBench: can a reward model tell a good trajectory from one with a single fault, and how long may it be?

Paper: Wang et al. 2026 (arXiv:2604.08178; code and data are not released). Pairs of trajectories of a tool user, preferred and
distractor: other models' trajectories, or the preferred one changed. Reward models lose accuracy as trajectories become longer.
Here trajectories call a calculator, and a distractor has one fault by rule. A reward model is trained on pairs of two and three
operations (`teach=short`), or on as many of all lengths, which the paper asks for and does not do. `long` is its accuracy at
the two greatest lengths, `fall` the loss from the two least to them; `table` has all lengths, faults and heuristics.
Different: one tool, rules alone. Leaves out: safety, judges that are asked in words, trajectories of models.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.seeds import derive
from guerdon.recipes.audit.scorer_pool import Said, said_of, taught_pairs

NAME = "plan-rewardbench"
SPEND: Any = {"budget": 60, "unit": "steps"}
LENGTHS = (2, 3, 6, 12, 18, 24)  # operations; a call and its result each
SHORT = LENGTHS[:2]


@recipe(
    "plan-rewardbench",
    family="audit",
    paper="arXiv:2604.08178",
    claim=(
        Claim(
            says="A reward model of short trajectories loses accuracy on long ones.",
            method="teach=short",
            **{**SPEND, "kind": "bound", "metric": "fall", "bound": 0.1, "effect": 0.05},
        ),
        Claim(
            says="Taught pairs of all lengths, as many, it judges long ones better.",
            baseline=f"{NAME} teach=short",
            metric="long",
            **SPEND,
        ),
    ),
    needs=Needs(text=True, world="traces of a calculator's user, with planted faults"),
)
def plan_rewardbench(
    model: Model,
    *,
    teach: Literal["short", "all"] = "all",
    prompts: int = 32,
    rm_lr: float = 3e-4,  # as reward_model; it is the same for all arms, so nobody tunes it
    each: int = 128,  # held-out pairs of every length
    steps: int = 60,
) -> Study:
    """Teach a reward model pairs of trajectories, short ones or all, and see how it judges each length."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        lessons = trace_pairs(SHORT if teach == "short" else LENGTHS, steps * prompts, seed, "train")
        rows = [{"prompt": p.prompt, "chosen": p.good, "rejected": p.bad} for p in lessons if p.good != p.bad]
        say = partial(said_of, taught_pairs(run, rows, model, steps, prompts, rm_lr))
        exam = trace_pairs(LENGTHS, each * len(LENGTHS), seed, "test")
        table = tabled(say, exam)
        long, short = (fmean(table["rm"][f"length_{n}"] for n in some) for some in (LENGTHS[-2:], SHORT))
        return {"long": long, "fall": short - long, "all": table["rm"]["all"], "table": table}

    return Study(body)


TOOL, OTHER = "call", "search"  # the second is never to be had
FAILED = "error"
FAULTS = ("dropped", "argument", "ignored", "unavailable")
MOST = 999  # the greatest result
ERRORS = 0.15  # the share of calls that fail at first, in good trajectories too
Operation = tuple[str, int]


@dataclass(frozen=True)
class TracePair:
    """A task of `length` operations, the preferred trajectory and a distractor with a fault."""

    prompt: str
    good: str
    bad: str
    fault: str
    length: int


def operations(length: int, draw: random.Random) -> tuple[int, list[Operation]]:
    """A first number and operations on it, so that results stay between 0 and MOST."""
    start = value = draw.randint(2, 20)
    made: list[Operation] = []
    while len(made) < length:
        sign, other = draw.choice("+-*"), draw.randint(2, 9)
        after = worked(value, (sign, other))
        if 0 <= after <= MOST:
            made.append((sign, other))
            value = after
    return start, made


def worked(value: int, operation: Operation) -> int:
    sign, other = operation
    return value + other if sign == "+" else value - other if sign == "-" else value * other


def task_prompt(start: int, todo: Sequence[Operation]) -> str:
    """`agent 7 +5 *3 tools: call`."""
    return f"agent {start} {' '.join(f'{sign}{other}' for sign, other in todo)} tools: {TOOL}"


def trajectory(start: int, todo: Sequence[Operation], failing: Sequence[int], fault: str = "", at: int = 0) -> str:
    """Calls and results, a line each, then the answer. Calls `failing` fail once and are repeated. Operation `at` may have a
    fault: `dropped`; `argument`, another number; `ignored`, a failed call; `unavailable`, no such tool; with invented results.

    >>> trajectory(7, [("+", 5), ("*", 3)], [1]).split("\\n")
    ['call 7+5', '12', 'call 12*3', 'error', 'call 12*3', '36', '= 36']
    """
    value, lines = start, list[str]()
    for i, (sign, other) in enumerate(todo):
        wrong = fault if i == at else ""
        if wrong == "dropped":
            continue
        done = (sign, other % 9 + 1) if wrong == "argument" else (sign, other)
        after = worked(value, done) + (10 if wrong in ("ignored", "unavailable") else 0)
        call = f"{TOOL} {value}{done[0]}{done[1]}"
        if wrong == "unavailable":
            lines.append(f"{OTHER} {value}{done[0]}{done[1]}")
        elif wrong == "ignored":
            lines += [call, FAILED]
        else:
            lines += [call, FAILED, call] if i in failing else [call]
        lines.append(str(after))
        value = after
    return "\n".join([*lines, f"= {value}"])


def trace_pair(length: int, fault: str, *path: int | str) -> TracePair:
    """A pair drawn by the path, with numbers in the same range in both, and an ignored call that fails in both."""
    draw = random.Random(derive(*path, length, fault))
    while True:
        start, todo = operations(length, draw)
        at = draw.randrange(length)
        failing = [i for i in range(length) if draw.random() < ERRORS or (i == at and fault == "ignored")]
        bad = trajectory(start, todo, failing, fault, at)
        if all(0 <= int(line) <= MOST for line in bad.split("\n") if line.lstrip("-").isdigit()):
            return TracePair(task_prompt(start, todo), trajectory(start, todo, failing), bad, fault, length)


def trace_pairs(lengths: Sequence[int], number: int, *path: int | str) -> list[TracePair]:
    """Pairs with lengths and faults in turn."""
    return [
        trace_pair(lengths[i // len(FAULTS) % len(lengths)], FAULTS[i % len(FAULTS)], *path, i) for i in range(number)
    ]


def by_length(texts: Sequence[tuple[str, str]]) -> list[float]:
    """A heuristic: the longer the better."""
    return [float(text.count("\n")) for _, text in texts]


def by_last_step(texts: Sequence[tuple[str, str]]) -> list[float]:
    """A heuristic: whether the last call is the task's last operation with its right result."""
    scores = []
    for prompt, text in texts:
        *_, call, result, _ = ["", "", *text.split("\n")]
        last = prompt.removesuffix(f" tools: {TOOL}").split(" ")[-1]
        value = call.removeprefix(f"{TOOL} ").removesuffix(last)
        fits = call.startswith(TOOL) and call.endswith(last) and value.isdigit()
        scores.append(float(fits and str(worked(int(value), (last[0], int(last[1:])))) == result))
    return scores


def accuracies(judge: Said, pairs: Sequence[TracePair]) -> dict[str, float]:
    """Accuracy over all pairs, by length (`length_8`) and by fault; a tie counts half."""
    said = judge([(each.prompt, text) for each in pairs for text in (each.good, each.bad)])
    hits = [0.5 if a == b else float(a > b) for a, b in zip(said[::2], said[1::2], strict=True)]
    groups: dict[str, list[float]] = {"all": hits}
    for each, hit in zip(pairs, hits, strict=True):
        for name in (f"length_{each.length}", each.fault):
            groups.setdefault(name, []).append(hit)
    return {name: fmean(values) for name, values in groups.items()}


def tabled(say: Said, pairs: Sequence[TracePair]) -> dict[str, dict[str, float]]:
    """The accuracies of a reward model (`rm`) and of the two heuristics."""
    judges: dict[str, Said] = {"rm": say, "last": by_last_step, "length": by_length}
    return {name: accuracies(judge, pairs) for name, judge in judges.items()}
