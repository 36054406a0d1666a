"""The bench in a real browser: texts scored as they are typed, weights moved, a file edited, a step held against it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench_rewards import REWARDS

import guerdon as gd
from guerdon.studio.library import id_of

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture(scope="session")
def benched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `runs` with a run that was trained on a reward in a file beside it."""
    folder = tmp_path_factory.mktemp("benched-in-a-folder-whose-name-is-long")
    (folder / "mine.py").write_text(REWARDS)
    small = {"prompts": 4, "tries": 8, "lr": 0.3, "steps": 2, "progress": False}
    gd.train(
        "grpo",
        task="successor",
        model="tabular",
        reward=f"{folder / 'mine.py'}:trained",
        out=str(folder / "runs/a"),
        **small,
    )
    return folder / "runs"


@pytest.mark.slow
def test_a_journey_by_keyboard(benched: Path, browse: Callable[..., Any]) -> None:
    opened = browse(benched)
    page = opened.go(f"/bench?run={id_of(benched / 'a')}&step=1")
    cell = page.locator("[data-path='brief'][data-row='0']")
    whole = page.locator("[data-path=''][data-row='0']")
    page.locator(".bench-parts").wait_for(timeout=60_000)
    answer = page.get_by_label("answer").input_value()

    page.locator("body").press("e")
    page.keyboard.press("Control+a")
    page.keyboard.type(answer)
    expect(page.locator("[data-path='right']")).to_have_text(re.compile("^1"))
    page.keyboard.press("End")
    page.keyboard.type(" and more")
    expect(page.locator("[data-path='right']")).to_have_text(re.compile("^0"))
    told = -(len(answer) + 9) / 10
    assert cell.inner_text().startswith(f"{told:.3f}".replace("-", "−") if told % 1 else f"−{-told:.0f}")
    assert page.locator("td.bench-changed").count() >= 1 and "▼" in whole.inner_text(), "what changed is marked"

    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.keyboard.press("Control+a")
    page.keyboard.type(answer)
    page.get_by_text("rank 1 of 2").wait_for()
    assert page.locator(".bench-row").nth(1).get_by_text("rank 1 of 2").count() == 1

    page.keyboard.press("Escape")
    page.keyboard.press("s")
    page.locator(".bench-stats").wait_for()
    assert "Every advantage keeps its sign." in page.locator(".bench-flips").inner_text()
    page.keyboard.press("w")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Weight of right"
    page.keyboard.press("Control+a")
    page.keyboard.type("-1")
    page.locator(".bench-flips .chip.bad").first.wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Weight of right", "focus stays"
    page.get_by_text("gd.blend(right=right.weight(-1.0), brief=brief.weight(0.5))").wait_for()
    assert page.locator(".bench-flips tbody a").first.get_attribute("href").startswith("/rollout/")
    assert "w=right%3A-1" in page.url and "text=" in page.url
    page.reload()
    page.get_by_text("gd.blend(right=right.weight(-1.0), brief=brief.weight(0.5))").wait_for()
    assert page.locator("textarea.bench-text").count() == 2
    page.locator("body").press("r")
    page.get_by_text("gd.blend(right=right, brief=brief.weight(0.5))").wait_for()

    file = benched.parent / "mine.py"
    file.write_text(REWARDS.replace("return -len(completion) / 10", "return -float(len(completion))"))
    page.get_by_text("mine.py changed: rescored").wait_for()
    assert cell.inner_text().startswith(f"−{len(answer) + 9}")
    file.write_text("def trained(:")
    page.get_by_text("SyntaxError").first.wait_for()
    file.write_text(REWARDS)
    page.get_by_text("mine.py changed: rescored").wait_for()
    opened.expected = ("422",)
    for width in (420, 980, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        expect(page.locator("html")).to_have_js_property("clientWidth", width)
        expect(page.locator("html")).to_have_js_property("scrollWidth", width)


def test_a_reward_without_a_run_that_breaks_and_says_so(benched: Path, browse: Callable[..., Any]) -> None:
    opened = browse(benched, color_scheme="dark")
    opened.expected = ("422",)
    page = opened.go("/bench?run=")
    page.get_by_text("Choose a run to try its reward").wait_for()
    named = page.get_by_label("reward", exact=True)
    named.fill("nowhere.py:mine")
    named.press("Enter")
    page.get_by_text("there is no reward file nowhere.py").wait_for(timeout=60_000)
    named.fill(f"{benched.parent / 'mine.py'}:broken")
    named.press("Enter")
    page.locator(".bench-parts").wait_for()
    page.get_by_text("failed: ").wait_for()
    assert "ValueError: no such thing as" in page.locator(".bench-said").inner_text()
    assert "it has reasons" in page.locator(".bench-said").inner_text()
    named.fill(f"{benched.parent / 'mine.py'}:numbered")
    named.press("Enter")
    page.get_by_text("numbered asks for 'numbers': fill that field").wait_for()
    page.get_by_label("numbers").fill("[1, 2]")
    expect(page.locator(".bench-whole strong")).to_have_text("3")
    page.get_by_label("task").fill("countdown:3")
    page.get_by_label("task").press("Enter")
    expect(page.get_by_label("prompt")).to_have_value(re.compile("^countdown"))
    expect(page.locator(".bench-whole strong")).not_to_have_text("3")
    assert "task=countdown" in page.url
