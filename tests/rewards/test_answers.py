"""Rewards that know the answer: numbers done by hand, answers as models write them, near misses, and any text at all."""

from __future__ import annotations

import importlib.util
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.core.errors import UserError
from guerdon.core.part import fingerprint
from guerdon.core.schedule import linear
from guerdon.rewards.asking.function import reward
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.text.answers import (
    bleu,
    exact,
    json_schema,
    matches,
    maths,
    numeric,
    one_of,
    rouge_l,
    same_set,
    token_f1,
)

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name"],
    "additionalProperties": False,
}
LATEX = st.text(alphabet="0123456789.,-−+/%$eE^{}()[]\\ \n#<>|\"'xab×_:", max_size=40)
TEXTS = st.one_of(
    st.text(max_size=80),
    LATEX,
    st.lists(
        st.sampled_from([r"\boxed{", "}", "####", "Answer:", r"\frac{1}{", "1,000", "-", "/", "^", "e9", "```"])
    ).map("".join),
)
EVERY = [
    exact(),
    exact(True, True, "<answer>"),
    one_of(),
    same_set(),
    same_set(ordered=True, partial=True, mark="Answer:"),
    numeric(),
    numeric(0.1, 0.1, percent="hundredth", fallback=False),
    matches(r"\d+", how="search"),
    json_schema(SCHEMA),
    token_f1(),
    bleu(),
    bleu(2, "floor", True),
    rouge_l(),
]


def needs_answer(part):
    return "answer" in as_reward(part).wants.names


# --- equal text ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "completion", "answer", "value"),
    [
        (exact(), " 42\n", "42", 1.0),
        (exact(), "42.", "42", 0.0),
        (exact(), "Paris", "paris", 0.0),
        (exact(casefold=True), "STRASSE", "straße", 1.0),
        (exact(), "New  York", "New York", 0.0),
        (exact(spaces=True), "New \n York", "New York", 1.0),
        (exact(), "", "42", 0.0),
        (exact(), "anything", "", None),
        (exact(), "", " ", None),
        (exact(mark="####"), "first #### 1, no: #### 2", "2", 1.0),
        (exact(mark="####"), "2", "2", 0.0),
        (exact(mark="<answer>"), "<Answer> 7 </answer> done", "7", 1.0),
        (exact(mark="<answer>"), "<answer>7", "7", 1.0),
        (exact(mark=r"\boxed"), r"\boxed{a{b}c} d", "a{b}c", 1.0),
        (exact(mark=r"\boxed"), r"\boxed{a{b", "a{b", 1.0),
        (one_of(), "NYC", "New York|NYC", 1.0),
        (one_of(), "New York|NYC", "New York|NYC", 0.0),
        (one_of(casefold=True, mark="Answer:"), "answer: nyc", "New York | NYC", 1.0),
        (one_of(separator=""), "a|b", "a|b", 1.0),
        (one_of(), "", "a||b", 0.0),
        (one_of(), "a", " | ", None),
    ],
)
def test_equal_text(part, completion, answer, value):
    assert part(completion, answer) == value


def test_a_task_may_list_its_answers():
    assert one_of()("b", "a", answers=["b", "c"]) == 1.0
    assert one_of()("a", "a", answers=["b", "c"]) == 0.0
    assert one_of()("3", answers=[3]) == 1.0


@pytest.mark.parametrize(
    ("part", "completion", "answer", "value"),
    [
        (same_set(), "c, a,b", "a, b, c", 1.0),
        (same_set(), "a, a, b", "a, b", 1.0),
        (same_set(), "a, b", "a, b, c", 0.0),
        (same_set(), "a, b, c, d", "a, b, c", 0.0),
        (same_set(), '["a b", "c"]', "c; a  b", 1.0),
        (same_set(), "- a\n* b\n• c", "{a, b, c}", 1.0),
        (same_set(), r"\{1, 2\}", "1, 2", 1.0),
        (same_set(), "-3, 2", "3, 2", 0.0),
        (same_set(), "", "a", 0.0),
        (same_set(), "a", "[]", None),
        (same_set(mark="Answer:"), "x, y. Answer: a, b", "a, b", 1.0),
        (same_set(mark="Answer:"), "a, b", "a, b", 0.0),
        (same_set(separator=r"\s+"), "a b", "b a", 1.0),
        (same_set(partial=True), "a, b, x", "a, b", 0.8),  # 2 * 2 / (3 + 2)
        (same_set(partial=True), "x", "a, b", 0.0),
        (same_set(ordered=True), "a, b", "a, b", 1.0),
        (same_set(ordered=True), "b, a", "a, b", 0.0),
        (same_set(ordered=True), "a, b, b", "a, b", 0.0),
        (same_set(ordered=True, partial=True), "a, x, c, d", "a, b, c", 0.5),  # 2 of the longer list's 4
    ],
)
def test_lists(part, completion, answer, value):
    assert part(completion, answer) == value


# --- all of them --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", EVERY, ids=repr)
@given(TEXTS, TEXTS)
def test_any_text_has_a_score(part, completion, answer):
    given = {"completion": completion, **({"answer": answer} if needs_answer(part) else {})}
    found = part(**given)
    assert found is None or 0.0 <= found <= 1.0
    assert part(**given) == found


@pytest.mark.parametrize("part", [p for p in EVERY if needs_answer(p)], ids=repr)
def test_nothing_to_compare_with_is_not_applicable(part):
    assert part("7") is None and part("7", "") is None


@pytest.mark.parametrize("part", EVERY, ids=repr)
def test_each_is_a_reward_as_it_stands(part):
    sample = {"meta": {}, "completion": '{"name": "1"}', "answer": "1"}
    assert as_reward(part) is part and part.name == type(part).__name__
    assert part.ask(sample) == reward(part, isolate=False).ask(sample) and reward(part).name == part.name
    assert (part.weight(0.5) + part).explain(**sample).startswith("blend: ")
    assert fingerprint(part) != fingerprint(part.weight(0.5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: matches("("), r"matches.pattern '\(' is not a regular expression"),
        (lambda: matches(), "matches needs pattern"),
        (lambda: same_set(separator="["), "same_set.separator"),
        (lambda: numeric(absolute=-1), "numeric.absolute must be at least 0"),
        (lambda: numeric(absolute=math.inf), "numeric.absolute must be a finite number"),
        (lambda: numeric(relative=linear(0.0, 1.0)), "numeric.relative takes no schedule"),
        (lambda: numeric(percent="per cent"), "numeric.percent must be one of"),
        (lambda: numeric(marks=("####", "")), "numeric.marks holds texts to look for"),
        (lambda: json_schema({"type": "objekt"}), "is not a JSON Schema"),
        (lambda: json_schema({"pattern": "("}), "is not a JSON Schema"),
        (lambda: json_schema("object"), "a JSON schema is a dict"),
        (lambda: bleu(order=0), "bleu.order must be at least 1"),
        (lambda: exact(case=True), "unknown knob of exact"),
    ],
)
def test_bad_knobs_are_refused(make, message):
    with pytest.raises(UserError, match=message) as refused:
        make()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("make", "extra"), [(maths, "maths"), (json_schema, "json")])
def test_a_missing_library_is_named_with_its_extra(monkeypatch, make, extra):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=rf"pip install 'guerdon\[{extra}\]'"):
        make()
