"""Tracing a tiny program: assignments, updates, a branch, a small loop; what does it print?"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

# level: variables set at the start, updates, actions in the `if` (2: with an else), actions in the loop
SIZES = {
    1: (1, 1, 0, 0),
    2: (2, 1, 0, 0),
    3: (2, 3, 0, 0),
    4: (2, 2, 1, 0),
    5: (3, 2, 2, 0),
    6: (3, 2, 0, 1),
    7: (3, 2, 2, 1),
    8: (3, 3, 2, 2),
}
LETTERS = "abcd"
NUMBERS, FACTORS, LIMITS, ROUNDS = (
    (1, 9),
    (2, 3),
    (3, 12),
    (2, 4),
)  # smallest and largest in sums, products, `if`, `for`
LARGEST = 99  # no value gets larger, nor smaller than its negative
ACTION = re.compile(r"([a-z])([-+*]?)=([a-z]|[0-9]+)(?:([-+*])([a-z]|[0-9]+))?")
BRANCH = re.compile(r"if ([a-z])([<>])([0-9]+): (\S+)(?: else (\S+))?")
LOOP = re.compile(r"for ([0-9]): (.+)")


@part
class trace(Family):
    """`trace a=3; b=a+4; if b>5: a+=b else a=1; for 2: b-=2; print b`: run it and say what it prints.

        a=3
        b=3+4=7
        7>5 yes
        a=3+7=10
        b=7-2=5
        b=5-2=3
        = 3

    One step for each action done and each condition tried, in the order of the program; `b=7` for `b=3+4=7` is right too.
    Level 1 sets one variable from another, level 3 has five actions, level 4 an `if`, level 5 an `else`, level 6 a loop of
    2 to 4 rounds in its place, level 7 both, level 8 two actions in the loop.

    >>> import guerdon as gd
    >>> family = gd.tasks.trace(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, problem.answer, family.first_wrong(problem, ["d=6", "c=5", "d=10"])
    ('trace d=6; c=5; d+=c; print d', '11', 2)
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        while True:
            program = compose(*SIZES[self.level], draw)
            machine = Machine()
            machine.run(program)
            if machine.largest <= LARGEST:
                return posed(program, draw.choice(self.changed(machine)), machine)

    def changed(self, machine: Machine) -> list[str]:
        """The variables that were set again after the start: one of them is printed."""
        return [name for name, writes in machine.writes.items() if writes[-1] >= SIZES[self.level][0]]

    def read_problem(self, prompt: str) -> Problem | None:
        *program, last = prompt.removeprefix("trace ").split("; ")
        wanted = last.removeprefix("print ")
        if prompt != f"trace {'; '.join(program)}; print {wanted}" or not composed(program, *SIZES[self.level]):
            return None
        machine = Machine()
        machine.run(program)
        if machine.largest > LARGEST or wanted not in self.changed(machine):
            return None
        return posed(program, wanted, machine)

    def canonical(self, problem: Problem) -> str:
        """Variables may have other names, and those that begin with a number may begin in any order."""
        program = [*problem.meta["program"], f"print {problem.meta['print']}"]
        first = next(i for i, line in enumerate(program) if not re.fullmatch("[a-z]=[0-9]+", line))
        orders = itertools.permutations(program[:first])
        return min(renamed("; ".join([*order, *program[first:]])) for order in orders)

    def steps(self, task: Task) -> list[str]:
        return [line[0] for line in perform(task).lines]

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        right = perform(task).lines
        return next((i for i, step in enumerate(steps) if i >= len(right) or step not in right[i]), None)

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        machine, name = perform(task), task.meta["print"]
        steps = [line[0] for line in machine.lines]
        writes = sorted(i for writes in machine.writes.values() for i in writes)
        sums = [i for i in writes if len(machine.lines[i]) > 1]
        misses = [
            self.astray(task, "off by one", [Lapse(step=i, by=draw.choice([-1, 1])) for i in shuffled(writes, draw)]),
            self.astray(task, "wrong sign", [Lapse(step=i, sign=True) for i in shuffled(sums, draw)]),
            self.astray(task, "wrong branch", [Lapse(branch=True)]),
            self.astray(task, "one round too few", [Lapse(rounds=-1)]),
            self.astray(task, "one round too many", [Lapse(rounds=1)]),
            self.astray(task, "old value forgotten", [Lapse(forgets=True)]),
        ]
        others = sorted({value for value in machine.values.values() if value != machine.values[name]})
        printed = draw.choice(others) if others else machine.values[name] + 10
        kind = "wrong variable printed" if others else "answer miscopied"
        return [*filter(None, misses), NearMiss(write_solution(steps, str(printed)), kind, len(steps))]

    def astray(self, task: Task, kind: str, lapses: Sequence[Lapse]) -> NearMiss | None:
        """The solution of a solver with the first of these lapses that matters; the true run says where it shows."""
        for lapse in lapses:
            machine = perform(task, lapse)
            answer = str(machine.values[task.meta["print"]])
            if answer != task.answer:
                steps = [line[0] for line in machine.lines]
                at = self.first_wrong(task, steps)
                return NearMiss(write_solution(steps, answer), kind, len(steps) if at is None else at)
        return None


def renamed(program: str) -> str:
    """A program whose variables are called by the order in which they come."""
    names = dict(zip(dict.fromkeys(re.findall(r"\b[a-z]\b", program)), LETTERS, strict=False))
    return re.sub(r"\b[a-z]\b", lambda name: names[name[0]], program)


def posed(program: list[str], wanted: str, machine: Machine) -> Problem:
    """The problem of a program that `machine` ran."""
    meta = {"program": program, "print": wanted}
    return Problem(f"trace {'; '.join(program)}; print {wanted}", str(machine.values[wanted]), meta)


def shuffled(steps: Sequence[int], draw: random.Random) -> list[int]:
    return draw.sample(steps, len(steps))


# --- running ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lapse:
    """What a careless solver does: a result off `by` some or with the other sign at one `step`, every branch the other
    way, loops with `rounds` more or less, updates that forget the old value."""

    step: int = -1
    by: int = 0
    sign: bool = False
    branch: bool = False
    rounds: int = 0
    forgets: bool = False


CAREFUL = Lapse()


def perform(task: Task, lapse: Lapse = CAREFUL) -> Machine:
    machine = Machine(lapse)
    machine.run(task.meta["program"])
    return machine


@dataclass
class Machine:
    """Runs a program and writes down each step, in all its right spellings, the usual one first."""

    lapse: Lapse = CAREFUL
    values: dict[str, int] = field(default_factory=dict)
    lines: list[tuple[str, ...]] = field(default_factory=list)
    writes: dict[str, list[int]] = field(default_factory=dict)  # variable: the steps that set it
    largest: int = 0  # of all values ever set, signs aside

    def run(self, program: Sequence[str]) -> None:
        for statement in program:
            if branch := BRANCH.fullmatch(statement):
                self.decide(*branch.groups())
            elif loop := LOOP.fullmatch(statement):
                for _ in range(int(loop[1]) + self.lapse.rounds):
                    for action in loop[2].split(", "):
                        self.act(action)
            else:
                self.act(statement)

    def decide(self, name: str, sign: str, number: str, then: str, otherwise: str | None) -> None:
        value = self.values[name]
        holds = (value > int(number)) if sign == ">" else (value < int(number))
        holds = holds != self.lapse.branch
        self.lines.append((f"{value}{sign}{number} {'yes' if holds else 'no'}",))
        action = then if holds else otherwise
        if action:
            self.act(action)

    def act(self, action: str) -> None:
        parts = ACTION.fullmatch(action)
        assert parts is not None
        name, update, first, sign, second = parts.groups()
        if update and not self.lapse.forgets:
            first, sign, second = name, update, first
        result, working = self.calculate(first, sign, second)
        self.values[name] = result
        self.largest = max(self.largest, abs(result))
        self.writes.setdefault(name, []).append(len(self.lines))
        self.lines.append((*(f"{name}={each}={result}" for each in working), f"{name}={result}"))

    def calculate(self, first: str, sign: str | None, second: str) -> tuple[int, list[str]]:
        """The result and the ways to write how it came about; none when it is only copied."""
        slips = len(self.lines) == self.lapse.step
        one, off = self.read(first), self.lapse.by if slips else 0
        if not sign:
            return one + off, []
        other = self.read(second)
        if slips and self.lapse.sign:
            sign = "-" if sign == "+" else "+"
        result = one + other if sign == "+" else one - other if sign == "-" else one * other
        swapped = [f"{other}{sign}{one}"] if sign in "+*" else []
        return result + off, [f"{one}{sign}{other}", *swapped]

    def read(self, word: str) -> int:
        return int(word) if word.isdigit() else self.values[word]


# --- making -------------------------------------------------------------------------------------------------------


def compose(starts: int, updates: int, branch: int, loop: int, draw: random.Random) -> list[str]:
    """A random program: first the starting values, then the rest in any order."""
    names = draw.sample(LETTERS, max(2, starts))
    program = [f"{name}={draw.randint(*NUMBERS)}" for name in names[:starts]]
    if starts == 1:
        program.append(f"{names[1]}={names[0]}{draw.choice('+-')}{draw.randint(*NUMBERS)}")
        updates -= 1
    rest = [update(names, draw) for _ in range(updates)]
    if branch:
        other = f" else {update(names, draw)}" if branch > 1 else ""
        condition = f"{draw.choice(names)}{draw.choice('<>')}{draw.randint(*LIMITS)}"
        rest.append(f"if {condition}: {update(names, draw)}{other}")
    if loop:
        body = ", ".join(step(names, draw) for _ in range(loop))
        rest.append(f"for {draw.randint(*ROUNDS)}: {body}")
    draw.shuffle(rest)
    return program + rest


def update(names: Sequence[str], draw: random.Random) -> str:
    name, other = draw.sample(names, 2)
    if draw.random() < 0.5:
        return step(names, draw)
    if draw.random() < 0.25:
        return f"{name}={other}*{draw.randint(*FACTORS)}"
    third = draw.choice([*(n for n in names if n != other), str(draw.randint(*NUMBERS))])
    return f"{name}={other}{draw.choice('+-')}{third}"


def step(names: Sequence[str], draw: random.Random) -> str:
    """A variable made larger or smaller by another or by a number: what also suits a loop."""
    name, other = draw.sample(names, 2)
    return f"{name}{draw.choice('+-')}={draw.choice([other, str(draw.randint(*NUMBERS))])}"


# --- reading: what `compose`, `update` and `step` could have written --------------------------------------------------


def composed(program: Sequence[str], starts: int, updates: int, branch: int, loop: int) -> bool:
    opening, rest = program[: max(2, starts)], program[max(2, starts) :]
    names = [statement[:1] for statement in opening]
    if len(set(names)) != max(2, starts) or not set(names) <= set(LETTERS):
        return False
    if not all(is_number(statement[2:], NUMBERS) and statement[1] == "=" for statement in opening[:starts]):
        return False
    if starts == 1:
        sums = [f"{names[1]}={names[0]}{sign}" for sign in "+-"]
        return not rest and opening[1][:4] in sums and is_number(opening[1][4:], NUMBERS)
    kinds = [kind_of(statement, names) for statement in rest]
    wanted = ["update"] * updates + ["if"] * (branch == 1) + ["if else"] * (branch == 2) + [f"for {loop}"] * (loop > 0)
    return sorted(kinds) == sorted(wanted)


def kind_of(statement: str, names: Sequence[str]) -> str:
    """`update`, `if`, `if else`, `for` with its number of actions, or nothing when it is none of these."""
    if branch := BRANCH.fullmatch(statement):
        name, _, limit, then, otherwise = branch.groups()
        fits = name in names and is_number(limit, LIMITS) and is_update(then, names)
        if otherwise is None:
            return "if" if fits else ""
        return "if else" if fits and is_update(otherwise, names) else ""
    if loop := LOOP.fullmatch(statement):
        body = loop[2].split(", ")
        return f"for {len(body)}" if is_number(loop[1], ROUNDS) and all(is_step(a, names) for a in body) else ""
    return "update" if is_update(statement, names) else ""


def is_update(action: str, names: Sequence[str]) -> bool:
    parts = ACTION.fullmatch(action)
    if parts is None or parts[2]:
        return is_step(action, names)
    name, _, other, sign, third = parts.groups()
    if name == other or name not in names or other not in names:
        return False
    if sign == "*":
        return is_number(third, FACTORS)
    return sign is not None and third != other and (third in names or is_number(third, NUMBERS))


def is_step(action: str, names: Sequence[str]) -> bool:
    parts = ACTION.fullmatch(action)
    if parts is None or parts[1] not in names or parts[2] not in ("+", "-") or parts[4]:
        return False
    return parts[3] != parts[1] and (parts[3] in names or is_number(parts[3], NUMBERS))


def is_number(word: str, limits: tuple[int, int]) -> bool:
    return word in map(str, range(limits[0], limits[1] + 1))
