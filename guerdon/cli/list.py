"""`guerdon list`: what there is.

Recipes are read from their files, so listing them needs neither torch nor time.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Annotated, Any

import typer

import guerdon
from guerdon.cli.options import Json
from guerdon.cli.output import Output, first_paragraph, has_rate, percent
from guerdon.core.errors import UserError, unknown

# modules that begin with libraries which may be absent
WANT_EXTRAS = ("guerdon.bridges.serve.", "guerdon.models.kernels.", "guerdon.network.client")
NOT_PARTS = ("cli", "loop", "recipes")  # packages without parts that a recipe is made of


def list_names(
    what: Annotated[
        str | None, typer.Argument(metavar="recipes|tasks|models|rewards|parts|runs", help="Left out: the first three.")
    ] = None,
    folder: Annotated[str, typer.Option("--dir", metavar="DIR", help="Where `list runs` looks.")] = "runs",
    as_json: Json = False,
) -> int:
    """Recipes, tasks, models, rewards, parts and runs."""
    kinds = {
        "recipes": (_recipes, ("recipe", "family", "paper", "about", "claim", "verdict", "stale")),
        "tasks": (_tasks, ("task", "about")),
        "models": (_models, ("model", "about")),
        "rewards": (_rewards, ("reward", "about", "knobs")),
        "parts": (_parts, ("part", "folder", "about", "knobs")),
        "runs": (lambda: _runs(Path(folder)), ("run", "recipe", "task", "steps", "status", "pass@1")),
    }
    if what is not None and what not in kinds:
        raise unknown("kind of thing to list", what, kinds)
    output = Output(as_json)
    result: dict[str, Any] = {}
    for kind in (what,) if what else ("recipes", "tasks", "models"):
        find, titles = kinds[kind]
        result[kind] = find()
        if not as_json:
            if result[kind]:
                output.table(titles, [[_cell(row.get(t)) for t in titles] for row in result[kind]])
            else:
                output.say(f"no {kind}" + (f" in {folder}/" if kind == "runs" else ""))
            if not what and kind != "models":
                output.say()
    output.finish(result)
    return 0


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={v}" if v else k for k, v in value.items())
    if isinstance(value, list):
        return "; ".join(each.rstrip(".") for each in value)
    return "" if value is None else str(value)


def _recipes() -> list[dict[str, Any]]:
    from guerdon.loop.catalog import listings
    from guerdon.store import evidence
    from guerdon.store.evidence_words import badge, others_of

    every = evidence.read_all(evidence.SHIPPED)
    verdicts = {
        name: [badge(claim, others_of(proof, every.values())) for claim in proof["claims"]]
        for name, proof in every.items()
    }
    stale = {name: evidence.stale(proof) for name, proof in every.items()}
    return [
        {
            "recipe": r.name,
            "family": r.family,
            "paper": r.paper,
            "about": r.about,
            "claim": [*r.claims],
            "verdict": verdicts.get(r.name, []),
            "stale": stale.get(r.name, ""),
        }
        for r in sorted(listings().values(), key=lambda r: (r.family != "house", r.family, r.name))
    ]


def _tasks() -> list[dict[str, Any]]:
    from guerdon.tasks.task_loading import NAMES

    return [{"task": n, "about": _about(n, module)} for n, module in sorted(NAMES.items())]


def _models() -> list[dict[str, Any]]:
    from guerdon.models.model_loading import NAMES, SHIPPED, version

    about = "comes with the package: small, and trained on every task"
    shipped = [{"model": n, "about": about if n == version(n) else f"{about}; {version(n)}"} for n in SHIPPED]
    return shipped + [{"model": n, "about": _about(n, module)} for n, module in sorted(NAMES.items())]


def _rewards() -> list[dict[str, Any]]:
    from guerdon.rewards.asking.by_name import shelf

    return [
        {"reward": n, "about": first_paragraph(cls.__doc__), "knobs": _knobs(cls)} for n, cls in sorted(shelf().items())
    ]


def _about(name: str, module: str) -> str:
    return first_paragraph(getattr(importlib.import_module(module), name).__doc__)


def _parts() -> list[dict[str, Any]]:
    """Every part in the package: a part is known once its module is imported, so all of them are."""
    from guerdon.core.part import PARTS, label

    for module in pkgutil.walk_packages(guerdon.__path__, "guerdon."):
        if module.name.split(".")[1] not in NOT_PARTS and not module.name.startswith(WANT_EXTRAS):
            importlib.import_module(module.name)
    rows = []
    for where, cls in PARTS.items():
        package, home, *_ = where.split(".")
        if package == "guerdon" and home not in NOT_PARTS:
            about = first_paragraph(cls.__doc__)
            rows.append({"part": label(cls), "folder": home, "about": about, "knobs": _knobs(cls)})
    return sorted(rows, key=lambda r: (r["folder"], r["part"]))


def _knobs(cls: Any) -> dict[str, str]:
    import dataclasses

    return {f.name: _default(f) for f in dataclasses.fields(cls) if f.init}


def _default(field: Any) -> str:
    """A knob's default as a user would write it; empty when it has none."""
    import dataclasses

    if field.default is not dataclasses.MISSING:
        return repr(field.default)
    return repr(field.default_factory()) if field.default_factory is not dataclasses.MISSING else ""


def _runs(base: Path) -> list[dict[str, Any]]:
    return [_run(path) for path in sorted(base.iterdir()) if _has_config(path)] if base.is_dir() else []


def _has_config(path: Path) -> bool:
    """Whether there is a run.json, whatever it may be: a link to itself, a pipe, a folder, one that may not be read."""
    try:
        return (path / "run.json").lstat() is not None
    except PermissionError:
        return True
    except OSError:
        return False


def _run(path: Path) -> dict[str, Any]:
    from guerdon.store.run import Run

    try:
        run = Run(path)
        if run.folder.events.exists() and not run.folder.events.is_file():
            raise UserError("its events.jsonl is no file")
        last = run.evaluations[-1] if run.folder.events.exists() and run.evaluations else None
        return {
            "run": str(path),
            "recipe": run.name,
            "task": run.config["wish"].get("task") or (run.config["data"] or {}).get("path"),
            "steps": f"{run.steps_done}" if run.config.get("budget") else f"{run.steps_done}/{run.config['steps']}",
            "status": "; ".join([run.status, *run.damage]),
            "pass@1": percent(last["pass@1"]) if last and has_rate(last) else None,
        }
    except UserError as error:  # one broken folder must not hide the others
        return {"run": str(path), "status": f"unreadable: {error}"}
