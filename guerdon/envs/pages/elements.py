"""Elements of a page: a tree of tags as in HTML, built from a page's template.

A template is JSON: `[tag, {attributes}, child, ...]`, where a child is a text or another template. In a part with `each` it
stands once for every row of a list of the site's data; `{column}` in it is the row's, `{settings.theme}` the data's,
`{count cart}` and `{sum cart price}` are computed. What is put in is never read as a template again.
Leaves out: what a click does (`page_site.py`), how a page looks (`tree_view.py`, `screen_view.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Template = Any  # [tag, {attributes}, *children] as JSON
Effect = list[Any]  # ["go", "cart"]: what happens, by name, and with what

INLINE = frozenset(
    ("a", "b", "button", "em", "i", "input", "label", "option", "select", "small", "span", "strong", "td", "textarea", "th")
)
CONTROLS = frozenset(("a", "button", "input", "option", "select", "textarea"))
FIELDS = frozenset(("input", "textarea"))
HOLES = re.compile(r"\{([^{}]*)\}")
OWN = frozenset(("id", "value", "checked", "hidden", "disabled", "on", "each", "only", "per"))  # not kept as attributes


class Element:
    """One element: its tag, its text, what it holds and what events do to it."""

    __slots__ = (
        "attributes", "checked", "children", "disabled", "hidden", "id", "is_block", "is_control", "on", "parent", "tag",
        "text", "value",
    )  # fmt: skip

    def __init__(self, tag: str, id: str, text: str, attributes: dict[str, str], parent: Element | None) -> None:
        self.tag, self.id, self.text, self.attributes, self.parent = tag, id, text, attributes, parent
        self.value, self.checked, self.hidden, self.disabled = "", False, False, False
        self.on: Mapping[str, list[Effect]] = {}
        self.children: list[Element] = []
        self.is_block, self.is_control = tag not in INLINE, tag in CONTROLS

    @property
    def kind(self) -> str:
        """What a control is to whoever uses it."""
        if self.tag == "input":
            kind = self.attributes.get("type", "text")
            return {"checkbox": "box", "radio": "radio"}.get(kind, "field")
        return {"a": "link", "textarea": "field"}.get(self.tag, self.tag)

    @property
    def label(self) -> str:
        """What a control is called."""
        return self.attributes.get("label") or self.text or self.attributes.get("name", "")

    def walk(self) -> Iterator[Element]:
        """Itself and all in it, in the order of the page; without what is hidden."""
        if not self.hidden:
            yield self
            for child in self.children:
                yield from child.walk()

    def within(self, tag: str) -> Element | None:
        """The nearest element of a tag that it stands in."""
        above = self.parent
        while above is not None and above.tag != tag:
            above = above.parent
        return above

    def is_in(self, id: str) -> bool:
        """Whether it is the element with this id, or stands in it."""
        at: Element | None = self
        while at is not None and at.id != id:
            at = at.parent
        return at is not None


class Builder:
    """Builds a page's elements from its template, the site's data and the rows that its lists show now."""

    def __init__(self, data: Mapping[str, Any], rows: Any, values: Mapping[str, str], open_parts: Mapping[str, bool]) -> None:
        self.data, self.rows, self.values, self.open_parts = data, rows, values, open_parts

    def build(self, node: Template, row: Mapping[str, Any] | None, parent: Element | None, place: str) -> Element:
        given, inside = _parts(node)
        fill = self._fill
        attributes = {name: fill(str(value), row) for name, value in given.items() if name not in OWN}
        id = fill(str(given["id"]), row) if "id" in given else place
        element = Element(node[0], id, "", attributes, parent)
        if "on" in given:
            element.on = {event: _filled(effects, row, fill) for event, effects in given["on"].items()}
        self._state(element, given, row, fill)
        if element.hidden:
            return element  # what nobody can see or use is not built
        if "each" in given:
            for number, each in enumerate(self.rows(given["each"], given)):
                for n, child in enumerate(inside):
                    element.children.append(self.build(child, each, element, f"{place}.{each.get('id', number)}.{n}"))
        elif all(isinstance(child, str) for child in inside):
            element.text = fill("".join(inside), row)
        else:
            for n, child in enumerate(inside):
                node = ["span", {}, child] if isinstance(child, str) else child
                element.children.append(self.build(node, row, element, f"{place}.{n}"))
        if element.tag == "select" and not element.value and element.children:
            element.value = element.children[0].text  # as browsers do
        return element

    def _state(self, element: Element, given: Mapping[str, Any], row: Mapping[str, Any] | None, fill: Any) -> None:
        """What the player changed stands before what the template says."""
        id = element.id
        element.hidden = not self.open_parts[id] if id in self.open_parts else bool(given.get("hidden"))
        element.disabled = bool(given.get("disabled"))
        kind = element.kind
        if kind in ("box", "radio"):
            element.value = fill(str(given.get("value", "on")), row)
            key = id if kind == "box" else f"radio {element.attributes.get('name', '')}"
            checked = given.get("checked", False)
            held = self.values.get(key)
            if held is None:
                element.checked = checked is True or (isinstance(checked, str) and fill(checked, row) == element.value)
            else:
                element.checked = held == element.value
        elif element.tag in FIELDS or element.tag == "select":
            element.value = self.values.get(id, fill(str(given.get("value", "")), row))

    def _fill(self, text: str, row: Mapping[str, Any] | None) -> str:
        return HOLES.sub(lambda hole: self._value(hole[1], row or {}), text) if "{" in text else text

    def _value(self, name: str, row: Mapping[str, Any]) -> str:
        if name in row:
            return str(row[name])
        what, _, rest = name.partition(" ")
        if what == "count" and rest in self.data:
            return str(len(self.data[rest]))
        if what == "sum":
            key, _, column = rest.partition(" ")
            return str(sum(int(each.get(column, 0)) for each in self.data.get(key, [])))
        at: Any = self.data
        for step in name.split("."):
            at = at.get(step) if isinstance(at, Mapping) else None
        return f"{{{name}}}" if at is None or isinstance(at, Mapping | list) else str(at)


def _parts(node: Template) -> tuple[dict[str, Any], list[Any]]:
    has_attributes = len(node) > 1 and isinstance(node[1], dict)
    return (node[1], node[2:]) if has_attributes else ({}, node[1:])


def _filled(value: Any, row: Mapping[str, Any] | None, fill: Any) -> Any:
    """Effects with their holes filled, however deep."""
    if isinstance(value, str):
        return fill(value, row)
    if isinstance(value, list):
        return [_filled(each, row, fill) for each in value]
    if isinstance(value, dict):
        return {name: _filled(each, row, fill) for name, each in value.items()}
    return value


def visible_lines(root: Element) -> list[list[Element]]:
    """What can be seen, line by line: a block stands on lines of its own, what is inline joins the line it is on. Only elements
    with a text and controls are pieces of a line."""
    lines: list[list[Element]] = []
    line: list[Element] = []

    def flow(element: Element) -> None:
        nonlocal line
        if element.hidden:
            return
        if element.is_block and line:
            lines.append(line)
            line = []
        if element.text or element.is_control:
            line.append(element)
        if element.tag != "select":  # its options are shown by the view
            for child in element.children:
                flow(child)
        if element.is_block and line:
            lines.append(line)
            line = []

    flow(root)
    if line:
        lines.append(line)
    return lines
