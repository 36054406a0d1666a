"""A report of `check_reward` in a line, and for a notebook: its findings first, then whatever was measured.

Reads the report as plain data: rows of dicts become tables, dicts become pairs, whatever they are called.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.html import note, page, pairs, table

TITLE = ("reward", "task", "problems", "samples", "findings")  # told before the rest
ROWS = 12


def in_a_line(report: Any) -> str:
    findings = report.findings
    many = f"{len(findings)} finding{'s' * (len(findings) != 1)}, {findings[0]}" if findings else "nothing found"
    return f"RewardReport({report.reward} on {report.task}: {report.samples} completions, {many})"


def as_html(report: Any) -> str:
    told = [(getattr(f, "severity", f.kind), str(f)) for f in report.findings]
    measured = {f.name: getattr(report, f.name) for f in dataclasses.fields(report) if f.name not in TITLE}
    return page(
        f"{report.reward} on {report.task}: {report.problems} problems, {report.samples} completions",
        table(("found", "what"), told, most=ROWS) if told else note("nothing found"),
        *(piece for name, value in measured.items() if value for piece in (note(name), _shown(value))),
    )


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return pairs({str(name): each if isinstance(each, int | float) else str(each) for name, each in value.items()})
    if isinstance(value, Sequence) and value and isinstance(value[0], Mapping):
        titles = list(dict.fromkeys(str(name) for row in value for name in row))
        rows = [[row.get(title, "") for title in titles] for row in value]
        return table([title.replace("_", " ") for title in titles], rows, most=ROWS)
    return note(value)
