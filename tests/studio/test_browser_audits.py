"""Audits in a real browser: the list, one and two compared, by keyboard, while they are written, with hostile texts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from written_audits import NASTY, finding, kind, write_audit

from guerdon.studio.library import id_of

CONTRAST, NAMELESS = (Path(__file__).with_name(f"{name}.js").read_text() for name in ("contrast", "nameless"))
SIZES = [(420, 800), (980, 800), (1920, 1080)]
Browse = Callable[..., Any]


@pytest.fixture
def audits(tmp_path: Path) -> Path:
    place = tmp_path / "audits"
    write_audit(
        place / "before", 2, findings=[finding(), finding(NASTY, "warning", 0.2, examples=[], note=NASTY)], reward=NASTY
    )
    mended = [finding("length matters", "warning", 0.1, examples=[])]
    write_audit(place / "after", 1, reward="mended", findings=mended, kinds=[kind("suffix", 0.0), kind("list", 0.5)])
    write_audit(place / "elsewhere", 3, task="hops:3", findings=[])
    (place / "broken").mkdir()
    (place / "broken" / "audit.json").write_text(f'{{"format": 1, "{NASTY}": 3}}')
    os.utime(place / "broken" / "audit.json", ns=(2 * 10**18, 2 * 10**18))
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def looked_over(page: Any) -> None:
    """Nothing sticks out, every control has a name, all that is written can be read, and no text became markup."""
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        assert page.evaluate(CONTRAST) == []
    assert page.evaluate(NAMELESS) == []
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("main img").count() == 0 and page.title() != "hacked"


def test_the_list_by_keyboard_and_live(browse: Browse, audits: Path) -> None:
    page = browse(audits).go("/")
    page.keyboard.press("g")
    page.keyboard.press("a")
    rows = page.locator(".audits-table tbody tr")
    rows.first.wait_for()
    assert page.get_by_role("link", name="Audits").get_attribute("aria-current") == "page"
    reward = ".audits-table td.name a"
    assert page.locator(reward).all_inner_texts() == ["broken", "mended", NASTY, "right"], "the newest first"
    assert "it has no reward" in rows.nth(0).inner_text() and "unreadable" in rows.nth(0).inner_text()
    assert "1 severe" in rows.nth(2).inner_text() and "nothing found" in rows.nth(3).inner_text()
    page.keyboard.press("/")
    page.keyboard.type("HOPS")
    rows.nth(1).wait_for(state="detached")
    assert "search=HOPS" in page.url
    page.locator("[data-search]").fill("")
    rows.nth(3).wait_for()
    page.keyboard.press("Escape")
    write_audit(audits.parent / "audits" / "late", 4, reward="late")
    page.locator(".audits-table tbody tr", has_text="late").wait_for()
    looked_over(page)

    for _ in range(2):  # over what is broken
        page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("c")
    page.get_by_text("mark two audits of the same task").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("c")
    page.wait_for_url("**/audits/compare?audit=*")
    page.get_by_text("2 fixed, 1 new, 0 unchanged.").wait_for()


def test_one_audit_to_the_letter(browse: Browse, audits: Path) -> None:
    folder = audits.parent / "audits" / "before"
    page = browse(audits).go(f"/audits/audit-{id_of(folder)}")
    page.locator(
        ".verdict-line", has_text="1 severe finding, 1 warning; the most harmful is “substring match”"
    ).wait_for()
    first = page.locator(".finding").first
    assert first.locator(".audit-text").nth(1).inner_text() == "= 17··↵\n→\tso"
    assert [cell.split("\t")[-2:] for cell in first.locator("tbody tr").all_inner_texts()] == [
        ["1", "1"], ["–", "1"], ["0.250", "1"],
    ]  # fmt: skip
    assert "(empty)" in first.inner_text() and "Fix: fix substring match" in first.inner_text()
    assert NASTY in page.locator(".finding").nth(1).inner_text()
    page.keyboard.press("j")
    assert "current" in first.get_attribute("class")
    page.keyboard.press("Enter")  # opens what was cut
    assert first.locator(".audit-text").nth(3).inner_text() == NASTY * 40
    page.get_by_role("button", name="The completion of example 2: cut it again").click()
    assert len(first.locator(".audit-text").nth(3).inner_text()) < 400
    bar = page.get_by_role("img", name="suffix, wrongly scored: 87.5 %, 95 % interval 77.5 to 97.5 %")
    assert bar.locator(".whisker").count() == 3
    measured = page.locator("dl.measured").inner_text()
    for words in ("30.0 % 25.0 to 35.0 %, 30 of 100", "0.810", "length alone moves right answers by −0.50", "100 µs"):
        assert words in measured, words
    page.locator(".clean-kinds summary").click()
    page.locator(".audit-failures summary").click()
    page.get_by_text("ValueError: x").wait_for()
    looked_over(page)
    write_audit(folder, 2, findings=[])
    page.locator(".verdict-line", has_text="Nothing found.").wait_for()
    page.keyboard.press("c")
    page.wait_for_url("**/audits/compare?audit=*")


def test_two_compared_and_what_cannot_be(browse: Browse, audits: Path) -> None:
    opened = browse(audits)
    opened.expected = ("422", "404")
    ids = {
        name: f"audit-{id_of(audits.parent / 'audits' / name)}" for name in ("before", "after", "broken", "elsewhere")
    }
    page = opened.go(f"/audits/compare?audit={ids['before']}&audit={ids['after']}")
    page.get_by_text("2 fixed, 1 new, 0 unchanged.").wait_for()
    assert NASTY in page.get_by_role("region", name="Fixed").inner_text()
    assert "length matters" in page.get_by_role("region", name="New").inner_text()
    assert "−87.5" in page.get_by_role("table", name="Wrongly scored by kind").inner_text()
    looked_over(page)
    page.keyboard.press("s")
    page.get_by_text("1 fixed, 2 new, 0 unchanged.").wait_for()
    opened.go(f"/audits/compare?audit={ids['before']}&audit={ids['elsewhere']}")
    page.get_by_role("alert").filter(has_text="different tasks").wait_for()
    opened.go(f"/audits/{ids['broken']}")
    page.locator("p.bad", has_text="it has no reward").wait_for()
    opened.go("/audits/audit-none")
    page.get_by_text("This audit cannot be shown.").wait_for()
