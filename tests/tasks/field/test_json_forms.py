"""Forms in JSON: the task's promises, the plain validator against jsonschema, and the reward by hand."""

from __future__ import annotations

import json
import random

import pytest

import guerdon as gd
from guerdon.tasks.field.json_form_tasks import fields_of
from guerdon.tasks.field.plain_schema import plainly_fits

STRANGE = (
    None,
    True,
    False,
    0,
    1,
    -1,
    1.0,
    2.5,
    1e9,
    "",
    "1",
    "x" * 25,
    "2020-01-02",
    [],
    [1, 1.0],
    [1, True],
    {},
    {"a": 1},
)


@pytest.mark.parametrize("level", [1, 4, 8])
def test_it_keeps_its_promises(level):
    family = gd.tasks.json_forms(level=level)
    gd.check_task(family, problems=20)
    for index in range(10):
        problem = family.get("train", index)
        misses = family.near_misses(problem, random.Random(index))
        assert len({miss.kind for miss in misses}) == 5
        assert not any(family.check(problem, miss.text) for miss in misses)
        assert family.check(problem, f"Sure:\n```json\n{json.dumps(json.loads(problem.answer), indent=2)}\n```") == 1.0


def mutated(value, draw):
    """A value with something changed somewhere."""
    if isinstance(value, dict) and value and draw.random() < 0.7:
        key = draw.choice(list(value))
        kind = draw.randrange(4)
        if kind == 0:
            return {k: v for k, v in value.items() if k != key}
        if kind == 1:
            return {**value, draw.choice(["other", key.upper()]): draw.choice(STRANGE)}
        return {**value, key: mutated(value[key], draw)}
    if isinstance(value, list) and value and draw.random() < 0.7:
        place = draw.randrange(len(value))
        kind = draw.randrange(3)
        if kind == 0:
            return [*value, value[place]]
        return [*value[:place], mutated(value[place], draw), *value[place + 1 :]] if kind == 1 else value[:place]
    return draw.choice([*STRANGE, str(value), [value], float(value) if isinstance(value, int) else value])


@pytest.mark.parametrize("problems", [60, pytest.param(600, marks=pytest.mark.slow)])
def test_the_plain_validator_says_what_jsonschema_says(problems):
    jsonschema = pytest.importorskip("jsonschema")
    draw, said = random.Random(7), {True: 0, False: 0}
    for index in range(problems):
        problem = gd.tasks.json_forms(level=index % 8 + 1).get("train", index)
        schema, value = problem.meta["schema"], json.loads(problem.answer)
        real = jsonschema.Draft202012Validator(schema)
        for _ in range(20):
            given = mutated(value, draw)
            verdict = plainly_fits(given, schema)
            assert verdict == real.is_valid(given), (given, schema)
            said[verdict] += 1
    assert min(said.values()) > problems, f"both verdicts are tried: {said}"


def test_the_plain_validator_agrees_on_every_word_it_knows():
    jsonschema = pytest.importorskip("jsonschema")
    schemas = [
        {"type": ["integer", "null"]},
        {"enum": [1, "x", None, [1], {"a": 1.0}]},
        {"const": True},
        {"minItems": 1},
    ]
    schemas += [{"maxItems": 1}, {"uniqueItems": True}, {"minLength": 2}, {"maxLength": 2}, {"pattern": "^[0-9]+$"}]
    schemas += [
        {"minimum": 1},
        {"maximum": 1},
        {"exclusiveMinimum": 1},
        {"exclusiveMaximum": 1},
        {"items": {"type": "number"}},
    ]
    schemas += [
        {"required": ["a"]},
        {"additionalProperties": False},
        {"properties": {"a": {"type": "string"}}},
        True,
        False,
    ]
    for schema in schemas:
        real = jsonschema.Draft202012Validator(schema)
        assert [plainly_fits(value, schema) for value in STRANGE] == [real.is_valid(value) for value in STRANGE], schema


def test_words_it_does_not_know_are_refused():
    for schema in ({"oneOf": []}, {"additionalProperties": {"type": "string"}}, {"$ref": "#"}):
        with pytest.raises(gd.UserError, match="plain validator"):
            plainly_fits({"a": 1}, schema)


def test_fields_are_counted_with_the_way_to_them():
    assert fields_of({"a": [], "b": 2.0}) == {".a=[]": 1, ".b=2": 1}
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}}
    right = '{"name": "Ada", "age": 36, "tags": ["x", "y"]}'  # four fields
    score = gd.json_fields(fits=0.5)('{"name": "Ada", "age": "36", "tags": ["x"]}', right, schema)
    assert score.value == pytest.approx(0.5 * 2 * 2 / (3 + 4)), "two of three and of four, and it does not fit"
    assert gd.json_fields()("nothing", right, schema).value == 0.0 and gd.json_fields()("{}", "", schema) is None
    assert gd.json_fields()(right, right, schema).value == pytest.approx(1.0)
