"""The page's own files, read as text: what they import is there, and none could take words for markup or ask anybody else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from guerdon.studio.studio_app import PAGE

SCRIPTS = sorted(PAGE.rglob("*.js"))
NAMED = r"export (?:async )?(?:function|class|const|let) (\w+)"


def exports(path: Path) -> set[str]:
    text = path.read_text()
    listed = [name for block in re.findall(r"export \{([^}]*)\}", text) for name in block.split(",")]
    return {*re.findall(NAMED, text), *(re.split(r"\s+as\s+", name.strip())[-1] for name in listed)}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(PAGE)))
def test_what_a_script_imports_is_there(script: Path) -> None:
    for names, place in re.findall(r'import \{([^}]*)\}\s*from\s*"(/page/[^"]+)"', script.read_text()):
        of = PAGE / place.removeprefix("/page/")
        assert of.is_file(), place
        for name in filter(None, (name.strip() for name in names.split(","))):
            assert re.split(r"\s+as\s+", name)[0] in exports(of), f"{name} of {place}"


def test_nothing_makes_markup_or_asks_elsewhere() -> None:
    for path in sorted(PAGE.rglob("*")):
        if path.suffix in (".js", ".css", ".html"):
            text = re.sub(
                r"http://www.w3.org/2000/svg|https://arxiv.org/abs/", "", path.read_text()
            )  # a name, and a link
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text
            ), path
            assert not re.search(r"https?://|url\(|@import", text), path


def test_every_view_that_an_address_can_name_is_there() -> None:
    views = re.findall(r'\["/[^"]*", "(\w+)"\]', (PAGE / "studio.js").read_text())
    assert len(views) > 10 and all((PAGE / f"views/{view}.js").is_file() for view in views)
