"""`guerdon list`: what there is. Without a kind a summary, with one a line each.

The summary and the recipes are read from their files, so they need little time. On a terminal a table has its width, without
less important columns; in a file or a pipe, and with `--json`, it is whole.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from guerdon.cli import shelves
from guerdon.cli.fitted_tables import TableColumn, fitted, in_lines
from guerdon.cli.options import Json
from guerdon.cli.output import Output, first_paragraph
from guerdon.cli.remembered import remembered
from guerdon.core.errors import UserError, unknown
from guerdon.core.packages import Kind, brought, with_brought
from guerdon.core.problems import PROBLEMS, Problem

NARROWEST, WIDEST = 40, 100  # of a summary
ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "um", "a", "s", "e", "y")  # of words, for a search
SHORTEST = 4  # letters of a stem


@dataclass(frozen=True)
class Listed:
    """A kind of thing: how its rows are found, its columns as they stand from left to right, and the one that `--family` is
    about."""

    find: Callable[[Path], list[dict[str, Any]]]
    columns: tuple[TableColumn, ...]
    family: str


def list_names(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="recipes|settings|tasks|roles|models|rewards|parts|runs", help="Default: a summary of all."
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option("--family", metavar="F", help="Only this family; for parts a folder, for runs a recipe."),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            "--search", metavar="WORDS", help="Only entries whose name or description has every word, in any form."
        ),
    ] = None,
    usable: Annotated[
        bool, typer.Option("--usable", help="Of recipes: on which data of your own they train, with which model.")
    ] = False,
    problem: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="PROBLEM", help=f"Of recipes: for this problem, best first: {', '.join(PROBLEMS)}."
        ),
    ] = None,
    folder: Annotated[str, typer.Option("--dir", metavar="DIR", help="Folder for `list runs`.")] = "runs",
    as_json: Json = False,
) -> int:
    """List recipes, settings, tasks, roles, models, rewards, parts and runs. `guerdon show NAME` describes one."""
    if what is not None and what not in KINDS:
        raise unknown("kind of thing to list", what, KINDS)
    output = Output(as_json)
    if problem is not None:
        if problem not in PROBLEMS:
            raise unknown("problem", problem, PROBLEMS)
        if what not in (None, "recipes"):
            raise UserError(f"--for is for recipes: guerdon list recipes --for {problem}, not {what}")
        what = "recipes"
    if usable:
        _list_usable(output, what, family, search)
        return 0
    if what is None and family is None and search is None and not as_json:
        _summary(output, Path(folder))
        return 0
    result: dict[str, Any] = {}
    for kind in (what,) if what else KINDS:
        find = functools.partial(KINDS[kind].find, Path(folder))
        rows = find() if kind in ("runs", "models") else remembered(["list", kind], find)
        rows = [*rows, *_brought(kind)]
        if problem is not None:
            rows = _for_problem(rows, problem)
        result[kind] = [row for row in _of_family(kind, rows, family, bool(what)) if _has_words(row, search)]
    if not as_json:
        is_chosen = family is not None or search is not None
        nothing = "nothing found" if is_chosen else f"no {what}" + (f" in {folder}/" if what == "runs" else "")
        _tell(output, result, what, family, nothing)
    output.finish(result)
    return 0


def _brought(kind: str) -> list[dict[str, Any]]:
    """What other packages bring of a kind; environments stand among the parts. No package is imported."""
    brings: dict[str, Kind] = {"recipes": "recipes", "tasks": "tasks", "rewards": "rewards", "parts": "envs"}
    title, family = KINDS[kind].columns[0].title, KINDS[kind].family
    every = brought(brings[kind]).values() if kind in brings else ()
    return [{title: each.name, family: each.package, "about": f"from {each.package}: {each.place}"} for each in every]


def _for_problem(rows: list[dict[str, Any]], problem: Problem) -> list[dict[str, Any]]:
    from guerdon.training.advice import for_problem

    by_name = {row["recipe"]: row for row in rows}
    return [by_name[each.recipe.name] for each in for_problem(problem)]


def _of_family(kind: str, rows: list[dict[str, Any]], family: str | None, is_asked_for: bool) -> list[dict[str, Any]]:
    """Those of a family; a family that there is not is a mistake where the kind was named."""
    if family is None:
        return rows
    there = sorted({str(row.get(KINDS[kind].family) or "") for row in rows} - {""})
    if is_asked_for and rows and family not in there:
        raise unknown(f"{KINDS[kind].family} of {kind}", family, there)
    return [row for row in rows if row.get(KINDS[kind].family) == family]


def _has_words(row: dict[str, Any], search: str | None) -> bool:
    there = _words(" ".join(map(_cell, row.values())))
    return all(any(_is_form(asked, word) for word in there) for asked in _words(search or ""))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def _is_form(asked: str, word: str) -> bool:
    """Whether a word is the one that is asked for, in another form or longer: `learn` has *learning*, `curricula` *curriculum*,
    and `vision` not *revision*."""
    stem = asked
    for ending in ENDINGS:
        if asked.endswith(ending) and len(asked) - len(ending) >= SHORTEST:
            stem = asked.removesuffix(ending)
            break
    return word == asked or (len(stem) >= SHORTEST and word.startswith(stem))


def _tell(output: Output, result: dict[str, Any], what: str | None, family: str | None, nothing: str) -> None:
    shown = [kind for kind in result if result[kind]]
    if not shown:
        output.say(nothing)
    for kind in shown:
        if what is None:
            output.say(f"{kind}:")
        columns = KINDS[kind].columns
        rows = [[_cell(row.get(column.title)) for column in columns] for row in result[kind]]
        if output.console.is_terminal:
            output.table(*_fitted(columns, rows, KINDS[kind].family if family else "", output.console.width))
        else:
            output.table([column.title for column in columns], rows)
        if what is None and kind != shown[-1]:
            output.say()


def _fitted(
    columns: Sequence[TableColumn], rows: list[list[str]], family: str, width: int
) -> tuple[list[str], list[list[str]]]:
    """The table for a terminal. The requested family is not repeated in every line, nor is the folder of runs."""
    if columns[0].title == "run":
        (folder, *more) = {str(Path(row[0]).parent) for row in rows}
        if folder != "." and not more:
            columns = [dataclasses.replace(columns[0], title=f"{folder}/"), *columns[1:]]
            rows = [[Path(row[0]).name, *row[1:]] for row in rows]
    rows = [[cell.removeprefix("arXiv:") for cell in row] for row in rows]
    kept = [i for i, column in enumerate(columns) if column.title != family]
    return fitted([columns[i] for i in kept], [[row[i] for i in kept] for row in rows], width)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{k}={v}" if v else k for k, v in value.items())
    if isinstance(value, list):
        return "; ".join(each.rstrip(".") for each in value)
    return "" if value is None else str(value)


# --- the summary ----------------------------------------------------------------------------------------------------


def _summary(output: Output, runs: Path) -> None:
    """Every kind with a count and some names, by family where there are several; short enough for a screen."""
    width = min(WIDEST, max(NARROWEST, output.console.width)) if output.console.is_terminal else 80
    for kind, groups in _names(runs).items():
        count = sum(len(names) for names in groups.values())
        if len(groups) == 1:
            _tell_group(
                output, f"{kind:<8}{count:>4}", next(iter(groups.values())), width, lines=1 if kind == "settings" else 2
            )
            continue
        if kind == "parts":
            shelved = [f"{folder} {len(names)}" for folder, names in groups.items()]
            _tell_group(output, f"{kind:<8}{count:>4}", shelved, width, lines=4)
            continue
        output.say(f"{kind:<8}{count:>4}" + ("" if count else f"  none in {runs}/"))
        for family, names in groups.items():
            _tell_group(output, f"  {family:<11}{len(names):>4}", names, width, lines=2 if family == "house" else 1)
    output.say()
    for line in (
        "guerdon list recipes              one line each; also tasks, rewards, ...",
        "guerdon list recipes --family F   one family; for parts a folder",
        "guerdon list --search WORDS       search names and descriptions",
        "guerdon show NAME                 any of these in full",
    ):
        output.say(line if len(line) <= width else re.sub(" {2,}", "\n  ", line))


def _tell_group(output: Output, lead: str, names: Sequence[str], width: int, lines: int = 1) -> None:
    first, *more = in_lines(names, width - len(lead) - 2, lines)
    for start, line in ((lead, first), *((" " * len(lead), line) for line in more)):
        output.say(f"{start}  {line}".rstrip())


def _names(runs: Path) -> dict[str, dict[str, list[str]]]:
    """Of every kind the names by family. The parts that a single recipe has are one family."""
    from guerdon.models import fetched_models, shipped_models
    from guerdon.tasks import task_loading
    from guerdon.training.catalog import listings

    recipes: dict[str, list[str]] = {}
    for each in sorted(listings().values(), key=lambda r: (r.family != "house", r.family, r.name)):
        recipes.setdefault(each.family, []).append(each.name)
    for other in brought("recipes").values():
        recipes.setdefault(other.package, []).append(other.name)
    parts: dict[str, list[str]] = {}
    for folder, names in shelves.part_names().items():
        parts.setdefault(folder.partition("/")[0], []).extend(names)
    newest_first = sorted(_run_folders(runs), key=_changed, reverse=True)
    return {
        "recipes": recipes,
        "settings": {"": shelves.setting_names()},
        "tasks": {"": with_brought("tasks", sorted(task_loading.NAMES))},
        "models": {"": [*shipped_models.SHIPPED, *fetched_models.FETCHED, *sorted(shipped_models.NAMES)]},
        "rewards": {"": with_brought("rewards", shelves.reward_names())},
        "parts": {folder: parts[folder] for folder in sorted(parts)},
        "runs": {"": [path.name for path in newest_first]} if newest_first else {},
    }


# --- what is usable ---------------------------------------------------------------------------------------------------


def _list_usable(output: Output, what: str | None, family: str | None, search: str | None) -> None:
    """Recipes by the data of one's own that they train on."""
    from guerdon.training.catalog import every_listing
    from guerdon.training.usable import OWN_DATA, usable

    if what not in (None, "recipes"):
        raise UserError(f"--usable is for recipes: guerdon list recipes --usable, not {what}")
    every = every_listing()
    about = {each.name: {"family": each.family, "about": each.about} for each in every.values()}
    rows: list[dict[str, Any]] = [{"recipe": name, **cells} for name, cells in usable(every).items()]
    rows = [row for row in rows if _has_words({**about[row["recipe"]], **row}, search)]
    if family is not None and family not in (there := {each["family"] for each in about.values()}):
        raise unknown("family of recipes", family, there)
    rows = [row for row in rows if family in (None, about[row["recipe"]]["family"])]
    if not output.as_json:
        forms = [TableColumn(each.title, 1, max(5, len(each.title)), "words") for each in OWN_DATA]
        columns = [TableColumn("recipe", 0, 24, "middle"), *forms, TableColumn("needs", 2, 12)]
        cells = [[_cell(row[column.title]) for column in columns] for row in rows]
        if output.console.is_terminal:
            output.table(*fitted(columns, cells, output.console.width))
        else:
            output.table([column.title for column in columns], cells)
        output.say()
        for line in (
            "yes: trains; sprig, chat: with such a model; set KNOB: if you give it; empty: no",
            *(f"{each.title}: {each.about}" for each in OWN_DATA),
            "guerdon show NAME says in full what a recipe needs.",
        ):
            output.say(line)
    output.finish({"recipes": rows})


# --- the kinds ------------------------------------------------------------------------------------------------------


def _recipes(_: Path) -> list[dict[str, Any]]:
    from guerdon.evidence import proof_files
    from guerdon.evidence.words import badge, others_of
    from guerdon.training.catalog import listings

    every = proof_files.verdicts(proof_files.SHIPPED)
    words = {
        name: [badge(claim, others_of(proof, every.values())) for claim in proof["claims"]]
        for name, proof in every.items()
    }
    stale = {name: proof_files.stale(proof) for name, proof in every.items()}
    return [
        {
            "recipe": r.name,
            "family": r.family,
            "paper": r.paper,
            "about": r.about,
            "needs": str(r.needs),
            "claim": [*r.claims],
            "result": words.get(r.name, []),
            "stale": stale.get(r.name, ""),
        }
        for r in sorted(listings().values(), key=lambda r: (r.family != "house", r.family, r.name))
    ]


def _tasks(_: Path) -> list[dict[str, Any]]:
    from guerdon.tasks.task_loading import NAMES

    return [
        {"task": n, "family": module.rpartition(".")[2], "about": _about(n, module)}
        for n, module in sorted(NAMES.items())
    ]


def _roles(_: Path) -> list[dict[str, Any]]:
    from guerdon.tasks.role_wordings import ROLE_WORDINGS

    return [
        {
            "role": each.name,
            "fields": " ".join(f"{{{name}}}" for name in each.fields),
            "reply": each.about,
            "ends on": each.form.format("..."),
            "plain": each.plain,
            "sprig": each.sprig,
        }
        for each in ROLE_WORDINGS.values()
    ]


def _models(_: Path) -> list[dict[str, Any]]:
    from guerdon.models.fetched_models import FETCHED, file_of
    from guerdon.models.shipped_models import ADAPTED, NAMES, SHIPPED, version

    about = "shipped with the package: small, trained on every task"
    others = {
        **{
            each.name: "shipped with the package: sprig-2 that also knows messages and worked steps" for each in ADAPTED
        },
        "sprig": f"{about}; {version('sprig')}",
    }
    shipped = [{"model": n, "family": "shipped", "about": others.get(n, about)} for n in SHIPPED]
    fetched = [
        {
            "model": n,
            "family": "fetched",
            "about": f"{each.about}; {'here' if file_of(n).is_file() else f'guerdon models get {n}'}",
        }
        for n, each in FETCHED.items()
    ]
    return (
        shipped
        + fetched
        + [{"model": n, "family": "made", "about": _about(n, module)} for n, module in sorted(NAMES.items())]
    )


def _rewards(_: Path) -> list[dict[str, Any]]:
    from guerdon.rewards.asking.by_name import shelf

    return [
        {
            "reward": n,
            "family": cls.__module__.split(".")[2 if ".rewards." in cls.__module__ else 1],
            "about": first_paragraph(cls.__doc__),
            "knobs": shelves.knobs(cls),
        }
        for n, cls in sorted(shelf().items())
    ]


def _about(name: str, module: str) -> str:
    """The first paragraph of a docstring, read off the file: importing it takes torch. What a file makes of something else is
    asked of that."""
    tree = ast.parse((shelves.HOME.parent / Path(*module.split("."))).with_suffix(".py").read_text(encoding="utf-8"))
    written = [node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name]
    doc = ast.get_docstring(written[0]) if written else getattr(importlib.import_module(module), name).__doc__
    return first_paragraph(doc)


def _parts(_: Path) -> list[dict[str, Any]]:
    return [shelves.row(each) for each in shelves.parts()]


# --- runs -----------------------------------------------------------------------------------------------------------


def _runs(base: Path) -> list[dict[str, Any]]:
    """The last one last, as the one that is looked for."""
    rows = [_run(path) for path in _run_folders(base)]
    return sorted(rows, key=lambda row: (str(row.get("date") or ""), row["run"]))


def _run_folders(base: Path) -> list[Path]:
    return [path for path in sorted(base.iterdir()) if _has_config(path)] if base.is_dir() else []


def _changed(path: Path) -> float:
    try:
        return (path / "run.json").lstat().st_mtime
    except OSError:
        return 0.0


def _has_config(path: Path) -> bool:
    """Whether there is a run.json, whatever it may be: a link to itself, a pipe, a folder, one that may not be read."""
    try:
        return (path / "run.json").lstat() is not None
    except PermissionError:
        return True
    except OSError:
        return False


def _run(path: Path) -> dict[str, Any]:
    from guerdon.runs.run import Run

    try:
        run = Run(path)
        if run.folder.events.exists() and not run.folder.events.is_file():
            raise UserError("its events.jsonl is not a file")
        headline = run.headline if run.folder.events.exists() else None
        wish = run.config["wish"]
        return {
            "run": str(path),
            "recipe": run.name,
            "task": wish.get("task") or (run.config["data"] or {}).get("path"),
            "model": wish.get("model"),
            "reward": wish.get("reward"),
            "seed": run.config["seed"],
            "steps": f"{run.steps_done}" if run.config.get("budget") else f"{run.steps_done}/{run.config['steps']}",
            "date": str(run.config.get("created") or "").replace("T", " ")[:16],
            "status": "; ".join([run.status, *run.damage]),
            "result": _result(run.status, headline.short if headline is not None else ""),
        }
    except UserError as error:  # one broken folder must not hide the others
        return {"run": str(path), "status": f"unreadable: {error}", "result": "unreadable"}


def _result(status: str, headline: str) -> str:
    """What came of a run, and of one that did not end that it did not."""
    words = [] if status == "complete" else [status.partition(":")[0]]
    return ", ".join([*words, *filter(None, [headline])])


def _settings(_: Path) -> list[dict[str, Any]]:
    """The suite, with the results of its pilots."""
    from guerdon.prove.setting_suite import SUITE, is_frozen, piloted

    pilots = piloted()
    return [
        {
            "setting": each.name,
            "about": each.about,
            "task": each.task,
            "model": each.model,
            "knobs": each.knobs,
            "judge": each.judge,
            "problem": f"{each.failure.says}: {each.failure.low:g} to {each.failure.high:g}",
            "pilot": "passed" if is_frozen(each) else "did not pass" if each.name in pilots else "none yet",
        }
        for each in SUITE
    ]


KINDS: dict[str, Listed] = {
    "recipes": Listed(
        _recipes,
        (
            TableColumn("recipe", 0, 40),
            TableColumn("needs", 1, 14),
            TableColumn("result", 2, 10),
            TableColumn("paper", 3, 10),
            TableColumn("family", 5),
            TableColumn("about", 4, 40),
            TableColumn("claim", 7, 24),
            TableColumn("stale", 6, 16),
        ),
        "family",
    ),
    "settings": Listed(
        _settings,
        (
            TableColumn("setting"),
            TableColumn("task", 3),
            TableColumn("model", 4),
            TableColumn("about", 1, 60),
            TableColumn("problem", 2, 30),
            TableColumn("pilot", 5),
        ),
        "model",
    ),
    "tasks": Listed(_tasks, (TableColumn("task"), TableColumn("family", 2), TableColumn("about", 1, 24)), "family"),
    "roles": Listed(
        _roles,
        (TableColumn("role"), TableColumn("fields", 1), TableColumn("reply", 2, 24), TableColumn("ends on", 3)),
        "role",
    ),
    "models": Listed(_models, (TableColumn("model"), TableColumn("family", 2), TableColumn("about", 1, 66)), "family"),
    "rewards": Listed(
        _rewards,
        (TableColumn("reward"), TableColumn("family", 2), TableColumn("about", 1, 20), TableColumn("knobs", 3, 24)),
        "family",
    ),
    "parts": Listed(
        _parts,
        (TableColumn("part"), TableColumn("folder", 2), TableColumn("about", 1, 20), TableColumn("knobs", 3, 24)),
        "folder",
    ),
    "runs": Listed(
        _runs,
        (
            TableColumn("run", 0, 17, "middle"),
            TableColumn("recipe", 9),
            TableColumn("task", 2, 8),
            TableColumn("model", 4, 6),
            TableColumn("reward", 6, 6),
            TableColumn("seed", 5),
            TableColumn("steps", 8),
            TableColumn("date", 3, 10, "bare"),
            TableColumn("status", 7, 10),
            TableColumn("result", 1, 14, "words"),
        ),
        "recipe",
    ),
}
