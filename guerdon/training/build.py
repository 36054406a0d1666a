"""From what a user typed to a run: names become parts, parts become a recipe, the recipe gets a config.

Rows of one's own are a text too, where a task is named by one: `rows of my.csv check=number`.
"""

from __future__ import annotations

import dataclasses
import os
import platform
import secrets
import shlex
import time
import warnings
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import guerdon
from guerdon import tasks
from guerdon.core.errors import InputNote, Notice, UserError
from guerdon.core.manifest import Damaged, manifest_owner
from guerdon.core.model import Model
from guerdon.core.needs import Rows
from guerdon.core.part import describe, fingerprint, knobs, label, walk
from guerdon.core.recipe import Recipe, RecipeEntry, Study
from guerdon.core.shown_text import cut
from guerdon.core.stages import shelf_of
from guerdon.core.task import TaskSource
from guerdon.core.user_file import find_in_file
from guerdon.core.wordings import fit_wordings
from guerdon.evidence.identity import HOUSE, tree_hash
from guerdon.models import template_clock as clock
from guerdon.models.model_facts import knows_roles
from guerdon.models.model_loading import MODEL_SUMS, load
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.score_stages import score
from guerdon.runs.folder import FORMAT, RunFolder, resume_command
from guerdon.runs.run import Run
from guerdon.tasks.files import rows, rows_of
from guerdon.tasks.preference_files import preferences
from guerdon.tasks.recited_rows import RecitedRows
from guerdon.tasks.row_columns import OtherRows, first_of
from guerdon.tasks.row_sets import OwnRows, name_of
from guerdon.tasks.step_files import labelled_steps
from guerdon.tasks.trace_turns import hold_calls, traces
from guerdon.training.catalog import find_recipe
from guerdon.training.homes import bring_home, move_home
from guerdon.training.record import Options
from guerdon.training.unmet_needs import other_rows, refuse_unmet, refuse_untaken
from guerdon.worlds.step_rewards import as_step_reward

SHOWN_BAD = 3  # skipped rows named one by one


@dataclass(frozen=True)
class RunRequest:
    """What was asked for, before anything is built. Plain values throughout make the run rebuildable from its run.json."""

    recipe: Any
    task: Any = None
    model: Any = None
    reward: Any = None
    data: Any = None  # what `tasks.files.rows_of` takes
    settings: Mapping[str, Any] = field(default_factory=dict)
    text: bool = False  # settings come from a command line, to be parsed
    prepared: Mapping[str, str] = field(default_factory=dict)  # folders of models that take the place of the recipe's

    @property
    def plain(self) -> bool:
        """Whether a run.json can hold it: names and paths only."""
        named = (self.recipe, self.task or "", self.model or "", self.reward or "")
        return all(isinstance(x, str) for x in named) and all(_is_plain(x) for x in self.knobs_of_data.values())

    @property
    def knobs_of_data(self) -> dict[str, Any]:
        """What was said about rows of one's own, by name; a path alone is one too."""
        if self.data is None:
            return {}
        knobs = dict(self.data) if isinstance(self.data, Mapping) and "path" in self.data else {"path": self.data}
        return {name: str(value) if isinstance(value, Path) else value for name, value in knobs.items()}

    def to_config(self) -> dict[str, Any]:
        slots = {"task": self.task, "model": self.model, "reward": self.reward}
        return {
            "wish": {k: v if isinstance(v, str) or v is None else repr(v) for k, v in slots.items()},
            "data": {k: v if _is_plain(v) else _in_a_word(v) for k, v in self.knobs_of_data.items()} or None,
            "settings": {k: v if self.text else describe(v) for k, v in self.settings.items()},
            "text": self.text,
            "plain": self.plain,
            "prepared": dict(self.prepared),
        }

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> RunRequest:
        slots = {slot: config["wish"][slot] for slot in ("task", "model", "reward")}
        kept = {name: config[name] for name in ("data", "settings", "text", "prepared") if name in config}
        return cls(config["recipe"], **slots, **kept)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _in_a_word(value: Any) -> str:
    """An object that a config cannot hold: rows may be many."""
    return getattr(value, "__name__", None) or f"a {type(value).__name__}"


@dataclass(frozen=True)
class Built:
    name: str
    recipe: Recipe | Study
    task: TaskSource | None = None
    entry: RecipeEntry | None = None

    @property
    def own_files(self) -> tuple[str, ...]:
        """Files outside of the package that the recipe's functions stand in."""
        functions = self.entry.functions if self.entry is not None else ()
        files = {fn.__code__.co_filename for fn in functions if hasattr(fn, "__code__")}
        return tuple(sorted(file for file in files if not Path(file).is_relative_to(HOUSE)))

    @property
    def code(self) -> str:
        """The hash of all the code that is there, whatever of it runs."""
        return tree_hash(*self.own_files)


def build(request: RunRequest, typed: Container[str] = ()) -> Built:
    """The recipe that is asked for, checked. Settings that were `typed` for it must change something in it: those of a claim
    are for all of its arms, those of an earlier run are what they were."""
    if isinstance(request.recipe, Recipe | Study):
        if any(x is not None for x in (request.task, request.model, request.reward, request.data)):
            raise UserError(
                "a finished Recipe already has its task, model and reward; pass them to the function that builds it"
            )
        recipe = request.recipe.but(**request.settings) if isinstance(request.recipe, Recipe) else request.recipe
        if isinstance(recipe, Recipe):
            bring_home(recipe)
            for source in [member for _, member in walk(recipe) if isinstance(member, OwnRows)]:
                fit(source, recipe.models.values())
                tell(source, recipe.models.values())
        return Built(label(recipe).lower(), _checked(recipe, request.prepared))
    if not isinstance(request.recipe, str | RecipeEntry):
        raise UserError(
            f"a recipe is a name, a file, a Recipe or a function with @gd.recipe(...) above it, not {request.recipe!r}"
        )
    entry = request.recipe if isinstance(request.recipe, RecipeEntry) else find_recipe(request.recipe)
    task = task_for(entry, request)
    slots = {
        "task": task,
        "model": find_model(request.model),
        "reward": reward_of(entry, request.reward, task),
    }
    fit(task, [slots["model"]])
    judged = slots["reward"] is not None or entry.needs.answers is False  # by a reward, or by the method itself
    if isinstance(task, rows) and not (task.has_answers or hasattr(task, "solution") or judged):
        raise UserError(
            f"{task.title} has no answers: name their column, --answer COL, or give a --reward that needs none"
        )
    if "env" in request.settings and "env" not in entry.knobs():
        raise UserError(f"{entry.name} has no environment to choose, as recipes for control have: leave --env out")
    made = entry.build(slots, request.settings, text=request.text, typed=typed)
    if isinstance(made, Recipe):
        move_home(made, task)
    recipe = _checked(made, request.prepared)
    tell(task, [slots["model"]])
    return Built(entry.name, recipe, task, entry)


def task_for(entry: RecipeEntry, request: RunRequest) -> TaskSource | None:
    """The problems that were asked for, with a model and the rest: all that the recipe needs is there, or it is refused."""
    problems = request.task if request.data is None else request.data
    refuse_untaken(entry, task=problems, model=request.model, reward=request.reward)
    try:
        task = find_task(request.task, request.data, entry.needs.rows)
    except OtherRows as error:
        raise other_rows(entry, error) from error
    if isinstance(task, rows) and not task.size("train"):
        raise UserError(f"{task.name}: --held-out 1 leaves nothing to train on")
    given = [*request.settings, *(["reward"] if request.reward is not None else [])]
    refuse_unmet(entry, task, request.task, request.model, given)
    return task


def _checked(recipe: Recipe | Study, prepared: Mapping[str, str]) -> Recipe | Study:
    """What was made, with the models that were prepared for it by name, in a wording that its model knows."""
    if isinstance(recipe, Recipe):
        recipe.models |= {name: load(folder) for name, folder in prepared.items()}
        asked = recipe.models.get(recipe.seats.get("policy", ""), next(iter(recipe.models.values()), None))
        fit_wordings(recipe, knows_roles(asked))
        recipe.check()
        _check_tries(recipe)
    return recipe


def _check_tries(recipe: Recipe) -> None:
    """Refuse too few tries for a reward that compares those at a problem. A curriculum around another may ask twice."""
    tries = getattr(recipe.curriculum, "tries", None)
    formulas = [stage.formula for stage in recipe.stages if hasattr(stage, "formula")]
    for leaf in (leaf for formula in formulas for leaf in formula.leaves if isinstance(tries, int)):
        if hasattr(leaf, "check_tries"):
            leaf.check_tries(tries)


def find_task(task: Any, data: Any = None, of: Rows = "problems") -> TaskSource | None:
    """A task by name, or rows of one's own, whatever these are."""
    if data is not None:
        if task is not None:
            raise UserError("--task and --data are two sources of problems: give one of them")
        source: rows | RecitedRows = _problems(data) if of == "problems" else _answered(data, of)
        source.open()
        _name_skipped(source, source.skipped, sum(each.bad_count for each in source.open().sets))
        return source
    if is_in_words(task):
        return find_task(None, of_words(task), of)
    if isinstance(task, str) and ".py:" in task:
        return _own_task(task)
    if not isinstance(task, str | TaskSource | None) and not hasattr(task, "exam_asks"):
        raise UserError(f"a task is a name or a source of problems (name, size, get, check), not {cut(repr(task))}")
    return tasks.load(task) if isinstance(task, str) else task


def _problems(data: Any) -> rows | traces:
    """Rows with an answer to find; or the turns of conversations in which tools are called, where these are such."""
    knobs = dict(data) if isinstance(data, Mapping) and "path" in data else {"path": data}
    own = {f.name for f in dataclasses.fields(traces) if f.init}
    return traces(**knobs) if own.issuperset(knobs) and hold_calls(data) else rows_of(data)


def _answered(data: Any, of: Rows) -> RecitedRows:
    """Rows that bring their answers, from what `data=` takes: preferences, or labelled steps."""
    kind: Any = labelled_steps if of == "steps" else preferences
    given = dict(data) if isinstance(data, Mapping) and "path" in data else {"path": data}
    for name in {"answer", "solution", "kind", "check", "system", "template"}.intersection(given):
        raise OtherRows(
            f"--{name} is for problems with an answer to find, and {name_of(given['path'])} is to hold {of}"
        )
    own = {f.name for f in dataclasses.fields(kind) if f.init}
    columns = dict(given.pop("columns", {}))  # by `--prompt` and `--column chosen=better` too
    columns |= {name: given.pop(name) for name in [*given] if name not in own}
    source: RecitedRows = kind(**given, columns=columns, **({"want": "labels"} if of == "labels" else {}))
    return source


def fit(source: Any, models: Iterable[Any]) -> None:
    """Rows of a file that are too long for a model that will see them: refused, or skipped and named, before anything runs."""
    for model in models:
        if isinstance(source, OwnRows) and isinstance(model, Model) and not hasattr(model, "of"):
            bad = source.fit(model)
            _name_skipped(source, bad, len(bad))


def tell(source: Any, models: Iterable[Any]) -> None:
    """What was made of rows of one's own, for the user to look at: columns, check, and where a system message goes."""
    if isinstance(source, RecitedRows):
        for line in source.facts():
            warnings.warn(line, InputNote, stacklevel=3)
    if isinstance(source, rows):
        lines = source.facts()
        chats = [getattr(model, "chat", None) for model in models if isinstance(model, Model)]
        if source.system and not all(getattr(chat, "hears_system", False) for chat in chats):
            lines.append("the model has no place for a system message: it reads it as text before the prompt")
        for line in lines:
            warnings.warn(line, InputNote, stacklevel=3)


def _name_skipped(source: OwnRows, bad: Sequence[str], count: int) -> None:
    if bad:
        message = f"{source.title}: skipped {count} bad rows ({first_of(bad, SHOWN_BAD, total=count)})"
        warnings.warn(message, Notice, stacklevel=3)


def _own_task(spec: str) -> TaskSource:
    """A family from a file of the user's: FILE.py:NAME or FILE.py:NAME:LEVEL."""
    path, _, rest = spec.partition(".py:")
    name, _, level = rest.partition(":")
    family = find_in_file(f"{path}.py:{name}", "task")
    if level and not level.isdigit():
        raise UserError(f"task level must be a whole number, not {level!r}")
    source = family(level=int(level)) if level else family()
    if not isinstance(source, TaskSource):
        raise UserError(f"{spec} is not a task: it needs name, size, get and check (docs/your_own_task.md)")
    return source


def find_model(model: Any) -> Model | None:
    """A model by name or folder; a finished run's folder means the policy it trained."""
    if isinstance(model, Run):
        raise UserError(f"{model.folder.named} is a run: its policy is run.model(), or its folder's name")
    if not isinstance(model, str | Model | None):
        raise UserError(f"a model is a name, a folder or a model (guerdon list models), not {cut(repr(model))}")
    if not isinstance(model, str):
        return model
    run = RunFolder(model)
    return load(str(_policy_of(run)) if run.exists() else model)


def _policy_of(run: RunFolder) -> Path:
    if run.read_config()["kind"] == "study":
        raise UserError(f"{run.named} is a study: name one of the runs in {run.shown(run.inner)}")
    policy = run.models / "policy"
    if not policy.is_dir():
        others = sorted(run.shown(each.parent) for each in run.models.glob("*/model.json"))
        fix = f"name {' or '.join(others)}" if others else f"finish the run first, {resume_command(run)}"
        raise UserError(f"{run.named} has no trained policy: {fix}")
    if manifest_owner(policy, MODEL_SUMS) not in ("", run.run_id()):
        raise Damaged(f"{run.shown(policy)} is the model of another run: put the model of this run back")
    return policy


def reward_of(entry: RecipeEntry, wanted: Any, task: TaskSource | None) -> Any:
    """A reward of env steps, for a recipe that takes an environment; of text for others."""
    return as_step_reward(wanted) if "env" in entry.knobs() else reward_for(wanted, task)


def reward_for(wanted: Any, task: TaskSource | None) -> Any:
    """A reward by name, or as it is; refused where it asks for what the task's problems do not have."""
    chosen = find_reward(wanted) if isinstance(wanted, str) else wanted
    if chosen is not None and task is not None:
        for leaf in as_reward(chosen).leaves:
            leaf.check_arguments(task.get("train" if task.size("train") != 0 else "test", 0).meta)
    return chosen


def config_of(built: Built, request: RunRequest, seed: int, steps: int, options: Options) -> dict[str, Any]:
    """`run.json`: everything that says what this run is."""
    parts = describe(built.recipe)
    return {
        "format": FORMAT,
        "id": secrets.token_hex(16),
        "recipe": request.recipe if isinstance(request.recipe, str) else built.name,
        "kind": "study" if isinstance(built.recipe, Study) else "recipe",
        "hash": fingerprint(parts),
        "code": built.code,
        "seed": seed,
        "steps": steps,
        "budget": knobs(built.recipe.budget) if built.recipe.budget else None,
        **request.to_config(),
        "options": options.to_config(),
        "parts": parts,
        "rewards": _rewards(built.recipe),
        "flow": _flow(built.recipe),
        "models": model_facts(built.recipe),
        "versions": versions(),
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "clock": clock.begun(),
    }


def _rewards(recipe: Recipe | Study) -> dict[str, dict[str, str]]:
    """The rewards of a recipe by the column they give, each as a formula and its version."""
    stages = [s for s in recipe.stages if isinstance(s, score)] if isinstance(recipe, Recipe) else []
    return {s.gives_to: {"formula": str(s.reward), "version": s.reward.version} for s in stages}


def _flow(recipe: Recipe | Study) -> list[dict[str, Any]]:
    """The stages of a recipe in their order: what each does, and which columns it needs and gives."""
    stages = recipe.stages if isinstance(recipe, Recipe) else []
    return [{"shelf": shelf_of(s), "needs": [*map(str, s.needs)], "gives": [*map(str, s.gives)]} for s in stages]


def model_facts(recipe: Recipe | Study) -> dict[str, dict[str, Any]]:
    """The language models of a recipe by name: what type of number, device and size they turned out to have."""
    known = recipe.models.items() if isinstance(recipe, Recipe) else ()
    return {name: model.facts() for name, model in known if hasattr(model, "facts")}


def versions() -> dict[str, Any]:
    """What bit-exact resume depends on, and what a reader wants to know."""
    import numpy
    import torch

    return {
        "guerdon": guerdon.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "processor",
    }


def run_name(name: str, request: RunRequest) -> str:
    """What the folder of a run is called where nothing is said: a number follows."""
    given = request.knobs_of_data
    what = request.task if isinstance(request.task, str) else name_of(given["path"]) if given else ""
    return "-".join(x for x in (Path(name).stem, str(what).replace(":", "-").replace(os.sep, "-")) if x)


BEGIN = "rows of "
NUMBERS, FLAGS = ("held_out",), ("skip_bad",)  # settings other than text


def in_words(data: Mapping[str, Any]) -> str:
    """What `data=` says about a file, in words.

    >>> in_words({"path": "my sums.csv", "check": "number", "held_out": 0.2})
    "rows of 'my sums.csv' check=number held_out=0.2"
    """
    settings = [shlex.quote(f"{name}={value}") for name, value in data.items() if name != "path"]
    return BEGIN + " ".join([shlex.quote(str(data["path"])), *settings])


def is_in_words(task: Any) -> bool:
    return isinstance(task, str) and task.startswith(BEGIN)


def of_words(task: str) -> dict[str, Any]:
    """What the words say.

    >>> of_words("rows of 'my sums.csv' check=number held_out=0.2")
    {'path': 'my sums.csv', 'check': 'number', 'held_out': 0.2}
    """
    path, *settings = shlex.split(task.removeprefix(BEGIN)) or [""]
    said: dict[str, Any] = {"path": path}
    for word in settings:
        name, equals, value = word.partition("=")
        if not equals:
            raise UserError(f"rows are named as `rows of FILE check=number`, not {task!r}")
        said[name] = float(value) if name in NUMBERS else True if name in FLAGS else value
    return said
