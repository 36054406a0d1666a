"""The page misses no change in a real browser, in whatever order answers come: each order is brought about by holding one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from searched_runs import PlainFilter, make_run, rows_of, write_step
from written_runs import whole, write_run

from guerdon.studio import library
from guerdon.studio.library import id_of

Browse = Callable[..., Any]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the disk is believed for no time."""
    monkeypatch.setattr(library, "FRESH", 0.0)


def test_a_run_that_came_before_anybody_listened_is_shown(browse: Browse, tmp_path: Path) -> None:
    write_run(tmp_path / "one", whole([0.1]))
    opened, held = browse(tmp_path), []
    opened.page.route("**/api/live", lambda route: held.append(route))
    page = opened.go("/")
    page.locator(".runs-table tbody tr", has_text="one").wait_for()
    write_run(tmp_path / "two", whole([0.2]))
    held[0].continue_()
    page.locator(".runs-table tbody tr", has_text="two").wait_for()


def test_a_stream_that_was_refused_is_begun_again_and_all_is_asked_anew(browse: Browse, tmp_path: Path) -> None:
    write_run(tmp_path / "one", whole([0.1]))
    opened, held = browse(tmp_path), []
    opened.expected = ("503",)
    opened.page.route("**/api/live", lambda route: held.append(route))
    opened.page.route("**/api/live", lambda route: route.fulfill(status=503, body=""), times=1)  # before the other
    page = opened.go("/")
    page.locator(".runs-table tbody tr", has_text="one").wait_for()
    page.locator("#state.lost").wait_for()
    while not held:
        page.wait_for_timeout(50)
    write_run(tmp_path / "two", whole([0.2]))
    held[0].continue_()
    page.locator(".runs-table tbody tr", has_text="two").wait_for()
    page.locator("#state.live").wait_for()


def test_a_change_does_not_swallow_what_somebody_asked_for(browse: Browse, tmp_path: Path) -> None:
    """A filter is chosen, and while its answer is on its way a step is written."""
    how = {"asks": 6, "tries": 5}
    folder = make_run(tmp_path / "runs" / "one", steps=2, **how)
    opened, held = browse(tmp_path / "runs", viewport={"width": 1400, "height": 900}), []
    page = opened.go(f"/rollouts?run={id_of(folder)}")
    page.locator(".list tbody tr").nth(3).click()
    page.locator("#state.live").wait_for()
    page.route("**/api/rollouts?*kind=sorts*", lambda route: held.append(route), times=1)
    with page.expect_request("**/api/rollouts?*kind=sorts*"):
        page.locator(".values button", has_text="sorts:2").click()
    write_step(folder, 2, **how)
    plain = [row for row in rows_of(folder) if PlainFilter({"kind": ["sorts:2"]})(row)]
    page.locator(".summary", has_text=f"{len(plain)} of {len(rows_of(folder))} rollouts").wait_for()
    assert page.locator(".list tbody tr").count() == min(100, len(plain))
    assert page.locator(".news").is_hidden() and len(held) == 1
