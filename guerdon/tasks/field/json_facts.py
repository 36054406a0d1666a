"""What a form asks for, field by field: a piece of schema, a value that fits it, and a sentence that says it.

Leaves out: putting fields together (`json_form_tasks.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guerdon.tasks.field.sql_databases import CITIES, MAKES, PEOPLE, SURNAMES, THINGS

DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
COLOURS = ["red", "green", "blue", "black", "white", "yellow"]
NEVER_SAID = "{} is not known."


@dataclass(frozen=True)
class Fact:
    """A field of a form: its name, its schema, its value and the sentence that states it."""

    name: str
    schema: dict[str, Any]
    value: Any
    said: str


def full_name(draw: random.Random) -> Fact:
    name = f"{draw.choice(PEOPLE)} {draw.choice(SURNAMES)}"
    return Fact("name", {"type": "string", "minLength": 1}, name, f"The customer is {name}.")


def age(draw: random.Random) -> Fact:
    years = draw.randint(18, 95)
    return Fact("age", {"type": "integer", "minimum": 0, "maximum": 130}, years, f"They are {years} years old.")


def city(draw: random.Random) -> Fact:
    place = draw.choice(CITIES)
    return Fact("city", {"enum": list(CITIES)}, place, f"They live in {place}.")


def member(draw: random.Random) -> Fact:
    yes = draw.random() < 0.5
    return Fact("member", {"type": "boolean"}, yes, f"They are {'' if yes else 'not '}a member of the club.")


def since(draw: random.Random) -> Fact:
    year, month, day = draw.randint(1990, 2025), draw.randint(1, 12), draw.randint(1, 28)
    said = f"Their account was opened on {day} {MONTHS[month - 1]} {year}."
    return Fact("since", {"type": "string", "pattern": DATE}, f"{year}-{month:02}-{day:02}", said)


def balance(draw: random.Random) -> Fact:
    amount = draw.randint(-5000, 90000) / 100
    return Fact("balance", {"type": "number"}, amount, f"Their balance is {amount:.2f} euros.")


def colours(draw: random.Random) -> Fact:
    some = draw.sample(COLOURS, draw.randint(2, 4))
    items = {"type": "array", "items": {"enum": COLOURS}, "minItems": 1, "uniqueItems": True}
    return Fact("colours", items, some, f"They like the colours {', '.join(some[:-1])} and {some[-1]}, in this order.")


def address(draw: random.Random) -> Fact:
    street, number = f"{draw.choice(SURNAMES)} Street", draw.randint(1, 250)
    code = f"{draw.randint(0, 99999):05}"
    properties = {
        "street": {"type": "string"},
        "number": {"type": "integer", "minimum": 1},
        "code": {"type": "string", "pattern": "^[0-9]{5}$"},
    }
    said = f"Their address is {number} {street}, postal code {code}."
    return Fact("address", closed(properties), {"street": street, "number": number, "code": code}, said)


def lines(draw: random.Random) -> Fact:
    bought = [
        {
            "product": f"{draw.choice(MAKES)} {thing}",
            "quantity": draw.randint(1, 9),
            "price": draw.randint(100, 40000) / 100,
        }
        for thing in draw.sample(THINGS, draw.randint(2, 3))
    ]
    properties = {
        "product": {"type": "string"},
        "quantity": {"type": "integer", "minimum": 1},
        "price": {"type": "number", "exclusiveMinimum": 0},
    }
    told = [f"{each['quantity']} of {each['product']} at {each['price']:.2f} each" for each in bought]
    schema = {"type": "array", "items": closed(properties), "minItems": 1}
    return Fact("lines", schema, bought, f"They ordered {'; '.join(told)}.")


def phone(draw: random.Random) -> Fact:
    schema: dict[str, Any] = {"type": ["string", "null"], "maxLength": 20}
    if draw.random() < 0.5:
        return Fact("phone", schema, None, NEVER_SAID.format("Their telephone number"))
    number = f"+{draw.randint(30, 49)} {draw.randint(100, 999)} {draw.randint(1000, 9999)}"
    return Fact("phone", schema, number, f"Their telephone number is {number}.")


KINDS: tuple[Callable[[random.Random], Fact], ...] = (
    full_name,
    age,
    city,
    member,
    balance,
    since,
    phone,
    colours,
    address,
    lines,
)


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """An object with these properties, all of them and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
