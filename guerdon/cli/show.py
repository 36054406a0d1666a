"""`guerdon show`: a recipe as its docstring, knobs and formula; a run as its config and results."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import re
import sys
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.cli import knob_words, shelves
from guerdon.cli.list import KINDS as LISTED
from guerdon.cli.options import Json, Model, Reward, Settings, Task, parse_settings
from guerdon.cli.output import HeldOutput, Output, alarms_in_words, cost
from guerdon.cli.prove import claim_lines
from guerdon.cli.remembered import remembered
from guerdon.core.errors import UserError, spelled, unknown
from guerdon.core.packages import KINDS, Brought, brought, find_brought
from guerdon.core.part import label

if TYPE_CHECKING:
    from guerdon.core.recipe import Claim, Recipe, RecipeEntry, Study
    from guerdon.training.build import RunRequest

ALONE = ("bound", "slope")  # kinds of claims without a baseline
STAND_IN = {"task": "successor", "model": "tabular"}  # to show a formula for when none was given


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE|RUN",
            help="A recipe's name or file, FILE.py:ENVIRONMENT, a part or reward, a task with a level (chain:2), a model,"
            " a setting, a role (roles.verify), or a run's folder.",
        ),
    ],
    task: Task = None,
    model: Model = None,
    reward: Reward = None,
    settings: Settings = None,
    as_json: Json = False,
) -> int:
    """Describe a recipe (its parts, difference from its baseline, evidence), a part, a reward, a task (a problem with an
    oracle's solution), a model, a setting, a role, or a run (configuration and results).

    A recipe is shown for the task, model and reward you give, else for those of its claim, else for small ones.
    """
    from guerdon.core.wordings import ROLES
    from guerdon.runs.folder import RunFolder
    from guerdon.training.catalog import in_file, listings

    output = Output(as_json)
    name = spelled(name, listings())
    slots = {"task": task, "model": model, "reward": reward}
    if RunFolder(name).exists():
        _show_run(output, name)
    elif name.startswith(ROLES):
        _show_role(output, name.removeprefix(ROLES))
    elif (kind := next((kind for kind, names in _row_names().items() if name in names), None)) is not None:
        _show_row(output, kind, name)
    elif (own := own_env(name)) is not None:
        show_env(output, name, own, task)
    elif (other := _brought(name)) is not None:
        _show_brought(output, other, slots, parse_settings(settings))
    elif (
        any(value is not None for value in slots.values()) or settings or in_file(name)[0] or Path("evidence").is_dir()
    ):
        _show_named(output, name, slots, parse_settings(settings))
    else:  # what it shows depends on the package alone
        kept = remembered(["show", name, as_json, output.console.width], functools.partial(_held, output, name))
        for line in kept["lines"]:
            output.say(line)
        output.finish(kept["result"])
    return 0


def _brought(name: str) -> Brought | None:
    """What another package brings by a name that is none of this one's."""
    from guerdon.training.catalog import listings

    if name in listings() or name in shelves.part_modules():
        return None
    return next((each for kind in KINDS if (each := find_brought(kind, name)) is not None), None)


def _show_brought(output: Output, other: Brought, slots: dict[str, str | None], settings: dict[str, str]) -> None:
    if not output.as_json:
        output.say(other.about)
        output.say()
    if other.kind == "recipes":
        _show_recipe(output, other.name, slots, settings)
    elif other.kind == "tasks":
        show_task(output, other.name)
    elif other.kind == "envs":
        show_env(output, other.name, other.load(), slots["task"])
    else:
        about = inspect.getdoc(other.load()) or ""
        if not output.as_json:
            output.say(about)
        output.finish({"reward": other.name, "package": other.package, "place": other.place, "about": about})


def _held(output: Output, name: str) -> dict[str, Any]:
    held = HeldOutput(output)
    _show_named(held, name, {"task": None, "model": None, "reward": None}, {})
    return {"lines": held.lines, "result": held.result}


def _show_named(output: Output, name: str, slots: dict[str, str | None], settings: dict[str, str]) -> None:
    from guerdon.training.catalog import in_file, listings

    recipes = listings()
    if is_task(name):
        show_task(output, name)
    elif not in_file(name)[0] and name not in recipes:
        show_part(output, name, [*recipes])
    else:
        _show_recipe(output, name, slots, settings)


def _show_recipe(output: Output, name: str, slots: dict[str, str | None], settings: dict[str, str]) -> None:
    from guerdon.core.part import describe
    from guerdon.core.wordings import asked_roles
    from guerdon.training.build import RunRequest, build
    from guerdon.training.catalog import find_recipe

    entry: RecipeEntry = find_recipe(name)
    parameters = entry.parameters()
    filled = {
        s: n for s, n in _usual(entry).items() if s in parameters and slots[s] is None and _required(parameters[s])
    }
    chosen: dict[str, Any] = {**slots, **filled}
    request = RunRequest(entry, **chosen, settings=settings, text=True)
    built, why = _try_build(request, settings) if filled else (build(request, settings).recipe, "")
    if not output.as_json:
        _tell_recipe(output, entry)
        shown_for = " ".join(f"--{s} {n}" for s, n in filled.items())
        output.say()
        output.say(f"formula{f', with {shown_for}' if shown_for else ''}" + (f": {why}" if built is None else ""))
        if built is not None:
            _tell_formula(output, built)
            _tell_roles(output, built)
        for claim in entry.claims:
            _tell_difference(output, built, claim, request)
        _tell_evidence(output, entry.name)
    output.finish(
        {
            "recipe": entry.name,
            "family": entry.family,
            "paper": entry.paper,
            "about": entry.about,
            "claims": [dataclasses.asdict(c) for c in entry.claims],
            "needs": list(entry.needs.names),
            "world": entry.needs.world,
            "helps": list(entry.helps),
            "required": [s for s in ("task", "model", "reward") if s in parameters and _required(parameters[s])],
            "knobs": {k: _plain(v) for k, v in entry.knobs().items()},
            "knob_words": knob_words.recipe_knobs(entry.functions, entry.knobs()),
            "shown_for": {**{s: v for s, v in slots.items() if v is not None}, **filled},
            "roles": {} if built is None else asked_roles(built),
            "parts": None if built is None else describe(built),
            "hash": None if built is None else built.hash,
            "evidence": evidence_of(entry.name, with_runs=True) if output.as_json else None,
        }
    )


def _usual(entry: RecipeEntry) -> dict[str, str]:
    """The default task that a recipe is shown for: that of its claim, or a small one."""
    claimed = {"task": entry.claims[0].task, "model": entry.claims[0].model} if entry.claims else {}
    return {**STAND_IN, **{slot: name for slot, name in claimed.items() if name}}


def evidence_of(name: str, *, with_runs: bool = False) -> dict[str, Any] | None:
    """What came of a recipe's claims: the evidence beside us, or that of the package; `with_runs` if they are there. What is
    of another edition does not count."""
    from guerdon.evidence import proof_files
    from guerdon.evidence.packed import missing_records

    for folder in (Path("evidence"), proof_files.SHIPPED):
        if proof_files.has(folder, name) and not proof_files.is_of_another_edition(folder, name):
            missing = missing_records(folder, name)
            proof = proof_files.read(folder, name) if with_runs and not missing else proof_files.verdict(folder, name)
            told = {"stale": proof_files.stale(proof), "file": str(proof_files.file_of(folder, name))}
            return {**proof, **told, **({"without_runs": missing} if missing else {})}
    return None


def _tell_evidence(output: Output, name: str) -> None:
    """What came of its claims with the shipped model and with other students, and of its screenings."""
    from guerdon.evidence import proof_files

    proof = evidence_of(name)
    output.say()
    if proof is None:
        output.say(f"evidence: none yet (guerdon prove {name})")
    names = [n for folder in (Path("evidence"), proof_files.SHIPPED) for n in proof_files.beside(folder, name)]
    for each in (proof, *map(evidence_of, dict.fromkeys(names))):
        if each is not None:
            _tell_proof(output, name, each)


def _tell_proof(output: Output, name: str, proof: dict[str, Any]) -> None:
    if proof["stale"]:
        output.say(
            f"evidence: stale, {proof['stale']} (guerdon prove {name}; --rehearse BEFORE if results are the same)"
        )
    for claim in proof["claims"]:
        first, *more = claim_lines(claim)
        output.say(f"evidence: {first}")
        for line in more:
            output.say(f"  {line}")
    for note in proof.get("history", ()):
        output.say(f"  {note['date']}: {note['what']}")
    output.say(f"  {proof['command']}, {proof['model']['version']}, {proof['created']}: {proof['file']}")


def _tell_difference(output: Output, recipe: Recipe | Study | None, claim: Claim, request: RunRequest) -> None:
    """What the method has that its baseline has not, and the other way round."""
    from guerdon.core.recipe import Recipe
    from guerdon.prove.arms import make_arm
    from guerdon.prove.proving import OPTIONS

    if not isinstance(recipe, Recipe) or claim.kind in ALONE:
        return
    arm = make_arm(claim.baseline, dataclasses.replace(claim, settings=""), OPTIONS)
    other, _ = _try_build(
        dataclasses.replace(arm.request, task=request.task, model=request.model, reward=request.reward)
    )
    if isinstance(other, Recipe):
        lines = list(difflib.ndiff(_formula(other), _formula(recipe)))
        output.say()
        output.say(f"compared with its baseline, {claim.baseline}")
        for line in lines:
            if line[0] in "+-":
                output.say(f"  {line}")


def _formula(recipe: Recipe) -> list[str]:
    """A recipe as lines that can be compared."""
    models = [f"model {name} = {model!r}" for name, model in recipe.models.items()]
    return [
        *models,
        f"curriculum = {recipe.curriculum!r}",
        f"env = {recipe.env!r}",
        *map(repr, recipe.stages),
        repr(recipe.sampling),
    ]


def _required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def _plain(value: Any) -> Any:
    """A knob's default for JSON; a knob without one must be given."""
    from guerdon.core.part import describe

    return "(required)" if value is inspect.Parameter.empty else describe(value)


def _try_build(request: RunRequest, typed: Container[str] = ()) -> tuple[Recipe | Study | None, str]:
    """The recipe with our stand-ins, or why they do not fit it: that is not the user's error."""
    from guerdon.training.build import build

    try:
        return build(request, typed).recipe, ""
    except UserError as error:
        return None, f"cannot be built with these ({error})"


def _tell_recipe(output: Output, entry: RecipeEntry) -> None:
    title = f"{entry.name}  ({entry.family})"
    output.say(title + (f"  {entry.paper}" if entry.paper else ""))
    output.say()
    module = sys.modules.get(entry.function.__module__)
    for text in (entry.about, inspect.getdoc(module) if module else None):
        if text:
            output.say(text)
            output.say()
    output.say(f"needs: {entry.needs.in_full}")
    if entry.needs.learns_from:
        output.say(f"takes no reward: it learns from {entry.needs.learns_from}")
    if entry.helps:
        output.say(f"helps with: {', '.join(entry.helps)}")
    for claim in entry.claims:
        output.say(f"claim: {claim.says}" + ("" if claim.kind in ALONE else f" (against {claim.baseline})"))
    output.say("knobs (--set KNOB=VALUE)")
    knobs = {n: "" if v is inspect.Parameter.empty else repr(v) for n, v in entry.knobs().items()}
    for line in knob_words.lines(
        knobs, knob_words.recipe_knobs(entry.functions, knobs), min(output.console.width, 100)
    ):
        output.say(line)


def _tell_formula(output: Output, recipe: Recipe | Study) -> None:
    """The parts laid out over lines, then every knob that `--set PART.FIELD=VALUE` reaches."""
    from guerdon.core.part import handles, knobs
    from guerdon.core.recipe import Study

    if isinstance(recipe, Study):
        output.say("  a study: Python code over several runs")
        output.pairs({f"  {k}": repr(v) for k, v in recipe.settings.items()})
        return
    stages = [f"{i}. {_stage(stage)}" for i, stage in enumerate(recipe.stages, start=1)]
    output.pairs(
        {
            "  models": _mapping(recipe.models),
            "  seats": _mapping(recipe.seats),
            "  curriculum": repr(recipe.curriculum),
            "  env": repr(recipe.env),
            "  stages": "\n".join(stages),
            "  sampling": repr(recipe.sampling),
            "  exams": "\n".join(map(repr, recipe.exams)),
            "  prompts": str(recipe.prompts),
            "  steps": str(recipe.steps),
        }
    )
    output.say()
    output.say("parts (--set PART.FIELD=VALUE)")
    plain = (bool, int, float, str, type(None))
    for name, member in handles(recipe).items():
        own = [f"{k}={v!r}" for k, v in knobs(member).items() if isinstance(v, plain)]
        if own:
            output.say(f"  {name}: {', '.join(own)}")


def _tell_roles(output: Output, recipe: Recipe | Study) -> None:
    """The roles that it asks a model in, with the fields of their wordings."""
    from guerdon.core.wordings import asked_roles

    roles = asked_roles(recipe)
    if roles:
        output.say()
        output.say("roles that it asks a model in (--set roles.ROLE=FILE, docs/roles.md)")
        for name, fields in roles.items():
            output.say(f"  {name}: {', '.join(f'{{{each}}}' for each in fields)}")


def _show_role(output: Output, name: str) -> None:
    """Its two wordings, as a file would have them."""
    from guerdon.tasks.role_wordings import ROLE_WORDINGS

    if name not in ROLE_WORDINGS:
        raise unknown("role", name, ROLE_WORDINGS)
    role = ROLE_WORDINGS[name]
    if not output.as_json:
        output.say(f"{role.name}: {role.about}")
        for whom, text in (("models that follow instructions", role.plain), ("sprig", role.sprig)):
            output.say(f"\n--- for {whom}\n{text}")
    output.finish(
        {"role": role.name, "about": role.about, "fields": role.fields, "plain": role.plain, "sprig": role.sprig}
    )


def _row_names() -> dict[str, list[str]]:
    """What is no recipe, part or reward but has a row in `guerdon list`, by kind."""
    from guerdon.models.fetched_models import FETCHED
    from guerdon.models.shipped_models import SHIPPED

    return {"settings": shelves.setting_names(), "models": [*SHIPPED, *FETCHED]}


def _show_row(output: Output, kind: str, name: str) -> None:
    """All that `guerdon list` knows of it, and what to do with it."""
    listed = LISTED[kind]
    title = listed.columns[0].title
    find = functools.partial(listed.find, Path())
    row = next(
        each for each in (find() if kind == "models" else remembered(["list", kind], find)) if each[title] == name
    )
    following = {"settings": f"guerdon prove RECIPE --setting {name}", "models": f"guerdon eval {name} --task TASK"}[
        kind
    ]
    if not output.as_json:
        output.pairs({what: str(value) for what, value in {**row, "next": following}.items() if value})
    output.finish({**row, "next": following})


def _mapping(value: dict[str, Any]) -> str:
    width = max(map(len, value), default=0)
    return "\n".join(f"{k:<{width}} = {v if isinstance(v, str) else repr(v)}" for k, v in value.items())


def _stage(stage: Any) -> str:
    """A stage with the columns it reads and writes."""
    needs, gives = ", ".join(stage.needs), ", ".join(stage.gives)
    flow = f"{needs} -> {gives}".strip() if gives else f"{needs} ->"
    return f"{stage!r}    [{flow}]" if needs or gives else repr(stage)


def _show_run(output: Output, path: str) -> None:
    from guerdon.cli.train import results, summary
    from guerdon.runs.run import Run

    run = Run(path)
    if not run.folder.events.exists():
        lost = (
            f"{path} is damaged: {run.damage[0]}" if run.damage else f"{path} has not started: it has no events.jsonl"
        )
        raise UserError(lost)
    result = summary(run)
    config = run.config
    if not output.as_json:
        request = {
            k: v for k, v in {**config["wish"], **(config["data"] or {}), **config["settings"]}.items() if v is not None
        }
        shown = {
            "run": path,
            "recipe": f"{run.name} ({config['kind']}, hash {config['hash']})",
            "asked for": ", ".join(f"{k}={v}" for k, v in request.items()),
            "again": str((config.get("again") or {}).get("run", "")),
            "seed": str(config["seed"]),
            "status": f"{result['status']}, {run.progress}",
            **results(run),
            "spent": cost(result["spent"]),
            "weights": result["weights"],
            "report": result["report"],
            "kept": ", ".join(f"{k}={v}" for k, v in config["options"].items()),
            "versions": ", ".join(f"{k} {v}" for k, v in config["versions"].items()),
            "created": config["created"],
            "resume": result["resume"],
            "rewards": "\n".join(
                f"{column}: {reward['formula']} (version {reward['version']})"
                for column, reward in (config.get("rewards") or {}).items()
            ),
            "failures": "\n".join(
                f"{count} in {column!r}: {why}"
                for column, causes in result["failures"].items()
                for why, count in causes.items()
            ),
            "unreadable": "\n".join(
                f"{lost} of {asked} replies in the role {name}" for name, (lost, asked) in run.unreadable.items()
            ),
            "alarms": alarms_in_words(run.alarms),
            "warnings": "\n".join(result["warnings"]),
            "damage": "\n".join(result["damage"]),
        }
        output.pairs({k: v for k, v in shown.items() if v})
    output.finish({**result, "config": config})


def show_part(output: Output, name: str, recipes: list[str]) -> None:
    """Every part of a name, or the one of FOLDER.NAME; refused with what comes near where there is none."""
    folder, _, last = name.rpartition(".")
    chosen = [each for each in shelves.parts_named(last) if folder in ("", each.folder)]
    if not chosen:
        others = [each for kind in KINDS for each in brought(kind)]
        listed = [each for there in _row_names().values() for each in there]
        raise unknown("recipe, part or reward", name, [*recipes, *shelves.part_modules(), *others, *listed])
    if not output.as_json:
        for i, each in enumerate(chosen):
            if i:
                output.say()
            _tell(output, each)
    output.finish({"parts": [_as_json(each) for each in chosen]})


def _tell(output: Output, each: shelves.Shelved) -> None:
    output.say(f"{each.name}  ({each.folder})  {each.module}")
    output.say()
    output.say(knob_words.without_arguments(inspect.getdoc(each.cls) or ""))
    _tell_knobs(output, each.cls, shelves.knobs(each.cls))
    for name in ("needs", "gives"):
        columns = getattr(each.cls, name, ())
        if isinstance(columns, tuple) and columns:
            output.say(f"{name}: {', '.join(columns)}")


def _tell_knobs(output: Output, cls: type, knobs: dict[str, str]) -> None:
    if knobs:
        output.say()
        output.say("knobs")
        for line in knob_words.lines(knobs, knob_words.part_knobs(cls, knobs), min(output.console.width, 100)):
            output.say(line)


def _as_json(each: shelves.Shelved) -> dict[str, Any]:
    words = knob_words.part_knobs(each.cls, shelves.knobs(each.cls))
    return {**shelves.row(each), "module": each.module, "doc": inspect.getdoc(each.cls), "knob_words": words}


def own_env(spec: str) -> Any:
    """The environment that FILE.py:NAME names, or the problems with one; None for a recipe there, or what names no file."""
    from guerdon.training.catalog import in_file

    file, name = in_file(spec)
    if not file or not name:
        return None
    from guerdon.core.recipe import RecipeEntry
    from guerdon.core.user_file import load_file

    module = load_file(file, "recipe")
    held = {n: v for n, v in vars(module).items() if not n.startswith("_") and v is not module}
    recipes = [v.name for v in held.values() if isinstance(v, RecipeEntry) and v.function.__module__ == module.__name__]
    envs = [n for n, v in held.items() if any(all(hasattr(v, each) for each in kind) for kind in (ENV, PROBLEMS))]
    if name in recipes:
        return None
    if name not in envs:
        raise unknown(f"recipe or environment in {file}", name, [*recipes, *envs])
    return held[name]


ENV, PROBLEMS = ("roles", "play"), ("size", "get")  # what tells them


def show_env(output: Output, name: str, own: Any, task: str | None) -> None:
    """What it is and takes, and an episode of its oracle where there is one to be played."""
    import guerdon as gd
    from guerdon.core.task import TaskSource
    from guerdon.training.build import find_task
    from guerdon.training.homes import played_in

    made = _made(name, own)
    source = find_task(task) if task is not None else made if isinstance(made, TaskSource) else None
    env = made if all(hasattr(made, each) for each in ENV) else played_in(made, None)
    shows = isinstance(env, gd.envs.Shows)
    episode = gd.demonstration(source, env=env) if source is not None and shows else None
    cls, knobs = type(made), shelves.knobs(type(made)) if dataclasses.is_dataclass(made) else {}
    about = knob_words.without_arguments(inspect.getdoc(cls) or "")
    about = "" if about.startswith(f"{cls.__name__}(") else about  # what a dataclass without a docstring has
    if not output.as_json:
        output.say(f"{name}: environment {label(env)}, roles {', '.join(env.roles)}")
        if about:
            output.say()
            output.say(about)
        _tell_knobs(output, cls, knobs)
        output.say()
        if episode is not None:
            output.say(gd.transcript(episode, min(output.console.width, 100)))
        elif shows:
            output.say(f"an episode of its oracle: guerdon show {name} --task NAME")
        else:
            output.say("it has no `demonstrate`, so there is no episode of an oracle to show (docs/environments.md)")
    turns = None if episode is None else [{"role": s.role, "view": s.view, "said": s.text} for s in episode.segments]
    output.finish({"env": repr(env), "about": about, "knobs": knobs, "roles": list(env.roles), "turns": turns})


def _made(name: str, own: Any) -> Any:
    """It with its defaults, where a class is named."""
    try:
        return own() if isinstance(own, type) else own
    except TypeError as error:
        raise UserError(f"{name} cannot be made with its defaults: {error}") from error


LIKE_A_TASK = re.compile(r"[\w/]+[:/][^.\\]*")  # NAME:LEVEL, ROLE/NAME: a part is named without, a file with a dot


def is_task(name: str) -> bool:
    """Whether a name is a task's, as `--task` takes it."""
    from guerdon.tasks.task_loading import knows

    return LIKE_A_TASK.fullmatch(name) is not None and knows(name)


def show_task(output: Output, name: str) -> None:
    import guerdon as gd

    source = gd.tasks.load(name)
    home = gd.envs.default_env(source)
    episode = gd.demonstration(source)
    sizes = {split: source.size(split) for split in ("train", "test")}
    if not output.as_json:
        told = {split: "unlimited" if size is None else f"{size:,}" for split, size in sizes.items()}
        output.say(f"{name}: {told['train']} training problems, {told['test']} held out")
        output.say(f"environment {home!r}" if home is not None else "answered in one turn")
        output.say()
        output.say(gd.transcript(episode, min(output.console.width, 100)))
    turns = [{"role": s.role, "view": s.view, "said": s.text} for s in episode.segments]
    output.finish({"task": name, "sizes": sizes, "env": None if home is None else repr(home), "turns": turns})
