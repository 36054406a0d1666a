"""`guerdon replay`: another reward's scores of the samples a run learned from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from guerdon.cli.options import Json, Trust
from guerdon.cli.output import Output
from guerdon.cli.scored_traces import replay_traces
from guerdon.cli.streams import live, shown

if TYPE_CHECKING:
    from guerdon.training.replaying import Replay

COUNTS = ("samples", "scored", "failed", "timed_out", "not_applicable", "compared", "flips")
WIDTH = 60  # characters of a completion that are shown


def replay(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's folder, or a file of traces.")],
    reward: Annotated[
        str,
        typer.Option(
            "--reward",
            metavar="REWARD",
            help="FILE.py:NAME (your function or formula), a built-in reward, or a reward model's run.",
        ),
    ],
    step: Annotated[
        list[int] | None, typer.Option("--step", metavar="N", min=0, help="Only this step; repeatable.")
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            metavar="NAME",
            help="The stored reward to compare with.  [default: reward, else the column that credit reads]",
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", metavar="K", min=0, help="Samples to show, largest change first.")] = 10,
    trust: Trust = False,
    as_json: Json = False,
) -> int:
    """Score a run's stored samples with another reward.

    Prints, per step and in total, how many advantages change sign, the correlation of the two rewards, the samples that
    change most and where the new reward fails. Nothing is sampled and the run is not changed. For a file of traces (JSON
    lines in OpenAI's chat format, docs/tools.md) it prints the reward of each.
    """
    output = Output(as_json)
    if Path(run).is_file():
        return replay_traces(output, run, reward, top, alone=not (step or column))
    from guerdon.training import replaying

    bar = Progress(
        TextColumn("step"),
        MofNCompleteColumn(),
        BarColumn(bar_width=24),
        console=output.console,
        transient=True,
        disable=not output.console.is_terminal,
    )
    with live(bar):
        row = bar.add_task("", total=None)
        replayed = replaying.replay(
            run,
            reward=reward,
            steps=step,
            column=column,
            top=top,
            trust=trust,
            progress=lambda done, of: bar.update(row, completed=done, total=of),
        )
    _tell(output, replayed)
    output.finish(replayed.to_dict())
    return 0


def _tell(output: Output, replayed: Replay) -> None:
    if output.as_json:
        return
    output.pairs(
        {
            "run": replayed.run,
            "reward": f"{replayed.reward}, in place of {replayed.column!r}",
            "version": _version(replayed),
            "credit": f"{replayed.credit}, from {replayed.credit_from}",
            "old advantages": replayed.old_advantage,
        }
    )
    for note in replayed.notes:
        output.say(f"warning: {note}")
    output.say()
    _tell_steps(output, replayed)
    if replayed.components:
        output.say()
        output.table(
            ("component", "mean", "of", "in the run"),
            [(c["name"], _number(c["mean"]), str(c["count"]), _number(c["old_mean"])) for c in replayed.components],
        )
    _tell_samples(output, replayed)


def _version(replayed: Replay) -> str:
    if replayed.old_version is None:
        return "the run did not record its reward's version"
    return (
        "the version the run was trained on"
        if replayed.version == replayed.old_version
        else "not the version the run was trained on"
    )


def _tell_steps(output: Output, replayed: Replay) -> None:
    rows = [(str(row["step"]), row) for row in replayed.steps]
    counts = [c for c in COUNTS if c not in ("failed", "timed_out", "not_applicable") or replayed.total[c]]
    titles = ("step", *(c.replace("_", " ") for c in counts), "0 to ±", "± to 0", "pearson", "spearman", "old", "new")
    output.table(
        titles,
        [
            (
                name,
                *(str(row[c]) for c in (*counts, "zero_to_nonzero", "nonzero_to_zero")),
                *(_number(row[c]) for c in ("pearson", "spearman", "old_mean", "new_mean")),
            )
            for name, row in [*rows, ("all", replayed.total)]
        ],
    )


def _tell_samples(output: Output, replayed: Replay) -> None:
    if replayed.moved:
        output.say()
        output.table(
            ("step", "task", "reward", "advantage", "completion"),
            [
                (
                    str(m["step"]),
                    _cut(m["task"]),
                    f"{_number(m['old_reward'])} -> {_number(m['new_reward'])}",
                    f"{_number(m['old_advantage'])} -> {_number(m['new_advantage'])}",
                    _cut(m["completion"]),
                )
                for m in replayed.moved
            ],
        )
    if replayed.failures:
        output.say()
        output.table(
            ("step", "task", "failed with", "completion"),
            [(str(f["step"]), _cut(f["task"]), _cut(f["error"]), _cut(f["completion"])) for f in replayed.failures],
        )


def _number(value: Any) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _cut(text: str) -> str:
    """The start of a text, on one line."""
    line = shown(" ".join(text.split("\n")))
    return line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."
