"""What a judge writes at each line, worked out by hand: the right line where an attempt errs, and its side work."""

from __future__ import annotations

import random

import pytest

from guerdon.core.task import Task
from guerdon.tasks import load
from guerdon.tasks.family import read_solution
from guerdon.tasks.judging.redoing import redone
from guerdon.tasks.judging.right_lines import made, mended_move, onward
from guerdon.tasks.judging.side_work import expression_moves, plain_side
from guerdon.tasks.roles import checked, marks, preferred, verdict
from guerdon.tasks.task_loading import family_names

pytestmark = pytest.mark.sampled(8, "name")


def posed(name: str, prompt: str):
    """A family and a problem of it in so many words."""
    family = load(name)
    problem = family.read_problem(prompt)
    assert problem is not None, prompt
    return family, Task(prompt, prompt, problem.answer, family.name, family.level, problem.meta)


CASES = {
    "a slip": ("chain:2", "chain 7 +5 *3 -4", "7+5=12\n12*3=35\n35-4=31\n= 31", "7+5=12 +\n12*3=36 -"),
    "a step too many": ("chain:1", "chain 7 +5 *3", "7+5=12\n12*3=36\n36+1=37\n= 37", "7+5=12 +\n12*3=36 +\n= 36 -"),
    "answered early": ("chain:1", "chain 7 +5 *3", "7+5=12\n= 12", "7+5=12 +\n12*3=36\n= 36 -"),
    "answered at once": ("chain:1", "chain 7 +5 *3", "= 36", "7+5=12\n12*3=36\n= 36 +"),
    "no answer": ("chain:1", "chain 7 +5 *3", "7+5=12", "7+5=12 +\n? -"),
    "countdown, elsewhere": (
        "countdown:3",
        "countdown 6 7 5 make 6",
        "6+5=11 left 7 11\n11-7=4\n= 6+5-7",
        "6+5=11 left 7 11 +\n11-7=4 +\n6 7 5 make 4 -",
    ),
    "countdown, false sum": (
        "countdown:3",
        "countdown 9 5 5 make 50",
        "9+5=14 left 5 14\n14*5=60\n= (9+5)*5",
        "9+5=14 left 5 14 +\n14*5=70 -",
    ),
    "countdown, number not there": (
        "countdown:3",
        "countdown 5 4 6 make 7",
        "8-5=3 left 4 3\n4+3=7\n= 4+8-5",
        "left 5 4 6 -",
    ),
    "countdown, brackets lost": (
        "countdown:3",
        "countdown 9 5 5 make 70",
        "9+5=14 left 5 14\n14*5=70\n= 9+5*5",
        "9+5=14 left 5 14 +\n14*5=70 +\n5*5=25\n9+25=34\n9 5 5 make 34 -",
    ),
    "countdown, searched": (
        "countdown:2",
        "countdown 4 3 9 make 10",
        "4+3=7 left 9 7\n9+7=16\n4-3=1 left 9 1\n9+1=10\n= 9+4-3",
        "4+3=7 left 9 7 +\n9+7=16 +\n4-3=1 left 9 1 +\n9+1=10 +\n9+4=13\n13-3=10\n4 3 9 make 10 +",
    ),
    "trace, another variable read": (
        "trace:3",
        "trace b=7; c=9; b+=c; c=b-c; b=c+b; print c",
        "b=7\nc=9\nb=9+7=16\nc=16-7=9\nb=9+16=25\n= 25",
        "b=7 +\nc=9 +\nb=7 c=9\nb=9+7=16 +\nb=16 c=9\nc=16-9=7 -",
    ),
    "trace, another variable printed": (
        "trace:2",
        "trace d=6; c=5; d+=c; print d",
        "d=6\nc=5\nd=6+5=11\n= 5",
        "d=6 +\nc=5 +\nd=6 c=5\nd=6+5=11 +\nd=11 c=5\n= 11 -",
    ),
    "modular": (
        "modular:6",
        "modular 13^8*9+5 mod 31",
        "^2: 13*13=169=29\n= 29",
        "13*13=130+39\n169=5*31+14\n^2: 13*13=169=14 -",
    ),
    "bases": (
        "bases:4",
        "bases 3020 from 5 to 8",
        "3*5+0=15\n15*5+2=77\n77*5+0=385\n385/8=47 r 1\n= 1",
        "3*5+0=15 +\n15*5=50+25\n15*5+2=77 +\n77*5=350+35\n77*5+0=385 +\n48*8=384\n385/8=48 r 1 -",
    ),
    "clock": (
        "clock:7",
        "clock wed 15:47: +3min, -34h, -6d, +16h, +80min, +10h",
        "+3min: wed 15:50\n-34h: tue 01:50\n= tue 01:50",
        "47+3=50\n+3min: wed 15:50 +\n34h=1d 10h\n15-10=5\n-34h: tue 05:50 -",
    ),
    "units": (
        "units:2",
        "units 2h 35min + 4h in min",
        "2h+4h=6h\n6h=360min\n360min+45min=405min\n= 405min",
        "2h 4h\n2h+4h=6h +\n6h\n6h=360min +\n35min 360min\n360min+35min=395min -",
    ),
    "equation": (
        "equation:6",
        "equation -3(x-7)-5=19",
        "-3x+21-5=19\n-3x+7=19\n-3x=12\nx=-4\n= -4",
        "-3*1=-3\n-3*-7=21\n-3x+21-5=19 +\n21-5=16\n-3x+16=19 -",
    ),
    "equation, another way": (  # two lines at once, so that the lines of the worked solution do not stand beside it
        "equation:6",
        "equation -3(x-7)-5=19",
        "-3x+16=19\n-3x=5\n= 5",
        "-3*1=-3\n-3*-7=21\n-3x+16=19 +\n19-16=3\n-3x=3 -",
    ),
    "equation, divided": ("equation:2", "equation 9x+12=48", "9x=36\nx=5\n= 5", "48-12=36\n9x=36 +\n4*9=36\nx=4 -"),
    "strings, counted": (
        "strings:3",
        "strings abcaf: rot 2, rev, count a",
        "rot 2: cafab\nrev: bafac\ncount a: 3\n= 3",
        "ab caf\nrot 2: cafab +\nrev: bafac +\na 1 a 2\ncount a: 2 -",
    ),
    "strings, deleted": (
        "strings:2",
        "strings caea: del a, rev",
        "del a: ca\n= ac",
        "c e\ndel a: ce -",
    ),
    "lists": (
        "lists:2",
        "lists 1 1 4 9: +2, odds",
        "+2: 3 3 6 11\nodds: 3 11\n= 3 11",
        "+2: 3 3 6 11 +\n3 y 3 y 6 n 11 y\nodds: 3 3 11 -",
    ),
    "lists, summed": (
        "lists:2",
        "lists 1 1 4 9: +2, sum",
        "+2: 3 3 6 11\nsum: 24\n= 24",
        "+2: 3 3 6 11 +\n3 6 12 23\nsum: 23 -",
    ),
    "lists, another order": (
        "lists:3",
        "lists 3 1 4 8: rev, +2, take 3",
        "+2: 5 3 6 10\nrev: 10 6 5 3\n= 10 6",
        "+2: 5 3 6 10 +\nrev: 10 6 3 5 -",
    ),
    "sorting": ("sorting:2", "sorting 5 2 9 1", "1: 5 2 9\n2: 5 5\n= 1 2 5 5", "1: 5 2 9 +\n2: 5 9 -"),
    "nonsense": ("chain:1", "chain 7 +5 *3", "nonsense", "7+5=12 -"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_judge_writes(case):
    name, prompt, attempt, lines = CASES[case]
    family, task = posed(name, prompt)
    assert checked(family, task, attempt) == lines
    assert verdict(family, task, attempt) == f"{lines}\n= {'no' if lines.endswith('-') else 'yes'}"


def test_two_attempts_are_gone_through_as_far_as_needed():
    family, task = posed("chain:2", "chain 7 +5 *3 -4")
    gold, early, late = family.solution(task), "7+5=13\n= 13", "7+5=12\n12*3=36\n36-4=33\n= 33"
    assert preferred(family, task, gold, early).endswith("36-4=32 +\n= 32 +\n= a")
    assert preferred(family, task, early, gold) == "7+5=12 -\nb\n7+5=12 +\n= b"
    assert preferred(family, task, late, early) == "7+5=12 +\n12*3=36 +\n36-4=32 -\nb\n7+5=12 -\n= a"
    assert preferred(family, task, late, "7+5=12\n12*3=35\n= 35").endswith("36-4=32 -\nb\n12*3=36 -\n= a")
    assert preferred(family, task, early, late) == "7+5=12 -\nb\n7+5=12 +\n= b"  # wrong later is better
    assert preferred(family, task, early, early) == "7+5=12 -\nb\n= a"  # alike


def test_sums_that_are_mended():
    _, task = posed("countdown:4", "countdown 17 12 3 make 32")
    assert mended_move(task, [], "17/3=5 left 12 5") == "17/3=5 r 2"
    assert mended_move(task, [], "17/0=5") == mended_move(task, [], "what") == "left 17 12 3"
    assert mended_move(task, ["17-12=5 left 3 5"], "5*3=16 left 16") == "5*3=15 left 15"
    assert mended_move(task, ["17-12=5 left 3 5", "5*3=15"], "15+3=18") == "left 17 12 3"  # a way is at its end


def test_what_an_expression_makes():
    _, task = posed("countdown:3", "countdown 5 4 6 make 7")
    assert made(task, "5+6-4") == "5 4 6 make 7"
    assert made(task, "4+8-5") == "5 4 8 make 7"
    assert made(task, "5*5") == "5 5 make 25"
    assert made(task, "5/4") == "5 4 make 5/4"
    assert made(task, "5+") == "5 make ?"
    assert expression_moves("2*(9-5)/4") == ["9-5=4", "2*4=8", "8/4=2"]
    assert expression_moves("3/0") == expression_moves("(3") == expression_moves("+".join("123456789")) == []


def test_sides_without_brackets():
    assert plain_side("12x-4+x") == [[1, 12, 0], [1, 0, -4], [1, 1, 0]]
    assert plain_side("-x") == [[1, -1, 0]] and plain_side("7") == [[1, 0, 7]]
    assert plain_side("2(x+1)") == plain_side("x/2") == plain_side("") == []


def test_no_way_on_where_none_is_known():
    family, task = posed("bases:4", "bases 3020 from 5 to 8")
    assert onward(family, task, ["3*125=375", "2*5=10"]) is None
    assert checked(family, task, "3*125=375\n2*5=11\n= 5").endswith("2*5=11 -")  # so the attempt's line stands


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", family_names())
def test_every_near_miss_is_seen_in_right_lines(name):
    """All the lines a judge marks and the work it goes on with are right, and the wrong line is not among them."""
    for level in range(1, 9):
        family = load(name, level=level)
        for index in range(3):
            task = family.get("train", index)
            for attempt in [family.solution(task), *(m.text for m in family.near_misses(task, random.Random(index)))]:
                seen = marks(family, task, attempt)
                steps, _ = read_solution(attempt)
                lines = redone(family, task, attempt, seen)
                marked = [line[:-2] for line in lines if line.endswith((" +", " -"))]
                assert "".join(line[-1] for line in lines if line.endswith((" +", " -"))) == seen
                assert marked[: len(seen) - 1] == steps[: len(seen) - 1]
                if seen.endswith("-") and len(seen) <= len(steps):
                    assert marked[-1] != steps[len(seen) - 1]
                    if name != "countdown" and not marked[-1].startswith("= "):
                        assert family.first_wrong(task, marked) is None
