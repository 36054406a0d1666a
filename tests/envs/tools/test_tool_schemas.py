"""Schemas of tools: what hints become, what is refused, and that arguments are judged as JSON Schema judges them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Optional

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

import guerdon as gd
from guerdon.envs.tools.tool_schema import fault_in


@gd.tool
def book(
    city: Annotated[str, "where to"],
    nights: int,
    price: float = 80.0,
    pets: bool = False,
    guests: list[str] = [],  # noqa: B006
    rooms: dict[str, int] | None = None,
    kind: Literal["inn", "flat"] = "inn",
    note: Optional[str] = None,  # noqa: UP045
) -> str:
    """Book a place to
    stay.

    More that models are not told.
    """
    return f"{city} for {nights}"


def test_hints_become_a_schema():
    told = book.schema["function"]
    assert (told["name"], told["description"]) == ("book", "Book a place to stay.")
    assert told["parameters"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "where to"},
            "nights": {"type": "integer"},
            "price": {"type": "number", "default": 80.0},
            "pets": {"type": "boolean", "default": False},
            "guests": {"type": "array", "items": {"type": "string"}, "default": []},
            "rooms": {
                "anyOf": [{"type": "object", "additionalProperties": {"type": "integer"}}, {"type": "null"}],
                "default": None,
            },
            "kind": {"enum": ["inn", "flat"], "default": "inn"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["city", "nights"],
        "additionalProperties": False,
    }
    jsonschema.Draft202012Validator.check_schema(told["parameters"])
    assert book("Rome", nights=2) == "Rome for 2"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"city": "Rome", "nights": 2}, ""),
        ({"nights": 2}, "city is missing: it must be text"),
        ({"city": "Rome", "nights": "2"}, "nights must be a whole number, not '2'"),
        ({"city": "Rome", "nights": True}, "nights must be a whole number, not true"),
        ({"city": "Rome", "nights": 2, "stars": 5}, "there is no argument 'stars': there is city, nights, price"),
        ({"city": "Rome", "nights": 2, "guests": ["a", 1]}, "guests[1] must be text, not 1"),
        ({"city": "Rome", "nights": 2, "kind": "tent"}, 'kind must be one of "inn", "flat", not \'tent\''),
        ({"city": "Rome", "nights": 2, "rooms": {"a": "x"}}, "rooms must be an object or null, not"),
    ],
)
def test_a_wrong_argument_is_named_with_what_it_must_be(arguments, fault):
    said = book.fault(arguments)
    assert said.startswith(fault) if fault else said == ""


VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, -1.5, "", "inn", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from([*book.parameters["properties"], "other"]), VALUES, max_size=5), st.booleans())
def test_arguments_are_judged_as_json_schema_judges_them(arguments, whole):
    filled = {"city": "x", "nights": 1, **arguments} if whole else arguments
    theirs = jsonschema.Draft202012Validator(book.parameters).is_valid(filled)
    assert (fault_in(filled, book.parameters) == "") == theirs


def bad_hints():
    def no_type(x):
        "A."

    def a_set(x: set):
        "A."

    def keys(x: dict[int, str]):
        "A."

    def anything(*x: int):
        "A."

    def default(x: int = "a"):
        "A."  # type: ignore[assignment]

    def silent(x: int): ...
    def number(x: Literal[0.5]):
        "A."  # type: ignore[valid-type]

    return {
        no_type: "x of the tool no_type has no type: write str, int",
        a_set: "x of the tool a_set has the type set, which JSON does not have: write str",
        keys: "has the type dict[int, str]",
        anything: "models give arguments by name",
        default: "its default must be a whole number, not 'a'",
        silent: "the tool silent has no docstring",
        number: "which JSON does not have",
    }  # fmt: skip


@pytest.mark.parametrize(("function", "why"), bad_hints().items())
def test_what_cannot_be_told_to_a_model_is_refused_when_the_tool_is_made(function, why):
    with pytest.raises(gd.UserError) as refused:
        gd.tool(function)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_tools_of_an_environment_have_names_of_their_own():
    with refusal(gd.UserError):
        gd.envs.tool_turns([gd.envs.calculator, gd.envs.calculator])
    with pytest.raises(gd.UserError, match="has no tools"):
        gd.envs.tool_turns([])
    with refusal(gd.UserError):
        gd.envs.tool_turns([gd.envs.calculator], format="hermse")

    class Bare:
        def open(self, seed, meta):
            return self

    for bare in (Bare, Bare()):
        with refusal(gd.UserError):
            gd.envs.tool_turns([bare])
    with refusal(gd.UserError):
        gd.tool(lambda x: x)
