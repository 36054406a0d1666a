"""An oracle's solutions with an interpreter, family by family: one-line programs and their output.

What they show is worked out here without running them, so that demonstrations can be written by the million; tests hold that
the real interpreter shows the same. Leaves out: families without a way here, which are worked out without calls.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Iterator

from guerdon.core.task import Task
from guerdon.envs.tools.calculator_gold import Called, Way
from guerdon.tasks.families.linear_equations import show
from guerdon.tasks.families.number_counting import HOW_MANY, numbers_in
from guerdon.tasks.families.program_traces import ACTION, BRANCH, LOOP

NOTHING = "(it printed nothing)"  # as the interpreter says it
SOLUTIONS = 20  # no solution of an equation is larger, signs aside
PLACES = 7  # no number has more digits in the base that is asked for
FIGURE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}

TESTS = {  # as counting says them, without their number
    "divisible by": "n%{}==0",
    "not divisible by": "n%{}!=0",
    "ends in": "n%10=={}",
    "has digit": '"{}" in str(n)',
    "no digit": '"{}" not in str(n)',
    "digit sum": "sum(map(int,str(n)))=={}",
    "even digit sum": "sum(map(int,str(n)))%2==0",
    "odd digit sum": "sum(map(int,str(n)))%2==1",
    "prime": "n>1 and all(n%d for d in range(2,n))",
    "square": "int(n**.5)**2==n",
    "palindrome": "str(n)==str(n)[::-1]",
}
GOALS = {HOW_MANY: "sum(1 for", "sum": "sum(n for", "largest": "max(n for", "smallest": "min(n for"}
LIST_STEPS = {
    "rev": "a=a[::-1]",
    "rot": "a=a[{0}:]+a[:{0}]",
    "take": "a=a[:{0}]",
    "skip": "a=a[{0}:]",
    "odds": "a=[x for x in a if x%2==1]",
    "evens": "a=[x for x in a if x%2==0]",
}


def counted(task: Task) -> list[Called]:
    *conditions, goal = task.meta["ops"]
    numbers = numbers_in(task.meta["start"])
    tests = []
    for condition in conditions:
        words, _, number = condition.rpartition(" ")
        known = words in TESTS and number.isdigit()
        tests.append(TESTS[words].format(number) if known else TESTS[condition])
    line = f"{GOALS[goal]} n in range({numbers[0]},{numbers[-1] + 1}) if {' and '.join(tests)})"
    return [(line, task.answer)]


def carried(task: Task) -> list[Called]:
    ops = "; ".join(f"x{op[0]}={op[1:]}" for op in task.meta["ops"])
    return [(f"x={task.meta['start']}; {ops}; x", task.answer)]


def reduced(task: Task) -> list[Called]:
    base, power, times, plus, mod = (task.meta[name] for name in ("base", "power", "times", "plus", "mod"))
    return [(f"({base}{f'**{power}' if power > 1 else ''}*{times}+{plus})%{mod}", task.answer)]


def changed(task: Task) -> list[Called]:
    steps = [f"a=[{task.meta['start'].replace(' ', ',')}]"]
    *ops, last = task.meta["ops"]
    steps += [_list_step(op) for op in ops]
    steps += [f"{last}(a)"] if last in ("sum", "max", "min", "len") else [_list_step(last), "print(*a)"]
    return [("; ".join(steps), task.answer)]


def _list_step(op: str) -> str:
    if op[0] in "+*":
        return f"a=[x{op} for x in a]"
    name, _, number = op.partition(" ")
    return LIST_STEPS[name].format(number)


def rewritten(task: Task) -> list[Called]:
    digits, source, target = task.meta["digits"], task.meta["from"], task.meta["to"]
    read = digits if source == 10 else f'int("{digits}",{source})'
    if target == 10:
        return [(read, task.answer)]
    places = f'int("".join(str(n//{target}**i%{target}) for i in range({PLACES - 1},-1,-1)))'
    return [(f"n={read}; {places}", task.answer)]


def tried_out(task: Task) -> list[Called]:
    """Every number that could be x is tried."""
    left, right = (re.sub(r"(?<=[0-9])(?=[x(])", "*", show(task.meta[side])) for side in ("left", "right"))
    return [(f"[x for x in range({-SOLUTIONS},{SOLUTIONS + 1}) if {left}=={right}]", f"[{task.answer}]")]


def ran(task: Task) -> list[Called]:
    """The program as Python has it. A loop stands in a line of its own."""
    lines: list[list[str]] = [[]]
    for statement in task.meta["program"]:
        if loop := LOOP.fullmatch(statement):
            lines += [[f"for i in range({loop[1]}): {loop[2].replace(', ', '; ')}"], []]
        else:
            lines[-1].append(_branch(*branch.groups()) if (branch := BRANCH.fullmatch(statement)) else statement)
    lines[-1].append(task.meta["print"])
    *before, last = ["; ".join(line) for line in lines if line]
    return [*((line, NOTHING) for line in before), (last, task.answer)]


def _branch(name: str, sign: str, number: str, then: str, otherwise: str | None) -> str:
    """A branch without a block: what each name is afterwards, either way."""
    (one, value), condition = _assigned(then), f"{name}{sign}{number}"
    if otherwise is None:
        return f"{one}={value} if {condition} else {one}"
    other, instead = _assigned(otherwise)
    if one == other:
        return f"{one}={value} if {condition} else {instead}"
    return f"{one},{other}=({value},{other}) if {condition} else ({one},{instead})"


def _assigned(action: str) -> tuple[str, str]:
    """The name an action sets, and the expression it is set to."""
    parts = ACTION.fullmatch(action)
    assert parts is not None
    name, update = parts[1], parts[2]
    value = action.partition("=")[2]
    return name, f"{name}{update}{value}" if update else value


def ordered(task: Task) -> list[Called]:
    down = ",reverse=True" if task.meta["down"] else ""
    return [(f"print(*sorted([{','.join(map(str, task.meta['numbers']))}]{down}))", task.answer)]


def searched_through(task: Task) -> list[Called]:
    """All expressions over two or three numbers, first without division; then with it, where none was found. More numbers want
    more than a line."""
    numbers, target = task.meta["numbers"], task.meta["target"]
    if len(numbers) not in (2, 3):
        return []
    calls = [("from itertools import permutations,product", NOTHING)]
    for signs in ("+-*", "+-*/"):
        hit = next(_expressions(numbers, target, signs), None)
        calls.append((_search_line(numbers, target, signs), f"[{hit!r}]" if hit else "[]"))
        if hit:
            return calls
    return []


def _search_line(numbers: list[int], target: int, signs: str) -> str:
    given = ",".join(map(str, numbers))
    if len(numbers) == 2:
        text = f'f"{{a}}{{s}}{{b}}" for a,b in permutations(({given})) for s in "{signs}"'
        return f'[{text} if eval(f"{{a}}{{s}}{{b}}")=={target}][:1]'
    shapes = 'f"({a}{s}{b}){t}{c}",f"{a}{s}({b}{t}{c})"'
    guard = '(s+t!="/-" or b!=c) and ' if "/" in signs else ""  # what would be divided by is 0 there
    pairs = f'permutations(({given})) for s,t in product("{signs}",repeat=2)'
    return f"[e for a,b,c in {pairs} for e in ({shapes}) if {guard}eval(e)=={target}][:1]"


def _expressions(numbers: list[int], target: int, signs: str) -> Iterator[str]:
    """What such a line finds, in its order."""
    for a, *rest in itertools.permutations(numbers):
        if len(rest) == 1:
            yield from (f"{a}{s}{rest[0]}" for s in signs if FIGURE[s](a, rest[0]) == target)
            continue
        b, c = rest
        for s, t in itertools.product(signs, repeat=2):
            if s + t == "/-" and b == c:
                continue
            if FIGURE[t](FIGURE[s](a, b), c) == target:
                yield f"({a}{s}{b}){t}{c}"
            if FIGURE[s](a, FIGURE[t](b, c)) == target:
                yield f"{a}{s}({b}{t}{c})"


BY_PROGRAM: dict[str, Way] = {
    "counting": counted,
    "chain": carried,
    "modular": reduced,
    "lists": changed,
    "bases": rewritten,
    "equation": tried_out,
    "trace": ran,
    "sorting": ordered,
    "countdown": searched_through,
}
SHOWN_AT_LAST = {"countdown"}  # whose answer is what the last call came upon, in brackets: there are others as right
