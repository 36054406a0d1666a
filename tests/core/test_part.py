"""Parts: knobs are checked when they are set, hashes follow what a part is, states come back."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import textwrap
from typing import Any, Literal

import pytest
import torch
from refusals import refusal

from guerdon.core.errors import UserError
from guerdon.core.knob_values import parse  # fmt: skip
from guerdon.core.part import (
    PARTS,
    describe,
    fingerprint,
    get_state,
    handles,
    knob,
    knobs,
    live,
    part,
    set_knob,
    set_state,
    spell,
    state,
    walk,
)
from guerdon.core.schedule import cosine, linear, warmup


@part
class inner:
    """A leaf."""

    rate: float = knob(default=0.5, ge=0.0, le=1.0)
    size: int = knob(default=3, ge=1)
    kind: Literal["plain", "fancy"] = "plain"
    shape: str = knob(default="round", choices=("round", "square"))
    seen: int = state(default=0)
    log: list[int] = state(factory=list)
    cache: Any = live()


@part
class outer:
    """A part of parts."""

    first: Any
    many: Any = knob(factory=list)
    by_name: Any = knob(factory=dict)
    note: str | None = None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rat": 1.0}, "unknown knob of inner 'rat': did you mean 'rate'?"),
        ({"zzz": 1.0}, "unknown knob of inner 'zzz': there is kind, rate, shape, size"),
        ({"seen": 1}, "unknown knob of inner 'seen'"),
        ({"rate": 1.5}, "inner.rate must be at most 1.0, not 1.5"),
        ({"rate": -0.1}, "inner.rate must be at least 0.0, not -0.1"),
        ({"rate": math.nan}, "inner.rate must be at least 0.0, not nan"),
        ({"rate": "high"}, "inner.rate must be float, not 'high'"),
        ({"rate": True}, "inner.rate must be float, not True"),
        ({"size": 2.0}, "inner.size must be int, not 2.0"),
        ({"size": 0}, "inner.size must be at least 1, not 0"),
        ({"kind": "fanci"}, "inner.kind must be one of 'plain', 'fancy', not 'fanci'"),
        ({"shape": "squar"}, "unknown value of inner.shape 'squar': did you mean 'square'?"),
    ],
)
def test_a_wrong_knob_is_refused_in_one_line(wrong, message):
    with pytest.raises(UserError) as caught:
        inner(**wrong)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_and_surplus_values_are_refused():
    with pytest.raises(UserError, match="outer needs first"):
        outer()
    with refusal(UserError, "4"):
        inner(0.1, 2, "plain", "round", 9)


def test_a_float_knob_takes_a_whole_number_or_a_schedule():
    assert inner(rate=1).rate == 1
    assert inner(rate=linear(0.0, 1.0)).rate.end == 1.0
    with pytest.raises(UserError):
        inner(size=linear(0.0, 1.0))


def test_states_are_not_shared_between_parts():
    a, b = inner(), inner()
    a.log.append(1)
    assert b.log == []


def test_every_part_is_registered_by_where_it_is():
    assert PARTS["guerdon.core.schedule.linear"] is linear


# --- text from a command line -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("1e-3", float, 0.001), ("3", float, 3), ("3", int, 3), ("true", bool, True), ("True", bool, True),
        ("False", bool, False), ("None", int | None, None), ("null", int | None, None), ("7", int | None, 7),
        ("7", str, "7"), ("7", str | None, "7"), ("None", str | None, None), ("words", str | None, "words"),
        ("fancy", Literal["plain", "fancy"], "fancy"), ("[1, 2]", Any, [1, 2]), ('{"a": 1}', dict, {"a": 1}), ("x", None, "x"),
    ],
)  # fmt: skip
def test_text_is_read_as_the_knob_means_it(text, hint, value):
    found = parse(text, hint, "where")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("text", "hint"), [("fast", float), ("1.5", int), ("yes", bool), ("other", Literal["plain"])])
def test_text_that_does_not_fit_is_refused(text, hint):
    with pytest.raises(UserError, match=f"where must be .*, not '{text}'"):
        parse(text, hint, "where")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("linear(2e-3, 0)", linear(2e-3, 0)),
        ("cosine(1e-3, end=1e-5)", cosine(1e-3, end=1e-5)),
        ("warmup(cosine(1e-3), 50)", warmup(cosine(1e-3), 50)),
    ],
)
def test_a_schedule_is_written_on_a_command_line_as_in_python(text, value):
    read = parse(text, float, "where")
    assert [read.at(step, 60) for step in range(60)] == [value.at(step, 60) for step in range(60)]


@pytest.mark.parametrize("text", ["other(1)", "linear", "__import__('os')", "linear(open('x'), 1)", "linear(1"])
def test_only_schedules_are_made_of_text(text):
    with refusal(UserError):
        parse(text, float, "where")


def test_a_schedule_that_lacks_a_number_is_refused_in_its_words():
    with pytest.raises(UserError, match="linear needs end"):
        parse("linear(1)", float, "where")
    with refusal(UserError, "3"):
        parse("linear(1, 2, 3, 4, 5)", float, "where")


# --- the tree -----------------------------------------------------------------------------------------------------


def tree():
    return outer(inner(rate=0.1), many=[inner(rate=0.2), linear(0.0, 1.0)], by_name={"a": inner(rate=0.3)})


def test_every_part_is_met_once_with_its_path():
    root = tree()
    root.many.append(root.first)
    assert [path for path, _ in walk(root)] == ["", "first", "many.0", "many.1", "by_name.a"]


def test_handles_number_repeats():
    root = tree()
    found = handles(root)
    assert list(found) == ["inner", "inner_2", "linear", "inner_3"]
    assert found["inner_3"] is root.by_name["a"]


def test_set_knob_reaches_into_the_tree_and_checks():
    root = tree()
    set_knob(root, "inner_2.rate", "0.75", text=True)
    assert root.many[0].rate == 0.75
    set_knob(root, "linear.end", 2.0)
    assert root.many[1].end == 2.0
    for path, value, message in [
        ("iner.rate", 0.1, "unknown part 'iner': did you mean 'inner'?"),
        ("inner.rat", 0.1, "unknown knob of inner 'rat': did you mean 'rate'?"),
        ("inner.rate", 7.0, "inner.rate must be at most 1.0, not 7.0"),
        ("inner.seen", 7, "unknown knob of inner 'seen'"),
        ("inner", 7, "unknown knob of outer 'inner'"),
    ]:
        with pytest.raises(UserError) as caught:
            set_knob(root, path, value)
        assert message in str(caught.value)


def test_states_come_back():
    root = tree()
    root.first.seen, root.many[0].log, root.by_name["a"].log = 5, [1, 2], [torch.ones(2)]
    saved = get_state(root)
    assert set(saved) == {"first", "many.0", "by_name.a"}
    fresh = tree()
    set_state(fresh, saved)
    assert (fresh.first.seen, fresh.many[0].log, fresh.first.log) == (5, [1, 2], [])
    assert torch.equal(fresh.by_name["a"].log[0], torch.ones(2))


def test_a_state_without_a_part_means_another_recipe():
    with refusal(UserError, "many.7"):
        set_state(tree(), {"many.7": {"seen": 1}})


# --- hashes -------------------------------------------------------------------------------------------------------


def test_equal_parts_have_equal_fingerprints_and_states_do_not_count():
    a, b = tree(), tree()
    b.first.seen, b.first.cache = 9, object()
    assert fingerprint(a) == fingerprint(b)


def test_a_fingerprint_is_the_same_in_every_process():
    text = '{"knobs":{"end":1.0,"over":null,"start":0.25},"part":"linear"}'
    assert fingerprint(linear(0.25, 1.0)) == hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("change", [{"rate": 0.51}, {"size": 4}, {"kind": "fancy"}, {"shape": "square"}])
def test_any_knob_changes_the_fingerprint(change):
    assert fingerprint(outer(inner(**change))) != fingerprint(outer(inner()))


def test_the_order_of_stages_counts_and_of_names_does_not():
    a, b = inner(rate=0.1), inner(rate=0.2)
    assert fingerprint(outer(0, many=[a, b])) != fingerprint(outer(0, many=[b, a]))
    assert fingerprint(outer(0, by_name={"a": a, "b": b})) == fingerprint(outer(0, by_name={"b": b, "a": a}))


def from_file(tmp_path, name, body):
    import importlib.util

    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(body))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_editing_a_function_changes_the_fingerprint(tmp_path):
    one = from_file(tmp_path, "one", "def f(x):\n    return x + 1\n").f
    same = from_file(tmp_path, "same", "def f(x):\n    return x + 1\n").f
    other = from_file(tmp_path, "other", "def f(x):\n    return x + 2\n").f
    assert fingerprint(outer(one)) == fingerprint(outer(same))
    assert fingerprint(outer(one)) != fingerprint(outer(other))


def at_least(limit):
    def check(x):
        return x >= limit

    return check


def times(x, factor):
    return x * factor


def test_what_a_function_holds_is_part_of_it():
    assert fingerprint(at_least(3)) == fingerprint(at_least(3))
    assert fingerprint(at_least(3)) != fingerprint(at_least(4))
    assert fingerprint(at_least(inner(rate=0.1))) != fingerprint(at_least(inner(rate=0.2)))
    assert fingerprint(functools.partial(times, factor=2)) != fingerprint(functools.partial(times, factor=3))
    assert fingerprint(functools.partial(times, factor=2)) != fingerprint(functools.partial(max, factor=2))


def test_what_cannot_be_described_is_refused():
    with pytest.raises(UserError, match="cannot be a knob"):
        fingerprint(outer(object()))


def test_a_part_is_spelled_as_a_user_would_write_it():
    assert spell(inner()) == "inner()"
    assert spell(inner(rate=0.1)) == "inner(rate=0.1)"
    assert repr(outer(inner(size=4), note="x")) == "outer(first=inner(size=4), note='x')"
    assert describe(inner())["knobs"] == knobs(inner())
    assert not dataclasses.fields(inner)[-1].init
