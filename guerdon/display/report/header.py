"""The head of the report: what ran, how far it came and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.display.report.shown_numbers import ShownNumber, key_of, number
from guerdon.runs.event_types import Evaluated, StepDone
from guerdon.runs.folder import resume_command
from guerdon.runs.headline import Headline, Point
from guerdon.runs.run import Run

TIMES = {"seconds": ("s", 1, 600), "minutes": ("min", 60, 36000), "hours": ("h", 3600, float("inf"))}


@dataclass(frozen=True)
class ShownHeadline:
    """What the run is about: before and after, or the one number there is; `source` says where it is from."""

    words: str
    before: ShownNumber | None
    after: ShownNumber | None
    source: str
    task: str
    tasks: ShownNumber | None


@dataclass(frozen=True)
class Header:
    """`status` is in full, `status_word` its first word. `resume` is the command to resume with, empty for a complete run."""

    name: str
    status: str
    status_word: str
    about: list[str]
    headline: ShownHeadline | None
    resume: str
    steps_done: ShownNumber | None
    steps: ShownNumber | None
    episodes: ShownNumber | None
    tokens: ShownNumber | None
    tokens_read: ShownNumber | None
    updates: ShownNumber | None
    time: ShownNumber | None
    time_unit: str
    seed: ShownNumber | None
    started: str
    recipe_hash: str
    weights: str
    versions: str


def report_header(run: Run, done: Sequence[StepDone], evaluated: Sequence[Evaluated]) -> Header:
    """From the run's config, and from what the steps cost."""
    config, spent, status = run.config, run.spent, run.status
    time_name, (time_unit, seconds, _) = next(item for item in TIMES.items() if spent["seconds"] < item[1][2])
    seed = config.get("seed")
    has_seed = number("config/seed", seed) is not None
    weights = run.weights if run.folder.events.exists() else None
    return Header(
        name=run.name,
        status=status,
        status_word=status.partition(":")[0],
        about=_about(config, evaluated),
        headline=_headline(run.headline),
        resume="" if status == "complete" else _resume(run),
        steps_done=number("run/steps_done", max((e.step + 1 for e in done), default=0), "count"),
        steps=number("config/steps", config.get("steps"), "count"),
        episodes=number("run/episodes", sum(e.episodes for e in done), "count"),
        tokens=number("run/tokens", spent["tokens"], "count"),
        tokens_read=number("run/read", spent["read"], "count"),
        updates=number("run/updates", spent["updates"], "count"),
        time=number(key_of("run", time_name), spent["seconds"] / seconds),
        time_unit=time_unit,
        seed=ShownNumber("config/seed", str(seed)) if has_seed else None,
        started=str(config.get("created", "unknown")).replace("T", " ").rstrip("Z"),
        recipe_hash=str(config.get("hash", "")),
        weights=weights or "not final yet",
        versions=" · ".join(f"{k} {v}" for k, v in (config.get("versions") or {}).items()),
    )


def _headline(headline: Headline | None) -> ShownHeadline | None:
    if headline is None:
        return None
    shown = [number(_key(headline, p), p.value, "share" if headline.is_share else "number") for p in headline.ends]
    tasks_key = key_of("eval", headline.points[-1].place, headline.key.rpartition("/")[0], "tasks").replace("//", "/")
    return ShownHeadline(
        headline.words,
        shown[0] if len(shown) > 1 else None,
        shown[-1],
        headline.source,
        headline.task,
        number(tasks_key, headline.tasks, "count") if headline.tasks else None,
    )


def _key(headline: Headline, point: Point) -> str:
    """Of its number at one time."""
    if headline.source == "exam":
        return key_of("eval", point.place, headline.key)
    return (
        key_of("result", headline.key)
        if headline.source == "result"
        else key_of("curve", f"{headline.key}@{point.place}")
    )


def _resume(run: Run) -> str:
    return resume_command(run.folder) if run.config.get("plain") else f"gd.train(recipe, resume={run.folder.named!r})"


def _about(config: dict[str, Any], evaluated: Sequence[Evaluated]) -> list[str]:
    """The task, the model and the reward, as they were asked for; for a recipe made in Python, as its parts say."""
    wish: dict[str, Any] = config.get("wish") or {}
    knobs = (config.get("parts") or {}).get("knobs")
    models = knobs.get("models") if isinstance(knobs, dict) else None
    each = models.values() if isinstance(models, dict) else ()
    parts = ", ".join(str(model["part"]) for model in each if isinstance(model, dict) and "part" in model)
    task = wish.get("task") or _examined_on(evaluated)
    return [str(words) for words in (task, wish.get("model") or parts, wish.get("reward")) if words]


def _examined_on(evaluated: Sequence[Evaluated]) -> str:
    """The task of the first exam."""
    named = (value for e in evaluated for name, value in e.result.items() if name.rpartition("/")[2] == "task")
    return str(next(named, ""))
