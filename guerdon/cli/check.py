"""`guerdon check`: a reward held against answers whose truth is known, before anything is trained on it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from guerdon.cli.options import Json, Model, Task, takes_data
from guerdon.cli.output import UNBOUNDED, Output
from guerdon.core.errors import UserError

FOUND = 1  # the exit code when something severe was found
WIDTH = 80  # columns where nobody says how many there are


@takes_data
def check(
    reward: Annotated[str, typer.Argument(metavar="REWARD", help="FILE.py:NAME, or one on the shelf.")],
    task: Task = None,
    rows: Any = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels", metavar="FILE", help="Labels that people gave: RUN/labels/truth.jsonl, by guerdon view."
        ),
    ] = None,
    model: Model = None,
    problems: Annotated[int, typer.Option("--problems", metavar="N", min=1, help="Problems to ask about.")] = 20,
    tries: Annotated[int, typer.Option("--tries", metavar="N", min=1, help="Tries of --model at a problem.")] = 4,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Where the model's chance comes from.")] = 0,
    as_json: Json = False,
) -> int:
    """Test a reward before you train on it.

    Asks it about right answers, the same written otherwise, near-misses, and the tricks that policies find. Severe is what is
    wrong and paid like a right answer, a right answer that is not paid, and a reward that breaks or wavers: then the exit code
    is 1. With --model its own tries are judged too. With --labels it is held against what people called right, wrong or a hack,
    and needs no task.
    """
    from guerdon.audits.check import check_reward

    if task is None and rows is None and labels is None:
        raise UserError("check a reward on what? give --task NAME, --data FILE or --labels FILE")
    if model is not None and task is None and rows is None:
        raise UserError("--model tries problems: give --task NAME or --data FILE too")
    output = Output(as_json)
    report = check_reward(
        reward, task, data=rows, labels=labels, model=model, tries=tries, problems=problems, seed=seed
    )
    if not as_json:
        width = output.console.width
        output.say(report.page(WIDTH if width == UNBOUNDED else min(width, WIDTH)))
    output.finish(report.to_dict())
    return 0 if report.ok else FOUND
