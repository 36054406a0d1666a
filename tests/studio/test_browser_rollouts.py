"""Rollouts in a real browser: searched, filtered, sorted and gone through by keyboard; live, and at every width."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from searched_runs import PlainFilter, make_run, rows_of, write_step

from guerdon.studio.library import id_of

SIZES = [(420, 800), (980, 800), (1920, 1080)]
HOW = {"asks": 6, "tries": 5, "names": ('he said "x"',)}


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browsed") / "runs"
    make_run(folder / "one", steps=4, **HOW)
    make_run(folder / "two", steps=1, seed=1, **HOW)
    return folder


def asked(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def says(page: Any, words: str) -> None:
    """Wait until the line about all of them says so."""
    page.locator(".summary", has_text=re.compile(words)).wait_for()


def current(page: Any) -> str:
    return page.locator(".list tr.current").inner_text()


def test_rollouts_by_keyboard_alone(browse: Callable[..., Any], runs: Path) -> None:
    every = rows_of(runs / "one")
    opened = browse(runs, viewport={"width": 1400, "height": 900})
    page = opened.go("/rollouts?run=")
    page.locator("tr.current", has_text="one").wait_for()
    page.keyboard.press("Enter")
    says(page, f"^{len(every)} rollouts, steps 0 to 3, mean reward")
    assert page.locator(".list tbody tr").count() == 100
    assert page.evaluate("document.activeElement.tagName") == "TR"

    first = current(page)
    page.keyboard.press("j")
    page.locator(".pane > .card").wait_for()
    assert current(page) != first or page.locator(".list tbody tr").nth(1).get_attribute("class").endswith("current")
    page.keyboard.press("k")
    page.keyboard.press(">")  # the next page, and back over its first row
    page.locator(".pager", has_text=f"101 to {len(every)} of {len(every)}").wait_for()
    assert "after" in asked(page)
    page.keyboard.press("k")
    page.locator(".pager", has_text="1 to 100").wait_for()
    assert page.locator(".list tbody tr").last.get_attribute("class").endswith("current")
    page.keyboard.press("j")
    page.locator(".pager", has_text="101 to").wait_for()

    page.keyboard.press("/")
    page.keyboard.type('"the two" -nine')
    plain = [row for row in every if PlainFilter({"text": ['"the two" -nine']})(row)]
    says(page, f"^{len(plain)} of {len(every)} rollouts") if plain else page.locator(".empty:visible").wait_for()
    page.locator("[data-search]").fill("carry")
    plain = [row for row in every if PlainFilter({"text": ["carry"]})(row)]
    says(page, f"^{len(plain)} of {len(every)} rollouts")
    assert {text.lower() for text in page.locator(".list mark").all_inner_texts()} == {"carry"}
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "TR"

    page.keyboard.press("f")  # filters: the first field is that of the least reward
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "reward from"
    page.keyboard.type("0")
    page.keyboard.press("Enter")
    wanted = PlainFilter({"text": ["carry"], "where": ["reward:0.."]})
    says(page, f"^{sum(map(wanted, every))} of {len(every)} rollouts")
    assert asked(page)["where"] == ["reward:0.."]
    page.keyboard.press("Escape")
    page.keyboard.press("d")
    says(page, f"^{len(every)} rollouts")
    assert set(asked(page)) == {"run"}

    page.keyboard.press("[")
    says(page, "step 2,")
    page.keyboard.press("]")
    says(page, "step 3,")
    page.keyboard.press("w")
    page.get_by_role("dialog", name="Columns of the list").get_by_label('he said "x"').press("Space")
    page.get_by_role("columnheader", name='he said "x"').wait_for()
    page.keyboard.press("Escape")
    page.locator(".list tr.current").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/rollout/**")
    assert f"/rollout/{id_of(runs / 'one')}/3/3.0.0?segment=0" in page.url


def test_filters_by_pointer_the_address_and_live_changes(browse: Callable[..., Any], tmp_path: Path) -> None:
    folder = make_run(tmp_path / "runs" / "one", steps=2, **HOW)
    every = rows_of(folder)
    opened = browse(tmp_path / "runs", viewport={"width": 1400, "height": 900})
    page = opened.go(f"/rollouts?run={id_of(folder)}")
    says(page, f"^{len(every)} rollouts, steps 0 to 1")
    wanted: dict[str, list[str]] = {}
    for name, value in (("kind", "sorts:2"), ("kind", "sums:1"), ("end", "cut")):  # the second beside the first
        page.locator(".values button", has_text=value).click()
        wanted.setdefault(name, []).append(value)
        says(
            page, f"^{sum(map(PlainFilter(wanted), every))} of {len(every)} rollouts"
        )  # values move to their new places
    page.get_by_role("columnheader", name="advantage").get_by_role("button").click()
    page.locator("th[aria-sort=descending]", has_text="advantage").wait_for()
    assert {name: asked(page)[name] for name in ("kind", "end", "sort")} == {**wanted, "sort": ["-advantage"]}
    before = page.locator(".list tbody").inner_text()
    page.reload()
    says(page, f"^{sum(map(PlainFilter(wanted), every))} of {len(every)} rollouts")
    assert page.locator(".list tbody").inner_text() == before
    page.get_by_role("button", name="Drop the filter end cut").click()
    page.get_by_role("button", name="Drop all").click()
    says(page, f"^{len(every)} rollouts")
    box = page.locator(".histogram svg").first.bounding_box()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 10)
    page.mouse.up()
    page.wait_for_url("**where=reward**")
    bounds = asked(page)["where"][0]
    says(page, f"^{sum(map(PlainFilter({'where': [bounds]}), every))} of {len(every)} rollouts")
    assert bounds.endswith("..")

    page.locator(".list tbody tr").nth(2).click()
    chosen = current(page)
    write_step(folder, 2, **HOW)  # a step is written while somebody reads
    now = rows_of(folder)
    says(page, f"of {len(now)} rollouts")
    assert current(page) == chosen and page.evaluate("document.activeElement.className").endswith("current")
    page.locator(".pane .card").get_by_text("advantage").first.wait_for()
    page.keyboard.press("y")  # a label, given from the list, is a filter at once
    page.locator(".values button", has_text="right").wait_for()
    with page.expect_download() as saving:
        page.get_by_role("link", name="Save as JSONL").click()
    lines = Path(saving.value.path()).read_text().splitlines()
    assert len(lines) == sum(map(PlainFilter({"where": [bounds]}), now))
    opened.expected = ("422",)  # the browser tells of answers that refuse
    page.locator("[data-search]").fill("re:(")
    page.get_by_role("alert").filter(has_text="is not a regular expression: missing )").wait_for()
    page.locator("[data-search]").fill("")
    page.get_by_role("alert").wait_for(state="hidden")


def test_nothing_sticks_out(browse: Callable[..., Any], runs: Path) -> None:
    opened = browse(runs, color_scheme="dark")
    one, two = id_of(runs / "one"), id_of(runs / "two")
    page = opened.go(f"/rollouts?run={one}&run={two}&sort=-reward&text=the&where=length:1..&where=he+said+%22x%22:any")
    wanted = PlainFilter({"text": ["the"], "where": ["length:1..", 'he said "x":any']})
    plain = [row for name in ("one", "two") for row in rows_of(runs / name) if wanted(row)]
    says(page, f"^{len(plain)} of")
    assert page.locator(".list tbody tr").count() == min(100, len(plain))
    page.locator(".histogram").first.wait_for(state="attached")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.locator("details.drawer").evaluate("details => { details.open = true }")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("script, img").count() == 1, "what a completion says is text"
