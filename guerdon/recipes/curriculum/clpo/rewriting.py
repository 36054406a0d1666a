"""Problems rewritten by rule: simpler, with the first step of their solution done, or varied, the same in other words.

What is asked for stays the same: a target, a printed value, a number at the end. There are rules for three families.
Leaves out: rewriting by a model, which is any callable in place of `by_rule`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Task, kinds_of
from guerdon.tasks.families import chained_arithmetic as chain
from guerdon.tasks.families import countdown_search as countdown
from guerdon.tasks.families import program_traces as trace
from guerdon.tasks.family import Family, Problem

SIMPLIFY, VARY = "simplify", "vary"
NOTE = "rewritten"  # of an ask: how its problem was rewritten
TRIES = 8  # at another wording
FAMILIES: dict[str, Family] = {"countdown": countdown.countdown(), "trace": trace.trace(), "chain": chain.chain()}


@part
class by_rule:
    """Rewrites asks: `how` is "simplify" or "vary", and what cannot be rewritten is None.

    Simpler: of `countdown` two numbers are joined as the solution joins them first, of `trace` the values after the first
    action are set at once, of `chain` it starts after the first operation. Varied: `countdown` in another order of its numbers,
    `trace` with other letters. A rewriting is of the same kind as its original, and never one of the held-out problems.

    >>> from guerdon.core.example import ExamplePlay
    >>> from guerdon.tasks import load
    >>> source = load("countdown:5")
    >>> ask = Ask(source.get("train", 1))
    >>> ask.shown, [new.shown for how in (SIMPLIFY, VARY) for new in by_rule(source)([ask], how, ExamplePlay())]
    ('countdown 4 4 1 9 make 18', ['countdown 4 1 13 make 18', 'countdown 9 4 4 1 make 18'])
    """

    task: Any

    def __post_init__(self) -> None:
        if not any(source.get("train", 0).family in RULES[SIMPLIFY] for source in kinds_of(self.task).values()):
            raise UserError(
                f"no rule rewrites problems of {self.task.name}: there are some for {', '.join(RULES[SIMPLIFY])}; give"
                " restructured a rewrite(asks, how, play) of your own"
            )

    def __call__(self, asks: Sequence[Ask], how: str, play: Play) -> list[Ask | None]:
        return [rewritten(ask, how, random.Random(derive(play.seed, play.step, how, ask.shown))) for ask in asks]


def rewritten(ask: Ask, how: str, draw: random.Random) -> Ask | None:
    """An ask for the rewritten problem, as many tries; None where there is none."""
    task = ask.task
    rule = RULES[how].get(task.family)
    for _ in range(TRIES):
        problem = rule(task, draw) if rule is not None else None
        if problem is None:
            return None
        if problem.prompt != task.prompt and not FAMILIES[task.family].holds_out(problem):
            new = Task(problem.prompt, problem.prompt, problem.answer, task.family, task.level, problem.meta)
            return ask.but(task=new, prompt=None, note={**ask.note, NOTE: how})
    return None


# --- simpler ------------------------------------------------------------------------------------------------------


def simpler_countdown(task: Task, draw: random.Random) -> Problem | None:
    (a, _, b, result), *rest = countdown.gold(task)
    if not rest:
        return None
    numbers = list(task.meta["numbers"])
    countdown.take(numbers, a, b)
    return countdown.posed([*numbers, result], rest)


def simpler_trace(task: Task, draw: random.Random) -> Problem | None:
    program = task.meta["program"]
    done = next((i for i, each in enumerate(program) if not re.fullmatch("[a-z]=[0-9]+", each)), len(program)) + 1
    if done >= len(program) or trace.ACTION.fullmatch(program[done - 1]) is None:
        return None
    machine = trace.Machine()
    machine.run(program[:done])
    if min(machine.values.values()) < 0:  # not a number that a program can set
        return None
    shorter = [f"{name}={value}" for name, value in machine.values.items()] + program[done:]
    whole = trace.Machine()
    whole.run(shorter)
    return trace.posed(shorter, task.meta["print"], whole)


def simpler_chain(task: Task, draw: random.Random) -> Problem | None:
    first, *rest = task.meta["ops"]
    start = chain.apply(task.meta["start"], first)
    if not rest or start < 1:
        return None
    return Problem(f"chain {start} {' '.join(rest)}", task.answer, {"start": start, "ops": rest})


# --- varied -------------------------------------------------------------------------------------------------------


def varied_countdown(task: Task, draw: random.Random) -> Problem | None:
    numbers = draw.sample(task.meta["numbers"], len(task.meta["numbers"]))
    return countdown.posed(numbers, countdown.gold(task))


def varied_trace(task: Task, draw: random.Random) -> Problem | None:
    other = str.maketrans(trace.LETTERS, "".join(draw.sample(trace.LETTERS, len(trace.LETTERS))))
    program, machine = [each.translate(other) for each in task.meta["program"]], trace.Machine()
    machine.run(program)
    return trace.posed(program, task.meta["print"].translate(other), machine)


RULES: dict[str, dict[str, Callable[[Task, random.Random], Problem | None]]] = {
    SIMPLIFY: {"countdown": simpler_countdown, "trace": simpler_trace, "chain": simpler_chain},
    VARY: {"countdown": varied_countdown, "trace": varied_trace},
}
