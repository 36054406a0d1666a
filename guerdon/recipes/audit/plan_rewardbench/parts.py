"""Trajectories of a calculator's user, and the same with one thing done wrong: pairs to judge, by length and by what is wrong.

A task lists sums to do one after another. A good trajectory calls the calculator for each, tries a call that failed once more,
and says the last result. All of a distractor hangs together but for its fault: what comes after it is worked out from it.
Leaves out: other tools, several models' own trajectories, refusals of what is not safe.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from guerdon.core.seeds import derive
from guerdon.recipes.audit.scorer_pool import Said

TOOL, OTHER = "call", "search"  # the second is never to be had
FAILED = "error"
FAULTS = ("dropped", "argument", "ignored", "unavailable")
MOST = 999  # the greatest result
ERRORS = 0.15  # the share of calls that fail at first, in good trajectories too
Operation = tuple[str, int]


@dataclass(frozen=True)
class TracePair:
    """A task, the trajectory to prefer and a distractor; what is wrong with that, and how many operations the task has."""

    prompt: str
    good: str
    bad: str
    fault: str
    length: int


def operations(length: int, draw: random.Random) -> tuple[int, list[Operation]]:
    """A number to begin with and what to do with it, so that it stays between 0 and MOST."""
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
    """What is asked for.

    >>> task_prompt(7, [("+", 5), ("*", 3)])
    'agent 7 +5 *3 tools: call'
    """
    return f"agent {start} {' '.join(f'{sign}{other}' for sign, other in todo)} tools: {TOOL}"


def trajectory(start: int, todo: Sequence[Operation], failing: Sequence[int], fault: str = "", at: int = 0) -> str:
    """A trajectory, a line for every call and every result, then the answer. The calls `failing` fail once. A fault is at one
    operation: left out (`dropped`), done with another number (`argument`), its failed call not tried again but its result made
    up, ten too many (`ignored`), or asked of a tool that there is not, with a result made up (`unavailable`).

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
    """A pair of so many operations with a fault at one of them, drawn by the path: such that the numbers of the distractor are
    no larger and no less than others, and that a call which is ignored in it fails in both."""
    draw = random.Random(derive(*path, length, fault))
    while True:
        start, todo = operations(length, draw)
        at = draw.randrange(length)
        failing = [i for i in range(length) if draw.random() < ERRORS or (i == at and fault == "ignored")]
        bad = trajectory(start, todo, failing, fault, at)
        if all(0 <= int(line) <= MOST for line in bad.split("\n") if line.lstrip("-").isdigit()):
            return TracePair(task_prompt(start, todo), trajectory(start, todo, failing), bad, fault, length)


def trace_pairs(lengths: Sequence[int], number: int, *path: int | str) -> list[TracePair]:
    """So many pairs, lengths and faults in turn: as many of each."""
    return [
        trace_pair(lengths[i // len(FAULTS) % len(lengths)], FAULTS[i % len(FAULTS)], *path, i) for i in range(number)
    ]


# --- who judges them ----------------------------------------------------------------------------------------------


def by_length(texts: Sequence[tuple[str, str]]) -> list[float]:
    """A heuristic: the longer the better."""
    return [float(text.count("\n")) for _, text in texts]


def by_last_step(texts: Sequence[tuple[str, str]]) -> list[float]:
    """A heuristic: whether the last call is one that there is, for the last operation of the task, and its result is right."""
    scores = []
    for prompt, text in texts:
        *_, call, result, _ = ["", "", *text.split("\n")]
        last = prompt.removesuffix(f" tools: {TOOL}").split(" ")[-1]
        value = call.removeprefix(f"{TOOL} ").removesuffix(last)
        fits = call.startswith(TOOL) and call.endswith(last) and value.isdigit()
        scores.append(float(fits and str(worked(int(value), (last[0], int(last[1:])))) == result))
    return scores


def accuracies(judge: Said, pairs: Sequence[TracePair]) -> dict[str, float]:
    """How often the preferred one scores higher, a tie counting half: over all, by length (`length_8`) and by fault."""
    said = judge([(each.prompt, text) for each in pairs for text in (each.good, each.bad)])
    hits = [0.5 if a == b else float(a > b) for a, b in zip(said[::2], said[1::2], strict=True)]
    groups: dict[str, list[float]] = {"all": hits}
    for each, hit in zip(pairs, hits, strict=True):
        groups.setdefault(f"length_{each.length}", []).append(hit)
        groups.setdefault(each.fault, []).append(hit)
    return {name: fmean(values) for name, values in groups.items()}


def tabled(say: Said, pairs: Sequence[TracePair]) -> dict[str, dict[str, float]]:
    """The accuracies of a reward model (`rm`) and of the two heuristics."""
    judges: dict[str, Said] = {"rm": say, "last": by_last_step, "length": by_length}
    return {name: accuracies(judge, pairs) for name, judge in judges.items()}
