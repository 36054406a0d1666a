"""Sites with menus in menus and pages of settings: find a command, or switch settings and save them."""

from __future__ import annotations

import random
from typing import Any

from guerdon.envs.pages.form_sites import Made
from guerdon.envs.pages.page_words import Words, lures

MENUS = ("file", "edit", "view", "tools", "help")
COMMANDS = (
    "open", "print", "copy", "paste", "zoom", "find", "sort",
    "share", "export", "rename", "merge", "reload", "about", "check",
)  # fmt: skip
GROUPS = ("text", "image", "colour", "layout", "page", "list")
SECTIONS = ("sound", "display", "network", "privacy", "language", "keyboard")
SWITCHES = ("autosave", "alerts", "sync", "backup", "dark mode", "updates", "location", "tips")
CHOICES = ("low", "medium", "high", "auto")


def menu_site(draw: random.Random, words: Words, level: int) -> Made:
    """Levels 1 to 3 ask for a command: in one of 3 or 5 menus, then in a menu of a menu, which opens when it is
    pointed at. From 4 on settings are switched and saved, on 1 page, then 2, then 3; from 6 on sections stand in
    menus; 7 and 8 have distractors."""
    return _commands(draw, words, level) if level <= 3 else _settings(draw, words, level)


def _commands(draw: random.Random, words: Words, level: int) -> Made:
    file = f"{draw.choice(words.topics)} {draw.choice(words.things)}"
    menus = draw.sample(MENUS, {1: 3, 2: 5, 3: 4}[level])
    ways: list[tuple[str, ...]] = []
    bar = []
    for menu in menus:
        groups = draw.sample(GROUPS, 3) if level == 3 else [""]
        items = []
        for group in groups:
            names = draw.sample(COMMANDS, 3 if level < 3 else 2)
            ways += [(menu, group, name) if group else (menu, name) for name in names]
            leaves = [_command(draw, (menu, group, name) if group else (menu, name)) for name in names]
            items += [_menu(f"{menu}-{group}", group, leaves, "hover")] if group else leaves
        bar.append(_menu(menu, menu, items, "click"))
    way = draw.choice(ways)
    wanted = {"done.0": " ".join(way)}
    page = ["body", ["h1", file], ["nav", *bar]]
    goal = {"wanted": wanted, "todo": [{"done": wanted, "click": "-".join(way)}]}
    prompt = f"the document is {file}. choose {' > '.join(way)} in its menus."
    return Made(prompt, {"start": "home", "pages": {"home": page}, "data": {"done": []}}, goal)


def _menu(id: str, name: str, items: list[Any], event: str) -> list[Any]:
    popup = f"{id}-menu"
    opener = ["button", {"id": f"{id}-opener", "on": {event: [["open", popup]]}}, name]
    return [
        "span",
        {"id": f"{id}-whole"},
        opener,
        ["ul", {"id": popup, "hidden": True}, *(["li", item] for item in items)],
    ]


def _command(draw: random.Random, way: tuple[str, ...]) -> list[Any]:
    return [
        "button",
        {"id": "-".join(way), "on": {"click": [["note", "done", " ".join(way)], ["say", f"{way[-1]} done"]]}},
        way[-1],
    ]


def _settings(draw: random.Random, words: Words, level: int) -> Made:
    owner = draw.choice(words.people)
    sections = draw.sample(SECTIONS, {4: 3, 5: 4}.get(level, 6))
    data: dict[str, Any] = {}
    pages: dict[str, Any] = {}
    for section in sections:
        names = draw.sample(SWITCHES, 2 if level < 6 else 4)
        data[section] = {name: draw.choice(("on", "off")) for name in names} | {"level": draw.choice(CHOICES)}
        pages[section] = _section(section, names, lures(draw, level) if draw.random() < 0.6 else [])
    links = [["a", {"id": f"to-{section}", "href": section}, section] for section in sections]
    if level >= 6:
        half = len(links) // 2
        links = [_menu("basic", "basic", links[:half], "click"), _menu("more", "more", links[half:], "hover")]
    pages["home"] = ["body", ["h1", f"settings of {owner}"], ["nav", *links], *lures(draw, level)]
    wanted: dict[str, str] = {}
    said, todo = [], []
    for section in draw.sample(sections, {4: 1, 5: 2, 6: 2, 7: 2, 8: 3}[level]):
        name = draw.choice(sorted(data[section]))
        before = data[section][name]
        value = (
            draw.choice([c for c in CHOICES if c != before]) if name == "level" else {"on": "off", "off": "on"}[before]
        )
        wanted[f"{section}.{name}"] = value
        todo.append(
            {"done": {f"{section}.{name}": value}, "set": [[f"{section}-{name}", value]], "click": f"{section}-save"}
        )
        said.append(f"{section} {name} to {value}")
    site = {"start": "home", "pages": pages, "data": data}
    return Made(f"in the settings of {owner}, set {', '.join(said)}, and save.", site, {"wanted": wanted, "todo": todo})


def _section(section: str, names: list[str], distractors: list[Any]) -> list[Any]:
    rows: list[Any] = [
        [
            "p",
            [
                "input",
                {"type": "checkbox", "id": f"{section}-{n}", "name": n, "label": n, "checked": f"{{{section}.{n}}}"},
            ],
        ]
        for n in names
    ]
    options = [["option", {}, choice] for choice in CHOICES]
    rows.append(
        [
            "p",
            [
                "select",
                {"id": f"{section}-level", "name": "level", "label": "level", "value": f"{{{section}.level}}"},
                *options,
            ],
        ]
    )
    buttons = ["p", ["button", {"id": f"{section}-save"}, "save"], ["a", {"href": "home"}, "back to settings"]]
    form = [
        "form",
        {"id": section, "on": {"submit": [["merge", section], ["say", "saved"], ["go", "home"]]}},
        *rows,
        buttons,
    ]
    return ["body", ["h1", section], *distractors, form]
