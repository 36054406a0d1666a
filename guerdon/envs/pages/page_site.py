"""A site of pages, and what events do to it: the page engine.

A site is JSON: `start`, `pages` (a template each) and `data`, the server's state: what was ordered, sent,
set. What the player merely looks at (which page, what is typed, open menus, sorted lists) is kept separately, in `Looks`: only
changes of `data` are done things, and goals are checks of them (`page_goals.py`). What an event does is data too, a
list of effects by name. `form_values` is what a form holds when it is sent, and what it complains about.
Leaves out: how a page is shown and how a player's words become events (`tree_view.py`, `screen_view.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.envs.pages.elements import Builder, Effect, Element, Node
from guerdon.envs.pages.page_effects import happens, take_in
from guerdon.envs.pages.page_looks import ListLook, Looks

LONGEST = 200  # characters that a field takes


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
            raise UserError(
                f"a site is {{'start': PAGE, 'pages': {{PAGE: template}}, 'data': {{...}}}}, not {list(made)}"
            )
        self.made = made
        self.nodes: dict[str, Node] = {}  # templates that were read
        self.data: dict[str, Any] = json.loads(json.dumps(made.get("data", {})))
        self.looks = Looks(made["start"])
        self.log: list[tuple[str, str, str]] = []
        self.ways: dict[tuple[Any, ...], Any] = {}  # for the gold player: what it has searched, until the data change
        self._root: Element | None = None

    def fork(self) -> Site:
        """The same site to look around in: what is done in its data would be done here too."""
        twin = object.__new__(Site)
        twin.ways = {}
        twin.made, twin.nodes, twin.data, twin.looks, twin.log = (
            self.made,
            self.nodes,
            self.data,
            self.looks.copied(),
            [],
        )
        twin._root = self.root  # elements stay as they are: events rebuild the page
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
            if name not in self.nodes:
                self.nodes[name] = Node(self.made["pages"][name], name)
            node = self.nodes[name]
            shown = looks.open_parts | dict.fromkeys(looks.popups, True)
            row = self._row(node, item) if item else None
            self._root = Builder(self.data, self.rows, looks.values, shown).build(node, row, None)
        return self._root

    def element(self, id: str) -> Element:
        """The visible element with an id."""
        for element in self.root.walk():
            if element.id == id:
                return element
        raise unknown("element", id, [element.id for element in self.root.walk() if element.is_control])

    def rows(self, name: str, given: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The rows of a list that are shown now: `only` and `per` are the template's, the rest the player chose."""
        rows = self.chosen(name, given.get("only", {}))
        per, at = int(given.get("per", 0)), self._list(name).at
        return rows[at * per : (at + 1) * per] if per else rows

    def chosen(self, name: str, only: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """All rows of a list that the player's search and filters leave, in the order it chose."""
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

    def _list(self, name: str) -> ListLook:
        return self.looks.lists.get(name) or ListLook()

    def _row(self, node: Node, item: str) -> Mapping[str, Any]:
        for row in self.data.get(node.given.get("of", ""), []):
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
            if at.kind == "field" and form is not None:
                self._submit(form)
            elif at.kind != "field":
                self.click(at)

    def back(self) -> bool:
        """To the page before; whether there is one."""
        if not self.looks.history:
            return False
        self.log.append(("back", "", ""))
        self.looks.notices = ()
        *before, last = self.looks.history
        self.move_to(last, tuple(before))
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
            happens(self, element, effect)
        self._root = None

    def move_to(self, address: str, history: tuple[str, ...]) -> None:
        """Show another page; `?` in its address is followed by the id of the row that it is about."""
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
                take_in(self, effect, values)
            else:
                happens(self, form, effect)


def _has(row: Mapping[str, Any], words: list[str]) -> bool:
    text = " ".join(str(value) for value in row.values()).lower()
    return all(word in text for word in words)


def _opens(element: Element, popup: str) -> bool:
    return any(effect == ["open", popup] for effects in element.on.values() for effect in effects)


FORMATS = {  # of a field: what it must be, and how that is said
    "email": (r"[\w.]+@[\w.]+\.\w+", "must look like name@place.com"),
    "number": (r"-?[0-9]+", "must be a whole number"),
    "digits": (r"[0-9]+", "must be digits alone"),
    "date": (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "must look like 2024-05-31"),
    "time": (r"[0-9]{2}:[0-9]{2}", "must look like 09:30"),
    "code": (r"[a-z]{2}-[0-9]{3}", "must look like ab-123"),
}


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
    if "least" in given and re.fullmatch("-?[0-9]+", value) and int(value) < int(given["least"]):
        return f"must be at least {given['least']}"
    if "same" in given and value != values.get(given["same"]):
        return f"must be the same as {given['same']}"
    return ""
