"""The report of a run: the studio's page of it as one file, with the data inside.

The data are what the studio answers when its page asks (`display/run`, `display/reading`), and what the report alone shows: the
first prompt and a few rollouts.
Leaves out: which rollouts (`samples.py`), what the file is made of (`document.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.shown_text import cut
from guerdon.display.report.document import document
from guerdon.display.report.examples import example_batches
from guerdon.display.report.prompting import prompting
from guerdon.display.report.samples import Samples
from guerdon.display.run.alarms import Alarm
from guerdon.display.run.curves import curves_of, places
from guerdon.display.run.facts import all_about, row_of
from guerdon.display.text import show
from guerdon.runs.event_types import Alarmed, StepDone
from guerdon.runs.run import Run, Snapshot

SCRIPT = "report.js"
LINES = 40  # alarms in the words for who runs no scripts


def report_page(run: Run) -> str:
    """The report of a run, finished or not, or of a study: a whole document that loads nothing."""
    data = report_data(run)
    row = data["one"]["run"]
    title = " · ".join(x for x in (row["recipe"], row["task"], "guerdon") if x)
    return document(title, SCRIPT, data, _lines(data["one"]))


def report_data(run: Run) -> dict[str, Any]:
    """All that the page shows. `one` and `curves` are the studio's answers about a run, `samples` those about rollouts."""
    run = Snapshot(run.folder, run.config, run.log())
    status, _, why = run.status.partition(": ")
    notes: list[str] = []
    batches = example_batches(run, notes.append)
    samples = Samples(run, notes.append)
    for alarm in run.events(Alarmed):
        samples.add_alarmed(alarm)
    for stored in batches:
        samples.add_examples(stored)
    one = all_about(run, status, samples.address)
    one["alarms"] += [Alarm("bad", "Damaged", note).to_dict() for note in notes]
    one |= {
        "run": {**row_of(run), "name": run.name, "path": run.folder.named, "status": status, "why": why},
        "within": None,
        "inner": [_inner(inner) for inner in run.inner],
        "evidence": None,
    }
    curves = curves_of(run, also=None)
    return {
        "one": one,
        "curves": curves,
        "places": _places(run.events(StepDone), curves["curves"]),
        "prompt": prompting(run, batches),
        "samples": samples.data,
    }


def _inner(run: Run) -> dict[str, Any]:
    """A run of a study, in the study's table."""
    name, status = run.path.name, run.status.partition(": ")[0]
    return {**row_of(run), "id": name, "name": name, "status": status, "address": f"inner/{name}/report.html"}


def _places(done: Sequence[StepDone], curves: Mapping[str, Mapping[str, Any]]) -> dict[str, list[float]]:
    """What had been spent at the steps that are drawn, for the other axes."""
    steps = sorted({step for curve in curves.values() for step in curve["step"]})
    tokens, seconds = places(done, "tokens"), places(done, "seconds")
    return {"step": [*steps], "tokens": [tokens[s] for s in steps], "seconds": [seconds[s] for s in steps]}


def _lines(one: Mapping[str, Any]) -> list[str]:
    """The essentials in words."""
    row, exams, spent = one["run"], one["exams"], one["facts"]["spent"]
    lines = [
        row["recipe"],
        ", ".join(filter(None, [row["status"], row["why"], row["task"], row["model"], row["reward"]])),
    ]
    if row["headline"] is not None:
        ends = [
            _value(row["headline"], point) for point in (row["headline"]["before"], row["headline"]["after"]) if point
        ]
        lines.append(f"{row['headline']['words']}: {' → '.join(ends)} ({row['headline']['about']})")
    lines.append(
        f"{row['progress']['done']:,.0f} {row['progress']['unit']}; "
        + ", ".join(
            f"{show(spent[unit], 'count')} {unit.replace('_', ' ')}"
            for unit in ("env_steps" if spent["env_steps"] else "tokens", "episodes", "updates", "seconds")
        )
    )
    for measure in exams["measures"] if exams is not None else ():
        first, last = (point[0] for point in (measure["points"][0], measure["points"][-1]))
        each = ["none" if v is None else show(v, "share" if measure["is_share"] else "number") for v in (first, last)]
        lines.append(f"{measure['name']}: {' → '.join(each if len(measure['points']) > 1 else each[1:])}")
    lines += [f"{alarm['title']}: {cut(alarm['message'])}" for alarm in one["alarms"][:LINES]]
    lines.append(f"weights {one['facts']['weights'] or 'not final yet'}, recipe's hash {one['facts']['hash']}")
    return lines


def _value(headline: Mapping[str, Any], point: Mapping[str, Any]) -> str:
    return show(point["value"], "share" if headline["is_share"] else "number")
