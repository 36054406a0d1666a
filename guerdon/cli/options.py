"""Options that several verbs share, and how what was typed becomes what `guerdon.training.api` takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from guerdon.core.errors import UserError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]
Task = Annotated[
    str | None,
    typer.Option("--task", metavar="NAME[:LEVEL]", help="Problems to train or evaluate on: guerdon list tasks."),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME|DIR", help="A model's name, ORG/NAME on the hub, its folder, or a finished run."
    ),
]
Reward = Annotated[
    str | None,
    typer.Option(
        "--reward",
        metavar="REWARD",
        help="FILE.py:NAME, a built-in reward, or the folder of a reward model's run.",
    ),
]
Environment = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="ID|FILE.py:NAME",
        help="Environment of a recipe for control: a Gymnasium id, a world of ours (desk:reach), or your own.",
    ),
]
Steps = Annotated[int | None, typer.Option("--steps", metavar="N", help="Steps to train.  [default: the recipe's]")]
Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="N[:UNIT]",
        help="Stop after N: tokens (generated, or demonstrations to train on), env_steps, read (tokens processed by any model),"
        " updates (of weights), samples (whole tries), steps, seconds.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="S", help="Random seed.  [default: 0]")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KNOB=VALUE", help="Set a knob of the recipe, or PART.FIELD=VALUE of a part; repeatable."
    ),
]
Out = Annotated[
    str | None, typer.Option("--out", metavar="DIR", help="The run's folder.  [default: runs/RECIPE-TASK-NNN]")
]
Resume = Annotated[
    str | None, typer.Option("--resume", metavar="DIR", help="Resume this run; the recipe may be omitted.")
]
Again = Annotated[
    str | None,
    typer.Option(
        "--again",
        metavar="RUN",
        help="Rerun this run with the changes given here; more --steps alone extend it from where it ended.",
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Build everything, try a few samples and report the cost; write nothing.")
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Run the Python files that a run names, although it was not made here.")
]

# how a run is kept: `guerdon.training.record.Options`, whose defaults these name
SaveEvery = Annotated[
    int | None, typer.Option("--save-every", metavar="N", min=1, help="Steps between checkpoints.  [default: 10]")
]
Keep = Annotated[int | None, typer.Option("--keep", metavar="N", min=1, help="Checkpoints kept.  [default: 3]")]
RolloutsEvery = Annotated[
    int | None,
    typer.Option("--rollouts-every", metavar="N", min=0, help="Steps between stored batches; 0: none.  [default: 1]"),
]
EvalEvery = Annotated[
    float | None,
    typer.Option(
        "--eval-every",
        metavar="N",
        min=0,
        help="Steps between evaluations; 0: first and last only; 0.1: every tenth of the run.  [default: 0]",
    ),
]
EvalTasks = Annotated[
    int | None,
    typer.Option("--eval-tasks", metavar="N", min=0, help="Held-out tasks; 0: no evaluation.  [default: 64]"),
]
EvalTries = Annotated[
    int | None, typer.Option("--eval-tries", metavar="N", min=1, help="Tries per task.  [default: 4]")
]
FailedLimit = Annotated[
    float | None,
    typer.Option(
        "--failed-limit",
        metavar="SHARE",
        min=0,
        max=1,
        help="Share of failed scores that stops the run.  [default: 0.2]",
    ),
]
Truth = Annotated[
    str | None,
    typer.Option(
        "--truth",
        metavar="verified|REWARD",
        help="Logged beside the reward, never trained on: verified (the task's own checker), or another reward.",
    ),
]
Watch = Annotated[
    bool | None,
    typer.Option("--watch/--no-watch", help="Raise alarms when a run goes wrong (docs/watch.md).  [default: watch]"),
]
StopOnAlarm = Annotated[
    bool | None,
    typer.Option("--stop-on-alarm/--no-stop-on-alarm", help="A bad alarm stops the run.  [default: no]"),
]
Log = Annotated[
    list[str] | None,
    typer.Option("--log", metavar="NAME", help="Also log to tensorboard, trackio or wandb; repeatable."),
]

Workers = Annotated[
    str | None,
    typer.Option(
        "--workers",
        metavar="N|ray|ray://HEAD:PORT",
        help="Play in N processes of this machine, or on Ray: same weights (docs/scale.md).",
    ),
]


def examples(*lines: str) -> str:
    """The end of a verb's help. The leading mark keeps the lines as they are."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def parse_settings(words: Sequence[str] | None) -> dict[str, str]:
    """`--set` as a mapping, values still text: only the recipe knows their types."""
    settings = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise UserError(f"--set takes KNOB=VALUE, not {word!r}")
        settings[name.strip()] = value.strip()
    return settings


# problems of one's own: `guerdon.tasks.files.rows_of`, whose keys the names are
DATA_OPTIONS: dict[str, Any] = {
    "data": typer.Option("--data", metavar="FILE", help="Your problems: JSON lines, CSV, Parquet, or a hub id."),
    "prompt": typer.Option("--prompt", metavar="COL", help="The column of --data with the prompt.  [default: guessed]"),
    "answer": typer.Option("--answer", metavar="COL", help="The column with the answer, or: none.  [default: guessed]"),
    "solution": typer.Option(
        "--solution", metavar="COL", help="The column with a worked solution, if a recipe needs it."
    ),
    "column": typer.Option(
        "--column",
        metavar="WHAT=COL",
        help="Another column of --data that a recipe needs: chosen=better, labels=ratings; repeatable.",
    ),
    "kind": typer.Option("--kind", metavar="COL", help="The column with the kind of problem: subject, level."),
    "check": typer.Option(
        "--check",
        metavar="NAME",
        help="How answers to --data are checked: exact, number, choice, contains, math, plain_maths, json, python, or"
        " FILE.py:NAME.  [default: guessed]",
    ),
    "system": typer.Option("--system", metavar="TEXT|FILE", help="A system message before each prompt of --data."),
    "template": typer.Option(
        "--template", metavar="TEXT|FILE", help="The prompt as a template over a row's columns: '{question} Be brief.'"
    ),
    "test": typer.Option("--test", metavar="FILE", help="Held-out problems, instead of the last rows of --data."),
    "held_out": typer.Option(
        "--held-out", metavar="SHARE", min=0, max=1, help="Share of --data that is held out.  [default: 0.1]"
    ),
    "skip_bad": typer.Option("--skip-bad", help="Skip malformed rows of --data instead of refusing them."),
}
TYPES: dict[str, Any] = {"held_out": float | None, "skip_bad": bool, "column": list[str] | None}


def takes_data(verb: Callable[..., int], *, test_alone: bool = False) -> Callable[..., int]:
    """Gives a verb the options about problems of one's own in the place of its parameter `rows`, which gets their values: what
    `data=` takes in Python, or None."""
    own = inspect.signature(verb, eval_str=True)
    options = []
    for name, option in DATA_OPTIONS.items():
        taken_as = TYPES.get(name, str | None)
        kind: Any = Annotated[taken_as, option]
        default = False if name == "skip_bad" else None
        options.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    mine = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own.parameters.values()]
    at = [p.name for p in mine].index("rows")
    taken = [*mine[:at], *options, *mine[at + 1 :]]

    @functools.wraps(verb)
    def run(**given: Any) -> int:
        rows = parse_data(test_alone=test_alone, **{name: given.pop(name) for name in DATA_OPTIONS})
        return verb(**given, rows=rows)

    run.__signature__ = own.replace(parameters=taken)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in taken}
    return run


def parse_data(data: str | None, *, test_alone: bool = False, **said: Any) -> dict[str, Any] | None:
    """The options about problems of one's own, as `data=` takes them; None when no file was given. A verb that trains nothing
    takes a `test` alone: all of its rows are held out."""
    given = {name: value for name, value in said.items() if value is not None and value is not False}
    if data is not None:
        if "test" in given and "held_out" in given:
            raise UserError("--test FILE is all that is held out: remove --held-out")
        return {"path": data, **_columns(given.pop("column", ())), **given}
    if test_alone and "test" in given:
        return {"path": given.pop("test"), "held_out": 1.0, **_columns(given.pop("column", ())), **given}
    for name in given:
        flag = f"--{name.replace('_', '-')}"
        if name == "check":
            raise UserError("--check is for --data FILE: task families have their own exact checker")
        raise UserError(f"{flag} needs --data FILE")
    return None


def _columns(words: Sequence[str]) -> dict[str, str]:
    """`--column` as knobs of the source that reads the file."""
    columns = {}
    for word in words:
        what, _, column = word.partition("=")
        if not what.strip() or not column.strip():
            raise UserError(f"--column takes WHAT=COL, as in chosen=better, not {word!r}")
        columns[what.strip()] = column.strip()
    return columns
