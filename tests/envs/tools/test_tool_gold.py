"""How problems are solved with a calculator and an interpreter: by hand, and that calls show what they are said to show."""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any

import pytest
from scheduling import little_and_much

import guerdon as gd
from guerdon.core.task import Task
from guerdon.envs.tools.calculator_gold import BY_CALCULATOR, MISSES
from guerdon.envs.tools.program_gold import BY_PROGRAM, NOTHING
from guerdon.tasks import load

pytestmark = pytest.mark.sampled(16, "name")
LEVELS = range(1, 9)


def task_of(prompt: str, level: int) -> Task:
    name = prompt.partition(" ")[0]
    problem = load(name, level=level).read_problem(prompt)
    return Task(prompt, prompt, problem.answer, name, level, problem.meta)


@pytest.mark.parametrize(
    ("prompt", "level", "calls"),
    [
        ("equation x-8=8", 1, "8+8 16"),
        ("equation 9x+12=48", 2, "48-12 36|36/9 4"),
        ("equation 5(4x+2)-7x+10=-2(3x+7)+53", 8, "5*4-7+2*3 19|-2*7+53-5*2-10 19|19/19 1"),
        ("modular 7^3*4+3 mod 10", 3, "(7**3*4+3)%10 5"),
        ("modular 4*7+1 mod 9", 1, "(4*7+1)%9 2"),
        ("units 2h 35min in min", 1, "2*60+35 155"),
        ("bases 541 from 6 to 7", 4, "5*6**2+4*6+1 205|205%7 2|205//7%7 1|205//49%7 4"),
        ("bases 21 from 4 to 10", 1, "2*4+1 9"),
        ("clock sun: +7d", 1, "(6+7)%7 6"),
        ("clock 22:30: +5min", 1, "(22*60+30+5)%1440 1355|1355//60 22|1355%60 35"),
        (
            "clock fri 22:30: +2h, -50min, +3d",
            4,
            "(4*1440+22*60+30+2*60-50+3*1440)%10080 1420|1420//1440 0|1420%1440//60 23|1420%60 40",
        ),
    ],
)
def test_calculations_by_hand(prompt, level, calls):
    task = task_of(prompt, level)
    assert BY_CALCULATOR[task.family](task) == [tuple(call.split(" ")) for call in calls.split("|")]


@pytest.mark.parametrize(
    ("prompt", "level", "lines"),
    [
        ("chain 6 +7 -6 +8", 2, ["x=6; x+=7; x-=6; x+=8; x"]),
        ("lists 3 1 4 8: rev, +2, sum", 3, ["a=[3,1,4,8]; a=a[::-1]; a=[x+2 for x in a]; sum(a)"]),
        ("lists 3 1 4 8: rot 1, skip 1, *2", 3, ["a=[3,1,4,8]; a=a[1:]+a[:1]; a=a[1:]; a=[x*2 for x in a]; print(*a)"]),
        ("sorting down 5 2 9 1 50", 4, ["print(*sorted([5,2,9,1,50],reverse=True))"]),
        ("bases 21 from 4 to 10", 1, ['int("21",4)']),
        ("equation 3x+4=19", 2, ["[x for x in range(-20,21) if 3*x+4==19]"]),
        (
            "counting 10 to 60: divisible by 7, even digit sum, how many",
            3,
            ["sum(1 for n in range(10,61) if n%7==0 and sum(map(int,str(n)))%2==0)"],
        ),
        (
            "trace a=3; b=5; c=1; b=a+4; c-=a; if b>5: a+=b else a=c*2; for 2: b-=2; print b",
            7,
            ["a=3; b=5; c=1; b=a+4; c-=a; a=a+b if b>5 else c*2", "for i in range(2): b-=2", "b"],
        ),
    ],
)
def test_programs_by_hand(prompt, level, lines):
    task = task_of(prompt, level)
    assert [line for line, _ in BY_PROGRAM[task.family](task)] == lines


def test_a_search_widens_where_it_finds_nothing():
    """(9-7)*3 needs no division, 20 from 4 10 8 does."""
    first, only = BY_PROGRAM["countdown"](task_of("countdown 3 7 9 make 6", 3))
    assert first[1] == NOTHING and eval(eval(only[1])[0]) == 6
    _, without, with_division = BY_PROGRAM["countdown"](task_of("countdown 4 10 8 make 20", 4))
    assert without[1] == "[]" and '"+-*"' in without[0]
    assert eval(with_division[1])[0] in ("(10*8)/4", "(10/4)*8", "10*(8/4)", "8*(10/4)", "(8*10)/4", "(8/4)*10")


def test_some_miss_before_they_hit():
    source = load("calculator/countdown:5")
    counts = [len(source.get("train", i).meta["gold"]) - 2 for i in range(200)]
    assert set(counts) == set(range(MISSES + 1)) and min(map(counts.count, range(MISSES + 1))) > 20


def shown_by(line: str, names: dict[str, Any]) -> str:
    """What an interpreter shows of a line of our own, in this process."""
    tree, out = ast.parse(line), io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, "<line>", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "<line>", "eval"), names)
        if value is not None:
            print(repr(value))
    return out.getvalue().rstrip("\n") or NOTHING


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "name", [*(f"calculator/{name}" for name in ("chain", *BY_CALCULATOR)), *(f"python/{name}" for name in BY_PROGRAM)]
)
@little_and_much("problems", 20, 1000)
def test_calls_show_what_they_are_said_to_and_lead_to_the_answer(name, level, problems):
    source, with_calls = load(f"{name}:{level}"), 0
    for index in range(problems):
        task, names = source.get("train", index), {}
        *calls, answer = task.meta["gold"]
        for call in calls:
            (line,) = call["arguments"].values()
            shows = gd.envs.calculator(line) if call["name"] == "calculator" else shown_by(line, names)
            assert "\n" not in line and shows == call["shows"], (task.prompt, line)
        assert source.check(task, answer) == 1.0 and len(calls) < source.home.most, task.prompt
        with_calls += bool(calls)
    without = name == "python/countdown" and level > 4  # four numbers and more want more than a line
    assert with_calls == 0 if without else with_calls > 0.9 * problems


# --- turns ------------------------------------------------------------------------------------------------------------


def in_sprigs_format(name: str) -> Any:
    source = load(name)
    return gd.envs.with_tools(source.source, gd.envs.tool_turns(source.home.tools, most=16, format="sprig"))


def turns_as_played(source: Any, index: int) -> list[tuple[str, str]]:
    episode = gd.demonstration(source, index, split="train")
    assert not episode.failed and episode.info["answered"] and episode.info["errors"] == {}
    return [(segment.view, segment.text) for segment in episode.segments]


@pytest.mark.parametrize(
    "name", ["calculator/countdown:4", "calculator/clock:6", "python/trace:8", "python/countdown:4"]
)
def test_remembered_turns_are_those_that_are_played(name):
    source = in_sprigs_format(name)
    for index in range(3):
        assert gd.gold_turns(source, source.get("train", index)) == turns_as_played(source, index)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("family", BY_PROGRAM)
def test_the_sandbox_shows_what_programs_are_said_to(family, level):
    source = in_sprigs_format(f"python/{family}:{level}")
    for index in range(5):
        assert gd.gold_turns(source, source.get("train", index)) == turns_as_played(source, index)


def test_calls_without_a_known_result_are_run():
    @gd.tool
    def double(word: str) -> str:
        """A word twice."""
        return word + word

    gold = [{"name": "double", "arguments": {"word": "4"}}, "= 44"]
    rows = gd.tasks.rows([{"question": "4 twice?", "answer": "= 44"}] * 2, held_out=0.5, skip_bad=True)
    source = gd.envs.with_tools(rows, gd.envs.tool_turns([double], format="sprig"))
    task = source.get("train", 0)
    task.meta["gold"] = gold
    assert gd.gold_turns(source, task) == [("double\n4 twice?", "call 4"), ("44", "= 44")]
