"""A site of pages, and what events do to it: the page engine.

A site is JSON: `start`, `pages` (a template each) and `data`, which stands for the server: what was ordered, sent, set. What
the player merely looks at (which page, what is typed, open menus, sorted lists) is apart, in `Looks`: only changes of `data` are
done things, and goals are checks of them (`page_goals.py`). What an event does is data too, a list of effects by name.
Leaves out: how a page is shown and how a player's words become events (`tree_view.py`, `screen_view.py`).
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.envs.pages.elements import FIELDS, Builder, Effect, Element

LONGEST = 200  # characters that a field takes
FORMATS = {  # of a field: what it must be, and how that is said
    "email": (r"[\w.]+@[\w.]+\.\w+", "must look like name@place.com"),
    "number": (r"-?\d+", "must be a whole number"),
    "digits": (r"\d+", "must be digits alone"),
    "date": (r"\d{4}-\d\d-\d\d", "must look like 2024-05-31"),
    "time": (r"\d\d:\d\d", "must look like 09:30"),
    "code": (r"[a-z]{2}-\d{3}", "must look like ab-123"),
}


@dataclass(slots=True)
class Listing:
    """How a list of the data is looked at."""

    text: str = ""
    where: tuple[tuple[str, str], ...] = ()
    sort: str = ""
    falling: bool = False
    at: int = 0


@dataclass(slots=True)
class Looks:
    """Where the player is and what is open and typed there. Leaving a page forgets what was typed, as leaving a form does."""

    address: str
    history: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    open_parts: dict[str, bool] = field(default_factory=dict)
    popups: tuple[str, ...] = ()
    lists: dict[str, Listing] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    focus: str = ""
    scroll: int = 0

    def copied(self) -> Looks:
        lists = {name: copy.copy(listing) for name, listing in self.lists.items()}
        return Looks(
            self.address, self.history, dict(self.values), dict(self.open_parts), self.popups, lists, self.errors,
            self.notices, self.focus, self.scroll,
        )  # fmt: skip

    @property
    def place(self) -> tuple[Any, ...]:
        """What tells two ways of looking at a site apart for whoever seeks something in it."""
        lists = tuple((name, x.text, x.where, x.sort, x.falling, x.at) for name, x in sorted(self.lists.items()))
        return (self.address, self.popups, tuple(sorted(self.open_parts.items())), lists)


class Site:
    """A site that is being visited. Events are methods; `log` holds what happened.

    >>> import guerdon as gd
    >>> home = ["body", ["h1", "Hello"], ["button", {"id": "go", "on": {"click": [["set", "lamp", {"is": "on"}]]}}, "Light"]]
    >>> site = gd.envs.Site({"start": "home", "pages": {"home": home}, "data": {"lamp": {"is": "off"}}})
    >>> site.click(site.element("go"))
    >>> site.data, site.log
    ({'lamp': {'is': 'on'}}, [('click', 'go', '')])
    """

    def __init__(self, made: Mapping[str, Any]) -> None:
        lacks = {"start", "pages"} - set(made)
        if lacks or made["start"] not in made["pages"]:
            raise UserError(f"a site is {{'start': PAGE, 'pages': {{PAGE: template}}, 'data': {{...}}}}, not {list(made)}")
        self.made = made
        self.data: dict[str, Any] = json.loads(json.dumps(made.get("data", {})))
        self.looks = Looks(made["start"])
        self.log: list[tuple[str, str, str]] = []
        self._root: Element | None = None

    def fork(self) -> Site:
        """The same site to look around in: what is done in its data would be done here too."""
        twin = object.__new__(Site)
        twin.made, twin.data, twin.looks, twin.log = self.made, self.data, self.looks.copied(), []
        twin._root = self.root  # elements stay as they are: events build the page anew
        return twin

    # what is there

    @property
    def page(self) -> str:
        return self.looks.address.partition("?")[0]

    @property
    def root(self) -> Element:
        """The page as it is now."""
        if self._root is None:
            looks = self.looks
            name, _, item = looks.address.partition("?")
            template = self.made["pages"][name]
            shown = looks.open_parts | dict.fromkeys(looks.popups, True)
            row = self._row(template, item) if item else None
            self._root = Builder(self.data, self.rows, looks.values, shown).build(template, row, None, name)
        return self._root

    def element(self, id: str) -> Element:
        """The visible element with an id."""
        for element in self.root.walk():
            if element.id == id:
                return element
        raise unknown("element", id, [element.id for element in self.root.walk() if element.is_control])

    def rows(self, name: str, given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The rows of a list that are shown now: `only` and `per` are the template's, the rest the player chose."""
        rows = self._chosen(name, given.get("only", {}))
        per, at = int(given.get("per", 0)), self._list(name).at
        return rows[at * per : (at + 1) * per] if per else rows

    def _chosen(self, name: str, only: Mapping[str, str]) -> list[Mapping[str, Any]]:
        listing = self._list(name)
        rows: list[Mapping[str, Any]] = [r for r in self.data[name] if all(str(r[k]) == v for k, v in only.items())]
        for column, value in listing.where:
            rows = [row for row in rows if str(row[column]) == value]
        if listing.text:
            words = listing.text.lower().split()
            rows = [row for row in rows if _has(row, words)]
        if listing.sort:
            rows = sorted(rows, key=lambda row: row[listing.sort], reverse=listing.falling)
        return rows

    def _list(self, name: str) -> Listing:
        return self.looks.lists.get(name) or Listing()

    def _row(self, template: Any, item: str) -> Mapping[str, Any]:
        for row in self.data[template[1]["of"]]:
            if str(row["id"]) == item:
                return dict(row)
        return {}

    # events

    def click(self, element: Element) -> None:
        self._happen("click", element)
        kind = element.kind
        if element.disabled:
            self.looks.notices = (f"{element.label} cannot be used now",)
        elif kind in ("box", "radio"):
            key = element.id if kind == "box" else f"radio {element.attributes.get('name', '')}"
            self._set(element, key, "" if kind == "box" and element.checked else element.value)
        elif kind == "field":
            self.looks.focus = element.id
        elif kind == "select":
            key = f"{element.id} options"
            self.looks.popups = () if key in self.looks.popups else (*self.looks.popups, key)
        elif kind == "option" and element.parent is not None:
            self.select(element.parent, element.label)
        elif "click" in element.on:
            self._run(element.on["click"], element)
        elif element.attributes.get("href"):
            self._run([["go", element.attributes["href"]]], element)
        elif element.tag == "button" and (form := element.within("form")) is not None:
            self._submit(form)

    def type(self, element: Element, text: str) -> None:
        """Put a text into a field, in place of what is there."""
        self._happen("type", element, text[:LONGEST])
        self.looks.focus = element.id
        if len(text) > LONGEST:
            self.looks.notices = (f"{element.label} takes at most {LONGEST} characters: the rest is left out",)
        self._set(element, element.id, " ".join(text[:LONGEST].split()))

    def select(self, element: Element, option: str) -> None:
        self._happen("select", element, option)
        self.looks.popups = tuple(p for p in self.looks.popups if p != f"{element.id} options")
        self._set(element, element.id, option)

    def hover(self, element: Element) -> None:
        self._happen("hover", element)
        self._run(element.on.get("hover", []), element)

    def press(self, key: str) -> None:
        """Enter sends the form that the focus is in, tab moves the focus on, escape closes what is open."""
        self.log.append(("press", self.looks.focus, key))
        self.looks.notices = ()
        self._root = None
        at = next((e for e in self.root.walk() if e.id == self.looks.focus), None)
        if key == "escape":
            self.looks.popups, self._root = (), None
        elif key == "tab":
            controls = [e for e in self.root.walk() if e.is_control and e.tag != "option"]
            after = controls.index(at) + 1 if at in controls else 0
            self.looks.focus = controls[after % len(controls)].id if controls else ""
        elif key == "enter" and at is not None:
            form = at.within("form")
            if at.tag in FIELDS and form is not None:
                self._submit(form)
            elif at.tag not in FIELDS:
                self.click(at)

    def back(self) -> bool:
        """To the page before; whether there is one."""
        if not self.looks.history:
            return False
        self.log.append(("back", "", ""))
        *before, last = self.looks.history
        self._go(last, tuple(before))
        return True

    def _happen(self, event: str, element: Element, value: str = "") -> None:
        self.log.append((event, element.id, value))
        looks = self.looks
        looks.notices, looks.focus = (), element.id
        if looks.popups:  # a menu closes when something beside it is used
            whole = [p for p in looks.popups if element.is_in(p.removesuffix(" options")) or _opens(element, p)]
            looks.popups = tuple(whole)
        self._root = None

    def _set(self, element: Element, key: str, value: str) -> None:
        self.looks.values[key] = value
        self._root = None
        self._run(element.on.get("change", []), element)

    def _run(self, effects: list[Effect], element: Element) -> None:
        for effect in effects:
            EFFECTS[effect[0]](self, element, *effect[1:])
        self._root = None

    def _go(self, address: str, history: tuple[str, ...]) -> None:
        if address.partition("?")[0] not in self.made["pages"]:
            self.looks.notices = ("that page is not there",)
            return
        self.looks = Looks(address, history, lists=self.looks.lists, notices=self.looks.notices)
        self._root = None

    def _submit(self, form: Element) -> None:
        values, errors = form_values(form)
        self.looks.errors = tuple(errors)
        self._root = None
        if errors:
            return
        for effect in form.on.get("submit", []):
            if effect[0] in ("store", "merge"):
                _take_in(self, effect, values)
            else:
                EFFECTS[effect[0]](self, form, *effect[1:])


def form_values(form: Element) -> tuple[dict[str, str], list[str]]:
    """What a form's controls hold by name, and what is wrong with it."""
    values: dict[str, str] = {}
    controls = [e for e in form.walk() if e.attributes.get("name") and e.is_control and e.tag not in ("a", "button")]
    for each in controls:
        name, kind = each.attributes["name"], each.kind
        if kind == "box":
            values[name] = each.value if each.checked else "off"
        elif kind == "radio":
            values[name] = each.value if each.checked else values.get(name, "")
        else:
            values[name] = each.value
    errors = []
    for each in controls:
        wrong = _wrong(each, values)
        if wrong and f"{each.attributes['name']} {wrong}" not in errors:
            errors.append(f"{each.attributes['name']} {wrong}")
    return values, errors


def _wrong(control: Element, values: Mapping[str, str]) -> str:
    given, value = control.attributes, values[control.attributes["name"]]
    if value in ("", "off") and "required" in given:
        return "must be ticked" if control.kind == "box" else "is needed"
    pattern, says = FORMATS.get(given.get("format", ""), ("", ""))
    if value and pattern and not re.fullmatch(pattern, value):
        return says
    if value and "least" in given and int(value) < int(given["least"]):
        return f"must be at least {given['least']}"
    if "same" in given and value != values.get(given["same"]):
        return f"must be the same as {given['same']}"
    return ""


def _take_in(site: Site, effect: Effect, values: dict[str, str]) -> None:
    name, key, *more = effect
    whole = values | (more[0] if more else {})
    if name == "store":
        site.data.setdefault(key, []).append(whole)
    else:
        site.data.setdefault(key, {}).update(whole)


def _has(row: Mapping[str, Any], words: list[str]) -> bool:
    text = " ".join(str(value) for value in row.values()).lower()
    return all(word in text for word in words)


def _opens(element: Element, popup: str) -> bool:
    return any(effect == ["open", popup] for effects in element.on.values() for effect in effects)


# effects by name: what an event does

EFFECTS: dict[str, Callable[..., None]] = {}
LOOKING = frozenset(("go", "open", "toggle", "turn", "search", "where", "sort", "say"))  # those that do nothing to the data


def effect(function: Callable[..., None]) -> Callable[..., None]:
    EFFECTS[function.__name__.removeprefix("_")] = function
    return function


@effect
def _go(site: Site, element: Element, address: str) -> None:
    site._go(address, (*site.looks.history, site.looks.address)[-20:])


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
    listing = site.looks.lists.setdefault(name, Listing())
    last = max(0, (len(site._chosen(name, only or {})) - 1) // per)
    listing.at = min(max(listing.at + by, 0), last)


@effect
def _search(site: Site, element: Element, name: str, id: str) -> None:
    listing = site.looks.lists.setdefault(name, Listing())
    listing.text, listing.at = site.element(id).value, 0


@effect
def _where(site: Site, element: Element, name: str, column: str, id: str) -> None:
    listing, value = site.looks.lists.setdefault(name, Listing()), site.element(id).value
    others = tuple(pair for pair in listing.where if pair[0] != column)
    listing.where, listing.at = (others if value == "any" else (*others, (column, value))), 0


@effect
def _sort(site: Site, element: Element, name: str, column: str) -> None:
    listing = site.looks.lists.setdefault(name, Listing())
    listing.falling = listing.sort == column and not listing.falling
    listing.sort, listing.at = column, 0


@effect
def _put(site: Site, element: Element, name: str, row: Mapping[str, str]) -> None:
    """Add a row to a list; `#id` in it is what that control holds."""
    held = {k: site.element(v[1:]).value if v.startswith("#") else v for k, v in row.items()}
    site.data.setdefault(name, []).append(held)


@effect
def _change(site: Site, element: Element, name: str, id: str, changes: Mapping[str, str]) -> None:
    """Change columns of one row of a list."""
    for row in site.data[name]:
        if str(row["id"]) == id:
            row.update({k: site.element(v[1:]).value if v.startswith("#") else v for k, v in changes.items()})


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
