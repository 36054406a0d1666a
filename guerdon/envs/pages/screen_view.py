"""A page as a screen of characters, used with a cursor and keys: `move 12 3`, `click`, `type ann`, `key enter`.

Where everything stands follows from the page alone: blocks one under the other, what is inline side by side as far as
the line goes, texts broken between words. `[Send]` is a button, `<home>` a link, `|ann       |` a field, `(x)` a box,
`{red v}` a list of options. A control is hit by a click on any of its characters. Leaves out: colours, sizes and
everything that needs a browser.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from guerdon.envs.pages.elements import CELLS, Element, visible_lines
from guerdon.envs.pages.page_plans import Step
from guerdon.envs.pages.page_site import Site
from guerdon.envs.pages.tree_view import MoveTaken, common_move, plain, towards

FIELD, CELL = 12, 9  # characters of a field, and of a cell that is followed by another
KEYS = ("enter", "tab", "escape", "clear", "backspace")


@dataclass(frozen=True, slots=True)
class Box:
    """Where a piece stands: its first character, its row on the whole page, and what is drawn."""

    x: int
    row: int
    text: str
    element: Element | None


class ScreenView:
    """What the player sees and says, with a cursor."""

    moves = (
        "move X Y | click | type TEXT | key enter | key tab | key escape | key clear | key backspace"
        " | scroll down | scroll up | back | stop | stop ANSWER"
    )

    def __init__(self, lines: int, width: int) -> None:
        self.lines, self.width = lines, width
        self.x = self.y = 0
        self.boxes: list[Box] = []
        self.top = self.height = 0

    def look(self, site: Site) -> str:
        """The screen now, with rulers."""
        self.boxes = laid_out(site, self.width)
        self.height = self.boxes[-1].row + 1 if self.boxes else 0
        self.top = site.looks.scroll = min(site.looks.scroll, max(0, self.height - self.lines))
        rows = [""] * min(self.lines, self.height)
        for box in self.boxes:
            if self.top <= box.row < self.top + self.lines:
                row = box.row - self.top
                rows[row] = rows[row].ljust(box.x) + box.text
        focus = next(
            (b.element for b in self.boxes if b.element is not None and b.element.id == site.looks.focus), None
        )
        head = f"page {plain(site.page)}, cursor {self.x} {self.y}"
        head += f", keys go to {plain(focus.label)}" if focus is not None and focus.kind == "field" else ""
        if self.height > self.lines:
            head += f", rows {self.top + 1} to {self.top + len(rows)} of {self.height}"
        tens = "".join(str(x // 10).ljust(10) for x in range(0, self.width, 10))[: self.width]
        ruler = ["   " + tens.rstrip(), "   " + ("0123456789" * (self.width // 10 + 1))[: self.width]]
        return "\n".join([head, *ruler, *(f"{y:2} {row}".rstrip() for y, row in enumerate(rows))])

    def at_cursor(self) -> Element | None:
        for box in self.boxes:
            if box.row == self.y + self.top and box.x <= self.x < box.x + len(box.text):
                return box.element
        return None

    def _box(self, id: str) -> Box | None:
        return next((box for box in self.boxes if box.element is not None and box.element.id == id), None)

    def sees(self, id: str) -> bool:
        return any(b.element is not None and _is(b.element, id) and self._in_view(b) for b in self.boxes)

    def _in_view(self, box: Box) -> bool:
        return self.top <= box.row < self.top + self.lines

    def act(self, site: Site, said: str) -> MoveTaken:
        """Do what the player said."""
        words = said.strip()
        verb, _, rest = words.partition(" ")
        verb = verb.lower()
        if "\n" in words:
            return MoveTaken("one move a turn, on one line")
        general = common_move(site, verb, rest.strip(), self.lines, self.height)
        if general is not None:
            return general
        if verb == "move":
            return self._move(site, rest)
        if verb == "click" and not rest:
            element = self.at_cursor()
            if element is None or not element.is_control:
                return MoveTaken("there is nothing to click under the cursor")
            site.click(element)
            return MoveTaken()
        if verb == "key" and rest.strip().lower() in KEYS:
            return self._key(site, rest.strip().lower())
        if verb == "type" and rest:
            return self._keys(site, lambda value: value + rest)
        return MoveTaken("that is no move")

    def _move(self, site: Site, rest: str) -> MoveTaken:
        if not re.fullmatch(r"[0-9]{1,3},? +[0-9]{1,3}", rest.strip()):
            return MoveTaken("move needs a column and a row: move 12 3")
        x, y = (int(number) for number in re.findall(r"[0-9]+", rest))
        if x >= self.width or y >= self.lines:
            return MoveTaken(f"the screen has columns 0 to {self.width - 1} and rows 0 to {self.lines - 1}")
        self.x, self.y = x, y
        element = self.at_cursor()
        if element is not None and "hover" in element.on:
            site.hover(element)
        return MoveTaken()

    def _key(self, site: Site, key: str) -> MoveTaken:
        if key == "clear":
            return self._keys(site, lambda value: "")
        if key == "backspace":
            return self._keys(site, lambda value: value[:-1])
        site.press(key)
        return MoveTaken()

    def _keys(self, site: Site, change: Callable[[str], str]) -> MoveTaken:
        box = self._box(site.looks.focus)
        field = box.element if box is not None else None
        if field is None or field.kind != "field" or field.disabled:
            return MoveTaken("no field has the keys: click one first")
        site.type(field, change(field.value))
        return MoveTaken()

    def say(self, site: Site, step: Step) -> str:
        """A step in the words of this view, as far as one move goes."""
        verb, id, what = step
        if verb in ("stop", "back"):
            return f"{verb} {what}".strip()
        if verb == "select" and f"{id} options" in site.looks.popups:
            id = next(o.id for o in site.element(id).children if o.text == what)
        box = next((b for b in self.boxes if b.element is not None and _is(b.element, id)), None)
        if box is None or not self._in_view(box):
            return towards(box.row if box else 0, self.top)
        if verb == "type" and site.looks.focus == id:
            value = site.element(id).value
            return f"type {what[len(value) :]}" if what and what.startswith(value) else "key clear"
        is_on = box.row == self.y + self.top and box.x <= self.x < box.x + len(box.text)
        return "click" if is_on and verb != "hover" else f"move {box.x + len(box.text) // 2} {box.row - self.top}"


def _is(element: Element, id: str) -> bool:
    """Whether an element is the one with an id, or all that a cell with that id holds."""
    return element.id == id or (element.is_in_cell and element.parent is not None and element.parent.id == id)


def laid_out(site: Site, width: int) -> list[Box]:
    """Every piece of a page in its place."""
    boxes: list[Box] = []
    row = 0
    for text in (*site.looks.notices, *site.looks.errors):
        for part in textwrap.wrap(f"! {plain(text)}", width):
            boxes.append(Box(0, row, part, None))
            row += 1
    for line in visible_lines(site.root):
        x = 0
        for element in line:
            for part in _drawn(element, width):
                if x and x + len(part) > width:
                    x, row = 0, row + 1
                boxes.append(Box(x, row, part, element))
                x += max(len(part), CELL if element.tag in CELLS else 0) + 1
        row += 1
        for element in line:
            if f"{element.id} options" in site.looks.popups:
                for option in element.children:
                    boxes.append(Box(2, row, f"- {plain(option.text)}"[: width - 2], option))
                    row += 1
    return boxes


def _drawn(element: Element, width: int) -> list[str]:
    """What is drawn of an element; a text may take several lines, a control takes one."""
    text = plain(element.label if element.is_control else element.text.strip())
    kind = element.kind
    if not element.is_control:
        return textwrap.wrap(text, width) or [""]
    if kind == "field":
        drawn = f"{text} |{plain(element.value)[-FIELD:].ljust(FIELD, '_')}|"
    elif kind in ("box", "radio"):
        drawn = f"({'x' if element.checked else ' '}) {text}"
    elif kind == "select":
        drawn = f"{text} {{{plain(element.value)} v}}"
    elif kind == "button":
        drawn = f"[{text}]" if not element.disabled else f"[{text} -]"
    else:
        drawn = f"<{text}>"
    return [drawn[:width]]
