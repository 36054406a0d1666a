"""A report as a browser opens it from disk: no server, no request, no complaint, and all that the run said as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from run_configs import config

import guerdon as gd
from guerdon.core.column import Column
from guerdon.display.report import write_report
from guerdon.runs.event_types import Alarmed, Ended, Evaluated, Started, StepDone
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import write_batch

EVIL = "<img src=x onerror=alert(1)></script>"
Read = Callable[..., Any]


def written(path: Path) -> Path:
    """A run of three steps with an alarm, exams, draws and a stored batch, that says EVIL where it can."""
    folder = RunFolder(path)
    folder.create(config(steps=3) | {"recipe": "by-hand", "wish": {"task": EVIL, "model": None, "reward": None}})
    with EventLog(folder.events, 0) as log:
        log.emit(Started(0, steps=3))
        for step in range(3):
            metrics = {"correct/mean": 0.25 * step, "correct/std": 0.1, f"{EVIL}/mean": 1.0 * step, f"{EVIL}/std": 0.0}
            draws = {"draws/a:1": 1.0, "draws/a:2": float(step)}
            log.emit(StepDone(step, metrics=metrics | draws, tokens=10, episodes=2, seconds=1.0))
        log.emit(Evaluated(-1, result={"task": "t", "pass@1": 0.0, "pass@1_low": 0.0, "pass@1_high": 0.5}))
        log.emit(Evaluated(2, result={"task": "t", "pass@1": 0.5, "pass@1_low": 0.25, "pass@1_high": 0.75}))
        rollouts = [
            {"step": 0, "episode": "0.0.0", "segment": 0, "prompt": EVIL, "said": EVIL, "numbers": {"reward": 1.0}}
        ]
        log.emit(Alarmed(0, rule="proxy_gap", message=EVIL, fix="look", severity="bad", rollouts=rollouts))
        log.emit(Ended(2, weights="ff"))
    episodes = []
    for number, text in enumerate(("ab", EVIL)):
        segment = gd.Segment("policy", EVIL, np.zeros(0), np.array([*map(ord, text)]), np.full(len(text), -0.5), text)
        episodes.append(gd.Episode(gd.Ask(gd.Task(str(number), EVIL)), (segment,), 0, number))
    batch = gd.pack(episodes)
    given = {
        "correct": Column.full("track", torch.tensor([1.0, 0.0])),
        "advantage": Column.full("step", torch.linspace(-1.0, 1.0, batch.S)),
    }
    write_batch(folder.rollouts(0), batch.with_cols(given), 0)
    return path


@pytest.fixture
def browse_file(chromium: Any) -> Iterator[Read]:
    """`browse_file(path)` opens a file; gives playwright's page. What the browser complains of, and whatever it asks for
    besides the file, fails the test at its end."""
    complaints: list[str] = []
    contexts: list[Any] = []

    def begin(path: Path, **how: Any) -> Any:
        url = path.resolve().as_uri()
        contexts.append(chromium.new_context(**{"viewport": {"width": 1200, "height": 900}, **how}))
        page = contexts[-1].new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: complaints.append(asked.url) if asked.url.partition("#")[0] != url else None)
        page.goto(url)
        return page

    yield begin
    for context in contexts:
        context.close()
    assert not complaints, complaints


@pytest.fixture
def read(browse_file: Read) -> Read:
    """`read(path)` writes the report of a run and opens it."""
    return lambda path, **how: browse_file(write_report(path), **how)


@pytest.mark.browser
def test_a_report_shows_the_run_from_disk(read: Read, tmp_path: Path) -> None:
    page = read(written(tmp_path / "run"))
    page.get_by_role("heading", name="by-hand").wait_for()
    assert "0.0 % → 50.0 %" in page.locator(".big").inner_text()
    assert page.get_by_role("heading", name="Exams").is_visible()
    page.locator(".chart path.line").first.wait_for(state="attached")
    assert page.locator(".chart .mark").count() >= 1, "the alarm is marked on the curves"
    for heading in ("Alarms", "Curves", "Draws", "Sample rollouts", "Facts", "Settings"):
        assert page.get_by_role("heading", name=heading, exact=True).count() == 1, heading
    page.get_by_text("All metrics").click()
    rows = page.locator(".metrics tbody tr").all_inner_texts()
    assert [re.split(r"\s+", row)[1:] for row in rows if row.startswith("correct/mean")] == [
        ["0", "0.500", "0", "0.500", "3"]
    ]


@pytest.mark.browser
def test_what_a_run_says_is_text(read: Read, tmp_path: Path) -> None:
    page = read(written(tmp_path / "run"))
    page.locator(".sample .turn").first.wait_for()
    assert page.locator("img").count() == 0 and page.locator("script").count() == 2
    assert EVIL in page.locator(".alarms .message").first.inner_text()
    assert EVIL in page.locator(".samples").inner_text() and EVIL in page.locator(".run-facts").inner_text()


@pytest.mark.browser
def test_an_alarm_leads_to_its_rollouts_and_tokens_have_their_colours(read: Read, tmp_path: Path) -> None:
    page = read(written(tmp_path / "run"))
    page.get_by_role("link", name="the rollouts").click()
    assert page.url.endswith("#step-0")
    section = page.locator("h3#step-0")
    assert section.inner_text() == "The rollouts that show it: proxy_gap, step 0"
    tokens = page.locator(".sample").first.locator(".said-text .t")
    tokens.first.wait_for()
    assert "down" in (tokens.first.get_attribute("class") or ""), "the first token has the lowest advantage"
    tokens.first.hover()
    assert "advantage −1" in page.locator(".sample").first.locator(".token-line").inner_text()


@pytest.mark.browser
def test_the_axis_and_the_smoothing_need_no_server(read: Read, tmp_path: Path) -> None:
    page = read(written(tmp_path / "run"))
    page.locator(".chart path.line").first.wait_for(state="attached")
    page.get_by_label("over").select_option("tokens")
    for _ in range(100):  # a chart that is drawn again closes its table, or opens it over the other axis
        page.get_by_role("button", name="numbers").first.click()
        head = page.locator(".chart-table th").first
        if head.count() and head.inner_text() == "tokens":
            break
        page.get_by_role("button", name="numbers").first.click()
        page.wait_for_timeout(50)
    assert page.locator(".chart-table th").first.inner_text() == "tokens"
    assert page.locator(".chart-table td").first.inner_text() == "0", "the exam before the first step"
    page.get_by_label("Smoothing").fill("0.5")
    page.locator(".chart .faint").first.wait_for(state="attached")


@pytest.mark.browser
def test_a_study_leads_to_the_reports_of_its_runs(read: Read, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "study")
    folder.create(config(kind="study"))
    write_report(written(folder.inner / "one"))
    page = read(folder.path)
    link = page.get_by_role("link", name="one")
    assert link.get_attribute("href") == "inner/one/report.html"


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen_needs_no_sideways_scrolling(scheme: str, read: Read, tmp_path: Path) -> None:
    page = read(written(tmp_path / "run"), viewport={"width": 420, "height": 900}, color_scheme=scheme)
    page.locator(".sample .turn").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


@pytest.mark.browser
def test_who_runs_no_scripts_reads_the_essentials(chromium: Any, tmp_path: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(write_report(written(tmp_path / "run")).resolve().as_uri())
        words = page.locator("noscript").inner_text()
    finally:
        context.close()
    assert "pass@1: 0.0 % → 50.0 %" in words and "Watch: proxy_gap" in words and EVIL in words


@pytest.mark.browser
def test_a_comparison_from_disk(browse_file: Read, tmp_path: Path) -> None:
    one, other = written(tmp_path / "one"), written(tmp_path / "other")
    file = tmp_path / "compared.html"
    file.write_text(gd.compare(one, other).html())
    page = browse_file(file)
    page.get_by_role("heading", name="one against other").wait_for()
    page.locator(".chart path.line").first.wait_for(state="attached")
    assert page.locator("[data-apart=B]").inner_text() != "…", "the difference is in the file"
    page.locator(".sample .turn").first.wait_for()
    assert EVIL in page.locator(".samples").inner_text() and page.locator("img").count() == 0
    page.get_by_label("over").select_option("tokens")
    assert page.locator(".fault").is_hidden()
    assert page.get_by_role("button", name="leave out").count() == 0 and page.get_by_role("link").count() == 0
