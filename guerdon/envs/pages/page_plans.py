"""The gold player of page worlds: what one who knows the whole site would do now, from wherever the player has got to.

A goal has `todo`, what is to be done in turn: `set` (controls and what they must hold) and then `click`, until the changes in
`done` are there; or `see`, until that element was in view. The way to an element that is not on the page is searched for
breadth first, over whatever only looks around, so it is a shortest one.
Leaves out: how a step is said (the view says that) and whether the goal was reached (`page_goals.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from guerdon.envs.pages.elements import Element
from guerdon.envs.pages.page_effects import LOOKING
from guerdon.envs.pages.page_site import Site

Step = tuple[str, str, str]  # click, type, select, hover, back or stop; the id of an element; what with it
MOST = 4000  # ways of looking at a site that are tried


def next_step(site: Site, goal: Mapping[str, Any], done: Mapping[str, Any], seen: Collection[str]) -> Step:
    """What to do now."""
    if "plan" in goal:
        return _planned(site, goal)
    return (
        _mended(site, goal) or _next(site, goal.get("todo", []), done, seen) or ("stop", "", goal.get("answer") or "")
    )


def _next(site: Site, todo: Collection[Any], done: Mapping[str, Any], seen: Collection[str]) -> Step | None:
    for entry in todo:
        if "see" in entry:
            if entry["see"] not in seen:
                return way_to(site, entry["see"], entry.get("hints", ())) or ("see", entry["see"], "")
        elif not all(place in done and done[place] == value for place, value in entry["done"].items()):
            return _next(site, entry.get("first", ()), done, seen) or _doing(site, entry)
    return None


def _planned(site: Site, goal: Mapping[str, Any]) -> Step:
    """Of a written plan, the first step that has not happened yet."""
    log = iter(site.log)
    for verb, id, *what in goal["plan"]:
        step = (verb, id, what[0] if what else "")
        if step not in log:  # which continues where the step before was
            return step
    return ("stop", "", goal.get("answer") or "")


def _mended(site: Site, goal: Mapping[str, Any]) -> Step | None:
    """Take back what does not belong into a list: `undo` says which, how, and which rows belong."""
    name, verb, rows = goal.get("undo", ("", "", ()))
    kept: list[Mapping[str, Any]] = []
    for row in site.data.get(name, []):
        if row not in rows or row in kept:
            return way_to(site, f"{verb}:{row['id']}") or ("click", f"{verb}:{row['id']}", "")
        kept.append(row)
    return None


def _doing(site: Site, entry: Mapping[str, Any]) -> Step:
    controls = {element.id: element for element in site.root.walk()}
    for id, value in entry.get("set", ()):
        if id not in controls:
            return way_to(site, id, entry.get("hints", ())) or ("stop", "", "")
        step = setting(controls[id], value)
        if step is not None:
            return step
    way = way_to(site, entry["click"], entry.get("hints", ()))
    return way or ("click", entry["click"], "")


def setting(control: Element, value: str) -> Step | None:
    """How a control gets a value, None when it has it."""
    kind = control.kind
    if kind in ("box", "radio"):
        return None if control.checked == (value == control.value) else ("click", control.id, "")
    if control.value == value:
        return None
    return ("select" if kind == "select" else "type", control.id, value)


def way_to(site: Site, id: str, hints: Collection[tuple[str, str]] = ()) -> Step | None:
    """The first step of a shortest way to where an element can be seen; None when it can be seen here, or nowhere."""
    first = site.fork()
    if _shows(first, id):
        return None
    if (id, _place(first)) not in site.ways:
        way = _searched(first, id, hints)
        at = first.fork()
        for step in way:  # each place on it is on the shortest way too
            site.ways[id, _place(at)] = step
            take(at, step)
        if not way:
            return None
    began: Step = site.ways[id, _place(first)]
    return began


def _searched(first: Site, id: str, hints: Collection[tuple[str, str]]) -> tuple[Step, ...]:
    tried = {_place(first)}
    queue: deque[tuple[Site, tuple[Step, ...]]] = deque([(first, ())])
    while queue and len(tried) < MOST:
        at, way = queue.popleft()
        for step in _looks_around(at, id, hints):
            then = at.fork()
            take(then, step)
            place = _place(then)
            if place not in tried:
                tried.add(place)
                if _shows(then, id):
                    return (*way, step)
                queue.append((then, (*way, step)))
    return ()


def _place(site: Site) -> tuple[Any, ...]:
    return (*site.looks.place, tuple(sorted(site.looks.values.items())))


def _shows(site: Site, id: str) -> bool:
    return any(element.id == id for element in site.root.walk())


def _looks_around(site: Site, id: str, hints: Collection[tuple[str, str]]) -> Iterator[Step]:
    """Steps that change nothing but what is looked at. Pages of other rows than the one that is sought are left out."""
    item = id.rpartition(":")[2] if ":" in id else ""
    wanted = dict(hints)
    for element in site.root.walk():
        if element.id in wanted and (step := setting(element, wanted[element.id])) is not None:
            yield step
        for event in ("click", "hover"):
            effects = element.on.get(event, [])
            if event == "click" and not effects and element.attributes.get("href"):
                effects = [["go", element.attributes["href"]]]
            if effects and not element.disabled and all(_looks(effect, item) for effect in effects):
                yield (event, element.id, "")
    if site.looks.history:
        yield ("back", "", "")


def _looks(effect: list[Any], item: str) -> bool:
    return effect[0] in LOOKING and not (effect[0] == "go" and "?" in effect[1] and effect[1].partition("?")[2] != item)


def take(site: Site, step: Step) -> None:
    """Do a step that names its element."""
    verb, id, value = step
    if verb == "back":
        site.back()
    elif verb in ("type", "select"):
        getattr(site, verb)(site.element(id), value)
    elif verb in ("click", "hover"):
        getattr(site, verb)(site.element(id))
