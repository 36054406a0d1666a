"""The reference: a page for every public name, an index of each room, one of all of them, and the chart of algorithms."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any

import guerdon
from pages import chart, command_line, run_folder
from pages.discover import PYTHON, Public, intro, pages, rooms
from pages.part import name_page
from pages.prose import first_sentence, table

TITLES = {PYTHON: "Python", "envs": "Environments", "search": "Search", "select": "Selection"}
ALONE = {  # pages of the reference that no room holds: title, and what makes them
    "reference/algorithms.md": ("Algorithms by parts", lambda: chart_page()),
    "reference/command_line.md": ("Command line", lambda: command_line.page()),
    "reference/run_folder.md": ("Run folder", lambda: run_folder.page()),
}


@functools.cache
def house() -> chart.Built:
    return chart.built_recipes()


def title(room: str) -> str:
    return TITLES.get(room, room.capitalize())


def reference_pages() -> dict[str, str]:
    """Every page of the reference by its place in the site."""
    places = {path: make() for path, (_, make) in ALONE.items()}
    places["reference/index.md"] = whole_index()
    for room, members in rooms().items():
        places[f"reference/{room}/index.md"] = room_index(room)
        for public in members.values():
            places[pages()[id(public.value)]] = name_page(public, house())
    return places


def navigation() -> list[Any]:
    """The reference as the site's navigation has it."""
    entries: list[Any] = ["reference/index.md"]
    for room, members in rooms().items():
        inner = [{public.name: pages()[id(public.value)]} for public in members.values()]
        entries.append({title(room): [f"reference/{room}/index.md", *inner]})
    return [*entries, *({words: path} for path, (words, _) in ALONE.items())]


def undocumented() -> list[str]:
    """Public names without a docstring of their own: the build refuses them."""
    return [
        f"{public.written} ({public.path}) has no docstring"
        for members in rooms().values()
        for public in members.values()
        if not own_docstring(public.value)
    ]


def own_docstring(value: Any) -> str:
    """What was written for it, not what it inherits or what `dataclass` made up."""
    text = inspect.cleandoc(value.__dict__.get("__doc__") or "" if isinstance(value, type) else value.__doc__ or "")
    return "" if text.startswith(f"{value.__name__}(") else text


def chart_page() -> str:
    parts = {name: public.value for members in rooms().values() for name, public in members.items() if public.is_part}
    return chart.chart_page(house(), parts)


def whole_index() -> str:
    lines = ["# Reference", "Made from the code: a page for each public name, with its formula, knobs and an example."]
    rows = [[f"[{title(room)}]({room}/index.md)", intro(room), str(len(members))] for room, members in rooms().items()]
    lines.append(table(["", "what it holds", "names"], rows))
    lines.append(
        table(["", ""], [[f"[{words}]({PurePosixPath(path).name})", ""] for path, (words, _) in ALONE.items()])
    )
    return "\n\n".join(lines) + "\n"


def room_index(room: str) -> str:
    """A room's names with what each is, under the modules they stand in where there are many."""
    members = list(rooms()[room].values())
    lines = [f"# {title(room)}", intro(room)]
    together = [("", sorted(members, key=lambda public: public.name.casefold()))]  # those of gd come from everywhere
    for sub_room, names in together if room == PYTHON else groups(members):
        if sub_room:
            lines += [f"## {sub_room.replace('_', ' ').capitalize()}", intro(f"{room}.{sub_room}")]
        lines.append(table(["name", "what it is"], [index_row(public) for public in names]))
    if room == PYTHON:
        lines += ["## Every name of `gd`", every_name()]
    return "\n\n".join(filter(None, lines)) + "\n"


def index_row(public: Public) -> list[str]:
    place = PurePosixPath(pages()[id(public.value)]).name
    return [f"[`{public.name}`]({place})", first_sentence(own_docstring(public.value))]


def groups(members: list[Public]) -> Iterator[tuple[str, list[Public]]]:
    """By sub-room where a room has some (`guerdon.rewards.text`), all together where it has none."""

    def sub_room(public: Public) -> str:
        return ".".join(public.value.__module__.split(".")[2:-1])

    for name, names in groupby(sorted(members, key=lambda p: (sub_room(p), p.name.casefold())), key=sub_room):
        yield name, list(names)


def every_name() -> str:
    """What `gd` offers, each with the room that shows it."""
    rows = []
    for name in sorted(guerdon.__all__, key=str.casefold):
        place = pages().get(id(getattr(guerdon, name)))
        if place is not None:
            rows.append([f"[`gd.{name}`](../{place.removeprefix('reference/')})", title(place.split("/")[1])])
    return table(["name", "room"], rows)
