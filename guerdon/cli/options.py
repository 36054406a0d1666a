"""Options that several verbs share, and how what was typed becomes what `guerdon.loop.api` takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from guerdon.core.errors import UserError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]
Task = Annotated[
    str | None, typer.Option("--task", metavar="NAME[:LEVEL]", help="Problems to pose: guerdon list tasks.")
]
Model = Annotated[
    str | None, typer.Option("--model", metavar="NAME|DIR", help="A model's name, its folder, or a finished run.")
]
Reward = Annotated[str | None, typer.Option("--reward", metavar="REWARD", help="FILE.py:NAME, or one on the shelf.")]
Data = Annotated[str | None, typer.Option("--data", metavar="FILE", help="Problems of your own: JSON lines.")]
Prompt = Annotated[
    str | None, typer.Option("--prompt", metavar="COL", help="The prompt's column in --data.  [default: prompt]")
]
Answer = Annotated[
    str | None, typer.Option("--answer", metavar="COL", help="The answer's column in --data.  [default: answer]")
]
Kind = Annotated[
    str | None,
    typer.Option("--kind", metavar="COL", help="A column of --data that sorts problems into kinds: subjects, levels."),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip malformed rows of --data instead of refusing them.")]
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
    str | None, typer.Option("--resume", metavar="DIR", help="Go on with this run; the recipe may be left out.")
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Run the Python files that a run names though you did not make it here.")
]

# how a run is kept: `guerdon.loop.record.Options`, whose defaults these name
SaveEvery = Annotated[
    int | None, typer.Option("--save-every", metavar="N", min=1, help="Steps between checkpoints.  [default: 10]")
]
Keep = Annotated[int | None, typer.Option("--keep", metavar="N", min=1, help="Checkpoints kept.  [default: 3]")]
RolloutsEvery = Annotated[
    int | None,
    typer.Option("--rollouts-every", metavar="N", min=0, help="Steps between stored batches, 0: none.  [default: 1]"),
]
EvalEvery = Annotated[
    float | None,
    typer.Option(
        "--eval-every",
        metavar="N",
        min=0,
        help="Steps between evaluations, 0: first and last only; 0.1: every tenth of the run.  [default: 0]",
    ),
]
EvalTasks = Annotated[
    int | None,
    typer.Option("--eval-tasks", metavar="N", min=0, help="Held-out tasks, 0: no evaluation.  [default: 64]"),
]
EvalTries = Annotated[int | None, typer.Option("--eval-tries", metavar="N", min=1, help="Tries at each.  [default: 4]")]
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
Log = Annotated[
    list[str] | None,
    typer.Option("--log", metavar="NAME", help="Send events to tensorboard or wandb as well; repeatable."),
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


def parse_data(
    data: str | None, prompt: str | None, answer: str | None, kind: str | None, skip_bad: bool
) -> dict[str, Any] | None:
    """The knobs of `tasks.files.rows`; None when no file was given."""
    if data is None:
        for flag, given in (("--prompt", prompt), ("--answer", answer), ("--kind", kind), ("--skip-bad", skip_bad)):
            if given:
                raise UserError(f"{flag} is about the rows of a file: give --data FILE too")
        return None
    return {
        "path": data,
        "prompt": prompt or "prompt",
        "answer": answer or "answer",
        "kind": kind or "",
        "skip_bad": skip_bad,
    }
