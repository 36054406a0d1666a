"""Reward functions in worker processes: whatever one of them does, every other call keeps its exact answer."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import math
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from worker_calls import ask, ends, one

from guerdon.core.score import CallResult

ROOT = Path(__file__).parents[2]
MEMORY = 256 << 20
SECONDS = 0.5  # of its own time, for a call that hangs


def double(x: float) -> float:
    return 2.0 * x


# Values


def test_values_come_in_order(pool):
    answers = ask(pool, double, [{"x": float(i)} for i in range(5000)])
    assert answers == [CallResult("value", 2.0 * i) for i in range(5000)]
    assert asyncio.run(pool.call(double, [], timeout=1.0)) == []


@dataclass(frozen=True)
class Judgement:
    value: float
    why: str = ""
    parts: dict[str, float] = field(default_factory=dict)


class Grade(float, Enum):
    GOOD = 1.0


VALUES = [
    (0.1 + 0.2, 0.1 + 0.2),
    (3, 3),
    (True, True),
    (None, None),
    ("text \ud800", "text \ud800"),
    ([1, (2.0, None)], [1, (2.0, None)]),
    ({"a": {1: [False]}}, {"a": {1: [False]}}),
    (np.float32(0.5), 0.5),
    (np.float64(0.5), 0.5),
    (np.int64(7), 7),
    (np.bool_(True), True),
    (np.array(2.0), 2.0),
    (np.array([[2.0], [1.0]]), [[2.0], [1.0]]),
    (Grade.GOOD, 1.0),
    (
        Judgement(np.float64(0.5), "half", {"a": 0.25}),
        {"__dataclass__": "Judgement", "value": 0.5, "why": "half", "parts": {"a": 0.25}},
    ),
]


def test_plain_data_comes_back_as_it_is(pool):
    answers = ask(pool, lambda value: value, [{"value": value} for value, _ in VALUES])
    for answer, (_, expected) in zip(answers, VALUES, strict=True):
        assert answer == CallResult("value", expected) and type(answer.value) is type(expected)


def test_numbers_that_are_none_come_back_too(pool):
    nan, inf = ask(pool, lambda x: float(x), [{"x": "nan"}, {"x": "-inf"}])
    assert math.isnan(nan.value) and inf.value == -math.inf


def test_what_is_not_plain_is_refused_by_name(pool):
    values = [object(), {1, 2}, b"bytes", 1j, float, double]
    for answer, value in zip(ask(pool, lambda v: v, [{"v": v} for v in values]), values, strict=True):
        assert answer.kind == "failed" and "TypeError: returned " in answer.error
        assert f".{type(value).__qualname__}, which is not plain data" in answer.error


def test_functions_of_modules_that_came_since_go_with_them(pool, monkeypatch):
    for name, worth in (("made_by_hand", 1.0), ("made_since", 2.0)):
        module = ModuleType(name)
        exec(f"WORTH = {worth}\ndef paid(x): return WORTH", module.__dict__)
        monkeypatch.setitem(sys.modules, name, module)
        assert ask(pool, module.paid, [{"x": 0.0}]) == [CallResult("value", worth)]


def test_a_value_without_end_is_refused(pool):
    def endless() -> list[Any]:
        inside: list[Any] = []
        inside.append(inside)
        return inside

    assert "RecursionError" in one(pool, endless).error
    assert "ValueError: returned" in one(pool, lambda: "x" * (17 << 20)).error
    assert len(one(pool, lambda: "x" * (15 << 20)).value) == 15 << 20


# Faults


def hang() -> None:
    time.sleep(1000)


def hang_in_c() -> None:
    re.match(r"(a+)+$", "a" * 60 + "b")


def crash() -> None:
    ctypes.string_at(0)


def leave() -> None:
    os._exit(3)


def grab() -> None:
    hoard = []
    while True:
        hoard.append(bytearray(16 << 20))


def recurse(n: int = 0) -> int:
    return recurse(n + 1)


def stop() -> None:
    sys.exit(4)


def interrupt() -> None:
    raise KeyboardInterrupt


def break_off() -> None:
    raise ValueError("not today")


def give_up() -> None:
    raise TimeoutError("the judge did not answer")


def close_descriptors() -> None:
    os.closerange(3, 1000)


def scribble() -> None:
    for descriptor in range(3, 20):
        with contextlib.suppress(OSError):
            os.write(descriptor, b"rubbish" * 10)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def raise_unprintable() -> None:
    raise Unprintable


FAULTS = {
    "raise": (break_off, "failed", "ValueError: not today"),
    "time out by itself": (give_up, "timed out", "TimeoutError: the judge did not answer"),
    "unprintable": (raise_unprintable, "failed", "Unprintable"),
    "recursion": (recurse, "failed", "RecursionError"),
    "exit": (stop, "failed", "SystemExit: 4"),
    "interrupt": (interrupt, "failed", "KeyboardInterrupt"),
    "segfault": (crash, "failed", "the worker was killed by signal 11 (SIGSEGV)"),
    "os._exit": (leave, "failed", "the worker exited with code 3"),
    "memory": (grab, "failed", "used more than 0.2 GiB of memory"),
    "descriptors": (close_descriptors, "failed", "the call closed the worker's own pipe"),
    "scribble": (scribble, "failed", "something else than the reward's answer was written"),
    "sleep": (hang, "timed out", f"no answer after {SECONDS:g} s"),
    "regex": (hang_in_c, "timed out", f"no answer after {SECONDS:g} s"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told(pool, name):
    function, kind, error = FAULTS[name]
    answer = one(pool, function, timeout=SECONDS if name in ("sleep", "regex") else 20.0)
    assert (answer.kind, answer.value) == (kind, None) and error in answer.error
    assert len(answer.error) < 5000
    assert one(pool, double, x=1.0) == CallResult("value", 2.0)


def test_a_wrong_argument_is_told(pool):
    assert "unexpected keyword argument 'y'" in one(pool, double, y=1.0).error


@pytest.mark.slow
def test_a_thousand_with_every_fault_among_them(pool):
    faults = {37 + 33 * i: name for i, name in enumerate([*FAULTS, "print", "close 1", *FAULTS])}

    def score(i: int) -> float:
        name = faults.get(i)
        if name in FAULTS:
            FAULTS[name][0]()
        elif name == "close 1":
            os.close(1)
            sys.stdout.close()
            return math.sin(i)
        print("noise", i)
        return math.sin(i)

    answers = ask(pool, score, [{"i": i} for i in range(1000)], timeout=SECONDS)
    for i, answer in enumerate(answers):
        if (name := faults.get(i)) in FAULTS:
            _, kind, error = FAULTS[name]
            assert answer.kind == kind and error in answer.error, name
        else:
            assert answer == CallResult("value", math.sin(i))


def test_a_neighbour_s_leavings_are_not_held_against_a_call(pool):
    """The first call fills the worker and keeps it; those that follow are well and fail for it, until they are tried alone."""
    left: list[bytearray] = []

    def score(i: int) -> float:
        if i == 0:
            left.append(bytearray(int(0.8 * MEMORY)))
            return 0.0
        return float(len(bytearray(int(0.4 * MEMORY))) > i)

    answers = ask(pool, score, [{"i": i} for i in range(20)])
    assert [a.value for a in answers] == [0.0] + [1.0] * 19


def test_a_crash_after_the_call_is_not_held_against_the_next(pool):
    def score(i: int) -> float:
        if i == 3:
            threading.Timer(0.05, os._exit, (9,)).start()
        time.sleep(0.02)
        return float(i)

    answers = ask(pool, score, [{"i": i} for i in range(20)])
    assert [(a.kind, a.value) for a in answers] == [("value", float(i)) for i in range(20)]


def test_both_ends_of_a_fork_do_not_answer(pool):
    def score(i: int) -> float:
        if i % 7 == 0:
            os.fork()
        return float(i)

    assert [a.value for a in ask(pool, score, [{"i": i} for i in range(50)])] == [float(i) for i in range(50)]


def test_arguments_that_can_not_travel_fail_alone(pool):
    arguments = [{"x": 1.0}, {"x": threading.Lock()}, {"x": 3.0}]
    first, second, third = ask(pool, double, arguments)
    assert (first.value, third.value) == (2.0, 6.0)
    assert second.kind == "failed" and "the arguments can not be sent to a worker" in second.error
    assert one(pool, double, x=threading.Lock()).kind == "failed"


@pytest.mark.slow
def test_what_a_call_started_ends_with_it(pool, tmp_path):
    note = tmp_path / "pid"

    def score() -> None:
        note.write_text(str(subprocess.Popen(["sleep", "1000"]).pid))
        time.sleep(1000)

    assert one(pool, score, timeout=1.0).kind == "timed out"
    assert ends([int(note.read_text())])
