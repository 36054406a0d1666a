"""Sites with a form: fill it in as instructed, fix what it complains about, send it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from guerdon.envs.pages.page_words import COLOURS, Words, lures

MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
TOPICS = ("guest", "member", "order", "visit")


@dataclass(frozen=True)
class Made:
    """A problem: what is asked for, the site and the goal, the latter two as JSON."""

    prompt: str
    site: dict[str, Any]
    goal: dict[str, Any]


@dataclass(frozen=True)
class _Control:
    """A control of a form: its template, how the task speaks of what it is to hold, and what that is."""

    name: str
    template: list[Any]
    said: str
    value: str


def form_site(draw: random.Random, words: Words, level: int) -> Made:
    """Level n has n controls: fields at first, then lists, boxes (2, 3) and one that stays empty (4), formats that only
    an error names (5), wrong values filled in already and a way to the form (6), distractors (7), terms that were not
    mentioned (8)."""
    title = draw.choice(TOPICS)
    makers = [_name, _city, _colour, _box, _age, _date, _phone, _thing]
    kinds = {1: 2, 2: 3, 3: 4, 4: 5}.get(level, len(makers))
    chosen = draw.sample(range(kinds), min(level, kinds))
    if level >= 5 and not {5, 6} & set(chosen):
        chosen[0] = draw.choice((5, 6))
    controls = [makers[number](draw, words) for number in chosen]
    wanted = {f"{title}.0.{c.name}": c.value for c in controls}
    rows = [["p", c.template] for c in controls]
    if level >= 4:
        rows.insert(draw.randrange(len(rows) + 1), ["p", _field("note")])
        wanted[f"{title}.0.note"] = ""
    if level >= 6:
        _fill_wrongly(draw, words, controls)
    sets = [[f"{title}-{c.name}", c.value] for c in controls]
    if level >= 8:
        rows.append(["p", ["input", {"type": "checkbox", "name": "terms", "label": "terms", "required": "1"}]])
        wanted[f"{title}.0.terms"] = "on"
        sets.append([f"{title}-terms", "on"])
    for row in rows:
        row[1][1]["id"] = f"{title}-{row[1][1]['name']}"
    send = [
        "p",
        ["button", {"id": "send"}, "send"],
        ["button", {"id": "cancel", "on": {"click": [["go", "home"]]}}, "cancel"],
    ]
    sent = {"submit": [["store", title], ["say", "sent"], ["go", "home"]]}
    form = ["form", {"id": title, "on": sent}, *rows, send]
    others = [other for other in TOPICS if other != title]
    pages: dict[str, Any] = {"home": ["body", ["h1", f"{title} form"], *lures(draw, level), form]}
    if level >= 6:
        links = [["a", {"href": f"{name} form"}, f"{name} form"] for name in sorted([title, *others])]
        pages = {"home": ["body", ["h1", "forms"], ["nav", *links]]}
        pages[f"{title} form"] = [
            "body",
            ["h1", f"{title} form"],
            ["a", {"href": "home"}, "home"],
            *lures(draw, level),
            form,
        ]
        pages |= {f"{name} form": _other(name) for name in others}
    said = ", ".join(f"{c.name} {c.said}" for c in controls)
    todo = [{"done": wanted, "set": sets, "click": "send"}]
    prompt = f"fill in and send the {title} form: {said}. leave everything else as it is."
    return Made(prompt, {"start": "home", "pages": pages, "data": {}}, {"wanted": wanted, "todo": todo})


def _other(name: str) -> list[Any]:
    sent = {"submit": [["store", name], ["say", "sent"], ["go", "home"]]}
    row = ["p", ["input", {"id": f"{name}-name", "name": "name", "label": "name"}]]
    return [
        "body",
        ["h1", f"{name} form"],
        ["a", {"href": "home"}, "home"],
        ["form", {"id": name, "on": sent}, row, ["button", {"id": f"{name}-send"}, "send"]],
    ]


def _fill_wrongly(draw: random.Random, words: Words, controls: list[_Control]) -> None:
    for control in draw.sample(controls, 2):
        attributes = control.template[1]
        if control.template[0] == "input" and attributes.get("type") != "checkbox":
            attributes["value"] = draw.choice([word for word in words.people if word != control.value])


def _field(name: str, **more: str) -> list[Any]:
    return ["input", {"name": name, "label": name, **more}]


def _name(draw: random.Random, words: Words) -> _Control:
    value = draw.choice(words.people)
    return _Control("name", _field("name", required="1"), value, value)


def _city(draw: random.Random, words: Words) -> _Control:
    value = draw.choice(words.places)
    return _Control("city", _field("city", required="1"), value, value)


def _thing(draw: random.Random, words: Words) -> _Control:
    value = f"{draw.choice(COLOURS)} {draw.choice(words.things)}"
    return _Control("gift", _field("gift"), value, value)


def _colour(draw: random.Random, words: Words) -> _Control:
    options = draw.sample(COLOURS, 4)
    value = draw.choice(options[1:])
    return _Control(
        "colour", ["select", {"name": "colour", "label": "colour"}, *(["option", {}, o] for o in options)], value, value
    )


def _box(draw: random.Random, words: Words) -> _Control:
    name, checked = draw.choice(("news", "gift wrap", "window seat")), draw.random() < 0.5
    value = draw.choice(("on", "off"))
    template = ["input", {"type": "checkbox", "name": name, "label": name, "checked": checked}]
    return _Control(name, template, value, value)


def _age(draw: random.Random, words: Words) -> _Control:
    value = str(draw.randrange(18, 99))
    return _Control("age", _field("age", format="number", least="18", required="1"), value, value)


def _date(draw: random.Random, words: Words) -> _Control:
    month, day, year = draw.randrange(12), draw.randrange(1, 29), draw.randrange(2020, 2030)
    said = f"{day} {MONTHS[month]} {year}"
    return _Control("date", _field("date", format="date", required="1"), said, f"{year}-{month + 1:02}-{day:02}")


def _phone(draw: random.Random, words: Words) -> _Control:
    first, second = draw.randrange(100, 1000), draw.randrange(1000, 10000)
    return _Control("phone", _field("phone", format="digits", required="1"), f"{first} {second}", f"{first}{second}")
