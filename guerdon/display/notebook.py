"""What objects show in a notebook: a part, a task, an episode, a batch, exam results, a recipe, a run, a replay.

`as_html` is what `_repr_html_` of the classes of `core` and `store` returns. They ask for it through `core/lazy.py`, which
`guerdon/__init__.py` tells where it is, so that no lower room imports this one.
Leaves out: the page of a run (`report`).
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import pyarrow as pa

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode
from guerdon.core.exam_result import ENDS, ExamResult
from guerdon.core.part import changed, default_of, handles, is_part, knobs, label, spell, spelled, walk
from guerdon.core.recipe import Recipe
from guerdon.core.task import Task
from guerdon.display.html import note, page, pairs, table
from guerdon.runs.run import Run, resume_call

TRACKS = 10  # rows of a batch
SCORES = ("reward", "correct", "advantage")  # columns of a batch that a row shows
STEPS = 8  # rows of a run, from its first step to its last
METRICS = ("reward/mean", "correct/mean", "tokens", "seconds")  # that such a row shows
WIDEST = 12  # columns of a table
SAMPLES = 10  # rows of a replay
COMPARED = ("samples", "scored", "compared", "flips", "pearson", "spearman", "old_mean", "new_mean")
MOVED = ("step", "task", "completion", "old_reward", "new_reward", "old_advantage", "new_advantage")


@singledispatch
def as_html(x: Any) -> str:
    """A part: its knobs, beside the defaults of those that differ; of one that is made of parts, each of them with what
    differs."""
    title = label(x) if str(x) == repr(x) else str(x)
    about = " ".join((inspect.getdoc(type(x)) or "").partition("\n\n")[0].split())
    members = [(path, label(each), ", ".join(_own_words(each))) for path, each in walk(x)]
    if len(members) > 1:
        return page(title, note(about), table(("", "part", "knobs"), members))
    missing, differing = dataclasses.MISSING, changed(x)
    usual = {f.name: repr(default) for f in dataclasses.fields(x) if (default := default_of(f)) is not missing}
    rows = [(name, spelled(v), usual.get(name, "") if name in differing else "") for name, v in knobs(x).items()]
    return page(title, note(about), table(("knob", "value", "default"), rows) if rows else "")


def _own_words(x: Any) -> list[str]:
    """The knobs that differ and hold no parts, as they are written."""
    return [f"{name}={spelled(value)}" for name, value in changed(x).items() if next(walk(value), None) is None]


@as_html.register
def _task(task: Task) -> str:
    values = {name: v if isinstance(v, str | int) else repr(v) for name, v in task.shown_fields().items()}
    return page(f"Task {task.key}", pairs(values))


@as_html.register
def _episode(episode: Episode) -> str:
    rows = [(i, s.role, s.view, s.text, len(s.actions), str(s.end), s.reward) for i, s in enumerate(episode.segments)]
    return page(
        f"Episode {episode.key} of {episode.task.key}{', failed' * episode.failed}",
        table(("segment", "role", "was shown", "said", "actions", "end", "was paid"), rows),
    )


@as_html.register
def _exam_result(result: ExamResult) -> str:
    rows = [
        (name, value, *(result.get(f"{name}_{end}", "") for end in ENDS))
        for name, value in result.items()
        if not any(name.endswith(f"_{end}") and name.removesuffix(f"_{end}") in result for end in ENDS)
    ]
    return page("Held-out results", table(("", "value", "95 % from", "to"), rows, most=60))


@as_html.register
def _batch(batch: Batch) -> str:
    """Its columns, and its first tracks."""
    columns = [
        (name, column.level, column.mean, len(column.value), int(column.missing.sum()))
        for name, column in batch.cols.items()
    ]
    scores = {name: batch.cols[name] for name in SCORES if name in batch.cols and batch.cols[name].value.dim() == 1}
    values = [_of_tracks(batch, column) for column in scores.values()]
    rows = [(*_texts(batch, track), *(of[track] for of in values)) for track in range(batch.K)]
    return page(
        f"Batch: {batch.sizes}",
        table(("column", "per", "mean", "count", "missing"), columns) if columns else "",
        table(("episode", "role", "prompt", "completion", *scores), rows, most=TRACKS) if rows else "",
    )


def _texts(batch: Batch, track: int) -> tuple[Any, ...]:
    leaf = int(batch.leaf[track])
    episode = batch.episodes[int(batch.episode[leaf])]
    last = episode.segments[int(batch.place[leaf])]
    return episode.key, last.role, episode.ask.shown, last.text


def _of_tracks(batch: Batch, column: Column) -> list[Any]:
    """[K] a track's number, the mean over its steps or segments, or why there is none."""
    value, reason = column.value.double(), column.reason.double()
    if column.level != "track":
        value = batch.up(value, "track", of=column.level, by="mean")
        reason = batch.up(reason, "track", of=column.level, by="max").nan_to_num(float(Reason.NOT_APPLICABLE))
    why = [Reason(int(r)).name.lower().replace("_", " ") for r in reason.tolist()]
    return [w if v != v else v for v, w in zip(value.tolist(), why, strict=True)]


@as_html.register
def _recipe(recipe: Recipe) -> str:
    """What it is composed of, with the names that `--set` and `but` have for its parts."""
    names = {id(part): name for name, part in handles(recipe).items()}
    whole = {
        **{f"model {name}": repr(model) for name, model in recipe.models.items()},
        "curriculum": repr(recipe.curriculum),
        "env": repr(recipe.env),
        "seats": ", ".join(f"{role}: {model}" for role, model in recipe.seats.items()),
        "sampling": repr(recipe.sampling),
        "exams": ", ".join(map(repr, recipe.exams)),
        "prompts": recipe.prompts,
        "steps": recipe.steps,
        "budget": "" if recipe.budget is None else repr(recipe.budget),
        "ahead": "yes" if recipe.ahead else "",
    }
    stages = [
        (i, names.get(id(stage), type(stage).__name__), _stage_knobs(stage), ", ".join(stage.needs), ", ".join(stage.gives))
        for i, stage in enumerate(recipe.stages, start=1)
    ]  # fmt: skip
    return page(
        f"Recipe: {', '.join(names.get(id(stage), type(stage).__name__) for stage in recipe.stages)}",
        pairs({name: value for name, value in whole.items() if value != ""}),
        table(("", "stage", "knobs", "needs", "gives"), stages),
    )


def _stage_knobs(stage: Any) -> str:
    """The knobs that differ from their defaults; a part that is one, as it is written."""
    if not is_part(stage):
        return repr(stage)
    return spell(stage).removeprefix(f"{label(stage)}(").removesuffix(")")


@as_html.register
def _run(run: Run) -> str:
    """How far it came, what it cost, what exams measured and how its reward went."""
    result = run.evaluations[-1] if run.evaluations else {}
    facts = {
        "spent": ", ".join(
            f"{cost:,.0f} {unit.replace('_', ' ')}" for unit, cost in run.spent.items() if cost and unit != "steps"
        ),
        "weights": run.weights or "",
        "failures": ", ".join(f"{name}: {sum(causes.values())}" for name, causes in run.failures.items()),
        "warnings": "\n".join(run.warnings),
        "damage": "\n".join(run.damage),
        "report": run.folder.shown(run.folder.report) if run.folder.report.is_file() else "",
        "resume with": "" if run.status == "complete" else resume_call(run),
    }
    measures = _measures(result)
    evaluations = [(e["steps_done"], *(e.get(name) for name in measures)) for e in run.evaluations]
    return page(
        f"{run.folder.named}: {run.name}, {run.progress}, {run.status}",
        pairs({name: value for name, value in facts.items() if value}),
        table(("steps done", *measures), evaluations) if result else "",
        _steps(run.metrics),
    )


@as_html.register
def _table(metrics: pa.Table) -> str:
    """The first rows of a run's metrics; the names of columns that find no room stand below."""
    names, more = metrics.column_names[:WIDEST], metrics.column_names[WIDEST:]
    rows = [tuple(row.values()) for row in metrics.select(names).to_pylist()]
    title = f"{metrics.num_rows} rows, {metrics.num_columns} columns"
    return page(title, table(names, rows), note(f"and {', '.join(more)}") if more else "")


def _measures(result: Mapping[str, Any]) -> list[str]:
    """The numbers of exams, without the ends of their intervals."""
    numbers = [name for name, value in result.items() if isinstance(value, float)]
    return [name for name in numbers if not name.endswith(("_low", "_high"))][:8]


def _steps(metrics: Any) -> str:
    """The first step, the last, and some between."""
    count = metrics.num_rows
    names = [name for name in METRICS if name in metrics.column_names]
    if not count or not names:
        return ""
    chosen = sorted({round(i * (count - 1) / max(1, STEPS - 1)) for i in range(STEPS)} & set(range(count)))
    rows = [metrics.slice(i, 1).to_pylist()[0] for i in chosen]
    return table(("step", *names), [(row["step"], *(row[name] for name in names)) for row in rows])


def replay_html(replayed: Mapping[str, Any]) -> str:
    """A replay, as `guerdon replay --json` has it: what another reward would have taught, and which samples moved."""
    total = replayed["total"]
    rows = [(row["step"], *(row[name] for name in COMPARED)) for row in replayed["steps"]]
    lost = [name for name in ("failed", "timed_out", "not_applicable") if total[name]]
    facts = {
        "credit": f"{replayed['credit']}, from {replayed['credit_from']}",
        **{name.replace("_", " "): total[name] for name in lost},
    }
    components = [(c["name"], c["mean"], c["count"], c["old_mean"]) for c in replayed["components"]]
    failures = [(f["step"], f["task"], f["error"], f["completion"]) for f in replayed["failures"]]
    whole = ("all", *(total[name] for name in COMPARED))
    moved = [[sample[name] for name in MOVED] for sample in replayed["moved"]]
    return page(
        f"{replayed['reward']}, in place of {replayed['column']!r}, on the samples of {replayed['run']}",
        *(note(each) for each in replayed["notes"]),
        pairs(facts),
        table(("step", *(name.replace("_", " ") for name in COMPARED)), [whole, *rows], most=SAMPLES + 1),
        table(("component", "mean", "of", "in the run"), components) if components else "",
        table([name.replace("_", " ") for name in MOVED], moved),
        table(("step", "task", "failed with", "completion"), failures, most=SAMPLES) if failures else "",
    )
