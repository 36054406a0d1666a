"""Checks of answers: what each takes for right, that rewards of the same name agree, and what breaks or hangs."""

from __future__ import annotations

import itertools

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.tasks.answer_checks import CHECKS, CheckBroke, find_check
from guerdon.tasks.files import rows

TEXTS = (
    "24", " 24\n", "24.0", "1,024", "It is 24.", "24 or 25", "#### 24 clips of 7", r"so \boxed{24}, not 3", "Answer: 24",
    "-24", "2.4e1", "50%", "Paris", "paris", "", "none", "1/2", r"\frac{1}{2}", "0.5",
)  # fmt: skip


def verdict(check, completion, answer, **meta):
    return find_check(check)(Task("1", "?", answer, meta=meta), completion)


def test_checks_agree_with_rewards_of_the_same_name():
    for text, answer in itertools.product(TEXTS, TEXTS):
        assert verdict("exact", text, answer) == gd.exact()(text, answer), (text, answer)
        assert verdict("number", text, answer) == gd.numeric()(text, answer), (text, answer)


def test_exact_also_takes_the_last_line_of_a_families_solution():
    family = gd.tasks.chain(level=2)
    task = family.get("train", 0)
    assert [verdict(check, family.solution(task), task.answer) for check in ("exact", "number")] == [1.0, 1.0]
    assert verdict("exact", "= 30", "3") == 0.0


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("B", 1), ("b.", 1), ("(B)", 1), ("**B**", 1), ("B) blue", 1), ("The correct answer is B because A is red.", 1),
        (r"\boxed{B}", 1), ("Answer: B, as A is wrong", 1), ("Blue", 1), ("It must be blue", 1), ("I choose option B", 1),
        ("A", 0), ("A or B? I say A.", 0), ("It is red, not blue", 0), ("", 0), ("A big boat", 0), ("C", 0),
    ],
)  # fmt: skip
def test_choice_reads_letters_and_words(text, right):
    assert verdict("choice", text, "B", labelled={"A": "red", "B": "blue"}) == right


@pytest.mark.parametrize(
    ("check", "text", "answer", "right"),
    [
        ("contains", "It is Paris, France.", "paris", 1), ("contains", "Parisian", "Paris", 0), ("contains", "x", "", None),
        ("contains", "f(x) = x^2 + 1", "x^2", 1), ("contains", "14", "4", 0),
        ("json", '```json\n{"b": 2, "a": [1.0]}\n```', '{"a": [1], "b": 2}', 1), ("json", '{"a": true}', '{"a": 1}', 0),
        ("json", "none", "[1]", 0), ("json", "[1]", "no JSON", None),
    ],
)  # fmt: skip
def test_others(check, text, answer, right):
    assert verdict(check, text, answer) == right


def test_math_is_math_verify():
    pytest.importorskip("math_verify")
    assert (
        verdict("math", r"so $\boxed{\frac{2}{4}}$", r"\frac{1}{2}")
        == gd.maths()(r"so $\boxed{\frac{2}{4}}$", r"\frac{1}{2}")
        == 1
    )
    assert verdict("math", "$x$", "x+1") == 0.0


def test_json_by_a_schema_of_the_row():
    pytest.importorskip("jsonschema")
    schema = {"type": "object", "required": ["name"]}
    assert [verdict("json", text, "x", schema=schema) for text in ('{"name": 1}', "{}")] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("answers", "name"),
    [
        (["1", "2.5", "-3", "1,000"], "number"), (["A", "C", "B"], "choice"), (["Paris", "Rome"], "exact"),
        (['{"a": 1}', "[2]"], "json"), (["3", "Rome"], "exact"), ([r"\frac{1}{2}", "x+1", "3"], "math"),
    ],
)  # fmt: skip
def test_the_check_is_guessed_from_all_answers(answers, name):
    if name == "math":
        pytest.importorskip("math_verify")
    source = rows([{"question": str(n), "answer": answer} for n, answer in enumerate(answers)])
    assert source.open().check.name == name and source.facts()[1].endswith(f"(--check {name})")


def own(completion, answer, unit="m"):
    return completion.endswith(unit) and answer in completion


def breaks(completion):
    raise ValueError("no such thing")


def needs(completion, colour):
    return True


def test_a_function_of_ones_own_gets_columns_by_name_and_runs_apart(tmp_path):
    data = [{"question": f"{n}?", "answer": f"{n}", "unit": "km"} for n in range(4)]
    source = rows(data, check_by=own)
    assert [source.check(source.get("train", 2), text) for text in ("2 km", "2 m", "3 km")] == [1.0, 0.0, 0.0]
    (tmp_path / "my.py").write_text("def right(completion, answer, unit):\n    return completion == answer + unit\n")
    source = rows(data, check_by=f"{tmp_path}/my.py:right")
    assert source.check(source.get("train", 2), "2km") == 1.0
    with pytest.raises(CheckBroke, match="ValueError: no such thing"):
        broken = rows(data, check_by=breaks)
        broken.check(broken.get("train", 0), "x")
    with refusal(UserError):
        rows(data, check_by=needs).open()


def test_a_check_that_hangs_is_stopped(monkeypatch):
    def hangs(completion):
        while True:
            pass

    monkeypatch.setattr("guerdon.tasks.answer_checks.SECONDS_OWN", 0.2)
    with pytest.raises(TimeoutError, match="took longer than"):
        find_check(hangs)(Task("1", "?", "4"), "4")


def test_unknown_checks_are_refused():
    with refusal(UserError):
        find_check("numbr")
    with refusal(UserError):
        find_check("none.py:f")
    assert {"exact", "number", "choice", "contains", "math", "plain_maths", "json", "python"} == set(CHECKS)
