"""Elements of a page: a tree of tags as in HTML, built from a page's template.

A template is JSON: `[tag, {attributes}, child, ...]`, where a child is a text or another template. In a part with `each` it
stands once for every row of a list of the site's data; `{column}` in it is the row's, `{settings.theme}` the data's,
`{count cart}` is computed. What is put in is never read as a template again.
Leaves out: what a click does (`page_site.py`), how a page looks (`tree_view.py`, `screen_view.py`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

Template = Any  # [tag, {attributes}, *children] as JSON
Effect = list[Any]  # ["go", "cart"]: what happens, by name, and with what

INLINE = frozenset(
    (
        "a",
        "b",
        "button",
        "em",
        "i",
        "input",
        "label",
        "option",
        "select",
        "small",
        "span",
        "strong",
        "td",
        "textarea",
        "th",
    )
)
CONTROLS = frozenset(("a", "button", "input", "option", "select", "textarea"))
CELLS = frozenset(("td", "th"))
KINDS = {"a": "link", "textarea": "field"}  # what a control is to its user, where its tag does not say it
INPUTS = {"checkbox": "box", "radio": "radio"}
HOLES = re.compile(r"\{([^{}]*)\}")
OWN = frozenset(("id", "value", "checked", "hidden", "disabled", "on", "each", "only", "per"))  # not kept as attributes


class Element:
    """One element: its tag, its text, what it holds and what events do to it."""

    __slots__ = (
        "attributes",
        "checked",
        "children",
        "disabled",
        "hidden",
        "id",
        "node",
        "on",
        "parent",
        "text",
        "value",
    )

    def __init__(self, node: Node, id: str, attributes: Mapping[str, str], parent: Element | None) -> None:
        self.node, self.id, self.attributes, self.parent = node, id, attributes, parent
        self.text, self.value, self.checked, self.hidden, self.disabled = (
            node.text,
            "",
            False,
            node.hidden,
            node.disabled,
        )
        self.on: Mapping[str, list[Effect]] = node.on
        self.children: list[Element] = []

    @property
    def tag(self) -> str:
        return self.node.tag

    @property
    def kind(self) -> str:
        """What a control is to its user: link, button, field, box, radio, select or option."""
        return self.node.kind

    @property
    def is_control(self) -> bool:
        return self.node.is_control

    @property
    def label(self) -> str:
        """What a control is called."""
        last = self.value if self.kind == "radio" else self.attributes.get("name", "")
        return self.attributes.get("label") or self.text or last

    @property
    def is_in_cell(self) -> bool:
        """Whether a cell of a table holds it."""
        return self.parent is not None and self.parent.node.tag in CELLS

    def walk(self) -> Iterator[Element]:
        """Itself and all in it, in the order of the page; without what is hidden."""
        ahead = [self]  # a stack, not a call for each element: pages are walked all the time
        while ahead:
            element = ahead.pop()
            if not element.hidden:
                yield element
                ahead += reversed(element.children)

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


class Node:
    """A template that was read once: what of it is always the same, and what has holes."""

    def __init__(self, template: Template, place: str) -> None:
        has_attributes = len(template) > 1 and isinstance(template[1], dict)
        self.given: dict[str, Any] = template[1] if has_attributes else {}
        inside = template[2:] if has_attributes else template[1:]
        self.tag, self.place = str(template[0]), place
        self.id = str(self.given.get("id", ""))
        self.attributes = {name: str(value) for name, value in self.given.items() if name not in OWN}
        self.open_attributes = {name: value for name, value in self.attributes.items() if "{" in value}
        self.on: dict[str, list[Effect]] = self.given.get("on", {})
        self.has_open_effects = bool(self.on) and "{" in str(list(self.on.values()))[1:]
        self.hidden, self.disabled = bool(self.given.get("hidden")), bool(self.given.get("disabled"))
        self.kind = KINDS.get(self.tag, self.tag)
        if self.tag == "input":
            self.kind = INPUTS.get(self.attributes.get("type", "text"), "field")
        self.holds = self.kind in ("field", "select", "box", "radio")
        self.value = str(self.given.get("value", "on" if self.kind in ("box", "radio") else ""))
        self.is_block, self.is_control = self.tag not in INLINE, self.tag in CONTROLS
        is_text = all(isinstance(child, str) for child in inside) and "each" not in self.given
        self.text = "".join(inside) if is_text else ""
        self.inside = [] if is_text else inside

    @functools.cached_property
    def children(self) -> list[Node]:
        """What is in it, read when it is first built: a closed menu may never be."""
        parts = [["span", {}, child] if isinstance(child, str) else child for child in self.inside]
        return [Node(part, f"{self.place}.{n}") for n, part in enumerate(parts)]


class Builder:
    """Builds a page's elements from its template, the site's data and the rows that its lists show now."""

    def __init__(
        self, data: Mapping[str, Any], rows: Any, values: Mapping[str, str], shown: Mapping[str, bool]
    ) -> None:
        self.data, self.rows, self.values, self.shown = data, rows, values, shown

    def build(self, node: Node, row: Mapping[str, Any] | None, parent: Element | None, of: str = "") -> Element:
        id = node.id or node.place + of
        attributes: Mapping[str, str] = node.attributes
        if "{" in id:
            id = self._fill(id, row)
        if node.open_attributes:
            attributes = node.attributes | {name: self._fill(text, row) for name, text in node.open_attributes.items()}
        element = Element(node, id, attributes, parent)
        if node.has_open_effects:
            element.on = self._filled(node.on, row)
        if id in self.shown:
            element.hidden = not self.shown[id]
        if element.hidden:
            return element  # what cannot be seen or used is not built
        if node.holds:
            self._hold(element, row)
        if "{" in node.text:
            element.text = self._fill(node.text, row)
        if "each" in node.given:
            for number, each in enumerate(self.rows(node.given["each"], node.given)):
                more = f"{of}:{each.get('id', number)}"
                element.children += [self.build(child, each, element, more) for child in node.children]
        elif node.children:
            element.children = [self.build(child, row, element, of) for child in node.children]
        if node.tag == "select" and not element.value and element.children:
            element.value = element.children[0].text  # as browsers do
        return element

    def _hold(self, element: Element, row: Mapping[str, Any] | None) -> None:
        """What a control holds: what the player put there stands before what the template says."""
        given = self._fill(element.node.value, row)
        if element.kind not in ("box", "radio"):
            element.value = self.values.get(element.id, given)
            return
        element.value = given
        held = self.values.get(element.id if element.kind == "box" else f"radio {element.attributes.get('name', '')}")
        checked = element.node.given.get("checked", False)
        if held is None:
            element.checked = checked is True or (isinstance(checked, str) and self._fill(checked, row) == given)
        else:
            element.checked = held == given

    def _fill(self, text: str, row: Mapping[str, Any] | None) -> str:
        return HOLES.sub(lambda hole: self._value(hole[1], row or {}), text) if "{" in text else text

    def _filled(self, value: Any, row: Mapping[str, Any] | None) -> Any:
        """Effects with their holes filled, however deep."""
        if isinstance(value, str):
            return self._fill(value, row)
        if isinstance(value, list):
            return [self._filled(each, row) for each in value]
        if isinstance(value, dict):
            return {name: self._filled(each, row) for name, each in value.items()}
        return value

    def _value(self, name: str, row: Mapping[str, Any]) -> str:
        if name in row:
            return str(row[name])
        what, _, rest = name.partition(" ")
        if what == "count" and rest in self.data:
            return str(len(self.data[rest]))
        at: Any = self.data
        for step in name.split("."):
            at = at.get(step) if isinstance(at, Mapping) else None
        return f"{{{name}}}" if at is None or isinstance(at, Mapping | list) else str(at)


def visible_lines(root: Element) -> list[list[Element]]:
    """What can be seen, line by line: a block stands on lines of its own, what is inline joins the line it is on.
    Only elements with a text and controls are pieces of a line."""
    lines: list[list[Element]] = []
    line: list[Element] = []

    def flow(element: Element) -> None:
        nonlocal line
        if element.hidden:
            return
        node = element.node
        if node.is_block and line:
            lines.append(line)
            line = []
        if element.text or node.is_control:
            line.append(element)
        if node.tag != "select":  # its options are shown by the view
            for child in element.children:
                flow(child)
        if node.is_block and line:
            lines.append(line)
            line = []

    flow(root)
    if line:
        lines.append(line)
    return lines
