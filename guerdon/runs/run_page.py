"""A run for a notebook: how far it came, what it cost, what exams found and how its reward went, a few steps of many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from guerdon.core.html import page, pairs, table

if TYPE_CHECKING:
    from guerdon.runs.run import Run

STEPS = 8  # rows of metrics, from the first to the last
FIRST = ("reward/mean", "correct/mean", "tokens", "seconds")  # metrics that a row shows


def as_html(run: Run) -> str:
    result = run.evaluations[-1] if run.evaluations else {}
    said = {
        "spent": ", ".join(f"{cost:,.0f} {unit}" for unit, cost in run.spent.items() if cost and unit != "steps"),
        "weights": run.weights or "",
        "failures": ", ".join(f"{name}: {sum(causes.values())}" for name, causes in run.failures.items()),
        "warnings": "\n".join(run.warnings),
        "damage": "\n".join(run.damage),
        "report": run.folder.shown(run.folder.report) if run.folder.report.is_file() else "",
        "resume with": "" if run.status == "complete" else resume_call(run),
    }
    return page(
        f"{run.folder.named}: {run.name}, {run.progress}, {run.status}",
        pairs({name: value for name, value in said.items() if value}),
        table(("steps done", *_measures(result)), _evaluations(run, result)) if result else "",
        _steps(run.metrics),
    )


def resume_call(run: Run) -> str:
    """How a run is resumed in Python."""
    return f"gd.train({'' if run.config['plain'] else 'recipe, '}resume={run.folder.named!r})"


def _measures(result: dict[str, Any]) -> list[str]:
    """The numbers that exams found, without the ends of their intervals."""
    numbers = [name for name, value in result.items() if isinstance(value, float)]
    return [name for name in numbers if not name.endswith(("_low", "_high"))][:8]


def _evaluations(run: Run, last: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(e["steps_done"], *(e.get(name) for name in _measures(last))) for e in run.evaluations]


def _steps(metrics: Any) -> str:
    """The first step, the last, and some between."""
    count = metrics.num_rows
    names = [name for name in FIRST if name in metrics.column_names]
    if not count or not names:
        return ""
    chosen = sorted({round(i * (count - 1) / max(1, STEPS - 1)) for i in range(STEPS)} & set(range(count)))
    rows = [metrics.slice(i, 1).to_pylist()[0] for i in chosen]
    return table(("step", *names), [(row["step"], *(row[name] for name in names)) for row in rows])
