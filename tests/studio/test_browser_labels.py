"""Labelling in a real browser, by keyboard alone."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from guerdon.runs.labels import read_labels
from guerdon.studio.library import id_of

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
HOSTILE = "<img src=x onerror=alert(1)> \u202e & 'quotes'"


@pytest.fixture
def own(small_run: Path, tmp_path: Path) -> Path:
    shutil.copytree(small_run / "first", tmp_path / "runs/first")
    return tmp_path / "runs"


def kinds(runs: Path) -> list[str]:
    return [row["kind"] for row in read_labels(runs / "first").labels]


def test_a_queue_by_keyboard_alone(own: Path, browse: Callable[..., Any]) -> None:
    opened = browse(own)
    page = opened.go(f"/labels?run={id_of(own / 'first')}")
    progress, given = page.locator(".label-progress"), page.locator(".label-list li")
    page.get_by_text("0 labelled").wait_for()
    page.locator(".label-stage:not([inert])").wait_for()  # nothing is labelled before it is seen
    first = page.locator(".label-card").inner_text()
    for key, kind, number in (("y", "right", 1), ("n", "wrong", 2), ("h", "hack", 3)):
        page.keyboard.press(key)
        page.get_by_text(f"{number} labelled").wait_for()
        page.locator(".label-stage:not([inert])").wait_for()
        expect(page.locator(".label-card")).not_to_have_text(first)
        first = page.locator(".label-card").inner_text()
        assert kinds(own)[-1] == kind
    assert "1 right, 1 wrong, 1 hack" in progress.inner_text()
    page.keyboard.press("u")
    page.get_by_text("2 labelled").wait_for()
    assert kinds(own) == ["right", "wrong"]
    page.locator(".label-stage:not([inert])").wait_for()
    page.keyboard.press("m")
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Control+Enter")
    page.get_by_text("1 note").wait_for()
    assert read_labels(own / "first").labels[-1]["note"] == HOSTILE.strip()
    expect(page.locator(".label-list")).to_contain_text("<img src=x")
    assert page.locator(".label-list img").count() == 0 and given.count() == 3
    page.locator(".label-stage:not([inert])").wait_for()
    noted = page.locator(".label-card").inner_text()
    page.keyboard.press("j")
    expect(page.locator(".label-card")).not_to_have_text(noted)
    page.locator(".label-stage:not([inert])").wait_for()  # a key while the next try is read is not heard
    page.keyboard.press("k")
    expect(page.get_by_role("button", name="note", pressed=True)).to_be_visible()
    assert page.locator("code", has_text="guerdon train kto --data").count() == 1
    assert "50 %" in page.locator(".label-side").inner_text(), "both are paid alike"
    page.keyboard.press("s")
    expect(page.locator(".label-blind .label-card .numbers")).to_be_hidden()
    assert "blind=1" in page.url
    page.keyboard.press("s")
    page.keyboard.press("?")
    assert "take back the last label" in page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    page.reload()
    page.get_by_text("2 labelled").wait_for()


def test_two_tries_side_by_side_and_narrow(own: Path, browse: Callable[..., Any]) -> None:
    opened = browse(own, viewport={"width": 420, "height": 800}, color_scheme="dark")
    page = opened.go("/labels?run=")
    page.get_by_role("link", name="first").click()
    page.get_by_text("0 labelled").wait_for()
    page.locator(".label-stage:not([inert])").wait_for()  # nothing is labelled before it is seen
    expect(page.locator(".label-side")).to_contain_text("labels/truth.jsonl")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420, "where the labels are kept is one long word"
    page.keyboard.press("p")
    page.get_by_role("button", name="left is better").wait_for()
    assert "mode=pairs" in page.url and page.locator(".label-two .label-card").count() == 2
    for key, pairs in (("ArrowLeft", 1), ("ArrowRight", 2), ("0", 3)):
        labelled = page.locator(".label-progress", has_text=f"{pairs} pair")
        for _ in range(
            6
        ):  # a key counts for nothing until the next two are seen, and the count is there before they are
            page.locator(".label-stage:not([inert])").wait_for()
            page.keyboard.press(key)
            with contextlib.suppress(playwright.TimeoutError):
                labelled.wait_for(timeout=20_000)
                break
        expect(labelled).to_be_visible()
    page.locator(".label-stage:not([inert])").wait_for()
    assert kinds(own) == ["better", "better", "level"]
    page.keyboard.press("u")
    expect(page.locator(".label-progress")).to_contain_text("2 pairs")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    with (own / "first/labels/labels.jsonl").open("a") as file:
        file.write("damaged\n")
    page.get_by_text("1 line of labels.jsonl cannot be read").wait_for()


def test_an_answer_that_comes_late_takes_nothing_back(own: Path, browse: Callable[..., Any]) -> None:
    opened = browse(own)
    page = opened.go(f"/labels?run={id_of(own / 'first')}")
    page.locator(".label-stage:not([inert])").wait_for()
    held: list[tuple[Any, Any]] = []

    def hold_the_first(route: Any) -> None:
        route.continue_() if held else held.append((route, route.fetch()))

    page.route(re.compile(r"/api/labels\?run="), hold_the_first)
    page.keyboard.press("y")
    page.get_by_text("1 labelled").wait_for()
    while not held:  # what is asked after the first label
        page.wait_for_timeout(20)
    page.locator(".label-stage:not([inert])").wait_for()
    page.keyboard.press("n")
    expect(page.locator(".label-list li")).to_have_count(2)
    route, answer = held[0]
    with page.expect_event("requestfinished", lambda request: request == route.request):
        route.fulfill(response=answer)
    page.evaluate("new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))")
    assert page.locator(".label-list li").count() == 2 and page.get_by_text("2 labelled").count() == 1
