"""Seven generated families: cases one can check by hand, and the truth found another way (brute force, Python itself)."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import pytest
from families import by_hand, every

from guerdon.tasks import load
from guerdon.tasks.families.arithmetic import linear

# --- arithmetic ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3x+4", (3, 4)),
        ("-x", (-1, 0)),
        ("2(x-1)-(3-x)/2", (Fraction(5, 2), Fraction(-7, 2))),
        ("x*2/4", (Fraction(1, 2), 0)),
        (" 3 x + 4 ", (3, 4)),
        ("10--4", (0, 14)),
        ("8/2/2", (0, 2)),
        ("8-2-2", (0, 4)),
    ],
)
def test_linear_reads(text, value):
    assert linear(text, "x") == value


@pytest.mark.parametrize(
    "text", ["", "3 4", "x(x)", "xx", "1/x", "1/(2-2)", "2(", ")", "3y", "2**3", "1+", "1.5", "x3"]
)
def test_linear_refuses(text):
    assert linear(text, "x") is None


def test_without_a_letter_nothing_is_multiplied_unsaid():
    assert linear("2(3)") is None and linear("3x") is None and linear("2*(3)") == (0, 6)


# --- countdown ----------------------------------------------------------------------------------------------------

MOVES = [[25, "-", 7, 18], [18, "*", 3, 54]]
COUNTDOWN = by_hand("countdown", "3 7 25 make 54", "(25-7)*3", numbers=[3, 7, 25], target=54, moves=MOVES)


def test_countdown_by_hand():
    family = load("countdown")
    assert family.solution(COUNTDOWN) == "25-7=18 left 3 18\n18*3=54\n= (25-7)*3"
    for steps in (["25-7=18"], ["7+3=10 left 25 10", "10+25=35"], ["25*3=75 left 75 7"], ["7-25=-18", "3*-18=-54"]):
        assert family.first_wrong(COUNTDOWN, steps) is None, steps
    for step in (
        "25-7=17",
        "25-8=17",
        "25/7=3",
        "25+25=50",
        "25-7=18 left 3 7",
        "25-7=18 left 3",
        "3/0=0",
        "25-7 = 18",
    ):
        assert family.first_wrong(COUNTDOWN, [step]) == 0, step
    assert family.first_wrong(COUNTDOWN, ["25-7=18", "18*7=126"]) == 1
    assert family.first_wrong(COUNTDOWN, ["25-7=18", "18*3=54", "54*1=54"]) == 2


def test_countdown_takes_any_expression_that_does_it():
    family = load("countdown")
    for answer in ("(25-7)*3", "3*(25-7)", "3 * (25 - 7)", "-3*(7-25)"):
        assert family.right(COUNTDOWN, answer), answer
    for answer in (
        "54",
        "25*3-7*3",
        "25*3-21",
        "(25-7)3",
        "25-7*3",
        "(25-7)*3*1",
        "(25-7)*3+0",
        "(25-7)*03+0/0",
        "",
        "27+27",
    ):
        assert not family.right(COUNTDOWN, answer), answer


def reachable(numbers: tuple[Fraction, ...]) -> set[Fraction]:
    """Everything that these numbers make, each used once: by brute force."""
    if len(numbers) == 1:
        return {numbers[0]}
    found = set()
    for size in range(1, len(numbers)):
        for chosen in itertools.combinations(range(len(numbers)), size):
            rest = tuple(n for i, n in enumerate(numbers) if i not in chosen)
            for a in reachable(tuple(numbers[i] for i in chosen)):
                for b in reachable(rest):
                    found |= {a + b, a - b, a * b} | ({a / b} if b else set())
    return found


def test_countdown_agrees_with_brute_force():
    for level in range(1, 7):
        family = load("countdown", level=level)
        for index in range(4):
            found = family.get("test", index)
            numbers = tuple(map(Fraction, found.meta["numbers"]))
            assert Fraction(found.meta["target"]) in reachable(numbers)
            # python's own arithmetic on the gold expression, which only digits and signs make up
            assert eval(found.answer) == found.meta["target"]
    family, sides = load("countdown", level=3), ("{}{}{}{}{}", "({}{}{}){}{}", "{}{}({}{}{})")
    for index in range(20):
        found = family.get("test", index)
        for order in itertools.permutations(found.meta["numbers"]):
            for one, two, form in itertools.product("+-*", "+-*", sides):
                text = form.format(order[0], one, order[1], two, order[2])
                assert family.right(found, text) == (eval(text) == found.meta["target"]), text


# --- equation -----------------------------------------------------------------------------------------------------

SIDES = {"left": [[3, 1, 4], [1, 0, -2]], "right": [[1, 2, 0], [1, 0, 7]]}
EQUATION = by_hand("equation", "3(x+4)-2=2x+7", "-3", **SIDES)


def test_equation_by_hand():
    family = load("equation")
    assert family.solution(EQUATION) == "3x+12-2=2x+7\n3x+10=2x+7\nx+10=7\nx=-3\n= -3"
    for steps in (
        ["x=-3"],
        ["3(x+4)=2x+9", "x+12=9", "x=-3"],
        ["3x+10-2x=7", "x=7-10", "x=-3"],
        ["0=x+3"],
        ["x+4=(2x+9)/3"],
        ["3x + 10 = 2x + 7"],
    ):
        assert family.first_wrong(EQUATION, steps) is None, steps
    wrong = {
        "3x+4-2=2x+7": 0,
        "5x+10=7": 0,
        "x=3": 0,
        "0=0": 0,
        "x=x": 0,
        "x=-3=-3": 0,
        "xx=9": 0,
        "-3": 0,
        "x=-3 ok": 0,
    }
    for step, at in wrong.items():
        assert family.first_wrong(EQUATION, [step]) == at, step
    assert family.first_wrong(EQUATION, ["3x+12-2=2x+7", "3x+10=2x+7", "x+10=-7", "x=-17"]) == 2
    assert not any(family.right(EQUATION, answer) for answer in ("3", "x=-3", "-03", "--3", "-3.0", ""))


def test_equation_agrees_with_python():
    for _, found in every("equation", 60):
        text = re.sub(r"([0-9])([x(])", r"\1*\2", found.prompt.removeprefix("equation "))
        left, right = text.split("=")
        x = int(found.answer)
        assert eval(left, {"x": x}) == eval(right, {"x": x}), found.prompt
        assert eval(left, {"x": x + 1}) != eval(right, {"x": x + 1}), found.prompt


# --- boolean ------------------------------------------------------------------------------------------------------

BOOLEAN = by_hand("boolean", "t and not (f or t) xor t", "t", expression="t and not (f or t) xor t")


def test_boolean_by_hand():
    family = load("boolean")
    assert family.solution(BOOLEAN) == "t and not t xor t\nt and f xor t\nf xor t\nt\n= t"
    assert family.first_wrong(BOOLEAN, ["t and f xor t", "t"]) is None
    assert family.first_wrong(BOOLEAN, ["(t and (not (t))) xor t"]) is None
    planted = [
        "t and not f xor t",
        "t and t xor t",
        "t xor t",
        "f",
        "t or t",
        "t and not t or t",
        "t and not t xor t or f",
    ]
    for step in planted:
        assert family.first_wrong(BOOLEAN, [step]) == 0, step
    assert family.first_wrong(BOOLEAN, ["t and f xor t", "t and t"]) == 1
    for step in ("true", "T", "t t", "tandt", "t and", "not", "(t", "t)", "t and not t xor t;"):
        assert family.first_wrong(BOOLEAN, [step]) == 0, step


def test_boolean_sub_expressions_in_any_order():
    text = "(t or f) and (f or f) and not (t xor t)"
    family, found = load("boolean"), by_hand("boolean", text, "f", expression=text)
    parts = [("(t or f)", "t"), ("(f or f)", "f"), ("(t xor t)", "f")]
    for order in itertools.permutations(parts):
        now, steps = text, []
        for old, new in order:
            now = now.replace(old, new)
            steps.append(now)
        assert family.first_wrong(found, steps) is None, steps
    assert family.first_wrong(found, ["t and f and not (t xor t)", "f and not (t xor t)", "f and t", "f"]) is None
    assert family.first_wrong(found, ["t and f and not (t xor t)", "t and not (t xor t)"]) == 1


def test_boolean_agrees_with_python():
    for _, found in every("boolean", 60):
        text = found.meta["expression"]
        for word, sign in (("and", "&"), ("xor", "^"), ("or", "|"), ("not ", "~")):  # python ranks these four as we do
            text = text.replace(word, sign)
        assert eval(text, {"t": -1, "f": 0}) == {"t": -1, "f": 0}[found.answer], found.prompt


# --- grid ---------------------------------------------------------------------------------------------------------

GRID = by_hand("grid", "3 1 4 / 1 # 9 / 2 6 5", "17", cells=[[3, 1, 4], [1, None, 9], [2, 6, 5]])


def test_grid_by_hand():
    family = load("grid")
    assert family.solution(GRID) == "row 1: 3 4 8\nrow 2: 4 # 17\nrow 3: 6 12 17\n= 17"
    assert family.first_wrong(GRID, ["col 1: 3 4 6", "col 2: 4 # 12", "col 3: 8 17 17"]) is None
    assert family.first_wrong(GRID, ["row 1: 3 4 8", "col 1: 3 4 6", "row 3: 6 12 17"]) is None
    for step in (
        "row 2: 4 # 18",
        "row 2: 4 13 17",
        "row 2: 4 17",
        "row 4: 6 12 17",
        "col 2: 4 12",
        "row 2 4 # 17",
        "row 1: 3 4 8 ",
    ):
        assert family.first_wrong(GRID, ["row 1: 3 4 8", step]) == 1, step


def test_grid_agrees_with_walking_every_way():
    for _, found in every("grid", 15):
        cells = found.meta["cells"]
        down, right = len(cells) - 1, len(cells[0]) - 1
        sums = []
        for downs in itertools.combinations(range(down + right), down):
            i = j = 0
            way = [cells[0][0]]
            for move in range(down + right):
                i, j = (i + 1, j) if move in downs else (i, j + 1)
                way.append(cells[i][j])
            if None not in way:
                sums.append(sum(way))
        assert found.answer == str(min(sums)), found.prompt


# --- lookup -------------------------------------------------------------------------------------------------------

TABLE = {"a": "d", "c": "f", "d": "c", "f": "a"}
LOOKUP = by_hand("lookup", "a:d c:f d:c f:a ; a 2 hops", "c", table=TABLE, start="a", hops=2)


def test_lookup_by_hand():
    family = load("lookup")
    assert family.solution(LOOKUP) == "a:d\nd:c\n= c"
    planted = {
        ("a:c", "c:f"): 0,
        ("a:d", "d:a"): 1,
        ("a:d", "d:c", "c:f"): 2,
        ("d:c",): 0,
        ("a: d",): 0,
        ("a:d", "a:d"): 1,
    }
    for steps, at in planted.items():
        assert family.first_wrong(LOOKUP, steps) == at, steps
    assert family.first_wrong(LOOKUP, ["a:d"]) is None


def test_lookup_agrees_with_its_prompt():
    for _, found in every("lookup", 40):
        pairs, _, question = found.prompt.removeprefix("lookup ").partition(" ; ")
        table = dict(pair.split(":") for pair in pairs.split())
        now, hops, _ = question.split()
        for _ in range(int(hops)):
            now = table[now]
        assert now == found.answer and set(table.values()) <= set(table)


# --- trace --------------------------------------------------------------------------------------------------------

PROGRAM = ["a=3", "b=a+4", "if b>5: a+=b else a=1", "for 2: b-=2"]
TRACE = by_hand("trace", "; ".join([*PROGRAM, "print b"]), "3", program=PROGRAM, print="b")


def test_trace_by_hand():
    family = load("trace")
    gold = ["a=3", "b=3+4=7", "7>5 yes", "a=3+7=10", "b=7-2=5", "b=5-2=3"]
    assert family.steps(TRACE) == gold
    assert family.first_wrong(TRACE, ["a=3", "b=4+3=7", "7>5 yes", "a=10", "b=5", "b=3"]) is None
    planted = {
        1: ["b=7+0=7", "b=3+4=8", "b=3*4=7", "b=8", "a=7", "b=3-4=7"],
        2: ["7>5 no", "a=10", "3>5 no", "7>5", "7>5 yes yes"],
        3: ["a=1", "b=10", "a=3+7=11"],
        5: ["b=3-2=1", "b=2-5=3", "a=8"],
    }
    for at, lines in planted.items():
        for line in lines:
            assert family.first_wrong(TRACE, [*gold[:at], line, *gold[at + 1 :]]) == at, line
    assert family.first_wrong(TRACE, [*gold, "b=3-2=1"]) == 6


def test_trace_agrees_with_python():
    for _, found in every("trace", 40):
        lines = []
        for statement in found.meta["program"]:
            if statement.startswith("if"):
                head, _, tail = statement.partition(": ")
                then, _, other = tail.partition(" else ")
                lines += [f"{head}:", f"    {then}", "else:", f"    {other or 'pass'}"]
            elif statement.startswith("for"):
                head, _, body = statement.partition(": ")
                lines += [f"for _ in range({head.split()[1]}):", *(f"    {action}" for action in body.split(", "))]
            else:
                lines.append(statement)
        values: dict[str, int] = {}
        exec("\n".join(lines), {}, values)
        assert str(values[found.meta["print"]]) == found.answer, found.prompt


# --- addition -----------------------------------------------------------------------------------------------------

SUM = by_hand("addition", "4827+936", "5763", one=4827, sign="+", other=936)
DIFFERENCE = by_hand("addition", "805-97", "708", one=805, sign="-", other=97)


def test_addition_by_hand():
    family = load("addition")
    assert family.solution(SUM) == "7+6=13\n2+3+1=6\n8+9=17\n4+0+1=5\n= 5763"
    assert family.solution(DIFFERENCE) == "15-7=8\n10-9-1=0\n8-0-1=7\n= 708"
    assert family.first_wrong(SUM, ["6+7=13", "1+2+3=6", "9+8+0=17", "4+1=5"]) is None
    assert family.first_wrong(DIFFERENCE, ["15-7=8", "9-9=0", "8-1=7"]) is None
    assert family.first_wrong(DIFFERENCE, ["15-7=8", "10-1-9=0", "7-0=7"]) is None
    for at, line in [
        (0, "7+6=3"),
        (0, "7-6=13"),
        (1, "2+3=5"),
        (1, "2+3=6"),
        (1, "5+1=6"),
        (2, "8+9+1=18"),
        (3, "4+0=4"),
    ]:
        assert family.first_wrong(SUM, [*family.steps(SUM)[:at], line]) == at, line
    for at, line in [
        (0, "7-5=2"),
        (0, "5-7=8"),
        (1, "10-9=1"),
        (1, "0-9-1=0"),
        (1, "8-9=0"),
        (2, "8-0=8"),
        (2, "8+0-1=6"),
    ]:
        assert family.first_wrong(DIFFERENCE, [*family.steps(DIFFERENCE)[:at], line]) == at, line


def test_addition_agrees_with_python():
    for family, found in every("addition", 60):
        assert found.answer == str(eval(found.prompt.removeprefix("addition ")))
        digits = [line.split("=")[1] for line in family.steps(found)]
        assert int("".join([digits[-1], *(d[-1] for d in reversed(digits[:-1]))])) == int(found.answer)
