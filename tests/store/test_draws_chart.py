"""The chart of what was drawn: every number beside it and every piece of it computed again from the event file."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from run_configs import config

import guerdon as gd
from guerdon.display.report import write_report
from guerdon.display.report.draws import COLUMNS, colours, make_draws
from guerdon.runs.event_types import Started, StepDone
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder

FRAME = (34.0, 716.0, 8.0)  # left, right, top of the columns
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


class Page(HTMLParser):
    """The figure of a page: shares by key, the data to point at, the pieces of each kind."""

    def __init__(self, text):
        super().__init__()
        self.shares, self.kinds, self.paths, self.columns, self.key, self.row = {}, [], [], None, None, False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.key = unquote(attributes["data-key"]) if attributes.get("data-key", "").startswith("drawn/") else None
        if tag in ("tr", "td"):  # a row begins with its kind's name
            self.row = "data-kind" in attributes
        if "data-draws" in attributes:
            self.columns = json.loads(attributes["data-draws"])
        if tag == "path" and "data-kind" in attributes:
            self.paths.append(attributes["d"])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_data(self, data):
        if self.key:
            self.shares[self.key] = data
        elif self.row and data.strip():
            self.kinds.append(data)
        self.key = None


def shown(value):
    return f"{100 * value:.1f} %"


def check(path):
    """Compute every number of the figure again."""
    rows = counted(path)
    page = Page(write_report(path).read_text())
    kinds = sorted({k for row in rows for k in row}, key=lambda k: (k.rpartition(":")[0], int(k.rpartition(":")[2])))
    assert page.kinds == kinds and len(page.paths) == len(kinds)
    tenth = max(1, -(-len(rows) // 10))
    for kind in kinds:
        for stretch, some in (("early", rows[:tenth]), ("late", rows[-tenth:]), ("whole", rows)):
            assert page.shares[f"drawn/{stretch}/{kind}"] == shown(share(some, kind))
    assert page.columns[0][0] == 0 and page.columns[-1][1] == len(rows) - 1
    after = 0
    for first, last, *shares in page.columns:
        assert first == after, "columns leave no step out"
        after = last + 1
        some = rows[first : last + 1]
        assert (
            shares == pytest.approx([share(some, kind) for kind in kinds], abs=5e-5) if any(some) else not any(shares)
        )
    return page


def pieces(d):
    """(left, top, right, bottom) of every rectangle of a path."""
    rectangles = re.findall(r"M([\d.]+),([\d.]+)H([\d.]+)V([\d.]+)H([\d.]+)Z", d)
    assert "".join(f"M{a},{b}H{c}V{e}H{f}Z" for a, b, c, e, f in rectangles) == d
    return [tuple(map(float, (a, b, c, e))) for a, b, c, e, _ in rectangles]


def test_shares_of_each_step(tmp_path):
    page = check(record(tmp_path / "run", TWO))
    assert page.columns == [[0, 0, 0.75, 0.25], [1, 1, 0.0, 1.0], [2, 2, 0.5, 0.5]]
    assert page.shares["drawn/whole/countdown:1"] == "40.0 %"
    assert page.shares["drawn/early/countdown:1"] == "75.0 %" and page.shares["drawn/late/countdown:1"] == "50.0 %"


def test_pieces_fill_the_columns_without_gap_or_overlap(tmp_path):
    page = check(record(tmp_path / "run", TWO))
    left, right, top = FRAME
    bottom = max(p[3] for d in page.paths for p in pieces(d))
    for c, (_, _, *shares) in enumerate(page.columns):
        at = left + c * (right - left) / len(page.columns)
        edge = top
        for d, part in zip(page.paths, shares, strict=True):
            mine = [p for p in pieces(d) if p[0] == pytest.approx(at, abs=0.01)]
            assert len(mine) == (part > 0)
            for _, high, _, low in mine:
                assert high == pytest.approx(edge, abs=0.02)
                assert low - high == pytest.approx(part * (bottom - top), abs=0.03)
                edge = low
        assert edge == pytest.approx(bottom, abs=0.02)


def test_many_steps_share_columns(tmp_path):
    rows = [{"a:1": 1 + step % 3, "a:2": 2, "b:1": step // 50} for step in range(3 * COLUMNS + 7)]
    page = check(record(tmp_path / "run", rows))
    assert (
        len(page.columns) == COLUMNS and "a column is several steps" in (tmp_path / "run" / "report.html").read_text()
    )


def test_a_step_that_counted_nothing_leaves_its_column_empty(tmp_path):
    page = check(record(tmp_path / "run", [{"a:1": 2, "a:2": 2}, {}, {"a:1": 4}]))
    assert page.columns[1] == [1, 1, None, None] and [len(pieces(d)) for d in page.paths] == [2, 1]


def test_one_kind_or_none_is_no_chart(tmp_path):
    for name, rows in (("one", [{"a:1": 4}] * 3), ("none", [{}] * 3), ("begun", [])):
        page = Page(write_report(record(tmp_path / name, rows)).read_text())
        assert page.columns is None and not page.shares
    assert make_draws([]) is None


def test_families_have_their_hues_and_levels_their_strength():
    kinds = ["countdown:1", "countdown:2", "countdown:10", "trace:3"]
    styles = [re.fullmatch(r"--hue:var\(--hue-(\d)\);--depth:(\d+)%", style) for style in colours(kinds)]
    hue, depth = ([int(m[i]) for m in styles] for i in (1, 2))
    assert hue == [0, 0, 0, 1] and depth[0] < depth[1] < depth[2] == 100
    many = [f"a:{level}" for level in range(1, 17)]
    assert len(set(colours(many))) == 16
    assert len(set(colours([f"family{i}:1" for i in range(9)]))) == 6  # hues come round again


def test_levels_stand_in_the_order_of_numbers(tmp_path):
    page = check(record(tmp_path / "run", [{"z:1": 1, "a:10": 1, "a:9": 2, "sums/hard:1": 1}] * 2))
    assert page.kinds == ["a:9", "a:10", "sums/hard:1", "z:1"]


def test_names_of_somebody_else_neither_break_nor_become_markup(tmp_path):
    page = Page(write_report(record(tmp_path / "run", [{"<b>x": 1, "klotski:1": 3, "a:b": 1}] * 2)).read_text())
    assert page.kinds == ["<b>x", "a:b", "klotski:1"]
    assert "<b>x" not in (tmp_path / "run" / "report.html").read_text()
    assert "KL" not in (tmp_path / "run" / "report.html").read_text()  # no divergence, for all its name


def test_a_run_on_several_kinds_shows_what_it_drew(tmp_path):
    options = gd.Options(eval_tasks=0, rollouts_every=0)
    settings = {"prompts": 4, "tries": 2, "max_tokens": 2}
    gd.train(
        "grpo", task="successor:1-2", model="tabular", settings=settings, steps=3, out=tmp_path / "run", options=options
    )
    page = check(tmp_path / "run")
    assert page.columns == [[step, step, 0.5, 0.5] for step in range(3)]  # in turn
