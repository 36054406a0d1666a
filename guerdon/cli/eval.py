"""`guerdon eval`: held-out accuracy of a model or of a run's trained policy."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from guerdon.cli.options import Json, Task, Trust, takes_data
from guerdon.cli.output import Output, percent, rate
from guerdon.core.errors import UserError


@takes_data
def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL|RUN", help="A model's name, its folder, or a finished run.")],
    task: Task = None,
    rows: Any = None,
    k: Annotated[int, typer.Option("--k", metavar="N", min=1, help="Tries at each task.")] = 16,
    tasks: Annotated[int, typer.Option("--tasks", metavar="N", min=1, help="Held-out tasks to try, at most.")] = 100,
    temperature: Annotated[
        float, typer.Option("--temperature", metavar="T", min=0, help="How the model samples.")
    ] = 1.0,
    greedy: Annotated[bool, typer.Option("--greedy", help="Temperature 0 and one try.")] = False,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="N", min=1, help="The longest answer.  [default: 256]")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Where all chance comes from.")] = 0,
    trust: Trust = False,
    as_json: Json = False,
) -> int:
    """Held-out accuracy of a model or a run.

    Prints pass@1, and pass@k without bias, each with its 95 % interval over tasks. A run is evaluated on the task it
    was trained for unless another is given.
    """
    from guerdon.core.task import Sampling
    from guerdon.loop import api

    output = Output(as_json)
    _warn_of_damage(output, model)
    if task is None and rows is None:
        task, rows = _own_task(model, trust)
    sampling = Sampling(temperature=0.0 if greedy else temperature)
    if max_tokens is not None:
        sampling = sampling.but(max_tokens=max_tokens)
    numbers = api.evaluate(
        model, task=task, data=rows, tasks=tasks, tries=1 if greedy else k, seed=seed, sampling=sampling
    )
    if not as_json:
        _tell(output, numbers)
    output.finish({"model": model, "temperature": sampling.temperature, "seed": seed, **numbers})
    return 0


def _warn_of_damage(output: Output, model: str) -> None:
    from guerdon.store.folder import RunFolder
    from guerdon.store.run import damage_of

    damage = damage_of(RunFolder(model))
    if damage:
        output.say(f"warning: {model}: {damage}")


def _own_task(model: str, trust: bool) -> tuple[str | None, dict[str, Any] | None]:
    """The task a run was trained for."""
    from guerdon.loop.trust import check_trust
    from guerdon.store.folder import RunFolder

    folder = RunFolder(model)
    if not folder.exists():
        raise UserError("evaluate on what? give --task NAME or --data FILE")
    config = folder.read_config()
    if not config["plain"] or not (config["wish"]["task"] or config["data"]):
        raise UserError(f"{model} does not name the task it was trained for: give --task NAME or --data FILE")
    check_trust(model, config, trust, ["task", "check"])
    return config["wish"]["task"], config["data"]


def _tell(output: Output, numbers: dict[str, Any]) -> None:
    output.say(f"{numbers['task']}: {numbers['tasks']} held-out tasks, {numbers['tries']} tries each")
    names = [n for n in numbers if n.startswith("pass@") and "_" not in n]
    output.table(("", "rate (95 % interval)"), [(n, rate(numbers, n)) for n in names])
    if numbers["missing"]:
        output.say(f"warning: {percent(numbers['missing'])} of the tries could not be checked and are in no rate")
