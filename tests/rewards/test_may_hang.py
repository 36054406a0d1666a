"""Formulas, patterns and JSON schemas: numbers done by hand, and what would take for ever."""

from __future__ import annotations

import importlib.util
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scheduling import examples

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.rewards.asking.function import ask_all
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.text.answers import (
    json_schema,
    matches,
    maths,
)
from guerdon.rewards.text.shape import has_format
from guerdon.text.answers import NOTHING, find_json

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
    "additionalProperties": False,
}
LATEX = st.text(alphabet="0123456789.,-−+/%$eE^{}()[]\\ \n#<>|\"'xab×_:", max_size=40)


# --- formulas -----------------------------------------------------------------------------------------------------

has_math_verify = pytest.mark.skipif(
    importlib.util.find_spec("math_verify") is None, reason="math-verify is not installed"
)


@has_math_verify
@pytest.mark.parametrize(
    ("completion", "answer", "value"),
    [
        (r"\boxed{\frac{2}{4}}", r"\frac{1}{2}", 1.0),
        (r"\boxed{0.5}", "1/2", 1.0),
        ("$x^2 + 2x + 1$", "(x+1)^2", 1.0),
        (r"\boxed{\{2, 1\}}", r"\{1,2\}", 1.0),
        (r"\boxed{(-\infty, 3)}", r"(-\infty, 3]", 0.0),
        (r"\boxed{\sqrt{8}}", r"$2\sqrt{2}$", 1.0),
        (r"\boxed{1,080}", "1080", 1.0),
        (r"\boxed{x+2}", "x+1", 0.0),
        (r"\boxed{-3}", "3", 0.0),
        ("no formula", "3", 0.0),
        ("", "3", 0.0),
        (r"\boxed{3}", "", None),
        (r"\boxed{3}", "$$", None),
    ],
)
def test_formulas(completion, answer, value):
    assert maths()(completion, answer) == value


@has_math_verify
@examples(0.6)
@given(st.one_of(st.text(max_size=30), LATEX.map(lambda text: f"${text[:12]}$")))
def test_formulas_never_fail(text):
    for completion, answer in ((text, "7"), ("$7$", text)):  # one at a time: a second worker would load SymPy too
        outcome = maths(seconds=1).ask({"completion": completion, "answer": answer})
        assert outcome.reason is not Reason.FAILED  # drawn formulas such as 9^{9^9} time out


@has_math_verify
def test_a_formula_that_takes_for_ever_times_out():
    towers = maths(seconds=0.3).ask({"completion": r"\boxed{10^{10^{10}}}", "answer": "7"})
    assert towers.reason is Reason.TIMED_OUT and math.isnan(towers.value)


# --- patterns and JSON --------------------------------------------------------------------------------------------


def test_patterns():
    assert matches("a.b")("a\nb") == 1.0 and matches("a.b", dotall=False)("a\nb") == 0.0
    assert matches("yes")("Yes") == 0.0 and matches("yes", casefold=True)("Yes") == 1.0
    assert matches("b", how="search")("abc") == 1.0 and matches("b")("abc") == 0.0


@pytest.mark.parametrize(
    "part",
    [
        matches("(a+)+b", seconds=0.3),
        has_format(pattern="(a+)+b", seconds=0.3),
        json_schema({"type": "array", "items": {"pattern": "^(a+)+b$"}}, seconds=0.3),
    ],
)
def test_a_pattern_that_takes_for_ever_times_out_and_no_other_score_moves(part):
    text = {True: '["{}"]', False: "{}"}[isinstance(part, json_schema)]
    completions = [text.format("aab"), text.format("a" * 50), text.format("c")]
    (outcomes,) = ask_all([(part, Samples.of([{"completion": each} for each in completions]))])
    assert [outcome.reason for outcome in outcomes] == [Reason.VALUE, Reason.TIMED_OUT, Reason.VALUE]
    assert [outcomes[0].value, outcomes[2].value] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("completion", "value"),
    [
        ('{"name": "Ada", "age": 36}', 1.0),
        ('Sure!\n```json\n{"name": "Ada"}\n```\nDone.', 1.0),
        ('```\n{"name": "Ada"}\n```', 1.0),
        ('See {this} [1]: {"name": "Ada"}', 0.0),  # the first JSON value is [1]
        ('See {this}: {"name": "Ada"} and [1]', 1.0),
        ('{"name": "Ada", "age": -1}', 0.0),
        ('{"name": "Ada", "born": 1815}', 0.0),
        ('{"name": "Ada",}', 0.0),
        ("{'name': 'Ada'}", 0.0),
        ('{"name": NaN}', 0.0),
        ('"Ada"', 0.0),
        ("Ada", 0.0),
        ("", 0.0),
        ("[" * 100_000, 0.0),
        ('{"name": ' * 5_000, 0.0),
        ('{"name": "Ada", "age": ' + "9" * 5_000 + "}", 0.0),
        ('{"name": "Ada", "age": 1e999}', 0.0),
    ],
)
def test_json_of_a_schema(completion, value):
    assert json_schema(SCHEMA)(completion) == value


def test_json_by_knob():
    text = 'Here: {"name": "Ada"}'
    assert json_schema(SCHEMA, whole=True)(text) == 0.0 and json_schema(SCHEMA, whole=True)(text[6:]) == 1.0
    assert json_schema()(text, schema=SCHEMA) == 1.0 and json_schema()(text) is None
    assert json_schema({"type": "array"})("null, then []") == 1.0 and json_schema(True)("null") == 1.0
    assert json_schema({"multipleOf": 0.1})("1" + "0" * 400) in (0.0, 1.0)
    assert find_json("null") is None and find_json("none") is NOTHING


def test_a_schema_that_refers_elsewhere_is_not_fetched():
    with pytest.raises(UserError, match="does not hold"):
        json_schema({"$ref": "https://example.com/schema.json"})("{}")
    inside = {"$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "$ref": "#/$defs/tree"}
    assert json_schema(inside)("[[], [[]]]") == 1.0 and json_schema(inside)("[[], [3]]") == 0.0
    assert json_schema(inside)("[" * 500 + "]" * 500) in (0.0, 1.0)
