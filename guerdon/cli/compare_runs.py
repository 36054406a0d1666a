"""`guerdon compare`: compare runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from guerdon.cli.options import Json
from guerdon.cli.output import UNBOUNDED, Output

WIDEST = 120  # columns, however wide a terminal is
ELSEWHERE = 80  # of a file or a pipe


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="Two or more run folders; the others are compared with the first."),
    ],
    metric: Annotated[
        str | None,
        typer.Option("--metric", metavar="NAME", help="The metric to compare.  [default: pass@1]"),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            "--prompt",
            metavar="ID|TEXT",
            help="Show the tries at this problem: its id, or part of its text.  [default: where they differ most]",
        ),
    ] = None,
    step: Annotated[
        int | None,
        typer.Option("--step", metavar="N", min=0, help="Show the tries of this step.  [default: the last]"),
    ] = None,
    html: Annotated[
        str | None, typer.Option("--html", metavar="FILE", help="Also write everything as an HTML page in one file.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Compare runs: accuracy, settings, cost, curves, and their answers to one prompt.

    Runs evaluated on the same problems are compared problem by problem, with an interval; runs that differ only in the seed are
    pooled, and the interval is over seeds. Runs with other exams are shown but not compared.
    """
    from guerdon.results.compare.comparison import compare as compare_runs
    from guerdon.runs.whole_files import atomic

    output = Output(as_json)
    compared = compare_runs(*runs, metric=metric, prompt=prompt, step=step)
    if html is not None:
        content = compared.html().encode("utf-8", errors="backslashreplace")
        with atomic(Path(html)) as scratch:
            scratch.write_bytes(content)
    if not as_json:
        width = output.console.width
        for line in compared.text(ELSEWHERE if width == UNBOUNDED else min(width, WIDEST)).splitlines():
            output.say(line)
        if html is not None:
            output.say()
            output.say(f"page  {html}")
    output.finish(compared.to_dict() | {"html": html})
    return 0
