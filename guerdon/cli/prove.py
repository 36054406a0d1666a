"""`guerdon prove`: hold recipes to their claims, and write down what came out."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from guerdon.cli.options import Json, Model, Task
from guerdon.cli.output import Output
from guerdon.cli.progress import clock
from guerdon.cli.streams import live
from guerdon.core.errors import CtrlC, RunStopped, UserError, unknown

if TYPE_CHECKING:
    from guerdon.loop.proof.jobs import RunJob
    from guerdon.loop.proof.proving import How


def prove(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME|FILE]...", help="Recipes: names or files.")
    ] = None,
    family: Annotated[
        str | None, typer.Option("--family", metavar="F", help="All recipes of a family that claim something.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All recipes that claim something.")] = False,
    null: Annotated[
        bool, typer.Option("--null", help="Hold a recipe (grpo) against itself: how often is a verdict wrong?")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in minutes: 2 seeds, a tenth of the budget; never evidence.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option("--seeds", metavar="N", help="Paired seeds.  [default: the claim's; --null: 40 pairs]")
    ] = None,
    first_seed: Annotated[
        int | None, typer.Option("--first-seed", metavar="N", min=0, help="Begin with seed N.  [default: the claim's]")
    ] = None,
    task: Task = None,
    model: Model = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="N[:UNIT]", help="What each run may spend.  [default: the claim's]"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=0, help="Runs at a time.  [default: what fits]")] = 0,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Where evidence goes.")] = "evidence",
    runs: Annotated[str, typer.Option("--runs", metavar="DIR", help="Where the runs go.")] = "runs/prove",
    as_json: Json = False,
) -> int:
    """Run the claims of recipes: method, baseline and ablation at equal budget over paired seeds, and an honest verdict.

    What is finished is read, not run again, so the same command goes on after an interruption. Writes DIR/NAME.json with
    every seed's curve, and a page with its figure.
    """
    output = Output(as_json)
    chosen = _choose(names or [], family, every, null)
    how = _how(null, {"task": task, "model": model, "budget": budget}, quick, (seeds, first_seed), jobs, out, runs)
    with Tally(output.console) as tally:
        if null:
            return _null(output, chosen[0], seeds, how, tally)
        from guerdon.loop.proof.proving import prove as run

        proofs = _until_interrupted(lambda: run(chosen, how, tally))
    if not as_json:
        for evidence in proofs:
            _tell(output, evidence, how)
    output.finish({"evidence": proofs})
    return 0


def _choose(names: list[str], family: str | None, every: bool, null: bool) -> list[str]:
    from guerdon.loop.catalog import listings

    if sum((bool(names), family is not None, every)) > 1 or (null and (family or every or len(names) > 1)):
        raise UserError("choose one of: recipes by name, --family F, --all; --null takes one recipe at most")
    if null:
        return names or ["grpo"]
    if names:
        return names
    claiming = {name: listing for name, listing in listings().items() if listing.claims}
    if every:
        return list(claiming)
    if family is None:
        raise UserError("prove what? give a recipe (guerdon list recipes), --family F or --all")
    members = [name for name, listing in claiming.items() if listing.family == family]
    if not members:
        raise unknown("family with claims", family, {listing.family for listing in claiming.values()})
    return members


def _how(
    null: bool,
    claims: dict[str, str | None],
    quick: bool,
    seeds: tuple[int | None, int | None],
    jobs: int,
    out: str,
    runs: str,
) -> How:
    from guerdon.core.budget import read_budget
    from guerdon.loop.proof.proving import How

    changes: dict[str, Any] = {k: v for k, v in claims.items() if v is not None and k != "budget"}
    if claims["budget"] is not None:
        read = read_budget(claims["budget"])
        changes |= {"budget": read.amount, "unit": read.unit}
    number, first = seeds
    changes |= {k: v for k, v in {"seeds": None if null else number, "first_seed": first}.items() if v is not None}
    values = {"seeds": number, "first-seed": first, **claims}
    flags = ["--quick"] if quick else []
    flags += [w for name, value in values.items() if value is not None for w in (f"--{name}", str(value))]
    return How(
        out=Path(out),
        runs=Path(runs),
        jobs=jobs,
        quick=quick,
        changes=changes,
        flags=tuple(flags),
    )


def _null(output: Output, recipe: str, pairs: int | None, how: How, tally: Tally) -> int:
    from guerdon.loop.proof.null import ALARM, PAIRS, prove_null

    number = pairs if pairs is not None else 4 if how.quick else PAIRS
    result = _until_interrupted(lambda: prove_null(recipe, number, how, tally))
    if not output.as_json:
        shares = ", ".join(f"{verdict} {100 * share:.1f} %" for verdict, share in result["verdicts"].items())
        output.say(f"{recipe} against itself, {number} pairs, proofs of {result['proofs_of']}: {shares}")
        output.say(f"wrong verdicts: {100 * result['wrong']:.1f} %")
    output.finish(result)
    if result["wrong"] > ALARM and not how.quick:
        raise RunStopped(f"{100 * result['wrong']:.1f} % of verdicts are wrong: they are not to be trusted")
    return 0


def _until_interrupted(work: Any) -> Any:
    try:
        return work()
    except CtrlC:
        raise _Interrupted("interrupted; what is done is kept: the same command goes on from here") from None


class _Interrupted(UserError):
    exit_code = 130


def _tell(output: Output, proof: dict[str, Any], how: How) -> None:
    for claim in proof["claims"]:
        stated = claim["claim"]
        output.say()
        output.say(f"{proof['recipe']}: {stated['says']}")
        arms = {
            f"  {name}": f"{sum(r['score'] for r in arm['runs']) / len(arm['runs']):.4f}  {arm['what']}"
            for name, arm in claim["arms"].items()
        }
        output.pairs({**arms, "  verdict": f"{claim['verdict']}{' (a quick look, not evidence)' if how.quick else ''}"})
        output.say(f"  {claim['how']}")
    output.say(f"  {how.folder / proof['recipe']}.md")


class Tally:
    """Tells how many runs are done: a bar on a terminal, a line for each run elsewhere."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar = Progress(
            MofNCompleteColumn(separator=" of "), TextColumn("runs"), BarColumn(bar_width=24),
            TextColumn("{task.fields[left]}"), console=console, disable=not console.is_terminal,
        )  # fmt: skip
        self.row = self.bar.add_task("", total=None, left="")
        self.live = ExitStack()
        self.first, self.began = 0, time.monotonic()

    def __enter__(self) -> Tally:
        self.live.enter_context(live(self.bar))
        return self

    def __exit__(self, *_: object) -> None:
        self.live.close()

    def __call__(self, done: int, total: int, last: RunJob | None) -> None:
        if last is None:
            self.first, self.began = done, time.monotonic()
            runs = "1 run" if total == 1 else f"{total} runs"
            there = f"{done} of {runs} are there already" if done else f"{runs} to go"
            self.console.print(there, soft_wrap=True)
            left = ""
        else:
            passed = time.monotonic() - self.began
            left = f"{clock(passed / (done - self.first) * (total - done))} left"
            if not self.console.is_terminal:
                self.console.print(f"{done} of {total} runs: {last.name}  {left}", soft_wrap=True)
        self.bar.update(self.row, completed=done, total=total, left=left)
