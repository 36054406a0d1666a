"""The page: which sections a report has, gathered from the run folder, and the document that `report.html` makes of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from guerdon.display.report.alarm_section import AlarmSection, alarm_section
from guerdon.display.report.chart_sections import ChartSection, MetricRow, chart_sections, drawn_data, metric_rows
from guerdon.display.report.draws import DrawsChart, draws_chart
from guerdon.display.report.exam_results import ExamResults, exam_results
from guerdon.display.report.examples import example_batches
from guerdon.display.report.header import Header, report_header
from guerdon.display.report.headline_chart import HeadlineChart, headline_chart
from guerdon.display.report.metric_curves import make_curves
from guerdon.display.report.prompting import Prompting, prompting
from guerdon.display.report.rendering import content_policy, render, verbatim
from guerdon.display.report.rollout_view import RolloutGroup, rollout_groups
from guerdon.display.report.study_section import StudySection, study_section
from guerdon.display.report.troubles import MissingScores, Note, missing_scores, warnings_of
from guerdon.runs.event_types import Alarmed, Evaluated, StepDone
from guerdon.runs.events import latest, read_events
from guerdon.runs.run import Run

MADE_OF = ("settings", "data", "options", "parts")  # of a run's config


@dataclass(frozen=True)
class TrainingSections:
    """What the report of a run has, and that of a study has not. `data` are the drawn curves, for the script."""

    headline: HeadlineChart | None
    alarms: AlarmSection | None
    exams: ExamResults | None
    charts: list[ChartSection]
    draws: DrawsChart | None
    prompting: Prompting | None
    rollouts: list[RolloutGroup]
    metrics: list[MetricRow]
    data: dict[str, Any]
    notes: list[Note]


def report_page(run: Run) -> str:
    """The report of a run, finished or not, or of a study: a whole document that loads nothing."""
    events = latest(read_events(run.folder.events)) if run.folder.events.exists() else []
    done = [e for e in events if isinstance(e, StepDone)]
    evaluated = [e for e in events if isinstance(e, Evaluated)]
    raised = [e for e in events if isinstance(e, Alarmed)]
    sections: StudySection | TrainingSections
    is_study = run.config.get("kind") == "study"
    sections = study_section(run) if is_study else _training(run, done, evaluated, raised)
    header: Header = report_header(run, done, evaluated)
    missing: list[MissingScores] = missing_scores(events)
    notes = [*warnings_of(events), *(Note("", damage) for damage in run.damage), *sections.notes]
    return render(
        "report.html",
        title=" · ".join(x for x in (run.name, str((run.config.get("wish") or {}).get("task") or ""), "guerdon") if x),
        header=header,
        missing=missing,
        notes=notes,
        study=sections if is_study else None,
        training=None if is_study else sections,
        made_of=json.dumps({k: v for k, v in run.config.items() if k in MADE_OF}, indent=2, ensure_ascii=False),
        content_policy=content_policy(),
        style=verbatim("style.css"),
        script=verbatim("script.js"),
    )


def _training(run: Run, done: list[StepDone], evaluated: list[Evaluated], raised: list[Alarmed]) -> TrainingSections:
    curves = make_curves(done)
    first = headline_chart(run.headline, curves)
    drawn = first.name if first is not None else ""
    charts = chart_sections(curves, drawn)
    notes: list[Note] = []
    batches = example_batches(run, lambda message: notes.append(Note("", message)))
    alarms = alarm_section(run, raised, curves, lambda message: notes.append(Note("", message)))
    return TrainingSections(
        first,
        alarms,
        exam_results(evaluated),
        charts,
        draws_chart(done),
        prompting(run, batches),
        rollout_groups(batches),
        metric_rows(curves),
        drawn_data(
            charts, curves, [drawn, *(chart.name for chart in alarms.charts)] if alarms is not None else [drawn]
        ),
        notes,
    )
