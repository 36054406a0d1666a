"""Sorting, list and string operations, units, bases, modular arithmetic, clock: cases by hand, and other arithmetic."""

from __future__ import annotations

import datetime
import itertools
import random
import re

import pytest

from guerdon.core.task import Task
from guerdon.tasks.families.clock_times import clock
from guerdon.tasks.families.list_operations import lists
from guerdon.tasks.families.modular_arithmetic import modular
from guerdon.tasks.families.number_bases import bases
from guerdon.tasks.families.number_sorting import sorting
from guerdon.tasks.families.string_operations import strings
from guerdon.tasks.families.unit_conversion import units

LEVELS = range(1, 9)


def by_hand(family, prompt, answer, **meta):
    return Task("hand", prompt, answer, family.name, 1, meta)


def row(family, start, ops, answer):
    return by_hand(family, f"{family.name} {start}: {', '.join(ops)}", answer, start=start, ops=ops)


def problems(family, count=200):
    return [family.get("train", i) for i in range(count)]


# --- sorting ------------------------------------------------------------------------------------------------------------


def test_sorting_by_hand():
    family = sorting()
    task = by_hand(family, "sorting 5 2 9 2", "2 2 5 9", numbers=[5, 2, 9, 2], down=False)
    gold = ["2: 5 9 2", "2: 5 9", "5: 9"]
    assert family.steps(task) == gold
    assert family.solution(task).endswith("\n= 2 2 5 9")
    assert family.first_wrong(task, ["2: 9 5 2", "2: 5 9", "5: 9", "9:"]) is None  # what is left, in any order
    assert family.first_wrong(task, ["2: 5 9 2", "5: 2 9"]) == 1  # not the smallest
    assert family.first_wrong(task, ["2: 5 9", "5: 9"]) == 0  # both twos taken at once
    assert family.first_wrong(task, [*gold, "9:", "9:"]) == 4
    for bad in ("2:5 9 2", "2:  5 9 2", "02: 5 9 2", "2 : 5 9 2", "2: 5 9 2 ", "2 5 9 2", "2: 5 9 2:", "2: 5 9 02"):
        assert family.first_wrong(task, [bad]) == 0, bad
    down = by_hand(family, "sorting down 5 2 9 2", "9 5 2 2", numbers=[5, 2, 9, 2], down=True)
    assert family.steps(down) == ["9: 5 2 2", "5: 2 2", "2: 2"]


@pytest.mark.parametrize("level", LEVELS)
def test_sorting_agrees_with_sorted(level):
    for task in problems(sorting(level=level)):
        _, *words = task.prompt.split()
        numbers = sorted(int(w) for w in words if w != "down")
        assert task.answer.split() == [str(x) for x in (numbers[::-1] if "down" in words else numbers)]


# --- rows of operations -------------------------------------------------------------------------------------------------


def test_lists_by_hand():
    family = lists()
    task = row(family, "3 1 4 8", ["rev", "+2", "take 3", "sum"], "19")
    gold = ["rev: 8 4 1 3", "+2: 10 6 3 5", "take 3: 10 6 3", "sum: 19"]
    assert family.steps(task) == gold
    assert family.first_wrong(task, ["+2: 5 3 6 10", "rev: 10 6 3 5", *gold[2:]]) is None
    assert family.first_wrong(task, ["rev: 8 4 1 3", "take 3: 8 4 1", "+2: 10 6 3", "sum: 19"]) is None
    assert family.first_wrong(task, ["take 3: 3 1 4"]) == 0  # not before the reversal
    assert family.first_wrong(task, ["rev: 8 4 1 3", "sum: 16"]) == 1
    assert family.first_wrong(task, [*gold[:2], "take 3: 10 6", "sum: 16"]) == 2
    assert family.first_wrong(task, ["rev: 8 4 1 3", "rev: 3 1 4 8"]) == 1
    assert family.first_wrong(task, ["+2: 6 3 5 10"]) == 0
    assert family.first_wrong(task, [*gold, "sum: 19"]) == 4
    for bad in ("rev 8 4 1 3", "rev: 8,4,1,3", "rev:8 4 1 3", "Rev: 8 4 1 3", "+2", ""):
        assert family.first_wrong(task, [bad]) == 0, bad
    halves = row(family, "5 2 7 4", ["+2", "odds", "min"], "7")
    assert family.first_wrong(halves, ["odds: 5 7", "+2: 7 9", "min: 7"]) is None  # adding 2 keeps odd numbers odd
    assert family.first_wrong(halves, ["+2: 7 4 9 6", "min: 4"]) == 1
    ones = row(family, "5 2 7 4", ["+1", "odds"], "3 5")
    assert family.first_wrong(ones, ["odds: 5 7"]) == 0


def reference_list(values, op):
    name, _, n = op.partition(" ")
    if op[0] in "+*":
        return [v + int(op[1:]) if op[0] == "+" else v * int(op[1:]) for v in values]
    table = {
        "rev": lambda: list(reversed(values)),
        "rot": lambda: values[int(n) :] + values[: int(n)],
        "take": lambda: values[: int(n)],
        "skip": lambda: values[int(n) :],
        "odds": lambda: [v for v in values if v & 1],
        "evens": lambda: [v for v in values if not v & 1],
        "sum": lambda: [sum(values)],
        "max": lambda: [sorted(values)[-1]],
        "min": lambda: [sorted(values)[0]],
        "len": lambda: [len(values)],
    }
    return table[name]()


@pytest.mark.sampled(3, "level")
@pytest.mark.parametrize("level", LEVELS)
def test_lists_agree_with_python(level):
    for task in problems(lists(level=level)):
        start, ops = task.prompt.removeprefix("lists ").split(": ")
        values = [int(x) for x in start.split()]
        for op in ops.split(", "):
            values = reference_list(values, op)
        assert task.answer == " ".join(map(str, values))


def test_strings_by_hand():
    family = strings()
    task = row(family, "abca", ["rev", "swap a b", "dbl c", "count c"], "2")
    gold = ["rev: acba", "swap a b: bcab", "dbl c: bccab", "count c: 2"]
    assert family.steps(task) == gold
    assert family.first_wrong(task, ["dbl c: abcca", "swap a b: baccb", "rev: bccab", "count c: 2"]) is None
    assert family.first_wrong(task, ["swap a b: bbcb"]) == 0  # one way only
    assert family.first_wrong(task, [*gold[:2], "count c: 1"]) == 2
    assert family.first_wrong(task, [*gold[:3], "count c: 3"]) == 3
    assert family.first_wrong(task, ["swap b a: bacb"]) == 0  # says another operation than the problem
    turned = row(family, "abcd", ["rot 1", "rev"], "adcb")
    assert family.steps(turned) == ["rot 1: bcda", "rev: adcb"]
    assert family.first_wrong(turned, ["rev: dcba"]) == 0
    gone = row(family, "abca", ["del a", "rot 1"], "cb")
    assert family.steps(gone) == ["del a: bc", "rot 1: cb"]
    assert family.first_wrong(gone, ["rot 1: bcaa", "del a: bc"]) == 0


@pytest.mark.sampled(3, "level")
@pytest.mark.parametrize("level", LEVELS)
def test_strings_agree_with_python(level):
    for task in problems(strings(level=level)):
        start, ops = task.prompt.removeprefix("strings ").split(": ")
        letters = list(start)
        for op in ops.split(", "):
            name, *more = op.split()
            if name == "rev":
                letters.reverse()
            elif name == "rot":
                letters = [letters[(i + int(more[0])) % len(letters)] for i in range(len(letters))]
            elif name == "swap":
                letters = [more[1 - more.index(c)] if c in more else c for c in letters]
            elif name in ("del", "dbl"):
                letters = [x for c in letters for x in ([c] if c != more[0] else [] if name == "del" else [c, c])]
            elif name == "len":
                letters = [str(len(letters))]
            else:
                letters = [str(sum(c == more[0] for c in letters))]
        assert task.answer == "".join(letters)


LIST_OPS = ["rev", "rot 1", "rot 2", "take 2", "take 3", "skip 1", "skip 2", "odds", "evens", "+1", "+2", "*2", "*3"]
LIST_OPS += ["sum", "max", "min", "len"]
WORD_OPS = ["rev", "rot 1", "rot 2", "swap a b", "swap b a", "swap b c", "swap c d", "del a", "del c", "dbl a", "dbl d"]


@pytest.mark.parametrize(("family", "ops"), [(lists(), LIST_OPS), (strings(), WORD_OPS)])
def test_operations_change_places_exactly_when_they_may(family, ops):
    """Against trying it out: two operations may change places when no value tells the two orders apart."""
    draw = random.Random(0)
    if family.name == "lists":
        values = [" ".join(str(draw.randint(1, 30)) for _ in range(draw.randint(4, 7))) for _ in range(300)]
    else:
        values = ["".join(draw.choice("abcde") for _ in range(draw.randint(4, 7))) for _ in range(300)]
    for one, other in itertools.combinations(ops, 2):
        same = all(
            family.apply(family.apply(v, one), other) == family.apply(family.apply(v, other), one) for v in values
        )
        assert family.commute(one, other) == family.commute(other, one) == same, (one, other)


# --- clock ----------------------------------------------------------------------------------------------------------------


def test_clock_by_hand():
    family = clock()
    task = row(family, "fri 22:30", ["+2h", "-50min", "+3d"], "mon 23:40")
    gold = ["+2h: sat 00:30", "-50min: fri 23:40", "+3d: mon 23:40"]
    assert family.steps(task) == gold
    for order in itertools.permutations(task.meta["ops"]):
        assert family.first_wrong(task, family.written("fri 22:30", order)[0]) is None
    assert family.first_wrong(task, ["+2h: fri 00:30"]) == 0  # midnight forgotten
    assert family.first_wrong(task, ["+2h: sat 00:30", "-50min: sat 23:40"]) == 1
    assert family.first_wrong(task, ["+2h: sat 00:30", "+2h: sat 02:30"]) == 1
    for bad in ("+2h: sat 0:30", "+2h: sat 24:30", "+2h: 00:30", "+2 h: sat 00:30", "2h: sat 00:30"):
        assert family.first_wrong(task, [bad]) == 0, bad
    assert family.steps(row(family, "sun", ["+10d", "-1w"], "wed")) == ["+10d: wed", "-1w: wed"]
    assert family.steps(row(family, "00:10", ["-25min"], "23:45")) == ["-25min: 23:45"]


@pytest.mark.parametrize("level", LEVELS)
def test_clock_agrees_with_datetime(level):
    spans = {"min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
    for task in problems(clock(level=level)):
        start, ops = task.prompt.removeprefix("clock ").split(": ")
        moment = datetime.datetime(2024, 1, 1)  # a Monday
        while moment.strftime("%a").lower() not in start and not start[0].isdigit():
            moment += datetime.timedelta(days=1)
        if ":" in start:
            hour, minute = start.split()[-1].split(":")
            moment = moment.replace(hour=int(hour), minute=int(minute))
        for sign, number, unit in re.findall(r"([+-])(\d+)([a-z]+)", ops):
            moment += datetime.timedelta(**{spans[unit]: int(sign + number)})
        shown = moment.strftime("%a %H:%M").lower().split()
        assert task.answer.split() == ([] if start[0].isdigit() else shown[:1]) + (shown[1:] if ":" in start else [])


# --- units ----------------------------------------------------------------------------------------------------------------


def test_units_by_hand():
    family = units()
    task = by_hand(family, "units 2h 35min + 4h in min", "395min", terms=["2h", "35min", "4h"], to="min")
    gold = ["2h+4h=6h", "6h=360min", "360min+35min=395min"]
    assert family.steps(task) == gold
    assert family.first_wrong(task, ["4h=240min", "35min+240min=275min", "2h=120min", "120min+275min=395min"]) is None
    assert family.first_wrong(task, ["2h=120min", "4h=240min", "240min+35min+120min=395min"]) is None
    assert family.first_wrong(task, ["2h+4h=6h", "6h=600min"]) == 1
    assert family.first_wrong(task, ["2h+35min=37min"]) == 0  # different units
    assert family.first_wrong(task, ["2h=120min", "2h+4h=6h"]) == 1  # those two hours are spent
    assert family.first_wrong(task, ["2h+2h=4h"]) == 0  # there is one of them
    assert family.first_wrong(task, ["2h=7200s"]) == 0  # beyond the unit asked for
    assert family.first_wrong(task, ["35min=35min"]) == 0  # says nothing
    assert family.first_wrong(task, [*gold, "395min=395min"]) == 3
    for bad in ("2h =120min", "02h=120min", "2h=120", "h=60min", "+2h=2h", "2h+4h=6", "120min=2h", "2h=120min=120min"):
        assert family.first_wrong(task, [bad]) == 0, bad
    far = by_hand(family, "units 1w 1s in s", "604801s", terms=["1w", "1s"], to="s")
    assert family.first_wrong(far, ["1w=604800s", "1s+604800s=604801s"]) is None
    assert family.first_wrong(far, ["1w=168h", "168h=604800s"]) is None


@pytest.mark.parametrize("level", LEVELS)
def test_units_agree_with_arithmetic(level):
    seconds = {"w": 604800, "d": 86400, "h": 3600, "min": 60, "s": 1}
    millimetres = {"km": 1_000_000, "m": 1000, "cm": 10, "mm": 1}
    for task in problems(units(level=level)):
        left, to = task.prompt.removeprefix("units ").split(" in ")
        table = seconds if to in seconds else millimetres
        total = sum(int(n) * table[u] for n, u in re.findall(r"(\d+)([a-z]+)", left))
        assert total % table[to] == 0 and task.answer == f"{total // table[to]}{to}"


# --- bases ----------------------------------------------------------------------------------------------------------------


def test_bases_by_hand():
    family = bases()
    task = by_hand(family, "bases 213 from 4 to 5", "124", **{"digits": "213", "from": 4, "to": 5})
    ends = ["39/5=7 r 4", "7/5=1 r 2", "1/5=0 r 1"]
    assert family.steps(task) == ["2*4+1=9", "9*4+3=39", *ends]
    assert family.first_wrong(task, ["3*1=3", "2*16=32", "1*4=4", "32+4+3=39", *ends]) is None  # powers, in any order
    assert family.first_wrong(task, ["1*4=4", "3*1=3", "3+4=7", "2*16=32", "7+32=39", *ends]) is None
    assert family.first_wrong(task, ["2*4+1=9", "9*4+3=38", *ends]) == 1
    assert family.first_wrong(task, ["3*1=3", "2*8=16"]) == 1  # wrong power
    assert family.first_wrong(task, ["3*1=3", "3*1=3"]) == 1
    assert family.first_wrong(task, ["3*1=3", "2*16=32", "3+32=35", "35/5=7 r 0"]) == 3  # a digit is missing
    assert family.first_wrong(task, ["2*16=32", "1*4=4", "3*1=3", "32+4+3=39", ends[0], "7/5=1 r 3"]) == 5
    assert family.first_wrong(task, ["2*4+1=9", *ends]) == 1
    assert family.first_wrong(task, ends) == 0
    for bad in ("2*4+1=09", "2*4+1", "9=2*4+1", "2*0+1=1", "39/0=0 r 0", "2*16=32 ", "+=", "0+0=0"):
        assert family.first_wrong(task, [bad]) == 0, bad
    zeros = by_hand(family, "bases 100 from 3 to 10", "9", **{"digits": "100", "from": 3, "to": 10})
    assert family.first_wrong(zeros, ["1*9=9"]) is None
    assert family.first_wrong(zeros, ["0*1=0", "1*9=9", "9+0=9"]) is None
    assert family.first_wrong(zeros, ["0*1=0", "1*9=9", "9+0=9", "9/10=0 r 9"]) == 3
    assert family.first_wrong(zeros, ["1*3+0=3", "3*3+0=9", "9=9"]) == 2


@pytest.mark.parametrize("level", LEVELS)
def test_bases_agree_with_int(level):
    for task in problems(bases(level=level)):
        _, digits, _, source, _, target = task.prompt.split()
        assert int(digits, int(source)) == int(task.answer, int(target))
        assert task.answer[0] != "0" and source != target


# --- modular --------------------------------------------------------------------------------------------------------------


def test_modular_by_hand():
    family = modular()
    task = by_hand(family, "modular 7^5*4+3 mod 10", "1", base=7, power=5, times=4, plus=3, mod=10)
    ends = ["*4: 7*4=28=8", "+3: 8+3=11=1"]
    assert family.steps(task) == ["^2: 7*7=49=9", "^4: 9*9=81=1", "^5: 1*7=7=7", *ends]
    cubes = ["^2: 7*7=49=9", "^3: 7*9=63=3", "^5: 9*3=27=7", "*4: 4*7=28=8", "+3: 3+8=11=1"]
    assert family.first_wrong(task, cubes) is None  # 2 + 3 is 5 as well
    assert family.first_wrong(task, ["^2: 7*7=49=9", "^4: 9*9=81=2"]) == 1
    assert family.first_wrong(task, ["^4: 9*9=81=1"]) == 0  # 7^2 is not known yet
    assert family.first_wrong(task, ["^2: 7*7=49=9", "^2: 7*7=49=9"]) == 1  # nothing new
    assert family.first_wrong(task, ["^2: 7*7=49=9", "^4: 9*9=81=1", "^8: 1*1=1=1"]) == 2  # beyond the power
    assert family.first_wrong(task, ["^2: 7*7=49=9", "*4: 9*4=36=6"]) == 1  # too early
    assert family.first_wrong(task, [*cubes[:3], "+3: 7+3=10=0"]) == 3
    assert family.first_wrong(task, [*cubes, "^2: 7*7=49=9"]) == 5
    for bad in ("^2: 7*7=49", "^2: 7*7=9", "^2 7*7=49=9", "^1: 7*1=7=7", "^0: 1*1=1=1", "^2: 7*7=49=19", "7*7=49=9"):
        assert family.first_wrong(task, [bad]) == 0, bad


@pytest.mark.parametrize("level", LEVELS)
def test_modular_agrees_with_pow(level):
    for task in problems(modular(level=level)):
        whole = task.prompt if "^" in task.prompt else task.prompt.replace("*", "^1*")
        base, power, times, plus, mod = map(int, re.findall(r"\d+", whole))
        assert int(task.answer) == (pow(base, power, mod) * times + plus) % mod
        assert family_power(task) == pow(base, power, mod)


def family_power(task):
    """The power as the gold steps have it, just before the last two lines."""
    steps = modular(level=task.level).steps(task)
    return int(steps[-3].rpartition("=")[2]) if len(steps) > 2 else task.meta["base"]
