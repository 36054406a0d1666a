"""The front door in Python: `train`, `evaluate`, `best_of`.

The command line is a thin coat over these. A run that is resumed keeps the settings that may not change, and says what changed
without being asked for.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guerdon.core.arguments import check_arguments
from guerdon.core.budget import NO_END, Budget
from guerdon.core.errors import InputNote, UserError, spelled
from guerdon.core.exam_result import ExamResult
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.packages import with_brought
from guerdon.core.part import handles, set_knob
from guerdon.core.recipe import Recipe, Study
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, Task
from guerdon.core.wordings import fit_wordings
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.exams.best_of_n import best_of as choice
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy, answer_length, tokens_spent
from guerdon.exams.rewards_given import mean_reward
from guerdon.models import template_clock as clock
from guerdon.models.model_facts import knows_roles
from guerdon.models.trained_folders import opened_scorer
from guerdon.runs.folder import FORMAT, RunFolder, next_free, written_by
from guerdon.runs.listeners import Listener
from guerdon.runs.run import Run
from guerdon.runs.whole_files import absolute
from guerdon.training.build import (
    Built,
    RunRequest,
    build,
    config_of,
    find_model,
    find_task,
    fit,
    model_facts,
    reward_for,
    run_name,
    tell,
    versions,
)
from guerdon.training.catalog import listings
from guerdon.training.default_model import about_default, default_model
from guerdon.training.evaluate import examined
from guerdon.training.extended import BEGUN, inherit, refuse_extension
from guerdon.training.homes import played_in
from guerdon.training.loop import run_recipe
from guerdon.training.onlooker import CountedEnv, counted, watched
from guerdon.training.record import Options
from guerdon.training.resume import Trained, policy_so_far
from guerdon.training.study import run_study
from guerdon.training.train_request import STEPS, Origin, TrainRequest, rerun
from guerdon.training.trust import check_trust, remember
from guerdon.training.truth_column import VERIFIED, truth_column


def train(
    recipe: str | Recipe | Study | Any = None,
    *,
    task: Any = None,
    model: Any = None,
    reward: Any = None,
    data: Any = None,
    steps: int | None = None,
    budget: str | Budget | None = None,
    seed: int | None = None,
    out: str | Path | None = None,
    resume: str | Path | None = None,
    again: str | Path | None = None,
    options: Options | None = None,
    truth: Any = None,
    watch: bool | Sequence[Any] | None = None,
    workers: int | str | None = None,
    listeners: Sequence[Listener] = (),
    settings: Mapping[str, Any] | None = None,
    text: bool = False,
    trust: bool = False,
    progress: bool | None = None,
    **more: Any,
) -> Trained:
    """Train a recipe and return the run.

    `recipe` is a name, a file, a `Recipe` or a `Study`; `task` and `model` are names or objects; `reward` a function or
    FILE.py:FUNCTION; `data` problems of your own: a file, a list of dictionaries, a data set, or one of them with settings,
    `{"path": "my.csv", "check": "number"}` (docs/your_own_data.md). Without a model a task is learned by `sprig`, which comes
    with the package. Further keywords are the recipe's knobs; dotted ones go in `settings` (`{"learn.clip": 0.5}`). With a
    `budget` (400_000 tokens: "400000"; "5000:samples") the run ends when it is spent. `resume` continues an earlier run of the
    same recipe; one that names Python files and was not made by this user on this computer with `trust` alone. `again` is an
    earlier run to rerun with the changes given here; more `steps` alone extend a finished one from where it ended with the
    weights of one unbroken run. A `truth`, "verified" for the task's own check or what `reward` takes, scores the same tries
    and is never trained on; `watch` raises alarms, by all rules or those listed (docs/watch.md). Ctrl-C, or a notebook's stop
    button, finishes the step and returns the run as far as it came; a second one ends it at once.

    Args:
        recipe: a name, a file, a `Recipe` or a `Study`.
        task: where problems come from.
        model: a name, a folder or an object; `sprig` by default.
        reward: a reward, a function, or FILE.py:NAME.
        data: problems of your own in place of a task.
        steps: length of the run.
        budget: ends the run when spent: "400000" tokens, "5000:samples".
        seed: of everything random.
        out: folder of the run.
        resume: folder of an earlier run to continue.
        again: earlier run to rerun with changes, or to extend by more steps.
        options: how the run is kept.
        truth: scorer of the same samples that is not trained on.
        watch: rules that raise alarms.
        workers: processes that play the episodes, which changes no weights: a number, "ray" or "ray://HEAD:10001".
        listeners: receive every event.
        settings: dotted knobs by name.
        text: values of settings are text from a command line, to be parsed.
        trust: run Python files that a resumed run names.
        progress: show progress; by default on a terminal, in IPython and in a notebook.
        more: knobs of the recipe.

    >>> import tempfile
    >>> import guerdon as gd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run = gd.train("grpo", task="successor", model="tabular", steps=2, lr=0.3, out=f"{folder}/run")
    ...     run.status, run.steps_done, gd.evaluate(run.model(), task="successor", tasks=8)["task"]
    ('complete', 2, 'successor')
    """
    check_arguments("gd.train", train, locals(), data='{"path": "my.jsonl"}', budget='"400000"')
    here = absolute("")  # before code of the user's runs, which may go elsewhere
    listeners = (*listeners, *watched(progress))
    request = RunRequest(recipe, task, model, reward, data, {**(settings or {}), **more}, text)
    said = {"truth": truth, "watch": watch, "workers": workers}
    options = _watching(options, said, resume if resume is not None else again)
    if resume is not None:
        if budget is not None:
            raise UserError(f"{resume} keeps the budget it was started with: leave it out to resume")
        if again is not None:
            raise UserError("--resume continues a run, --again reruns it: give one of them")
        return _resume(RunFolder(resume), request, steps, seed, options, listeners, trust)
    wanted = TrainRequest.of(request, steps, budget, seed, options)
    ready = prepare(*(rerun(RunFolder(again), wanted, trust) if again is not None else (wanted, None)))
    with _claimed(out, run_name(ready.built.name, ready.request), here) as folder:
        folder.create(ready.config)
        notes = [*_skipped_rows(ready.built), *remember(ready.config, here)]
        if ready.parent is not None:
            earlier = ready.parent.read_config()
            notes += inherit(ready.parent, folder, ready.options.keep)
            notes += [*other_code(earlier, ready.built), *other_machine(earlier)]
        return _go(ready.built, folder, ready.options, ready.seed, ready.total, listeners, notes)


def _watching(options: Options | None, said: Mapping[str, Any], earlier: str | Path | None) -> Options | None:
    """How a run is kept, with what is said of watching it and who plays; an `earlier` run is kept as it was but for that."""
    said = {name: value for name, value in said.items() if value is not None}
    if not said:
        return options
    if options is None:
        options = (
            Options() if earlier is None else Options.of_config(RunFolder(earlier).read_config(), said.get("truth"))
        )
    return replace(options, **said)


@dataclass(frozen=True)
class Ready:
    """A run that could begin: all is built and checked, nothing is written."""

    built: Built
    request: RunRequest
    total: int
    seed: int
    options: Options
    config: dict[str, Any]
    parent: RunFolder | None = None  # the run that it extends


def prepare(wanted: TrainRequest, origin: Origin | None = None) -> Ready:
    """Build what is asked for, up to its run.json. `origin` is the run that it repeats."""
    if wanted.run.recipe is None:
        raise UserError("train what? give a recipe: guerdon list recipes")
    request = wanted.run
    if isinstance(request.recipe, str):
        request = replace(request, recipe=spelled(request.recipe, with_brought("recipes", listings())))
    if request.model is None and (default := default_model(request.recipe, request.task, request.data)) is not None:
        warnings.warn(about_default(default), InputNote, stacklevel=3)
        request = replace(request, model=default)
    typed = [n for n in request.settings if origin is None or f"--set {n}" in origin.changes]
    built = build(request, typed)
    if (
        wanted.steps is not None
        and wanted.steps >= 0
        and isinstance(built.recipe, Study)
        and STEPS in built.recipe.settings
    ):
        request = replace(
            request, settings={**request.settings, STEPS: str(wanted.steps) if request.text else wanted.steps}
        )
        built, wanted = build(request, typed), replace(wanted, steps=None)  # those of each of its runs
    total = set_length(built, wanted.steps, wanted.budget)
    options, seed = wanted.options or Options(), wanted.seed or 0
    exams = built.recipe.exams if isinstance(built.recipe, Recipe) else []
    if not getattr(built.task, "has_held_out_answers", True) and not all(exam.goes_without_truth for exam in exams):
        options = replace(options, eval_tasks=0)  # held-out rows without answers: there is no accuracy
    if (
        isinstance(built.recipe, Recipe) and truth_column(options.truth, built.recipe) is not None
    ):  # or it is refused here
        reward_for(None if options.truth == VERIFIED else options.truth, built.task)
    config = config_of(built, request, seed, total, options)
    if origin is None:
        return Ready(built, request, total, seed, options, config)
    config["again"] = origin.to_config()
    if not origin.done:
        return Ready(built, request, total, seed, options, config)
    parent = RunFolder(origin.run)
    assert isinstance(built.recipe, Recipe)
    refuse_extension(parent, built.recipe, total)
    refuse_other_base(parent.named, parent.read_config(), built)
    return Ready(
        built,
        request,
        total,
        seed,
        options,
        config | {k: v for k, v in parent.read_config().items() if k in BEGUN},
        parent,
    )


@contextmanager
def _claimed(out: str | Path | None, stem: str, here: Path) -> Iterator[RunFolder]:
    """The folder of a new run, this process's alone: the one that was asked for, or the next free one."""
    if out is None:
        with next_free(Path("runs"), stem, here) as folder:
            yield folder
        return
    folder = RunFolder(out, here)
    with folder.claim():
        yield folder


def set_length(built: Built, steps: int | None, budget: Budget | None = None) -> int:
    """How long a run is, is part of a recipe, for schedules span the run. With a budget the steps are only the most there may
    be. A study receives its budget."""
    if steps is not None and steps < 0:
        raise UserError(f"--steps must be at least 0, not {steps}")
    if isinstance(built.recipe, Study):
        if steps is not None:
            raise UserError(f"{built.name} {_length_of(built)}; leave --steps out")
        built.recipe.budget = budget
        return 0
    if steps is not None:
        built.recipe.steps = steps
    elif budget is not None:
        built.recipe.steps = NO_END
    built.recipe.budget = budget
    return built.recipe.steps


def _length_of(built: Built) -> str:
    """What decides how long a study without a knob for it is."""
    needs = built.entry.needs if built.entry is not None else Needs()
    if needs.world:
        return f"has a fixed world ({needs.world}), and its length is fixed or set by its knobs (guerdon show {built.name})"
    return "is a study and decides how long its runs are"


def _go(
    built: Built,
    folder: RunFolder,
    options: Options,
    seed: int,
    total: int,
    listeners: Sequence[Listener],
    warnings: Sequence[str],
) -> Trained:
    if isinstance(built.recipe, Study):
        run_study(built.recipe, folder, options, seed, listeners, warnings)
    else:
        run_recipe(built.recipe, folder, options, seed, total, listeners, warnings)
    return Trained(folder, built.recipe)


def _skipped_rows(built: Built) -> list[str]:
    """Rows of a data file that were left out because the user said so: the run remembers which."""
    return [f"skipped: {why}" for why in getattr(built.task, "skipped", None) or ()]


def _resume(
    folder: RunFolder,
    request: RunRequest,
    steps: int | None,
    seed: int | None,
    options: Options | None,
    listeners: Sequence[Listener],
    trust: bool,
) -> Trained:
    config = folder.read_config()
    if config.get("format", FORMAT) != FORMAT:
        raise UserError(
            f"{folder.named} was started with guerdon {written_by(config)}, in format {config['format']} of run folders; this"
            f" one reads it but can resume only format {FORMAT}: start a new run with --out"
        )
    refuse_conflicts(folder.named, config, request, steps, seed)
    check_trust(folder.named, config, trust)
    if config["plain"]:
        request = RunRequest.of_config(config)
    elif request.recipe is None:
        raise UserError(f"{folder.named} was started from Python objects: resume it with gd.train(recipe, resume=...)")
    try:
        built = build(request)
    except UserError as error:
        raise base_gone(folder.named, config) or error from error
    refuse_other_base(folder.named, config, built)
    budget = Budget(**config["budget"]) if config.get("budget") else None
    set_length(built, config["steps"] if isinstance(built.recipe, Recipe) else None, budget)
    if built.recipe.hash != config["hash"]:
        raise UserError(
            f"{folder.named} was started with another version of this recipe, its data or its reward;"
            " start a new run with --out"
        )
    options = options or Options.of_config(config)
    notes = [*other_code(config, built), *other_machine(config)]
    return _go(built, folder, options, config["seed"], config["steps"], listeners, notes)


def evaluate(
    model: Any,
    *,
    task: Any = None,
    data: Any = None,
    reward: Any = None,
    exam: Exam | Sequence[Exam] | None = None,
    env: Any = None,
    models: Mapping[str, Any] | None = None,
    tasks: int = 64,
    tries: int = 1,
    seed: int = 0,
    sampling: Sampling | None = None,
    trust: bool = False,
    progress: bool | None = None,
) -> ExamResult:
    """Held-out accuracy of a model (a name, a folder, an object, or a run's policy) on a task; or whatever an `exam`, or
    each of several, measures. With a `reward` (as `train` takes it) its mean on the same tries stands beside. In an `env`, such
    as `gd.search.beam(keep="chosen")`, every problem is played there, and `tokens` is what a try cost (docs/search.md).
    `models` are others that exams, rewards and searches seat or read, by the names they have for them; a run's folder means
    the policy that it trained, or its reward model; of one that was stopped, the policy of its last checkpoint. A guide of
    `sampling` that is not among them is named as `model` is. `progress` is shown on a terminal, in IPython and in a notebook,
    unless set.

    Args:
        model: a name, a folder, an object, or a run's policy.
        task: where the held-out problems come from.
        data: problems of your own in place of a task.
        reward: its mean is measured on the same tries.
        exam: what to measure in place of accuracy, one exam or several.
        env: environment in place of the default one.
        models: other models that exams, rewards and searches use, by name.
        tasks: number of problems.
        tries: tries at each problem.
        seed: of sampling.
        sampling: how the model samples.
        trust: run Python files that a stopped run names.
        progress: show progress; by default on a terminal, in IPython and in a notebook.

    >>> import guerdon as gd
    >>> result = gd.evaluate("sprig", task="chain:1", tasks=8, sampling=gd.Sampling(temperature=0.0))
    >>> result["task"], result["tasks"], result["tries"], result["pass@1"]
    ('chain', 8, 1, 1.0)
    """
    check_arguments("gd.evaluate", evaluate, locals(), data='{"path": "my.jsonl"}', exam="gd.Exam(task)")
    source = find_task(task, data)
    exams = [exam] if isinstance(exam, Exam) else list(exam or ())
    if (source is None) == (not exams):
        raise UserError("evaluate on what? give a task, or an exam")
    if source is not None:
        exams = [Exam(source, [*_measures(source, reward), *([tokens_spent()] if env is not None else [])])]
    named: dict[str, Model] = {}
    guides = {name: name for name, _ in sampling.guides if name != "policy"} if sampling is not None else {}
    for name, wanted in {"policy": model, **guides, **(models or {})}.items():
        loaded = _scorer_of(wanted) if name != "policy" else None
        named[name] = loaded or policy_of(wanted, trust)
    if env is not None:
        env = copy.copy(env)  # the caller's keeps its wordings
        fit_wordings(env, knows_roles(named["policy"]))
    how = {"sampling": sampling or Sampling(), "tasks": tasks, "tries": tries}
    with clock.as_of(_config_of(model)), counted("tries", progress) as count:
        for each in exams:
            fit(each.source, named.values())
            tell(each.source, named.values())
        return ExamResult(examined(named, exams, CountedEnv(played_in(source, env), count), seed, **how))


def with_task_knobs(
    task: Any, data: Any, settings: Mapping[str, str], trained: Mapping[str, Any]
) -> tuple[Any, dict[str, str]]:
    """The problems with their own knobs set, those that a run was trained with first, and the settings that are left. Without
    any it is the name of the task."""
    if not settings and not trained:
        return task, {}
    exam = Exam(find_task(task, data))
    there = handles(exam, aliases=True)
    own = {name: value for name, value in settings.items() if name.partition(".")[0] in there}
    for name, value in {**{n: v for n, v in trained.items() if n.partition(".")[0] in there}, **own}.items():
        set_knob(exam, name, value, text=isinstance(value, str))
    return exam.source, {name: value for name, value in settings.items() if name not in own}


def policy_of(wanted: Any, trust: bool = False) -> Model:
    """A model by name or folder, or a run's policy, so far where it was stopped."""
    loaded = _policy_so_far(wanted, trust) or find_model(wanted)
    assert isinstance(loaded, Model)
    return loaded


def _policy_so_far(place: Any, trust: bool) -> Model | None:
    """The policy of a run that was stopped, from its last checkpoint, with a line about it."""
    run = RunFolder(place) if isinstance(place, str) else None
    if run is None or not run.exists() or (run.models / "policy").is_dir() or run.read_config()["kind"] == "study":
        return None
    so_far = policy_so_far(run, trust)
    if so_far is None:
        return None
    model, done = so_far
    message = f"{run.named} is {Run(run).status}: its policy after {done} steps is used, from its last checkpoint"
    warnings.warn(message, InputNote, stacklevel=3)
    return model


def _scorer_of(place: Any) -> Model | None:
    """The reward model of a run that trained no policy."""
    run = RunFolder(place) if isinstance(place, str) else None
    return (
        opened_scorer(place)[0] if run is not None and run.exists() and not (run.models / "policy").is_dir() else None
    )


def _measures(source: Any, reward: Any) -> list[Any]:
    """What is measured of held-out tries: accuracy, where there are answers, and what a reward gives."""
    has_answers = getattr(source, "has_held_out_answers", True)
    if reward is None and not has_answers:
        where = " in its held-out rows" if getattr(source, "has_answers", False) else ""
        raise UserError(
            f"{source.title} has no answers{where}: name their column, --answer COL, or give a --reward to measure by"
        )
    rates = [accuracy(), answer_length()] if has_answers else [answer_length()]
    return rates if reward is None else [*rates, mean_reward(reward_for(reward, source))]


def _config_of(model: Any) -> dict[str, Any] | None:
    """For a model named by its run: it is given the time of day that it was trained with."""
    folder = RunFolder(model) if isinstance(model, str) else None
    return folder.read_config() if folder is not None and folder.exists() else None


def best_of(
    model: Any,
    reward: Any,
    *,
    task: Any = None,
    data: Any = None,
    n: int = 4,
    models: Mapping[str, Any] | None = None,
    tasks: int = 64,
    seed: int = 0,
    sampling: Sampling | None = None,
    trust: bool = False,
    progress: bool | None = None,
) -> ExamResult:
    """Accuracy on held-out problems of the try that `reward` likes best among `n`, beside pass@1 and pass@n of the same tries:
    an exam with the metrics `accuracy` and `best_of`. The reward is one, or is named as `--reward` names it:
    `best_of("sprig", "runs/reward_model-countdown-2-001", task="countdown:2")`. `models` are those that it reads, by the names
    it has for them: `gd.outcome_model("rm")` with `models={"rm": run.model("rm")}`.

    Args:
        model: a name, a folder, an object, or a run's policy.
        reward: what selects the try.
        task: where the held-out problems come from.
        data: problems of your own in place of a task.
        n: tries at each problem.
        models: models that the reward reads, by name.
        tasks: number of problems.
        seed: of sampling.
        sampling: how the model samples.
        trust: run Python files that a stopped run names.
        progress: show progress; by default on a terminal, in IPython and in a notebook.

    >>> import guerdon as gd
    >>> result = gd.best_of("sprig", gd.majority(), task="chain:2", n=2, tasks=4)
    >>> [name for name in result if name.endswith("@2")]
    ['pass@2', 'best_of@2']
    """
    check_arguments("gd.best_of", best_of, locals())
    source = find_task(task, data)
    if source is None or n < 1:
        raise UserError("best of what? give a task, and n of at least 1")
    if not getattr(source, "has_held_out_answers", True):
        title = getattr(source, "title", source.name)
        raise UserError(
            f"best_of@{n} is how often the chosen try is right, and {title} has no held-out answers: name their column,"
            " --answer COL, or leave --best-of out"
        )
    exam = Exam(source, [accuracy(), choice(reward_for(reward, source))], tries=n)
    how: dict[str, Any] = {"sampling": sampling, "trust": trust, "progress": progress}
    return evaluate(model, exam=exam, models=models, tasks=tasks, seed=seed, **how)


def answers(model: Model, tasks: Sequence[Task], *, sampling: Sampling | None = None, seed: int = 0) -> list[str]:
    """What a started model says to each task, once. The same seed gives two models the same luck."""
    play = Player(
        {"policy": model}, {"policy": "policy"}, single_turn(), sampling or Sampling(), derive(seed, "answers"), 1
    )
    return [episode.segments[-1].text for episode in play([Ask(task) for task in tasks])]


def other_machine(config: Mapping[str, Any]) -> list[str]:
    """What differs from where the run began, as far as it can change the last bit of a result."""
    then, now = config["versions"], versions()
    kinds = ("torch", "threads", "machine")
    differ = [f"{k} {then.get(k)} then, {now[k]} now" for k in kinds if then.get(k) != now[k]]
    return [f"resumed elsewhere, so the result may differ in the last bits: {'; '.join(differ)}"] if differ else []


def other_code(config: Mapping[str, Any], built: Built) -> list[str]:
    """What differs from the code that the run began with."""
    then, now = config.get("code"), built.code
    differ = f"code {then} then, {now} now"
    return [f"resumed with other code than it began with, so the result may differ: {differ}"] if then != now else []


def base_gone(path: str, config: Mapping[str, Any]) -> UserError | None:
    """Why a run cannot resume that trains an adapter of a model which was moved or removed."""
    for place, _ in _bases(config.get("models")).values():
        if not Path(place).exists():
            return UserError(f"{path} trains an adapter of the model in {place}, which is not there: put it back")
    return None


def refuse_other_base(path: str, config: Mapping[str, Any], built: Built) -> None:
    """An adapter is trained over the weights that it began with: they are not in the run."""
    now = _bases(model_facts(built.recipe))
    for name, (place, then) in _bases(config.get("models")).items():
        if name not in now or now[name][1] != then:
            raise UserError(
                f"{path} trains an adapter of the model in {place}, whose weights have changed: restore the ones that it began"
                " with, or start a new run with --out"
            )


def _bases(models: Any) -> dict[str, tuple[str, str]]:
    """Where the weights below adapters lie, and their hashes, by model."""
    known = models.items() if isinstance(models, dict) else ()
    return {name: (str(facts["base"]), facts.get("base_hash", "")) for name, facts in known if "base" in facts}


def refuse_conflicts(
    path: str, config: Mapping[str, Any], request: RunRequest, steps: int | None, seed: int | None
) -> None:
    """A run resumes as it was started: options that are given again must be the same. What Python objects say is in the
    hash."""
    named = {"recipe": request.recipe, "--task": request.task, "--model": request.model, "--reward": request.reward}
    kept_data = config["data"] or {}
    said_data = {k: v for k, v in request.knobs_of_data.items() if isinstance(v, bool | int | float | str)}
    values: dict[str, tuple[Any, Any]] = {
        "--steps": (steps, config["steps"]),
        "--seed": (seed, config["seed"]),
        **{
            flag: (value, config["recipe"] if flag == "recipe" else config["wish"][flag.removeprefix("--")])
            for flag, value in named.items()
            if isinstance(value, str)
        },
        **{
            "--data" if k == "path" else f"--{k.replace('_', '-')}": (v, kept_data.get(k)) for k, v in said_data.items()
        },
    }
    if isinstance(request.recipe, str | None):
        values |= {f"--set {k}": (v, config["settings"].get(k)) for k, v in request.settings.items()}
    for flag, (now, kept) in values.items():
        if now is not None and _value(now) != _value(kept):
            start = f"with {flag} {kept}, not {now}" if kept is not None else f"without {flag}"
            raise UserError(f"{path} was started {start}: leave it out to resume, or start a new run with --out")


def _value(value: Any) -> Any:
    """`0.01` on a command line and 0.01 in Python are the same value."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
