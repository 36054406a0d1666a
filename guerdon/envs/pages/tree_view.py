"""A page as text with numbers, as screen readers and browser agents see it: `[12] button "Send"`, and moves that name
numbers.

Whatever a page or a player wrote is quoted or has its brackets turned round: nothing that stands in a text looks like
an element. Long pages are cut into a window of lines that scrolls. Leaves out: where things stand on a screen
(`screen_view.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from guerdon.envs.pages.elements import CELLS, Element, visible_lines
from guerdon.envs.pages.page_plans import Step
from guerdon.envs.pages.page_site import Site

KEYS = ("enter", "tab", "escape")
TEXT_CUT, OPTIONS_CUT = 160, 12  # characters of a text, options of a list, that are shown
TURNED = {ord("["): "(", ord("]"): ")"} | dict.fromkeys([*range(32), 127, 0x2028, 0x2029, 0x85], " ")
QUOTED = TURNED | {ord('"'): "'"}


@dataclass(frozen=True)
class MoveTaken:
    """What became of a move: `unclear` says what was not understood, `answer` ends the episode."""

    unclear: str = ""
    answer: str | None = None


class TreeView:
    """What the player sees and says, with numbers for elements."""

    moves = (
        "click N | type N TEXT | select N OPTION | hover N | press enter | scroll down | scroll up | back"
        " | stop | stop ANSWER"
    )

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.rows: dict[str, int] = {}  # by an element's id: the line it stands on
        self.numbered: list[Element] = []
        self.top = self.height = 0

    def look(self, site: Site) -> str:
        """The page now."""
        self.numbered, self.rows = [], {}
        whole = [f"! {plain(text)}" for text in (*site.looks.notices, *site.looks.errors)]
        for line in visible_lines(site.root):
            pieces = []
            for element in line:
                self.rows[element.id] = len(whole)
                if element.parent is not None and element.is_in_cell:
                    self.rows.setdefault(element.parent.id, len(whole))
                pieces.append(self._piece(element))
            is_row = line[0].tag in CELLS or line[0].is_in_cell
            whole.append((" | " if is_row else "  ").join(pieces))
        self.height = len(whole)
        self.top = site.looks.scroll = min(site.looks.scroll, max(0, len(whole) - self.lines))
        shown = whole[self.top : self.top + self.lines]
        head = f"page {plain(site.page)}"
        if len(shown) < len(whole):
            head += f", lines {self.top + 1} to {self.top + len(shown)} of {len(whole)}"
        return "\n".join([head, *shown])

    def _piece(self, element: Element) -> str:
        if not element.is_control:
            text = plain(element.text.strip())
            return f"# {text}" if element.tag in ("h1", "h2", "h3") else text
        self.numbered.append(element)
        kind = element.kind
        said = f'[{len(self.numbered)}] {kind} "{quoted(element.label)}"'
        if kind == "field":
            said += f' = "{quoted(element.value)}"'
        elif kind in ("box", "radio"):
            said += " on" if element.checked else " off"
        elif kind == "select":
            options = [quoted(option.text) for option in element.children]
            more = ", ..." if len(options) > OPTIONS_CUT else ""
            said += f' = "{quoted(element.value)}" of {", ".join(options[:OPTIONS_CUT])}{more}'
        return f"{said} (disabled)" if element.disabled else said

    def sees(self, id: str) -> bool:
        return id in self.rows and self.top <= self.rows[id] < self.top + self.lines

    def act(self, site: Site, said: str) -> MoveTaken:
        """Do what the player said."""
        words = said.strip()
        verb, _, rest = words.partition(" ")
        verb, rest = verb.lower(), rest.strip()
        if "\n" in words:
            return MoveTaken("one move a turn, on one line")
        general = common_move(site, verb, rest, self.lines, self.height)
        if general is not None:
            return general
        if verb == "press" and rest.lower() in KEYS:
            site.press(rest.lower())
            return MoveTaken()
        if verb not in ("click", "type", "select", "hover"):
            return MoveTaken("that is no move")
        number, _, what = rest.partition(" ")
        element = self._numbered(number)
        if element is None:
            return MoveTaken(f"{verb} needs the number of something in view")
        return self._use(site, verb, element, what.strip())

    def _numbered(self, number: str) -> Element | None:
        if not re.fullmatch(r"\[?[0-9]{1,4}\]?", number):
            return None
        at = int(number.strip("[]"))
        element = self.numbered[at - 1] if 0 < at <= len(self.numbered) else None
        return element if element is not None and self.sees(element.id) else None

    def _use(self, site: Site, verb: str, element: Element, what: str) -> MoveTaken:
        if verb in ("type", "select") and element.kind != {"type": "field", "select": "select"}[verb]:
            return MoveTaken(f"{verb} needs a {'field' if verb == 'type' else 'select'}, and that is a {element.kind}")
        if verb in ("type", "select") and element.disabled:
            return MoveTaken("that cannot be used now")
        if verb == "type":
            site.type(element, unquoted(what))
        elif verb == "select":
            option = next((o.text for o in element.children if o.text.lower() == unquoted(what).lower()), None)
            if option is None:
                return MoveTaken("select needs one of the options that are listed")
            site.select(element, option)
        elif verb == "hover":
            site.hover(element)
        else:
            site.click(element)
            site.looks.popups = tuple(
                p for p in site.looks.popups if not p.endswith(" options")
            )  # they are listed anyway
        return MoveTaken()

    def say(self, site: Site, step: Step) -> str:
        """A step in the words of this view; where its element is out of view, the way there."""
        verb, id, what = step
        if verb in ("stop", "back"):
            return f"{verb} {what}".strip()
        if not self.sees(id):
            return towards(self.rows.get(id, 0), self.top)
        number = next(n for n, element in enumerate(self.numbered, start=1) if element.id == id)
        return f"{verb} {number} {what}".strip()


def common_move(site: Site, verb: str, rest: str, lines: int, height: int) -> MoveTaken | None:
    """Moves that are the same in every view: stop, back, scroll. `lines` of `height` are in view."""
    if verb == "stop":
        return MoveTaken(answer=unquoted(rest)[:500])
    if verb == "back" and not rest:
        return MoveTaken() if site.back() else MoveTaken("there is no page before this one")
    if verb == "scroll" and rest.lower() in ("down", "up"):
        by = max(1, lines - 2) * (1 if rest.lower() == "down" else -1)
        before = site.looks.scroll
        site.looks.scroll = min(max(before + by, 0), max(0, height - lines))
        if site.looks.scroll == before:
            return MoveTaken(f"there is nothing further {rest.lower()}")
        site.log.append(("scroll", "", rest.lower()))
        site.looks.notices = ()
        return MoveTaken()
    return None


def towards(row: int, top: int) -> str:
    return "scroll down" if row >= top else "scroll up"


def plain(text: str) -> str:
    return _cut(text.translate(TURNED))


def quoted(text: str) -> str:
    return _cut(text.translate(QUOTED))


def unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _cut(text: str) -> str:
    return text if len(text) <= TEXT_CUT else f"{text[:TEXT_CUT]}..."
