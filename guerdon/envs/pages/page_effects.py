"""What events do to a site, by name: `["go", "cart"]`, `["sort", "products", "price"]`, `["put", "cart", {...}]`.

A site's handlers are lists of these, as JSON. Those in `LOOKING` change only what is looked at.
Leaves out: when they happen (`page_site.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from guerdon.core.errors import unknown
from guerdon.envs.pages.elements import Effect, Element
from guerdon.envs.pages.page_looks import ListLook

if TYPE_CHECKING:
    from guerdon.envs.pages.page_site import Site

EFFECTS: dict[str, Callable[..., None]] = {}
LOOKING = frozenset(("go", "open", "toggle", "turn", "search", "where", "sort", "say"))  # nothing is done to the data


def effect(function: Callable[..., None]) -> Callable[..., None]:
    EFFECTS[function.__name__.removeprefix("_")] = function
    return function


def happens(site: Site, element: Element, effect: Effect) -> None:
    """Have an effect happen to a site; `element` is what the event befell."""
    if effect[0] not in EFFECTS:
        raise unknown("effect", effect[0], EFFECTS)
    if effect[0] not in LOOKING:
        site.ways.clear()
    EFFECTS[effect[0]](site, element, *effect[1:])


@effect
def _go(site: Site, element: Element, address: str) -> None:
    site.move_to(address, (*site.looks.history, site.looks.address)[-20:])


@effect
def _open(site: Site, element: Element, id: str) -> None:
    if id not in site.looks.popups:
        site.looks.popups = (*site.looks.popups, id)


@effect
def _toggle(site: Site, element: Element, id: str) -> None:
    site.looks.open_parts[id] = not site.looks.open_parts.get(id, False)


@effect
def _say(site: Site, element: Element, text: str) -> None:
    site.looks.notices = (*site.looks.notices, text)


@effect
def _turn(site: Site, element: Element, name: str, by: int, per: int, only: Mapping[str, str] | None = None) -> None:
    listing = site.looks.lists.setdefault(name, ListLook())
    last = max(0, (len(site.chosen(name, only or {})) - 1) // per)
    listing.at = min(max(listing.at + by, 0), last)


@effect
def _search(site: Site, element: Element, name: str, id: str) -> None:
    listing = site.looks.lists.setdefault(name, ListLook())
    listing.text, listing.at = site.element(id).value, 0


@effect
def _where(site: Site, element: Element, name: str, column: str, id: str) -> None:
    listing, value = site.looks.lists.setdefault(name, ListLook()), site.element(id).value
    others = tuple(pair for pair in listing.where if pair[0] != column)
    listing.where, listing.at = (others if value == "any" else (*others, (column, value))), 0


@effect
def _sort(site: Site, element: Element, name: str, column: str) -> None:
    listing = site.looks.lists.setdefault(name, ListLook())
    listing.falling = listing.sort == column and not listing.falling
    listing.sort, listing.at = column, 0


@effect
def _put(site: Site, element: Element, name: str, row: Mapping[str, str]) -> None:
    """Add a row to a list; `#id` in it is what that control holds."""
    site.data.setdefault(name, []).append(_held(site, row))


@effect
def _change(site: Site, element: Element, name: str, id: str, changes: Mapping[str, str]) -> None:
    """Change columns of one row of a list."""
    for row in site.data[name]:
        if str(row["id"]) == id:
            row.update(_held(site, changes))


def _held(site: Site, row: Mapping[str, str]) -> dict[str, str]:
    by_id = {element.id: element.value for element in site.root.walk() if element.is_control}
    return {name: by_id.get(text[1:], text) if text.startswith("#") else text for name, text in row.items()}


@effect
def _drop(site: Site, element: Element, name: str, id: str) -> None:
    site.data[name] = [row for row in site.data[name] if str(row["id"]) != id]


@effect
def _set(site: Site, element: Element, name: str, changes: Mapping[str, str]) -> None:
    site.data.setdefault(name, {}).update(changes)


@effect
def _note(site: Site, element: Element, name: str, text: str) -> None:
    site.data.setdefault(name, []).append(text)


@effect
def _move(site: Site, element: Element, name: str, other: str) -> None:
    """All rows of a list together become one row of another."""
    if site.data[name]:
        site.data.setdefault(other, []).append({"items": site.data[name]})
        site.data[name] = []


@effect
def _lure(site: Site, element: Element, what: str) -> None:
    """Something that was only there to be fallen for."""
    site.data.setdefault("lured", []).append(what)


def take_in(site: Site, effect: Effect, values: dict[str, str]) -> None:
    """A form that was sent comes into the data: added to a list (`store`) or put over what is there (`merge`)."""
    name, key, *more = effect
    site.ways.clear()
    whole = values | (more[0] if more else {})
    if name == "store":
        site.data.setdefault(key, []).append(whole)
    else:
        site.data.setdefault(key, {}).update(whole)
