"""The plain evaluator: it says what Python says, or that it does not know; and it always ends."""

from __future__ import annotations

import asyncio
import random
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import guerdon as gd
from guerdon.tasks.code import function_checks
from guerdon.tasks.code.function_checks import all_passed_now, passed_later, passed_now
from guerdon.tasks.field.plain_python import Endless, Unsupported, called_plainly
from guerdon.tasks.field.program_text import is_program


@pytest.mark.parametrize(
    ("body", "argument", "gives"),
    [
        ("return [x for x in xs if x > 1][::-1]", [1, 2, 3], [[3, 2]]),
        ("return sum(i * x for i, x in enumerate(xs))", [5, 6, 7], [20]),
        ("a, b = 0, 1\n for x in xs:\n  a, b = b, a + b\n return a", [0] * 7, [13]),
        ("n = 0\n while True:\n  n += 1\n  if n == 3:\n   continue\n  if n > 5:\n   break\n return n", [], [6]),
        ("for x in xs:\n  if x < 0:\n   break\n else:\n  return 1\n return 2", [1, 2], [1]),
        ("d = {}\n for x in xs:\n  d[x] = d.get(x, 0) + 1\n return max(d, key=d.get)", [3, 1, 1], [1]),
        ("return sorted(xs, key=lambda x: -x)[0]", [1, 9, 4], [9]),
        ("return any(1 // x for x in xs)", [1, 0], [True]),
        ("return max(xs)", [], []),
        ("y = sum(xs)\n sum = 3\n return y", [1], []),
        ("return [y for x in xs for y in range(x) if y % 2]", [2, 4], [[1, 1, 3]]),
        ("xs.sort(reverse=True)\n xs.append(0)\n return xs", [1, 2], [[2, 1, 0]]),
        ("x, y = xs\n return x - y", [1, 2, 3], []),
        ("return 1 < xs[0] < 3 and not xs[1:]", [2], [True]),
        ("return ' '.join(w.upper() for w in xs.split())", "ab c", ["AB C"]),
        ("xs += [1]\n xs[0] *= 5\n return xs", [2], [[10, 1]]),
        ("return list(map(abs, filter(None, xs)))", [0, -2], [[2]]),
        ("from math import prod\n return prod(xs)", [2, 3], [6]),
        ("return xs[5]", [1], []),
        ("return xs.nothing()", [1], []),
        ("return xs + 1", [1], []),
        ("pass", [1], [None]),
        ("return len(set(xs)) if xs else -1", [1, 1], [1]),
        ("return f(xs[1:]) + 1 if xs else 0", [4, 4, 4], [3]),
        ("return zip(xs, xs)", [1], []),
    ],
)
def test_by_hand(body, argument, gives):
    assert called_plainly(f"def f(xs):\n {body}", "f", [[argument]]) == [gives]


def test_arguments_are_fresh_for_every_call():
    given = [2, 1]
    assert called_plainly("def f(xs):\n xs.sort()\n return xs.pop()", "f", [[given], [given]]) == [[2], [2]]
    assert given == [2, 1]


@pytest.mark.parametrize(
    "body",
    [
        "import os\n return os",
        "return open('x')",
        "return xs.__class__",
        "return (lambda: 0).__globals__",
        "return eval('1')",
        "return getattr(xs, 'pop')()",
        "return '%d' % 3",
        "return '{}'.format(xs)",
        "return f'{xs}'",
        "return 9 ** 9 ** 9",
        "return xs * 10 ** 9",
        "return list(range(10 ** 9))",
        "try:\n  pass\n except Exception:\n  pass",
        "return [y := 1]",
        "return list({'a', 'b'})",
        "g = xs.append\n return g",
        "return 1 << 10 ** 9",
        "from os import system\n return system",
        "for i in range(60):\n  xs = [xs, xs]\n return xs == [xs]",
        "return 'ab'.replace('', 'x' * 9000)",
        "break",
    ],
)
def test_what_it_does_not_know_it_says(body):
    with pytest.raises(Unsupported):
        called_plainly(f"def f(xs):\n {body}", "f", [[[1, 2]]])


@pytest.mark.sampled(5, "body")
@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "for x in xs: xs.append(x)",
        "xs.extend(map(abs, xs))",
        "xs.extend(x for x in xs)",
        "return [1 for a in range(10**9)]",
        "return sum(range(10 ** 12) if xs else [])",
        "return f(xs)",
        "xs.extend(zip(xs, xs))",
        "for a in range(99):\n  for b in range(99):\n   for c in range(99):\n    xs = a",
        "x = 2\n while x: x = x * x",
        "s = 'a'\n while s: s += s",
        "return max(range(10 ** 12))",
        "return 5 in map(abs, range(10 ** 12))",
        "return list(reversed(range(10 ** 12)))",
    ],
)
def test_it_always_ends(body):
    began = time.monotonic()
    with pytest.raises((Endless, Unsupported)):
        called_plainly(f"def f(xs):\n {body}", "f", [[[1, 2]]])
    assert time.monotonic() - began < 5


TOKENS = re.compile(r"\w+|\s+|[^\w\s]")


def spoilt(program, draw):
    """A program with one or two tokens dropped, doubled, swapped or replaced by others of its own."""
    tokens = TOKENS.findall(program)
    for _ in range(draw.choice((1, 1, 2))):
        at, other = draw.randrange(4, len(tokens)), draw.randrange(len(tokens))
        how = draw.randrange(5)
        if how == 0:
            del tokens[at]
        elif how == 1:
            tokens.insert(at, tokens[other])
        elif how == 2:
            tokens[at] = tokens[other]
        elif how == 3:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[at] = draw.choice(
                ["0", "1", "2", "xs", "x", "-", "+", "//", "%", ">", "<=", "not ", "None", "[0]", "len"]
            )
    return "".join(tokens)


def spoilt_programs(problems):
    draw = random.Random(3)
    for level in range(1, 9):
        family = gd.tasks.functions(level=level)
        for index in range(problems):
            task = family.get("train", 1000 + index)
            programs = [*family.solutions(task), *(miss.text for miss in family.near_misses(task, draw)[:3])]
            for program in programs:
                tries = [spoilt(program, draw) for _ in range(8)]
                python = [text for text in tries if is_program(text)]  # most are none
                yield (python or tries)[0], task.meta["tests"]


@pytest.mark.parametrize("problems", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_it_agrees_with_the_sandbox_on_spoilt_programs(problems):
    async def boxed(rows):
        return await asyncio.gather(*(passed_later(*row) for row in rows))

    rows, known = [], 0
    for program, tests in spoilt_programs(problems):
        try:
            called_plainly(program, "f", [arguments for arguments, _ in tests])
            known += 1
        except Endless:
            known += 1
        except Unsupported:
            continue
        rows.append((program, tests))
    assert known > 60 * problems / 2
    for (program, tests), passed in zip(rows, asyncio.run(boxed(rows)), strict=True):
        assert passed_now(program, tests, "plain") == passed, program
        assert all_passed_now(program, tests, "plain") is all(passed), program


def test_the_first_test_that_fails_decides():
    """What it does not know comes after that, so no box is asked."""
    program = "def f(x):\n return x if x < 2 else {x} is x"
    with pytest.raises(Unsupported):
        called_plainly(program, "f", [[1], [2]])
    assert not all_passed_now(program, [[[1], 0], [[2], False]], "plain")
    assert all_passed_now(program, [[[1], 1], [[2], False]], "plain")


def test_answers_are_kept_for_the_truth_unless_they_are_large(monkeypatch):
    known = {}
    monkeypatch.setattr(function_checks, "_known", known)
    short, long = "def f(x): return x", "def f(x): return [x] * 5000"
    for _ in range(2):
        assert passed_now(short, [[[1], 1]], "plain") == [True]
        assert passed_now(long, [[[1], [1] * 5000]], "plain") == [True]
    assert [program for program, _ in known] == [short]


def test_threads_that_fill_the_memory_of_answers_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setattr(function_checks, "KNOWN", 1)  # each new program clears it
    programs = [f"def f(x): return x + {n}" for n in range(4)] * 50
    with ThreadPoolExecutor(4) as threads:
        right = list(threads.map(lambda program: passed_now(program, [[[1], 1]], "plain"), programs))
    assert right == [[program.endswith("+ 0")] for program in programs]
