"""Runs in a real browser: the list, one run, several and evidence, by keyboard and while they are written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from written_runs import add_events, steps, whole, write_run

from guerdon.runs.event_types import Ended, StepDone, Warned

Browse = Callable[..., Any]
WIDER = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
NASTY = "<img src=x onerror=document.title='hacked'>"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    wish = {"task": "sums", "model": "tabular", "reward": None}
    for seed in range(2):
        values = [0.1 * n for n in range(6)]
        how = {"recipe": "grpo", "wish": wish, "seed": seed, "steps": 6, "settings": {"lr": "0.1"}, "text": True}
        write_run(tmp_path / f"seed-{seed}", whole(values), **how, created=f"2026-01-0{seed + 1}T00:00:00Z")
    write_run(tmp_path / "other", whole([0.3, 0.2, 0.5], after=0.8), recipe="dapo", wish=wish, settings={"lr": "0.2"})
    study = write_run(tmp_path / "study", [Ended(0)], recipe="sweep", kind="study", created="2026-01-05T00:00:00Z")
    write_run(study / "inner" / "one", whole([0.5]), recipe="inside", steps=1)
    odd = [StepDone(0, metrics={f"{NASTY}/mean": 1.0, "reward/mean": 0.5}), Warned(0, message=NASTY)]
    write_run(tmp_path / NASTY.replace("/", ""), odd, recipe=NASTY, created="2025-01-01T00:00:00Z")
    return tmp_path


def shown(page: Any) -> list[str]:
    return page.locator(".runs-table tbody tr td.name a:not(.alarm-count)").all_inner_texts()


def test_the_list_by_keyboard_and_live(browse: Browse, runs: Path) -> None:
    opened = browse(runs)
    page = opened.go("/")
    page.locator(".runs-table tbody tr").first.wait_for()
    assert shown(page)[:4] == ["study", "other", "seed-1", "seed-0"] and page.title() != "hacked"
    page.keyboard.press("j")
    page.keyboard.press("ArrowRight")
    page.get_by_role("link", name="one", exact=True).wait_for()
    assert "open=" in page.url
    page.keyboard.press("ArrowLeft")
    page.get_by_role("link", name="one", exact=True).wait_for(state="detached")
    page.keyboard.press("/")
    page.keyboard.type("lr=0.1")
    page.get_by_text("2 of 6 runs").wait_for()
    assert shown(page) == ["seed-1", "seed-0"] and "search=lr" in page.url
    page.keyboard.press("Escape")
    page.locator("tbody tr").first.focus()

    write_run(runs / "seed-2", steps("correct/mean", [0.5]), recipe="grpo", settings={"lr": "0.1"}, steps=9, text=True)
    page.get_by_text("1 of 9 steps").wait_for()
    assert page.evaluate("document.activeElement.dataset.id") == page.locator("tr", has_text="seed-1").get_attribute(
        "data-id"
    )
    add_events(runs / "seed-2", steps("correct/mean", [0.5, 0.6])[1:])
    page.get_by_text("2 of 9 steps").wait_for()
    assert page.evaluate("document.activeElement.tagName") == "TR", "the focus is where it was"

    page.reload()
    page.locator("tr", has_text="seed-1").focus()
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.get_by_role("button", name="Compare 2").wait_for()
    page.keyboard.press("c")
    page.get_by_role("heading", name="Exams").wait_for()
    assert page.url.count("run=") == 2
    page.locator(".chart .line").first.wait_for()
    assert "2 seeds" in page.locator(".legend").inner_text()
    page.keyboard.press("s")
    page.get_by_text("after, less A").wait_for()
    page.locator(".legend tr").nth(1).wait_for()
    page.keyboard.press("2")
    page.locator(".hidden-arm").wait_for()
    assert "apart=1" in page.url and "hide=B" in page.url


def test_one_run_while_it_is_written(browse: Browse, small_run: Path, runs: Path) -> None:
    live = write_run(runs / "live", steps("correct/mean", [0.1, 0.2, 0.3], spread=0.0), recipe="grpo", steps=9)
    opened = browse(runs)
    page = opened.go("/?search=live")
    page.locator("tbody tr").first.focus()
    page.keyboard.press("Enter")
    plot = page.get_by_role("slider", name="correct", exact=True)
    plot.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert (
        plot.get_attribute("aria-valuetext") == "step 1: 0.200 (0.200 to 0.200)"
        and plot.get_attribute("aria-valuemax") == "2"
    )
    add_events(live, steps("correct/mean", [0.1, 0.2, 0.3, 0.9], spread=0.0)[3:])
    page.locator('[role=slider][aria-label="correct"][aria-valuemax="3"]').wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "correct", "the focus is where it was"
    assert plot.get_attribute("aria-valuetext") == "step 1: 0.200 (0.200 to 0.200)"
    page.locator("figure", has=plot).get_by_role("button", name="numbers").click()
    table = page.get_by_role("region", name="correct: numbers")
    assert table.locator("tbody tr").count() == 4 and "0.900" in table.inner_text()
    page.get_by_label("Search metrics").fill("tokens")
    page.get_by_role("slider", name="tokens", exact=True).wait_for()
    page.get_by_label("over").select_option("seconds")
    page.locator('[aria-valuetext^="seconds "]').first.wait_for()
    assert "x=seconds" in page.url and "metric=tokens" in page.url

    opened.expected = ("404", "Failed to load resource")
    shutil.rmtree(live)
    page.locator("#fault", has_text="is not there any more").wait_for()
    assert page.get_by_role("heading", name="live").is_visible(), "the page lives on"
    opened.go("/run/nothing").get_by_text("This run cannot be shown").wait_for()


@pytest.mark.slow
def test_every_view_fits_and_says_what_it_is(browse: Browse, small_run: Path, runs: Path) -> None:
    shutil.copytree(small_run / "first", runs / "first")
    for width, scheme in ((420, "dark"), (1280, "light")):
        opened = browse(runs, viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = opened.go("/")
        page.locator("tbody tr").first.wait_for()
        rows = page.locator("tbody tr").all()
        ids = {row.locator("td.name a").first.inner_text(): row.get_attribute("data-id") for row in rows}
        both = f"/compare?run={ids['first']}&run={ids['other']}"
        seen = {
            f"/run/{ids['first']}": "Every step",
            f"/run/{ids[NASTY.replace('/', '')]}": "Alarms",
            f"/run/{ids['study']}": "1 run",
            both: "What was done differently",
            "/evidence": "Evidence",
            "/evidence/dump": "Measured with",
        }
        for path, heading in seen.items():
            opened.go(path).get_by_role("heading", name=heading).first.wait_for()
            assert not page.evaluate(WIDER), (path, width)
            assert page.title() != "hacked" and not page.locator("main img").count()
    opened.go(f"/run/{ids['first']}?smooth=0.5&x=tokens")
    page.get_by_role("button", name="Compare with").click()
    assert page.get_by_role("dialog").get_by_role("link", name="other").get_attribute("href") == both
    page.keyboard.press("Escape")
    page.locator(".flow summary").nth(4).click()
    assert "opt.lr" in page.locator(".flow").inner_text() and "advantage" in page.locator(".flow").inner_text()
    page.get_by_role("slider", name="Entropy").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/rollouts?run=*&step=2")
    opened.go("/evidence?word=behind").locator("tbody tr").first.wait_for()
    assert {chip.partition(",")[0] for chip in page.locator("tbody .chip").all_inner_texts()} == {"behind"}


def test_evidence_is_searched_ordered_and_run_again(browse: Browse, runs: Path) -> None:
    opened = browse(runs)
    page = opened.go("/evidence")
    rows = page.locator(".evidence-table tbody tr")
    rows.first.wait_for()
    every = rows.count()
    page.get_by_label("order").select_option(label="by result")
    assert "order=result" in page.url and rows.count() == every
    ranks = ["ahead", "no difference", "inconclusive", "behind", "screened"]
    chips = page.locator("tbody .chip").all_inner_texts()
    order = [next(n for n, word in enumerate(ranks) if chip.startswith(word)) for chip in chips]
    assert order == sorted(order) and set(order) == {0, 1, 2, 3, 4}
    lows = [float(each.partition("(")[2].partition(" to")[0].replace("−", "-")) for each in differences(page, "ahead")]
    assert len(lows) > 5 and lows == sorted(lows, reverse=True)
    page.keyboard.press("/")
    page.keyboard.type("DUMP ")
    page.wait_for_url("**search=DUMP*")
    assert rows.locator("td:first-child").all_inner_texts() == ["dump", "dump+screening"]
    assert rows.locator("code").all_inner_texts()[0] == "guerdon prove dump"
    rows.get_by_role("button", name="Copy guerdon prove dump", exact=True).wait_for()
    page.reload()
    page.get_by_text(f"2 of {every} claims").wait_for()


def differences(page: Any, word: str) -> list[str]:
    of_word = page.locator(".evidence-table tbody tr", has=page.locator(".chip", has_text=word))
    texts: list[str] = of_word.locator("td.num:nth-child(3)").all_inner_texts()
    return texts


def test_at_420_pixels_results_come_first(browse: Browse, runs: Path) -> None:
    opened = browse(runs, viewport={"width": 420, "height": 900})
    page = opened.go("/")
    page.locator(".runs-table tbody tr", has_text="other").wait_for()
    for cell in (page.locator("tr", has_text="other").locator(".headline"), page.locator("th.headline")):
        box = cell.bounding_box()
        assert box["x"] + box["width"] <= 420
    page.get_by_role("link", name="other", exact=True).click()
    exams = page.locator(".run-exams table").first
    exams.wait_for()
    assert exams.bounding_box()["y"] < page.get_by_role("heading", name="Curves").bounding_box()["y"]
    page.goto(f"{opened.url}/evidence")
    chip = page.locator(".evidence-table tbody .chip").first
    chip.wait_for()
    box = page.locator(".evidence-table tbody td:nth-child(3)").first.bounding_box()
    assert chip.bounding_box()["x"] < box["x"] < page.locator("tbody td.claim").first.bounding_box()["x"]


def test_an_empty_folder_says_what_to_do(browse: Browse, tmp_path: Path) -> None:
    page = browse(tmp_path).go("/")
    page.get_by_text("guerdon train grpo").wait_for()
    write_run(tmp_path / "first", steps("correct/mean", [0.5]), steps=2)
    page.get_by_role("link", name="first").wait_for()
    assert not page.get_by_text("guerdon train grpo").is_visible(), "what to do gives way to what there is"
