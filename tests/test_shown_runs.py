"""A run, a replay and a report of a reward, as a prompt and a notebook show them."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import pyarrow as pa
import pytest
from html_pages import is_harmless, words_of

import guerdon as gd

HOSTILE = "<script>alert(1)</script>\x1b"


def breaks(completion: str) -> float:
    if len(completion) > 3:
        raise ValueError(HOSTILE)
    return 1.0


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown") / "run"
    options = gd.Options(eval_tasks=4, eval_tries=1)
    return gd.train(
        "grpo", task="successor", model="tabular", prompts=2, tries=2, steps=12, out=folder, options=options
    )


def test_a_run(run):
    html = run._repr_html_()
    assert is_harmless(html)
    assert f"<strong>{run.path}: grpo, 12 of 12 steps, complete</strong>" in html and "resume with" not in html
    assert f"<td>weights</td><td>{run.weights}</td>" in html
    steps = words_of(html).rpartition("<thead>")[2]
    assert re.findall(r'<tr><td class="n">(\d+)<', steps) == [
        "0",
        "2",
        "3",
        "5",
        "6",
        "8",
        "9",
        "11",
    ]
    (last,) = run.metrics.slice(11, 1).select(["correct/mean"]).to_pylist()
    assert f'<tr><td class="n">11</td><td class="n">{last["correct/mean"]:.4g}</td>' in steps


def test_a_replay_with_a_reward_that_breaks(run):
    replayed = gd.replay(run, breaks)
    failed = replayed.total["failed"]
    assert failed and repr(replayed).startswith(f"Replay(breaks on {run.path}: 48 samples, ")
    assert len(repr(replayed)) < 300
    html = replayed._repr_html_()
    assert is_harmless(html) and "ValueError: &lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert f'<td>failed</td><td class="n">{failed}</td>' in html


def test_a_report_of_a_reward_that_breaks():
    report = gd.check_reward(breaks, "chain:1", problems=2)
    assert repr(report).startswith("AuditReport(breaks on chain:1: ") and "\n" not in repr(report)
    html = report._repr_html_()
    assert is_harmless(html) and "&lt;script&gt;" in html and "<td>gold</td>" in html


def test_ipython_shows_metrics_as_a_table_and_other_tables_as_before(run, monkeypatch):
    class Formatter:  # what of IPython's a type needs
        def __init__(self):
            self.type_printers = {}

        def for_type(self, kind, shown):
            self.type_printers[kind] = shown

    formatter = Formatter()
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    metrics = run.metrics
    shown = formatter.type_printers[pa.Table]
    page = shown(metrics.select(["step", "tokens"]))
    assert "<th>step</th><th>tokens</th>" in page and f"{metrics.num_rows} rows, 2 columns" in page
    assert f"and {', '.join(metrics.column_names[12:])}" in shown(metrics)
    assert shown(pa.table({"step": [1]})) is None, "IPython falls back to its own text"
    formatter.type_printers[pa.Table] = str  # a user's own
    assert run.metrics.equals(metrics) and formatter.type_printers[pa.Table] is str
