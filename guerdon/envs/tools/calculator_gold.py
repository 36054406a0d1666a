"""An oracle's solutions with a calculator, family by family: its calls and their results.

Where a problem wants search, misses come before the hit; where it wants a plan, the calls are its steps. Families without a way
here are worked out step by step where every step is a sum, or without calls.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from guerdon.core.seeds import derive
from guerdon.core.task import Task
from guerdon.envs.tools.exact_arithmetic import calculator
from guerdon.tasks.families.clock_times import DAYS, MINUTES
from guerdon.tasks.families.countdown_search import SIZES, combine, express
from guerdon.tasks.families.unit_conversion import FACTORS, below, split_term

MISSES = 3  # the most expressions that are tried in vain

Called = tuple[str, str]  # what is called, and what comes back
Way = Callable[[Task], list[Called]]


def worked(*expressions: str) -> list[Called]:
    return [(expression, calculator(expression)) for expression in expressions]


def step_by_step(steps: Sequence[str]) -> list[Called]:
    """Every step as a call, where all are such as `7+4=11`."""
    calls = [(left, right) for left, _, right in (step.partition("=") for step in steps)]
    return calls if all(_comes_to(*call) for call in calls) else []


def _comes_to(left: str, right: str) -> bool:
    try:
        return calculator(left) == right
    except ValueError:
        return False


def by_trying(task: Task) -> list[Called]:
    """Expressions over all the numbers, up to three that miss the target and then one that makes it."""
    numbers, signs = task.meta["numbers"], SIZES[task.level][2]
    draw = random.Random(derive("misses", task.prompt))
    misses: dict[str, str] = {}
    for _ in range(draw.randrange(MISSES + 1)):
        moves = combine(numbers, signs, draw)
        if moves[-1][3] != task.meta["target"]:
            misses[express(numbers, moves)] = str(moves[-1][3])
    return [*misses.items(), (task.answer, str(task.meta["target"]))]


def by_isolating(task: Task) -> list[Called]:
    """How many x there are in all, their sum, and what one of them is."""
    sides = ((1, task.meta["left"]), (-1, task.meta["right"]))
    slopes = [(sign * k, a) for sign, side in sides for k, a, _ in side if k * a]
    numbers = [(-sign * k, b) for sign, side in reversed(sides) for k, _, b in side if k * b]
    slope, number = _added(slopes), _added(numbers) or "0"
    calls = worked(*(text for text, terms in ((slope, slopes), (number, numbers)) if len(terms) > 1))
    slope, number = calculator(slope), calculator(number)
    return calls if slope == "1" else [*calls, *worked(f"{number}/{slope}")]


def _added(products: Sequence[tuple[int, int]]) -> str:
    """A sum of products as one writes it: `3*4-2`."""
    text = ""
    for a, b in products:
        sign = "-" if a * b < 0 else "+" if text else ""
        text += sign + (str(abs(a * b)) if 1 in (abs(a), abs(b)) else f"{abs(a)}*{abs(b)}")
    return text


def by_remainder(task: Task) -> list[Called]:
    base, power, times, plus, mod = (task.meta[name] for name in ("base", "power", "times", "plus", "mod"))
    return worked(f"({base}{f'**{power}' if power > 1 else ''}*{times}+{plus})%{mod}")


def by_factors(task: Task) -> list[Called]:
    """Every part times the factors down to the unit that is asked for, in one sum."""
    parts = []
    for term in task.meta["terms"]:
        amount, unit = split_term(term)
        factors = [str(amount)]
        while unit != task.meta["to"]:
            factors.append(str(FACTORS[unit]))
            unit = below(unit)
        parts.append("*".join(factors))
    return worked("+".join(parts))


def by_powers(task: Task) -> list[Called]:
    """The number in tens from its digits, then each digit of the answer, from the last to the first."""
    digits, source, target = task.meta["digits"], task.meta["from"], task.meta["to"]
    calls: list[Called] = []
    if source != 10:
        last = len(digits) - 1
        powers = [
            f"*{source}**{last - i}" if last - i > 1 else f"*{source}" if last > i else "" for i in range(last + 1)
        ]
        calls = worked("+".join(digit + power for digit, power in zip(digits, powers, strict=True)))
    if target == 10:
        return calls
    value = calls[-1][1] if calls else digits
    places = range(len(task.answer))
    return [*calls, *worked(*(f"{value}{f'//{target**i}' if i else ''}%{target}" for i in places))]


def by_minutes(task: Task) -> list[Called]:
    """All in minutes of a week or a day, or in days; then the weekday, the hour and the minute of it."""
    start, ops = task.meta["start"], task.meta["ops"]
    unit = "min" if ":" in start else "d"
    added = "".join(_amount(op, unit) for op in ops)
    around = MINUTES["w" if " " in start or unit == "d" else "d"] // MINUTES[unit]
    (moment,) = worked(f"({_moment(start)}{added})%{around}")
    if unit == "d":
        return [moment]
    day, total = MINUTES["d"], moment[1]
    parts = [f"{total}//{day}", f"{total}%{day}//60"] if " " in start else [f"{total}//60"]
    return [moment, *worked(*parts, f"{total}%60")]


def _moment(start: str) -> str:
    """A weekday, a time or both as a sum."""
    terms = []
    for word in start.split():
        hour, colon, minute = word.partition(":")
        if colon:
            terms += [f"{int(hour)}*60", str(int(minute))]
        else:
            terms.append(f"{DAYS.index(word)}*{MINUTES['d']}" if " " in start else str(DAYS.index(word)))
    return "+".join(terms)


def _amount(op: str, unit: str) -> str:
    """`+2h` in minutes is `+2*60`."""
    own = op.lstrip("+-0123456789")
    factor = MINUTES[own] // MINUTES[unit]
    return op.removesuffix(own) + (f"*{factor}" if factor > 1 else "")


BY_CALCULATOR: dict[str, Way] = {
    "countdown": by_trying,
    "equation": by_isolating,
    "modular": by_remainder,
    "units": by_factors,
    "bases": by_powers,
    "clock": by_minutes,
}
