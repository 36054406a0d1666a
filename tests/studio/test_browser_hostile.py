"""A run folder from a hostile hand in every view of a real browser: markup, odd names, huge rows, files that are torn or go."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from scheduling import mostly_slow

from guerdon.core.column import Column
from guerdon.runs.checksums import sealed
from guerdon.runs.event_types import ScoresMissing, Warned
from guerdon.runs.events import EventLog
from guerdon.runs.rollout_files import read_batch, write_batch
from guerdon.studio.library import id_of

MARKUP = "<img src=x onerror='window.harmed=1'><script>window.harmed=1</script>'\"></textarea><b>"
TEXTS = (
    MARKUP,
    "</script>{{7*7}}${7*7}javascript:window.harmed=1",
    "\x00\x07\x1b[31m\u202eturned\u2066 \ud83d lone \U0001f600",
    "long " * 400_000,
    "a" * 200_000,  # nothing to break a line at
)
CONTRAST, NAMELESS = (Path(__file__).with_name(f"{name}.js").read_text() for name in ("contrast", "nameless"))
NAME = "<b onclick=1>'; DROP TABLE rows; --\"."


def hostile(run: Path, folder: Path) -> Path:
    """A copy of a run with hostile words wherever a run has words."""
    place = folder / os.fsdecode(b"runs/<img src=x>\xff '\"&?#%2e%2e; $(id)\n")
    shutil.copytree(run, place)
    config = json.loads((place / "run.json").read_text())
    config["recipe"] = config["wish"]["task"] = config["wish"]["model"] = MARKUP
    config["rewards"] = {"reward": {"formula": MARKUP, "version": MARKUP}}
    config["settings"] = {MARKUP: MARKUP}
    config["flow"] = [{"shelf": MARKUP, "needs": [MARKUP], "gives": [MARKUP]}]
    config.pop("sum")
    (place / "run.json").write_text(json.dumps(sealed(config)))
    with EventLog(place / "events.jsonl", 0) as log:
        log.emit(Warned(1, message=MARKUP))
        log.emit(ScoresMissing(1, column=MARKUP, failed=1, of=2, first=MARKUP, causes={MARKUP: 1}))
    step = place / "rollouts/step-00000001.parquet"
    batch = read_batch(step)
    texts = [TEXTS[n % len(TEXTS)].encode("utf-8", "replace").decode() for n in range(len(batch.episodes))]
    episodes = [
        e.but(segments=tuple(s.but(text=text, view=MARKUP) for s in e.segments), info={"error": MARKUP})
        for e, text in zip(batch.episodes, texts, strict=True)
    ]
    column = batch.cols["correct"]
    odd = Column(column.level, column.value + float("inf"), column.reason, {0: {"why": MARKUP, "error": MARKUP}})
    cols = {**batch.cols, NAME: column, "endless": odd}
    write_batch(step, dataclasses.replace(batch, episodes=episodes, cols=cols), 1)
    with open(place / "events.jsonl", "ab") as file:
        file.write(b'{"type": "StepDone", "step": 9')  # torn
    return place


def test_no_view_takes_words_for_markup(browse: Callable[..., Any], small_run: Path, tmp_path: Path) -> None:
    place = hostile(small_run / "first", tmp_path)
    opened = browse(tmp_path / "runs")
    opened.expected = ("422",)  # a run against itself, and a reward of a recipe that there is not
    id = id_of(place)
    batch = read_batch(place / "rollouts/step-00000001.parquet")
    episode = batch.episodes[0]
    key = f"{episode.step}.{episode.number}.{episode.attempt}"
    task = quote(f"{episode.task.family}/{episode.task.id}")
    views = {
        "/": "tbody tr",
        f"/run/{id}": "svg",
        f"/compare?run={id}&run={id}": "h1",
        f"/rollouts?run={id}&step=1": "tbody tr",
        f"/rollouts?run={id}&text=%3Cimg&step=1": "tbody tr",
        f"/rollout/{id}/1/{key}": "table",
        f"/group/{id}/1/{key.rpartition('.')[0]}": "table",
        f"/beside?task={task}&left={id}:1&right={id}:1": "table",
        f"/labels?run={id}": "button",
        f"/bench?run={id}&step=1": "select",
    }
    for view, sign in views.items():
        page = opened.go(view)
        page.locator(f"main {sign}").first.wait_for()
        page.wait_for_load_state("load")
        assert page.evaluate("window.harmed") is None, view
        assert page.locator("main img, main script, main iframe, main object, main b[onclick]").count() == 0, view
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


def test_what_goes_while_it_is_looked_at_is_said(browse: Callable[..., Any], small_run: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ("stays", "goes"):
        shutil.copytree(small_run / "first", runs / name)
    opened = browse(runs)
    opened.expected = ("404", "422")  # the browser's own line about an answer that refuses
    page = opened.go(f"/rollouts?run={id_of(runs / 'goes')}")
    page.locator("main tbody tr").first.wait_for()
    (runs / "goes/rollouts/step-00000002.parquet").unlink()
    page.reload()
    page.locator("main tbody tr").first.wait_for()
    (runs / "goes").rename(tmp_path / "elsewhere")
    page.goto(f"{opened.url}/run/{id_of(runs / 'goes')}")
    page.locator("#fault:visible").wait_for()
    assert "any more" in page.inner_text("#fault")
    page.goto(f"{opened.url}/")
    page.locator("main tbody tr").first.wait_for()
    assert "stays" in page.inner_text("main") and "goes" not in page.inner_text("main")


@pytest.mark.parametrize("theme", mostly_slow(["light", "dark"], "dark"))
def test_every_view_is_readable(browse: Callable[..., Any], small_run: Path, theme: str) -> None:
    """Words stand out from what is behind them by 4.5 to 1 at least (WCAG AA; 3 to 1 where they are large), in every view."""
    id = id_of(small_run / "first")
    opened = browse(small_run, color_scheme=theme)
    views = {
        "/": "tbody tr",
        f"/run/{id}": "svg",
        f"/rollouts?run={id}&step=1": "tbody tr",
        f"/labels?run={id}": "button",
        f"/bench?run={id}&step=1": "select",
        "/evidence": "tbody tr",
    }
    for view, sign in views.items():
        page = opened.go(view)
        page.locator(f"main {sign}").first.wait_for()
        assert page.evaluate(CONTRAST) == [], view
        assert page.evaluate(NAMELESS) == [], view
