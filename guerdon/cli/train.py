"""`guerdon train`: train a recipe or resume a run, and report the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from guerdon.cli.before_training import name_model, tell_again, tell_dry_run
from guerdon.cli.options import (
    DATA_OPTIONS,
    Again,
    Budget,
    DryRun,
    Environment,
    EvalEvery,
    EvalTasks,
    EvalTries,
    FailedLimit,
    Json,
    Keep,
    Log,
    Model,
    Out,
    Resume,
    Reward,
    RolloutsEvery,
    SaveEvery,
    Seed,
    Settings,
    Steps,
    StopOnAlarm,
    Task,
    Trust,
    Truth,
    Watch,
    Workers,
    parse_settings,
    takes_data,
)  # fmt: skip
from guerdon.cli.output import Output, alarm_facts, alarms_in_words, cost, exam_lines
from guerdon.cli.typed_names import refuse_typos
from guerdon.core.errors import CtrlC, UserError

if TYPE_CHECKING:
    from guerdon.runs.run import Run
    from guerdon.training.record import Options

INTERRUPTED = 130  # what a shell reports of a program ended by Ctrl-C


# the options of the verb as its help groups them; the others come last
GROUPS = {
    "What to train": ("task", "model", "reward", "env", "settings"),
    "Your data": tuple(DATA_OPTIONS),
    "Length": ("steps", "budget", "seed", "workers"),
    "Keeping": ("out", "resume", "again", "save_every", "keep", "rollouts_every", "trust"),
    "Watching": (
        "eval_every", "eval_tasks", "eval_tries", "failed_limit", "truth", "watch", "stop_on_alarm", "log", "dry_run",
        "as_json",
    ),
}  # fmt: skip


class InGroups(TyperCommand):
    """A verb whose help has its options by `GROUPS`."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        told = {param.name: param.get_help_record(ctx) for param in self.get_params(ctx)}
        grouped = [name for names in GROUPS.values() for name in names]
        others = [name for name in told if name not in ("recipe", *grouped)]
        for title, names in {"Arguments": ("recipe",), **GROUPS, "Other": others}.items():
            with formatter.section(title):
                formatter.write_dl([record for name in names if (record := told[name]) is not None])


class TakenAtOnce(UserError):
    """Interrupted without the step being finished."""

    exit_code = INTERRUPTED


@takes_data
def train(
    recipe: Annotated[
        str | None, typer.Argument(metavar="RECIPE", help="A recipe or a file: ./mine.py[:NAME].")
    ] = None,
    task: Task = None,
    model: Model = None,
    rows: Any = None,
    reward: Reward = None,
    env: Environment = None,
    steps: Steps = None,
    budget: Budget = None,
    seed: Seed = None,
    settings: Settings = None,
    out: Out = None,
    resume: Resume = None,
    again: Again = None,
    dry_run: DryRun = False,
    trust: Trust = False,
    save_every: SaveEvery = None,
    keep: Keep = None,
    rollouts_every: RolloutsEvery = None,
    eval_every: EvalEvery = None,
    eval_tasks: EvalTasks = None,
    eval_tries: EvalTries = None,
    failed_limit: FailedLimit = None,
    truth: Truth = None,
    watch: Watch = None,
    stop_on_alarm: StopOnAlarm = None,
    log: Log = None,
    workers: Workers = None,
    as_json: Json = False,
) -> int:
    """Train a recipe on a task, resume a run, or rerun one with changes.

    Ctrl-C finishes the step, saves, and prints the command to resume. The same command and seed give the same weights,
    interrupted or not.
    """
    output = Output(as_json)
    keeping = {
        "save_every": save_every, "keep": keep, "rollouts_every": rollouts_every, "eval_every": eval_every,
        "eval_tasks": eval_tasks, "eval_tries": eval_tries, "failed_limit": failed_limit,
        "loggers": tuple(log) if log else None, "truth": truth, "watch": watch, "stop_on_alarm": stop_on_alarm,
        "workers": workers,
    }  # fmt: skip
    if resume is not None and out is not None:
        raise UserError("a run is resumed in its own folder: remove --resume or --out")
    chosen = [*(settings or ()), *([f"env={env}"] if env is not None else ())]
    request = {
        "recipe": recipe, "task": task, "model": model, "reward": reward, "data": rows, "steps": steps, "budget": budget,
        "seed": seed,
        "out": out, "resume": resume, "again": again, "settings": parse_settings(chosen), "text": True, "trust": trust,
    }  # fmt: skip
    said = {k: v for k, v in keeping.items() if v is not None}
    if again is not None:
        tell_again(output, request, _options(said, again))
    elif resume is None:
        refuse_typos(recipe, task, model, reward)
        name_model(output, request)
    if dry_run:
        return tell_dry_run(output, request, _options(said, again))
    return _train(output, request, said)


def _train(output: Output, request: dict[str, Any], keeping: dict[str, Any]) -> int:
    from guerdon.cli.progress import Watch as Onlooker
    from guerdon.training import api

    resume = request["resume"]
    was_complete = resume is not None and _is_complete(resume)
    try:
        with Onlooker(output.console) as onlooker:
            run = api.train(**request, options=_options(keeping, resume or request["again"]), listeners=[onlooker])
    except CtrlC as error:  # the second Ctrl-C, or one before the first step
        raise TakenAtOnce(_what_is_left(resume or request["out"])) from error
    if not output.as_json:
        _tell(output, run, was_complete)
    output.finish(summary(run) | {"was_complete": was_complete})
    return 0 if run.complete else INTERRUPTED


def _what_is_left(path: str | None) -> str:
    from guerdon.runs.folder import RunFolder, resume_command

    if path is None or not RunFolder(path).exists():
        return "interrupted at once"
    return f"interrupted at once; saved state is intact, resume with: {resume_command(RunFolder(path))}"


def _is_complete(path: str) -> bool:
    from guerdon.runs.run import Run

    return Run(path).status == "complete"


def _options(keeping: dict[str, Any], earlier: str | None) -> Options | None:
    """Options about keeping the run, over those of an earlier one. None: no option was given."""
    from guerdon.core.part import knobs
    from guerdon.runs.folder import RunFolder
    from guerdon.training.record import Options

    if not keeping:
        return None
    before = knobs(Options.of_config(RunFolder(earlier).read_config())) if earlier is not None else {}
    return Options(**{**before, **keeping})


def summary(run: Run) -> dict[str, Any]:
    """A run in one object: what `train --json` and `show RUN --json` print."""
    from guerdon.runs.folder import resume_command

    headline = run.headline
    return {
        "run": run.folder.named,
        "recipe": run.name,
        "headline": None if headline is None else headline.to_json(),
        "status": run.status,
        "steps_done": run.steps_done,
        "steps": run.config["steps"],
        "seed": run.config["seed"],
        "hash": run.config["hash"],
        "weights": run.weights,
        "spent": run.spent,
        "evaluations": run.evaluations,
        "failures": run.failures,
        "unreadable": {name: {"unreadable": lost, "asked": asked} for name, (lost, asked) in run.unreadable.items()},
        "warnings": run.warnings,
        "alarms": [alarm_facts(alarm) for alarm in run.alarms],
        "damage": run.damage,
        "report": run.folder.shown(run.folder.report) if run.folder.report.is_file() else None,
        "resume": None if run.status == "complete" else resume_command(run.folder),
    }


def _tell(output: Output, run: Run, was_complete: bool) -> None:
    """The end of a training, for people."""
    result = summary(run)
    if was_complete:
        output.say(f"{run.folder.named} is already complete: nothing to do")
    shown = {**results(run), "spent": cost(result["spent"]), "weights": result["weights"]}
    shown |= {
        "alarms": alarms_in_words(run.alarms),
        "run": result["run"],
        "report": result["report"],
        "damage": "\n".join(result["damage"]),
    }
    output.pairs({k: v for k, v in shown.items() if v})
    if result["resume"]:
        output.say(f"{result['status']} after {run.progress}; resume with:")
        output.say(f"  {result['resume']}")


def results(run: Run) -> dict[str, str]:
    """The headline, before and after; and what else the exams found in the end, or a study returned, a line each."""
    headline = run.headline
    if headline is None:
        return {}
    if headline.source == "result":
        others = exam_lines(run.result, headline.key)
    else:
        others = exam_lines(run.evaluations[-1], headline.key) if headline.source == "exam" else {}
    other = "result" if headline.source == "result" else "held-out"
    return {headline.words: headline.text} | {exam or other: numbers for exam, numbers in others.items()}
