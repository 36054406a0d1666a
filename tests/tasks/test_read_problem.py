"""Reading a prompt back into its problem: what a family made comes back the same, anything else is refused, nothing raises."""

from __future__ import annotations

import json
import random

import pytest
from families import every
from hypothesis import given
from hypothesis import strategies as st
from scheduling import little_and_much

from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.tasks import load
from guerdon.tasks.contract import check_task
from guerdon.tasks.families.chained_arithmetic import chain
from guerdon.tasks.family import Family, Problem
from guerdon.tasks.task_loading import family_names

pytestmark = pytest.mark.sampled(8, "name")
NAMES = family_names()
LEVELS = range(1, 9)
# levels that have problems in common: the same prompt may be of either; all other levels differ in what one can see
SHARED = {
    "countdown": [{2, 3, 4}, {5, 6}],  # as many numbers, other signs and sizes
    "equation": [{2, 3}, {4, 5}],  # the higher level adds negative numbers
    "sorting": [{3, 4}],  # the higher level has larger numbers and both directions
    "bases": [set(LEVELS)],  # the ranges of numbers overlap
    "counting": [{1, 2}, {3, 4, 5}, {6, 7}],  # as many conditions, larger numbers
    "modular": [{2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}],  # neighbours have a power in common
}


def as_task(family: Family, problem: Problem) -> Task:
    return Task(problem.prompt, problem.prompt, problem.answer, family.name, family.level, problem.meta)


@pytest.mark.parametrize("name", NAMES)
@little_and_much("problems", 12, 100)
def test_every_problem_comes_back(name, problems):
    for family, task in every(name, problems):
        found = family.read_problem(task.prompt)
        assert found is not None and found.prompt == task.prompt
        assert family.check(as_task(family, found), family.solution(as_task(family, found))) == 1.0
        if name == "countdown":
            assert {k: found.meta[k] for k in ("numbers", "target")} == {k: task.meta[k] for k in ("numbers", "target")}
            assert family.right(task, found.answer) and family.right(as_task(family, found), task.answer)
        else:
            assert (found.answer, found.meta) == (task.answer, task.meta)
            assert json.dumps(found.meta) == json.dumps(task.meta)  # tables in the same order too


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", NAMES)
@little_and_much("problems", 20, 100)
def test_a_problem_belongs_to_its_level(name, problems):
    families = {level: load(name, level=level) for level in LEVELS}
    both = 0
    for family, task in every(name, problems):
        for level in set(LEVELS) - {family.level}:
            accepted = families[level].read_problem(task.prompt) is not None
            both += accepted
            allowed = any({family.level, level} <= group for group in SHARED.get(name, []))
            assert allowed or not accepted, (family.level, level, task.prompt)
    assert (both > 0) == (name in SHARED)


@pytest.mark.parametrize("name", NAMES)
def test_no_family_reads_the_prompt_of_another(name):
    for level in LEVELS:
        family = load(name, level=level)
        for other in NAMES:
            if other != name:
                prompt = load(other, level=level).get("train", 0).prompt
                assert family.read_problem(prompt) is None
                assert family.read_problem(name + prompt.removeprefix(other)) is None


def test_countdown_reads_exactly_the_targets_one_can_reach():
    # 5+3-7, 7+3-5, 7+5-3, 7+5+3
    reached = [n for n in range(110) if load("countdown:2").read_problem(f"countdown 3 7 5 make {n}")]
    assert reached == [1, 5, 9, 15]
    reached = [n for n in range(110) if load("countdown:3").read_problem(f"countdown 1 1 2 make {n}")]
    assert reached == [2, 4]  # 2+1-1 and (1+1)*2; on the way nothing vanishes (1-1) or stays as it is (2*1)
    assert load("countdown:8").read_problem("countdown 1 1 1 1 1 1 make 99") is None


# --- by hand ------------------------------------------------------------------------------------------------------

# family and level, prompts of that level with their answers, texts that are none
CASES = {
    "chain:2": (
        {"chain 6 +7 -6 +8": "15", "chain 9 *5 *2 -9": "81"},
        "chain 6 +7 -6|chain 06 +7 -6 +8|chain 6 +7 -6 +08|chain 6 +7 -6 *6|chain 6 +7 -6 *1|chain 6 +10 -6 +8|"
        "chain 0 +7 -6 +8|chain 6  +7 -6 +8|chain 6 +7 -6 +8\n|Chain 6 +7 -6 +8|chain ٦ +7 -6 +8|chain 6 /2 +1 +1|"
        "chain 9 *5 *2 *2| chain 6 +7 -6 +8|chain 6 +7 -6 +8 |chain 6 +7 -6 8|chain -6 +7 -6 +8",
    ),
    "addition:2": (
        {"addition 482+93": "575", "addition 480-480": "0", "addition 100+999": "1099", "addition 805-9": "796"},
        "addition 48+93|addition 93+482|addition 482-483|addition 482+0|addition 482*93|addition 482 + 93|"
        "addition 0482+93|addition 482+93+1|addition 482+1000|addition 482+093|addition 482|addition 482-|addition ٤82+93",
    ),
    "boolean:2": (
        {"boolean t and not (f or t) xor t": "t", "boolean not (t or f or not t or f)": "f"},
        "boolean t and (f and t) xor t|boolean (t) and f or t xor t|boolean not not t and f or t xor t|boolean t and f or t|"
        "boolean t and f t or|boolean t AND f or t xor t|boolean t and  f or t xor t|boolean t and f or (t xor t|"
        "boolean true and f or t xor t|boolean t and f or t xor t)|boolean t and f or t xor|boolean tandf or t xor t|boolean",
    ),
    "boolean:4": (  # six values: an operator has at least two on either side
        {"boolean (t or f) and (f or t or f or t)": "t"},
        "boolean t and (f or t or f or t or t)|boolean (f or t or f or t or t) xor t",
    ),
    "countdown:2": (
        {"countdown 3 7 5 make 9": "7+5-3"},
        "countdown 3 7 5 make 2|countdown 3 7 5 make 105|countdown 3 7 make 10|countdown 3 7 10 make 20|"
        "countdown 3 7 5 make 0|countdown 3 7 5 make 09|countdown 3 7 5  make 9|countdown 0 7 5 make 12|"
        "countdown 3 7 5 make -9|countdown 3 7 5 make 9 9|countdown 3 7 5 9|countdown 03 7 5 make 9|countdown 3 7 5 make",
    ),
    "equation:1": (
        {"equation x+4=19": "15", "equation x-4=0": "4"},
        "equation x+4=29|equation x-4=-1|equation 4+x=19|equation x=19|equation x+0=19|equation x+04=19|equation 1x+4=19|"
        "equation 2x+4=18|equation x+4=x+19|equation x+4=19=19|equation x+4=|equation x+21=22|equation +x+4=19|"
        "equation x+4=019|equation x+4=+19|equation x+4=10+9|equation x +4=19|equation y+4=19|equation x+4=x|equation x+4",
    ),
    "equation:2": ({"equation 3x+4=19": "5"}, "equation 3x+4=18|equation 3x+4=-19|equation x+4=5|equation 12x+4=16"),
    "equation:4": (
        {"equation 4x+4=3x+9": "5"},
        "equation 3x+4=3x+4|equation 3x+4=3x+9|equation 3x+9=4x+4|equation 4x+4=9",
    ),
    "equation:8": (
        {"equation 3(x+4)-2x+7=2(3x-1)+16": "1"},
        "equation 3(x+4)-2x+7=2(3x-1)+17|equation (x+4)-2x+7=2(3x-1)+16|equation 3(x+4)-2x+7=2(3x-1)+10+6|"
        "equation 3(x+4)-2x+7=2(-1+3x)+16|equation 3(x+4)+7-2x=2(3x-1)+16|equation 3(1x+4)-2x+7=2(3x-1)+16",
    ),
    "grid:4": (
        {"grid 3 1 4 / 1 # 9 / 2 6 5": "17"},
        "grid 3 1 4 / 1 2 9 / 2 6 5|grid 3 # 4 / 1 # 9 / 2 6 5|grid # 1 4 / 1 2 9 / 2 6 5|grid 3 1 4 / 1 2 9 / 2 6 #|"
        "grid 3 1 4 / 1 # 9|grid 3 1 4 / 1 # 0 / 2 6 5|grid 3 1 4/1 # 9/2 6 5|grid 3 1 4 / 1 # 9 / 2 6 15|"
        "grid 3 1 4 / 1 # 9 / 2 6 5 /|grid 3 1 4 / 1 # / 9 2 6 5",
    ),
    "grid:6": ({}, "grid 1 # 1 1 / # 1 1 1 / 1 1 1 1 / 1 1 1 1|grid 1 1 1 1 / 1 1 1 1 / 1 1 1 # / 1 1 # 1"),
    "lookup:1": (
        {"lookup a:d c:f d:c f:a ; a 1 hop": "d"},
        "lookup a:d c:f d:c f:a ; a 2 hops|lookup a:d c:f d:c f:a ; a 1 hops|lookup a:a c:f d:c f:a ; c 1 hop|"
        "lookup a:d a:f d:c f:a ; a 1 hop|lookup a:d c:z d:c f:a ; a 1 hop|lookup a:d c:f d:c f:a ; b 1 hop|"
        "lookup 10:13 12:15 13:12 15:10 ; 10 1 hop|lookup a:d c:f d:c ; a 1 hop|lookup a:d c:f d:c f:a; a 1 hop",
    ),
    "lookup:2": ({"lookup a:b b:c c:a d:a e:a ; a 2 hops": "c"}, "lookup a:b b:a c:a d:a e:a ; a 2 hops"),
    "trace:2": (
        {
            "trace a=3; b=5; a+=2; print a": "5",
            "trace d=3; b=5; d=b-d; print d": "2",
            "trace d=3; b=5; d=b*3; print d": "15",
        },
        "trace a=3; b=5; a+=2; print b|trace a=3; a=5; a+=2; print a|trace a=3; b=a; a+=2; print a|"
        "trace a=3; b=0; a+=2; print a|"
        "trace a=3; b=5; a+=a; print a|trace a=3; b=5; a+=10; print a|trace a=3; b=5; a*=2; print a|"
        "trace a=3; b=5; a=b; print a|"
        "trace a=3; b=5; a=b*4; print a|trace a=3; b=5; a=b-b; print a|trace a=3; b=5; a=a+b; print a|"
        "trace a=3; b=5; a=7; print a|"
        "trace a=3; b=5; c=a+b; print c|trace e=3; b=5; e+=2; print e|trace a=3;b=5; a+=2; print a|trace a=3; b=5; a+=2|"
        "trace a=3; b=5; a+=02; print a|trace a=3; b=5; a+=2; print|trace print a|trace a=3; print a|trace ; ; ; print ",
    ),
    "trace:3": ({}, "trace a=9; b=9; a=b*3; b=a*3; a=b*3; print a"),  # 243 is too large
    "trace:7": (
        {"trace a=3; b=5; c=1; b=a+4; c-=a; if b>5: a+=b else a=c*2; for 2: b-=2; print b": "3"},
        "trace a=3; b=5; c=1; b=a+4; c-=a; if b>5: a+=b; for 2: b-=2; print b|"
        "trace a=3; b=5; c=1; b=a+4; c-=a; if b>13: a+=b else a=c*2; for 2: b-=2; print b|"
        "trace a=3; b=5; c=1; b=a+4; c-=a; if b>5: a+=b else a=c*2; for 5: b-=2; print b|"
        "trace a=3; b=5; c=1; b=a+4; c-=a; if b>5: a+=b else a=c*2; for 2: b=a+2; print b|"
        "trace a=3; b=5; c=1; b=a+4; c-=a; if d>5: a+=b else a=c*2; for 2: b-=2; print b|"
        "trace a=3; b=5; c=1; b=a+4; c-=a; if b>5: a+=b else a=c*2; for 2: b-=2, c-=1; print b|"
        "trace a=3; b=5; c=1; b=a+4; for 2: c-=a; if b>5: a+=b else a=c*2; for 2: b-=2; print b",
    ),
    "sorting:4": (
        {"sorting down 5 2 9 1 50": "50 9 5 2 1", "sorting 5 2 9 9 0": "0 2 5 9 9"},
        "sorting 5 2 9 1|sorting up 5 2 9 1 50|sorting 5 2 9 1 51|sorting 05 2 9 1 3|sorting down down 5 2 9 1 3|"
        "sorting 5 2 9 1 -3|sorting 5, 2, 9, 1, 3",
    ),
    "sorting:1": ({"sorting 3 0 1": "0 1 3"}, "sorting 3 3 1|sorting down 3 2 1|sorting 3 10 1"),
    "lists:3": (
        {"lists 3 1 4 8: rev, +2, sum": "24", "lists 3 1 4 8: rot 1, skip 1, *2": "8 16 6"},
        "lists 3 1 4 8: sum, rev, +2|lists 3 1 4 8: rev, rev, sum|lists 3 1 4 8: rev, +0, sum|lists 3 1 4 8: rev, +10, sum|"
        "lists 3 1 4 8: rev, take 4, sum|lists 3 1 4 8: rev,+2, sum|lists 0 1 4 8: rev, +2, sum|"
        "lists 3 1 4 8: take 1, rev, sum|"
        "lists 3 1 4 10: rev, +2, sum|lists 3 1 4: rev, +2, sum|lists 3 1 4 8: rev, +2|lists 3 1 4 8: rev, *4, sum|"
        "lists 3 1 4 8 rev, +2, sum|lists 3 1 4 8: rev, odds, sum, |lists : , , |lists 3 1 4 8: rev, take, sum",
    ),
    "strings:3": (
        {"strings abcaf: rev, swap a b, count a": "1", "strings abcaf: del a, rot 2, dbl b": "fbbc"},
        "strings abcaf: rev, swap a b, count e|strings abcag: rev, swap a b, len|strings abcaf: rev, rot 4, len|"
        "strings abcaf: rev, swap a a, len|strings abcaf: rev, rev, len|strings abcaf: len, rev, rot 1|"
        "strings abcaf: rev, del e, len|strings aaaab: rev, del a, len|strings abca: rev, rot 1, len|strings abcaf: rev, , len",
    ),
    "units:1": (
        {"units 2h 35min in min": "155min", "units 2m 99cm in cm": "299cm"},
        "units 35min 2h in min|units 2h 35min in s|units 2h 60min in min|units 24h 5min in min|units 2h + 35min in min|"
        "units 2h 35cm in cm|units 2h in min|units 0h 5min in min|units 02h 5min in min|units 2m 5min in min|"
        "units 2h 3h in min|units 2h 35min in h|units 2h 35min in|units 35min 35min in min|units 2h 35min in parsecs",
    ),
    "bases:1": (
        {"bases 21 from 4 to 10": "9", "bases 30 from 10 to 6": "50"},
        "bases 24 from 4 to 10|bases 21 from 4 to 4|bases 21 from 4 to 5|bases 021 from 4 to 10|bases 21 from 1 to 10|"
        "bases 4 from 10 to 3|bases 31 from 10 to 3|bases 21 from 4 to 11|bases 17 from 10 to 2|bases 7 from 10 to 8",
    ),
    "modular:3": (
        {"modular 7^3*4+3 mod 10": "5"},  # 343 is 3, 12 is 2, and 3 more
        "modular 7^5*4+3 mod 10|modular 5^3*4+3 mod 10|modular 11^3*4+3 mod 10|modular 7^3*1+3 mod 10|"
        "modular 7^3*4+10 mod 10|modular 7^3*4+0 mod 10|modular 7*4+3 mod 10|modular 7^3*4+3 mod 16|modular 7^1*4+3 mod 10|"
        "modular 7^3*4 + 3 mod 10|modular 1^3*4+3 mod 10|modular 7^03*4+3 mod 10|modular 7^3*4+3 mod 0|modular 7^3*4+3",
    ),
    "clock:4": (
        {"clock fri 22:30: +2h, -50min, +3d": "mon 23:40"},
        "clock 22:30: +2h, -50min, +3d|clock fri 24:00: +2h, -50min, +3d|clock fri 22:60: +2h, -50min, +3d|"
        "clock fri 22:30: +2w, -50min, +3d|clock fri 22:30: +21h, -50min, +3d|clock fri 22:30: +0h, -50min, +3d|"
        "clock fri 22:30: +2h, -60min, +3d|clock fri 22:30: +02h, -50min, +3d|clock Fri 22:30: +2h, -50min, +3d|"
        "clock fri 2:30: +2h, -50min, +3d|clock fri 22:30: +2h, -50min|clock fri 22:30: 2h, -50min, +3d|clock fri",
    ),
    "counting:1": (
        {"counting 10 to 20: prime, sum": "60", "counting 10 to 16: divisible by 3, how many": "2"},
        "counting 20 to 10: prime, sum|counting 10 to 51: prime, sum|counting 10 to 20: prime|counting 10 to 20: sum|"
        "counting 10 to 20: prime, mean|counting 10 to 20: sum, prime|counting 10 to 20: divisible by 2, sum|"
        "counting 10 to 20: odd, sum|counting 14 to 17: prime, sum|counting 1 to 50: prime, sum|counting 010 to 20: prime, sum|"
        "counting 10 to 20: prime, ends in 3, sum|counting 10-20: prime, sum|counting 10 to 20: Prime, sum|"
        "counting 10 to 20: prime,sum|counting 0 to 20: square, sum|counting 11 to 13: not divisible by 10, sum",
    ),
    "counting:3": (
        {"counting 10 to 60: divisible by 7, even digit sum, how many": "3"},  # 28 35 42
        "counting 10 to 60: divisible by 7, divisible by 5, how many|counting 10 to 60: prime, not divisible by 4, sum|"
        "counting 10 to 60: even digit sum, digit sum 7, how many|counting 10 to 60: even digit sum, divisible by 7, how many",
    ),
    "clock:1": (
        {"clock 22:30: +5min": "22:35", "clock sun: +7d": "sun"},
        "clock 22:31: +5min|clock 22:30: +6min|clock 22:30: +1d|clock fri: +5min|clock fri: +8d|clock fri 22:30: +1h",
    ),
}


def test_every_family_has_cases():
    assert {case.partition(":")[0] for case in CASES} == set(NAMES)


@pytest.mark.parametrize("case", CASES)
def test_by_hand(case):
    family, (problems, others) = load(case), CASES[case]
    for prompt, answer in problems.items():
        found = family.read_problem(prompt)
        assert found is not None, prompt
        assert found.prompt == prompt
        assert family.right(as_task(family, found), answer), (prompt, found.answer)
    for text in others.split("|"):
        assert family.read_problem(text) is None, text


# --- any text -----------------------------------------------------------------------------------------------------

ENDLESS = [
    "9" * 5000,
    "(" * 5000,
    "not " * 5000 + "t",
    "a:b " * 5000,
    "1 " * 5000,
    "+1" * 5000,
    "x" * 5000,
    "1+" * 5000 + "x",
]
SCRAPS = st.sampled_from(
    [*"0123456789+-*/^()=:;,<>#xabcdtf \n", "not ", " and ", "make ", "²", "٣", " / ", "; ", ", ", "for 2: "]
)
LOADED = {name: [load(name, level=level) for level in LEVELS] for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_endless_text_is_refused_at_once(name):
    for family in LOADED[name]:
        for text in ENDLESS:
            assert family.read_problem(text) is None and family.read_problem(f"{name} {text}") is None
            assert family.read_problem(f"{family.get('train', 0).prompt}{text}") is None


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text() | st.lists(SCRAPS, max_size=30).map("".join), level=st.sampled_from(LEVELS))
def test_no_text_makes_reading_fail(name, text, level):
    family = LOADED[name][level - 1]
    assert family.read_problem(text) is None
    found = family.read_problem(f"{name} {text}")
    assert found is None or found.prompt == f"{name} {text}"


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), level=st.sampled_from(LEVELS), index=st.integers(0, 200))
def test_a_changed_prompt_is_no_problem_or_a_sound_one(name, data, level, index):
    family = LOADED[name][level - 1]
    prompt = family.get("train", index).prompt
    start = data.draw(st.integers(0, len(prompt)))
    end = data.draw(st.integers(start, min(len(prompt), start + 3)))
    text = prompt[:start] + data.draw(SCRAPS | st.just("")) + prompt[end:]
    found = family.read_problem(text)
    if found is not None:
        task = as_task(family, found)
        assert found.prompt == text and json.loads(json.dumps(found.meta)) == found.meta
        assert family.check(task, family.solution(task)) == 1.0 and family.first_wrong(task, family.steps(task)) is None
        assert len({miss.kind for miss in family.near_misses(task, random.Random(0))}) >= 2


# --- the contract -------------------------------------------------------------------------------------------------


class forgetful(chain):
    def read_problem(self, prompt):
        return None


class generous(chain):
    def read_problem(self, prompt):
        return super().read_problem(prompt) or super().read_problem("chain 3 +4 -2")


class mistaken(chain):
    def read_problem(self, prompt):
        found = super().read_problem(prompt)
        return found and Problem(found.prompt, found.answer, {**found.meta, "note": "made up"})


class wrong(chain):
    def read_problem(self, prompt):
        found = super().read_problem(prompt)
        return found and Problem(found.prompt, found.answer + "0", found.meta)


@pytest.mark.parametrize(
    ("family", "says"),
    [
        (forgetful, "does not know its own prompt"),
        (generous, "is read as a problem"),
        (mistaken, "reads as another problem"),
        (wrong, "reads as another problem"),
    ],
)
def test_the_contract_asks_for_reading(family, says):
    with pytest.raises(UserError, match=says):
        check_task(family(level=1), problems=2)


def test_a_family_that_cannot_read_is_none():
    class silent(Family):
        level = 1
        make = steps = first_wrong = blunders = chain.make

    with pytest.raises(TypeError, match="read_problem"):
        silent()
