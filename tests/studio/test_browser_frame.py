"""What stands around the views, in a real browser: the way in, the bar, keys, colours, the policy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import guerdon as gd

MARKUP = "() => { try { document.body.innerHTML = '<p>x'; return 'set' } catch { return 'blocked' } }"
STYLE = """() => {
    const style = document.createElement("style");
    style.textContent = "body { display: none }";
    document.head.append(style);
}"""


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one that was written last stands first in the alphabet, and last in no list."""
    runs = tmp_path_factory.mktemp("two") / "runs"
    for name in ("sooner", "later"):
        gd.train("grpo", task="successor", model="tabular", steps=1, out=str(runs / name), progress=False)
    for name, written in (("sooner", 1_000), ("later", 2_000)):
        os.utime(runs / name / "events.jsonl", (written, written))
    return runs


SIZES = [(420, 800), (980, 800), (1920, 1080)]


def test_the_frame_by_keyboard(browse: Callable[..., Any], small_run: Path) -> None:
    opened = browse(small_run)
    page = opened.go("/")
    page.locator("#state.live").wait_for()
    assert page.url == f"{opened.url}/", "the token is gone from the address"
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    dialog.wait_for()
    assert "light or dark" in dialog.inner_text()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    for theme in ("light", "dark"):  # after what the system has
        page.keyboard.press("t")
        page.locator(f":root[data-theme={theme}]").wait_for()
    page.reload()
    page.locator(":root[data-theme=dark]").wait_for()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
    page.locator("#state.live").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("e")
    page.wait_for_url("**/evidence")
    page.go_back()
    page.wait_for_url(f"{opened.url}/")
    page.goto(f"{opened.url}/no/such/view")
    page.get_by_text("There is nothing at this address").wait_for()


@pytest.mark.parametrize("room", ["rollouts", "bench", "labels"])
def test_a_room_opens_on_the_last_run(browse: Callable[..., Any], two_runs: Path, room: str) -> None:
    opened = browse(two_runs)
    page = opened.go("/")
    page.get_by_role("link", name="later", exact=True).wait_for()
    last = page.locator("tr", has_text="later").get_attribute("data-id")
    page.get_by_role("navigation", name="Views").get_by_role("link", name=room.capitalize()).click()
    page.wait_for_url(f"**/{room}?run={last}*")
    page.go_back()
    page.wait_for_url(f"{opened.url}/")


def test_who_has_no_token_sees_how_to_get_in(browse: Callable[..., Any], small_run: Path) -> None:
    opened = browse(small_run)
    opened.expected = ("401",)
    opened.page.goto(f"{opened.url}/run/x")
    assert "guerdon view" in opened.page.inner_text("body")


def test_the_policy_holds_in_the_browser(browse: Callable[..., Any], small_run: Path) -> None:
    """What a completion could bring, had it come into the page as markup, does not act."""
    opened = browse(small_run)
    opened.expected = ("Content Security Policy", "TrustedHTML", "Trusted", "violates")
    page = opened.go("/")
    page.locator("#state.live").wait_for()
    assert page.evaluate(MARKUP) == "blocked"
    assert page.evaluate("() => fetch('http://127.0.0.2:9/').then(() => 'asked', () => 'blocked')") == "blocked"
    page.evaluate(STYLE)
    assert page.is_visible("header")


@pytest.mark.parametrize("size", SIZES)
def test_the_frame_fits(browse: Callable[..., Any], small_run: Path, size: tuple[int, int]) -> None:
    page = browse(small_run, viewport={"width": size[0], "height": size[1]}).go("/")
    page.locator("#state.live").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
