"""Pages as HTML, both ways: a page's state to look at in a browser, and plain HTML files as a site.

What goes out is escaped and does nothing: no scripts, no handlers, no address but names of pages. What comes in is
read by Python's own parser: texts, links between files, forms with their controls; scripts and styles are left out,
and so is what they would do.
Leaves out: tasks over such a site (`own_pages_source.py`).
"""

from __future__ import annotations

import html
import posixpath
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.shown_text import cut, visible
from guerdon.envs.pages.elements import Element
from guerdon.envs.pages.page_site import LONGEST, Site

VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"))
SKIPPED = frozenset(("script", "style", "head", "template", "noscript", "svg", "iframe", "object"))
SHUTS = {  # a tag: the open ones that it ends, as browsers have it
    "li": {"li", "p"}, "option": {"option"}, "td": {"td", "th"}, "th": {"td", "th"}, "tr": {"tr", "td", "th"},
} | {block: {"p"} for block in ("p", "ul", "ol", "table", "form", "div", "h1", "h2", "h3", "nav", "section")}  # fmt: skip
FORMAT_OF = {"email": "email", "number": "number", "date": "date", "time": "time", "tel": "digits"}
KEPT = ("name", "type", "required", "href")


def to_html(site: Site) -> str:
    """The page that a site is at, with all that was typed and ticked, as HTML that shows and does nothing.

    Args:
        site: the site.

    >>> import guerdon as gd
    >>> home = ["body", ["h1", "<b>Hi</b>"], ["input", {"id": "who", "label": "name"}]]
    >>> site = gd.envs.Site({"start": "home", "pages": {"home": home}})
    >>> site.type(site.element("who"), "ann")
    >>> print(gd.envs.to_html(site))
    <!doctype html><meta charset="utf-8"><title>home</title>
    <body id="home"><h1 id="home.0">&lt;b&gt;Hi&lt;/b&gt;</h1><label>name <input id="who" value="ann"></label></body>
    """
    notes = "".join(f'<p role="alert">{escaped(text)}</p>' for text in (*site.looks.notices, *site.looks.errors))
    return f'<!doctype html><meta charset="utf-8"><title>{escaped(site.page)}</title>\n{notes}{_tag(site.root)}'


def escaped(text: object, longest: int = 300) -> str:
    return html.escape(visible(cut(str(text), longest)))


def _tag(element: Element) -> str:
    if element.hidden:
        return ""
    tag = element.tag if re.fullmatch(r"[a-z][a-z0-9]*", element.tag) and element.tag not in SKIPPED else "div"
    given = {"id": element.id} | {
        name: element.attributes[name] for name in ("name", "type") if name in element.attributes
    }
    if element.attributes.get("href"):
        given["href"] = f"#{element.attributes['href']}"
    if element.kind in ("field", "box", "radio") and tag == "input":
        given["value"] = element.value
    flags = "".join(f" {name}" for name in ("checked", "disabled") if getattr(element, name))
    above = element.parent
    flags += " selected" if tag == "option" and above is not None and above.value == element.text else ""
    said = "".join(f' {name}="{escaped(value, LONGEST)}"' for name, value in given.items())
    inside = escaped(element.value if tag == "textarea" else element.text, 10_000)
    inside += "".join(map(_tag, element.children))
    whole = f"<{tag}{said}{flags}>" + ("" if tag in VOID else f"{inside}</{tag}>")
    label = element.attributes.get("label")
    return f"<label>{escaped(label)} {whole}</label>" if label else whole


def site_from_html(folder: str | Path) -> dict[str, Any]:
    """The HTML files of a folder as a site: `{"start": ..., "pages": ..., "data": ...}`, as JSON.

    It starts at `index.html`, else at the first file. Links lead to other files of the folder; a form that is sent is
    added to the list in `data` that has its id or name, and leads to its `action`. `required` and the types email,
    number, date, time and tel are checked as browsers do. Scripts do nothing.

    Args:
        folder: folder with the HTML files.

    >>> import pathlib, tempfile
    >>> import guerdon as gd
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "index.html").write_text('<h1>Hi</h1><form id="ask"><input name="who"><button>Go</button></form>')
    >>> site = gd.envs.Site(gd.envs.site_from_html(folder))
    >>> site.type(site.element("who"), "ann")
    >>> site.press("enter")
    >>> site.data
    {'ask': [{'who': 'ann'}]}
    """
    root = Path(folder)
    files = sorted(path for pattern in ("*.html", "*.htm") for path in root.rglob(pattern))
    if not files:
        raise UserError(f"{folder} holds no .html file: name the folder that your pages lie in")
    pages, forms = {}, set()
    for path in files:
        name = path.relative_to(root).as_posix()
        reader = _Reader(name)
        reader.feed(path.read_text(encoding="utf-8", errors="replace"))
        reader.close()
        pages[name] = reader.body()
        forms |= reader.forms
    start = "index.html" if "index.html" in pages else next(iter(pages))
    return {"start": start, "pages": pages, "data": {name: [] for name in sorted(forms)}}


class _Reader(HTMLParser):
    """Reads one file into a template."""

    def __init__(self, name: str) -> None:
        super().__init__(convert_charrefs=True)
        self.name = name
        self.open: list[list[Any]] = [["body", {}]]
        self.skipping = 0
        self.forms: set[str] = set()
        self.labels: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in SKIPPED and tag not in VOID:
            self.skipping += 1
        if self.skipping or tag in ("html", "body", "meta", "link", "base"):
            return
        while len(self.open) > 1 and self.open[-1][0] in SHUTS.get(tag, ()):
            self._shut()
        given = {name: value or "" for name, value in attrs}
        if tag == "img":
            self.handle_data(given.get("alt", ""))
        else:
            self.open.append([tag, self._attributes(tag, given)])
            if tag in VOID:
                self._shut()

    def handle_endtag(self, tag: str) -> None:
        if tag in SKIPPED:
            self.skipping = max(0, self.skipping - 1)
        elif not self.skipping and any(node[0] == tag for node in self.open[1:]):
            while self.open[-1][0] != tag:
                self._shut()
            self._shut()

    def handle_data(self, data: str) -> None:
        text = re.sub(r"\s+", " ", data)
        if not self.skipping and text.strip():
            self.open[-1].append(text)

    def _attributes(self, tag: str, given: dict[str, str]) -> dict[str, Any]:
        kept: dict[str, Any] = {name: given[name] for name in KEPT if name in given}
        kept |= {name: True for name in ("checked", "disabled", "hidden", "selected") if name in given}
        kept |= {"value": given["value"]} if given.get("value") else {}
        names = [given[name] for name in ("aria-label", "title", "placeholder") if given.get(name)]
        kept |= {"label": names[0]} if names and tag in ("input", "select", "textarea") else {}
        if given.get("id") or (
            tag in ("input", "select", "textarea") and given.get("type") != "radio" and given.get("name")
        ):
            kept["id"] = given.get("id") or given["name"]
        if tag in ("input", "textarea") and given.get("type") in FORMAT_OF:
            kept["format"] = FORMAT_OF[given["type"]]
        if "min" in given and given["min"].lstrip("-").isdigit():
            kept["least"] = given["min"]
        if tag == "a" and "href" in given:
            kept["href"] = self._page(given["href"])
        if tag == "form":
            name = given.get("id") or given.get("name") or f"{Path(self.name).stem}-form"
            self.forms.add(name)
            then = [["go", self._page(given["action"])]] if given.get("action") else []
            kept["on"] = {"submit": [["store", name], ["say", "sent"], *then]}
        if tag == "label":
            kept["for"] = given.get("for", "")
        if tag == "input" and given.get("type") == "submit":
            kept["text"] = given.get("value", "send")
        return kept

    def _page(self, address: str) -> str:
        """An address as the name of a page; one that leads elsewhere is not a page of the site."""
        path = address.partition("#")[0].partition("?")[0]
        return posixpath.normpath(posixpath.join(posixpath.dirname(self.name), path)) if path else self.name

    def _shut(self) -> None:
        """The innermost element ends: it goes into the one around it."""
        node = self.open.pop()
        tag, given = node[0], node[1]
        if tag == "label":
            self._label(node)
            return
        if tag == "select":
            chosen = [
                _text(option) for option in node[2:] if isinstance(option, list) and option[1].pop("selected", False)
            ]
            given |= {"value": chosen[0]} if chosen else {}
            node[2:] = [["option", {}, _text(option)] for option in node[2:] if isinstance(option, list)]
        elif tag == "textarea":
            given |= {"value": _text(node)}
            node[2:] = []
        elif tag == "input" and "text" in given:
            node = ["button", {"id": given["id"]} if "id" in given else {}, given["text"]]
        elif tag == "button" and given.get("type") in ("button", "reset"):
            given["on"] = {"click": [["say", "nothing happens"]]}
        self.open[-1].append(node)

    def _label(self, node: list[Any]) -> None:
        """A label is what its control is called: the one in it, or the one whose id it names."""
        inner = [part for part in node[2:] if isinstance(part, list) and part[0] in ("input", "select", "textarea")]
        text = "".join(part for part in node[2:] if isinstance(part, str)).strip().rstrip(":")
        for control in inner:
            control[1]["label"] = text
        if not inner and node[1].get("for"):
            self.labels[node[1]["for"]] = text
        elif not inner:
            inner = [["span", {}, text]]
        self.open[-1].extend(inner)

    def body(self) -> list[Any]:
        while len(self.open) > 1:
            self._shut()
        self._name(self.open[0])
        return self.open[0]

    def _name(self, node: list[Any]) -> None:
        if node[1].get("id") in self.labels:
            node[1]["label"] = self.labels[node[1]["id"]]
        for part in node[2:]:
            if isinstance(part, list):
                self._name(part)


def _text(node: list[Any]) -> str:
    return "".join(_text(part) if isinstance(part, list) else part for part in node[2:]).strip()
