"""What MkDocs asks while it builds the site: pages made from the code join those of docs/, links of the repository become links
of the site, and formulas become MathML, which browsers draw without a script or a network.

A public name without a docstring, a link to nothing and a formula that cannot be read are warnings, and `mkdocs build --strict`
ends with them.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.plugins import CombinedEvent, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files
from pages import links, methods, notebooks, reference
from pages.discover import ROOT

log = get_plugin_logger(__name__)
CODE, SPAN = re.compile(r"<pre\b.*?</pre>", re.DOTALL), re.compile(r"</?span\b[^>]*>")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_config(config: Any) -> Any:
    """The navigation of what is made joins that of mkdocs.yml, at the places it names."""
    places = {"REFERENCE": reference.navigation, "METHODS": methods.navigation}
    config.nav = [filled(entry, places) for entry in config.nav]
    return config


def filled(entry: Any, places: dict[str, Any]) -> Any:
    """An entry of the navigation in which a list that stands for a made one is that one."""
    if isinstance(entry, dict):
        return {title: filled(inner, places) for title, inner in entry.items()}
    if isinstance(entry, list):
        return [filled(inner, places) for inner in entry]
    return places[entry]() if entry in places else entry


def on_files(files: Files, config: Any) -> Files:
    for complaint in reference.undocumented():
        log.warning(complaint)
    borrowed = {place: (ROOT / file).read_text() for place, file in links.BORROWED.items()}
    made = {**borrowed, **reference.reference_pages(), **methods.method_pages(), **links.source_pages()}
    made |= {**notebooks.notebook_pages(), **methods.numbers()}
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    for place, path in methods.evidence_files().items():
        files.append(File.generated(config, place, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    return links.of_site(markdown, page.file.src_uri)


def on_page_content(content: str, page: Any, **_: Any) -> str:
    def drawn(match: re.Match[str]) -> str:
        formula = " ".join(html.unescape(match[2]).split())
        return mathml(formula, "block" if match[1] == "div" else "inline", page.file.src_uri)

    return FORMULA.sub(drawn, content)


@event_priority(100)
def _without_colours(context: Any, page: Any, **_: Any) -> Any:
    """The search reads a page after this and before `_with_colours`: it goes through every element, and a page of code has a
    span for each token, which says nothing to it."""
    page.coloured, page.content = page.content, CODE.sub(lambda code: SPAN.sub("", code[0]), page.content)
    return context


@event_priority(-100)
def _with_colours(context: Any, page: Any, **_: Any) -> Any:
    page.content = page.coloured
    return context


on_page_context = CombinedEvent(_without_colours, _with_colours)


def mathml(formula: str, display: str, place: str) -> str:
    """A formula as MathML; one with a command that is not known is refused."""
    drawn = convert(formula, display=display)
    if unknown := re.search(r">\\[a-zA-Z]+", drawn):
        log.warning(f"{place}: {unknown[0][1:]} is not known in the formula {formula}")
    return drawn
