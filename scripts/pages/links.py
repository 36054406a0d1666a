"""Links of the repository as links of the site.

A page under docs/ links to what lies in the repository, so that it can be read there too: other pages, the README, a source
file, a file of evidence. Here each becomes a link to the page of the site that shows the same. A link to nothing is left
as it is, and the strict build refuses it.
"""

from __future__ import annotations

import re
from pathlib import Path
from posixpath import normpath, relpath

from guerdon.evidence.packed import VERDICTS
from pages.discover import ROOT
from pages.methods import EVIDENCE

BORROWED = {  # pages of the site that are files of the repository, as they stand there
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "sprig.md": "guerdon/models/sprig/sprig-1.1/MODEL_CARD.md",
    "sprig-1.md": "guerdon/models/sprig/sprig-1/MODEL_CARD.md",
}
SHIPPED = "guerdon/evidence"
ALL_VERDICTS = f"{EVIDENCE}/all.md"
LINK = re.compile(r"(?P<code>```.*?```|`[^`\n]*`)|(?P<open>\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)", re.DOTALL)


def default_env(place: str) -> str | None:
    """The file of the repository that a page of the site is the text of; None for pages that are made."""
    if place in BORROWED:
        return BORROWED[place]
    return f"docs/{place}" if (ROOT / "docs" / place).is_file() else None


def of_site(text: str, place: str) -> str:
    """The text of the page at `place`, its links as the site has them."""
    home = default_env(place)
    if home is None:
        return text

    def put(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        target, anchor = site_target(match["target"], home), match["anchor"] or ""
        if target == ALL_VERDICTS and anchor:  # those of a recipe are a page of their own
            target, anchor = f"{EVIDENCE}/{anchor[1:]}.md", ""
        inside = match["target"] if target is None else relpath(target, Path(place).parent.as_posix() or ".")
        return f"{match['open']}{inside}{anchor})"

    return LINK.sub(put, text)


def site_target(target: str, home: str) -> str | None:
    """Where the site has what a link of `home` means; None for other sites and for what is not there."""
    if re.match(r"[a-z]+:", target):
        return None
    path = normpath(f"{Path(home).parent.as_posix()}/{target}")
    shown = {file: place for place, file in BORROWED.items()}
    if path in shown:
        return shown[path]
    if path in (SHIPPED, f"{SHIPPED}/{VERDICTS}"):
        return ALL_VERDICTS
    if path.startswith(f"{SHIPPED}/"):
        return f"{EVIDENCE}/{Path(path).name}" if (ROOT / path).is_file() else None
    if path.startswith("docs/"):  # a notebook is a page too
        return path.removeprefix("docs/").replace(".ipynb", ".md")
    return source_place(path) if (ROOT / path).exists() else None


def source_place(path: str) -> str:
    """The page that shows a source file; of a folder, the page that lists it."""
    return f"source/{path}/index.md" if (ROOT / path).is_dir() else f"source/{path}.md"


def source_pages() -> dict[str, str]:
    """A page for every source file and folder that a page of the repository links to."""
    paths = {path for home in _texts() for path in _linked_sources(home)}
    for folder in [path for path in paths if (ROOT / path).is_dir()]:
        paths |= {f"{folder}/{file.name}" for file in (ROOT / folder).glob("*.py")}
    return {source_place(path): _source_page(path) for path in sorted(paths)}


def _texts() -> list[str]:
    committed = [f"docs/{path.relative_to(ROOT / 'docs').as_posix()}" for path in (ROOT / "docs").rglob("*.md")]
    return [*committed, *BORROWED.values()]


def _linked_sources(home: str) -> set[str]:
    targets = [match["target"] for match in LINK.finditer((ROOT / home).read_text()) if match["target"]]
    places = {target: site_target(target, home) for target in targets}
    return {
        normpath(f"{Path(home).parent.as_posix()}/{target}")
        for target, place in places.items()
        if place is not None and place.startswith("source/")
    }


def _source_page(path: str) -> str:
    head = f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"
    if (ROOT / path).is_dir():
        return (
            head + "\n".join(f"- [{file.name}]({file.name}.md)" for file in sorted((ROOT / path).glob("*.py"))) + "\n"
        )
    kind = {".py": "python", ".json": "json", ".md": "markdown"}.get(Path(path).suffix, "text")
    return f"{head}````{kind}\n{(ROOT / path).read_text().rstrip()}\n````\n"
