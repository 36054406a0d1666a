"""What docs/environments.md and docs/gallery.md show is what there is."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

import guerdon as gd
from guerdon.core.user_file import load_file

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "environments.md"
GALLERY = ROOT / "docs" / "gallery.md"
GUESSING = ROOT / "examples" / "guessing.py"


def made() -> Any:
    return load_file(str(ROOT / "scripts" / "document_gallery.py"), "script")


def test_the_page_shows_an_environment_of_ones_own_whole():
    code = GUESSING.read_text()
    assert code in PAGE.read_text() and len(code.splitlines()) < 40


def test_the_examples_of_the_page_run(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    said = "\n".join(re.findall(r"```pycon\n(.*?)```", PAGE.read_text(), re.S))
    test = doctest.DocTestParser().get_doctest(said, {}, "environments.md", str(PAGE), 0)
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0 and result.attempted >= 5


def test_the_page_shows_what_show_prints():
    assert gd.transcript(gd.demonstration(gd.tasks.load("hunt:2"))) in PAGE.read_text()


@pytest.mark.parametrize("name", ["hops:3", "asking:5", "nim:3", "forms:2", "cursor:1"])
def test_the_gallery_shows_traces_as_they_are(name):
    assert f"$ guerdon show {name}\n{made().trace(name)}\n```" in GALLERY.read_text()


@pytest.mark.slow
def test_the_whole_gallery_is_as_it_is_made():
    assert made().page() == GALLERY.read_text()


def test_the_gallery_has_every_world_by_name():
    """Each name of a world on the command line, but those of libraries' games, of which one stands for all."""
    from guerdon.tasks.task_loading import NAMES

    worlds = {name for name, module in NAMES.items() if module.startswith("guerdon.envs.")}
    shown = {name.partition(":")[0] for _, names in made().WORLDS.values() for name in names}
    assert worlds - shown == {"arena"}
