"""What a curriculum drew, on the page: every share computed again from the event file."""

from __future__ import annotations

import json

import pytest
from report_pages import report_data_of
from run_configs import config

import guerdon as gd
from guerdon.display.report import write_report
from guerdon.display.run.draws import COLUMNS, make_draws, shades
from guerdon.runs.event_types import Started, StepDone
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder

TWO = [{"countdown:1": 3, "countdown:2": 1}, {"countdown:2": 4}, {"countdown:1": 1, "countdown:2": 1}]


def record(path, rows):
    """A run whose steps drew these, and nothing else."""
    folder = RunFolder(path)
    folder.create(config(steps=len(rows)))
    with EventLog(folder.events, 0) as log:
        log.emit(Started(0, steps=len(rows)))
        for step, row in enumerate(rows):
            metrics = {f"draws/{kind}": float(n) for kind, n in row.items()}
            log.emit(StepDone(step, metrics=metrics, tokens=1, calls=1, episodes=1, seconds=1.0))
    return path


def counted(path):
    """The draws of every step, from the file itself."""
    lines = [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]
    done = [line["metrics"] for line in lines if line["type"] == "StepDone"]
    return [{k.removeprefix("draws/"): v for k, v in row.items() if k.startswith("draws/")} for row in done]


def share(rows, kind):
    total = sum(n for row in rows for n in row.values())
    return sum(row.get(kind, 0.0) for row in rows) / total


def check(path):
    """Compute every share again, and give the draws as the page has them."""
    rows = counted(path)
    draws = report_data_of(write_report(path).read_text())["curves"]["draws"]
    kinds = sorted({k for row in rows for k in row}, key=lambda k: (k.rpartition(":")[0], int(k.rpartition(":")[2])))
    assert [each["kind"] for each in draws["kinds"]] == kinds
    tenth = max(1, -(-len(rows) // 10))
    for each in draws["kinds"]:
        for stretch, some in (("early", rows[:tenth]), ("late", rows[-tenth:]), ("whole", rows)):
            assert each[stretch] == pytest.approx(share(some, each["kind"]))
    assert draws["first"][0] == 0 and draws["last"][-1] == len(rows) - 1
    assert draws["first"][1:] == [last + 1 for last in draws["last"][:-1]], "columns leave no step out"
    for c, (first, last) in enumerate(zip(draws["first"], draws["last"], strict=True)):
        some, shares = rows[first : last + 1], [each["share"][c] for each in draws["kinds"]]
        assert shares == (pytest.approx([share(some, kind) for kind in kinds]) if any(some) else [None] * len(kinds))
    return draws


def columns(draws):
    return [[each["share"][c] for each in draws["kinds"]] for c in range(len(draws["first"]))]


def test_shares_of_each_step(tmp_path):
    draws = check(record(tmp_path / "run", TWO))
    assert columns(draws) == [[0.75, 0.25], [0.0, 1.0], [0.5, 0.5]]
    assert [(each["early"], each["late"], each["whole"]) for each in draws["kinds"]] == [
        (0.75, 0.5, 0.4),
        (0.25, 0.5, 0.6),
    ]


def test_many_steps_share_columns(tmp_path):
    rows = [{"a:1": 1 + step % 3, "a:2": 2, "b:1": step // 50} for step in range(3 * COLUMNS + 7)]
    assert len(check(record(tmp_path / "run", rows))["first"]) == COLUMNS


def test_a_step_that_counted_nothing_leaves_its_column_empty(tmp_path):
    draws = check(record(tmp_path / "run", [{"a:1": 2, "a:2": 2}, {}, {"a:1": 4}]))
    assert columns(draws) == [[0.5, 0.5], [None, None], [1.0, 0.0]]


def test_one_kind_or_none_is_no_chart(tmp_path):
    for name, rows in (("one", [{"a:1": 4}] * 3), ("none", [{}] * 3), ("begun", [])):
        page = write_report(record(tmp_path / name, rows)).read_text()
        assert report_data_of(page)["curves"]["draws"] is None
    assert make_draws([]) is None


def test_families_have_their_hues_and_levels_their_strength():
    hue, depth = zip(*shades(["countdown:1", "countdown:2", "countdown:10", "trace:3"]), strict=True)
    assert hue == (0, 0, 0, 1) and depth == (22.0, 61.0, 100.0, 80)
    assert len(set(shades([f"a:{level}" for level in range(1, 17)]))) == 16
    assert len(set(shades([f"family{i}:1" for i in range(9)]))) == 6  # hues come round again


def test_levels_stand_in_the_order_of_numbers(tmp_path):
    draws = check(record(tmp_path / "run", [{"z:1": 1, "a:10": 1, "a:9": 2, "sums/hard:1": 1}] * 2))
    assert [each["kind"] for each in draws["kinds"]] == ["a:9", "a:10", "sums/hard:1", "z:1"]


def test_names_of_somebody_else_neither_break_nor_become_markup(tmp_path):
    page = write_report(record(tmp_path / "run", [{"<b>x": 1, "klotski:1": 3, "a:b": 1}] * 2)).read_text()
    data = report_data_of(page)
    assert [each["kind"] for each in data["curves"]["draws"]["kinds"]] == ["<b>x", "a:b", "klotski:1"]
    assert "<b>x" not in page
    assert "KL" not in str(data)  # no divergence, for all its name


def test_a_run_on_several_kinds_shows_what_it_drew(tmp_path):
    options = gd.Options(eval_tasks=0, rollouts_every=0)
    settings = {"prompts": 4, "tries": 2, "max_tokens": 2}
    gd.train(
        "grpo", task="successor:1-2", model="tabular", settings=settings, steps=3, out=tmp_path / "run", options=options
    )
    assert columns(check(tmp_path / "run")) == [[0.5, 0.5]] * 3  # in turn
