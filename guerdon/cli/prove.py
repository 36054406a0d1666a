"""`guerdon prove`: hold recipes to their claims, and write down what came out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from guerdon.cli.options import Json, Model, Task, takes_data
from guerdon.cli.output import Output
from guerdon.cli.progress import clock
from guerdon.cli.streams import live
from guerdon.core.errors import CtrlC, RunStopped, UserError, unknown
from guerdon.store.evidence_brief import brief
from guerdon.store.evidence_words import (
    badge,
    better_by,
    file_name,
    meaning,
    outcome,
    plain,
    registration,
    signed,
    unfinished,
)  # fmt: skip

if TYPE_CHECKING:
    from guerdon.loop.proof.jobs import RunJob
    from guerdon.loop.proof.proving import How


Student = Annotated[
    str | None,
    typer.Option(
        "--student", metavar="DIR|FILE", help="A model in place of the shipped one: taught first, by a LoRA adapter."
    ),
]
Sample = Annotated[
    bool,
    typer.Option("--sample", help="Make some recorded runs again from nothing, and compare them with their records."),
]
Rehearse = Annotated[
    str | None,
    typer.Option(
        "--rehearse",
        metavar="BEFORE",
        help="Stale evidence: run two steps of each arm with the checkout BEFORE and with today's code, and keep it if equal.",
    ),
]


@takes_data
def prove(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME|FILE]...", help="Recipes or files.")] = None,
    family: Annotated[
        str | None, typer.Option("--family", metavar="F", help="All recipes of a family that claim something.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All recipes that claim something.")] = False,
    register: Annotated[
        bool, typer.Option("--register", help="Only date and hash the claims, in DIR/register.json.")
    ] = False,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Hold arms against themselves: how often is a verdict wrong?")
    ] = False,
    tell: Annotated[bool, typer.Option("--tell", help="Run nothing: write evidence anew from what is known.")] = False,
    sample: Sample = False,
    rehearse: Rehearse = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A look in minutes: 2 seeds, a tenth of the budget; never evidence.")
    ] = False,
    task: Task = None,
    rows: Any = None,
    model: Model = None,
    student: Student = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="N[:UNIT]", help="What each run may spend.  [default: the claim's]"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=0, help="Runs at a time.  [default: what fits]")] = 0,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Where evidence goes.")] = "evidence",
    runs: Annotated[str, typer.Option("--runs", metavar="DIR", help="Where the runs go.")] = "runs/prove",
    as_json: Json = False,
) -> int:
    """Run the claims of recipes by the rule, and say better, worse, equal, not known or not testable here.

    Method and baseline have the same budget and paired seeds: 8, then 16 and 32 while the claim is open. Learning rates are
    tuned first; after *better* the ablation is run, and 8 fresh seeds as a replication. Register claims before you prove them
    (--register). What is known, from runs or from evidence, is not run again: after an interruption the same command goes on.
    Writes DIR/NAME.json with every seed's curve, and a page with its figure; DIR/NAME@MODEL.json for another --student.
    When functions that its runs executed change, evidence is stale: keep it with --rehearse if results did not.
    """
    output = Output(as_json)
    chosen = _choose(names or [], family, every, calibrate)
    asked = {"task": task, "model": model, "student": student, "budget": budget}
    how = _how(asked, rows, quick, jobs, out, runs, tell)
    _one_of(register=register, calibrate=calibrate, tell=tell, sample=sample, rehearse=rehearse is not None)
    if sample or rehearse is not None:
        evident = [n for n in chosen if names or how.has_evidence(n)]
        return _sample(output, evident, how) if rehearse is None else _rehearse(output, evident, rehearse, how)
    if register:
        return _register(output, chosen, how)
    if calibrate:
        return _calibrate(output, how)
    from guerdon.loop.proof.proving import prove as run

    _tell_missing(output, chosen)
    with Tally(output.console) as tally:
        proofs = _until_interrupted(lambda: run(chosen, how, tally))
    for evidence in proofs if not as_json else ():
        _tell(output, evidence, how)
    output.finish({"evidence": proofs})
    return 0


def _tell_missing(output: Output, names: list[str]) -> None:
    """A line for who has the package without the runs of its evidence: those of recipes that he proves are made here."""
    from guerdon.store import evidence
    from guerdon.store.packed_evidence import missing_records

    if missing := missing_records(evidence.SHIPPED, *names):
        output.say(f"note: {missing}")


def _choose(names: list[str], family: str | None, every: bool, calibrate: bool) -> list[str]:
    from guerdon.loop.catalog import listings

    if sum((bool(names), family is not None, every, calibrate)) > 1:
        raise UserError("choose one of: recipes by name, --family F, --all, --calibrate")
    if calibrate:
        return []
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
    claims: dict[str, str | None],
    rows: Mapping[str, Any] | None,
    quick: bool,
    jobs: int,
    out: str,
    runs: str,
    tells: bool,
) -> How:
    from guerdon.core.budget import read_budget
    from guerdon.loop.proof.proving import How
    from guerdon.loop.rows_in_words import in_words

    changes: dict[str, Any] = {k: v for k, v in claims.items() if v is not None and k in ("task", "model")}
    if rows is not None:
        if "task" in changes:
            raise UserError("--task and --data are two sources of problems: give one of them")
        changes["task"] = in_words(rows)
    if claims["budget"] is not None:
        read = read_budget(claims["budget"])
        changes |= {"budget": read.amount, "unit": read.unit}
    flags = ["--quick"] if quick else []
    for name, value in (rows or {}).items():
        flags += [
            "--data" if name == "path" else f"--{name.replace('_', '-')}",
            *([] if value is True else [str(value)]),
        ]
    flags += [w for name, value in claims.items() if value is not None for w in (f"--{name}", str(value))]
    return How(
        out=Path(out),
        runs=Path(runs),
        jobs=jobs,
        quick=quick,
        tells=tells,
        student=claims["student"] or "",
        changes=changes,
        flags=tuple(flags),
    )


def _register(output: Output, names: list[str], how: How) -> int:
    from guerdon.loop.proof.proving import register_claims

    batch = register_claims(names, how)
    if batch is None:
        output.say("all of these claims are registered as they are")
    else:
        claims, recipes = sum(map(len, batch["claims"].values())), len(batch["claims"])
        counts = f"{claims} claim{'s' * (claims > 1)} of {recipes} recipe{'s' * (recipes > 1)}"
        output.say(f"batch {batch['batch']}, {batch['date']}: {counts} registered")
        output.say("commit register.json before you run them: then everybody can see what came first")
    output.finish({"batch": batch})
    return 0


def _one_of(**asked: bool) -> None:
    given = [f"--{name}" for name, is_asked in asked.items() if is_asked]
    if len(given) > 1:
        raise UserError(f"{' and '.join(given)} are two things to do: give one of them")


def _sample(output: Output, names: list[str], how: How) -> int:
    if how.quick:
        raise UserError("--sample is for evidence, and a quick look is none: leave --quick out")
    from guerdon.loop.proof.remaking import remake

    with Tally(output.console) as tally:
        remade = _until_interrupted(lambda: remake(names, how, tally))
    differ = {one.name: why for one, why in remade if why}
    for name, why in differ.items():
        output.say(f"{name}: {why}")
    output.say(f"{len(remade) - len(differ)} of {len(remade)} runs made again are equal to their records")
    output.finish({"remade": len(remade), "differ": differ})
    if differ:
        raise RunStopped(f"{len(differ)} of {len(remade)} runs are not what their records say")
    return 0


def _rehearse(output: Output, names: list[str], before: str, how: How) -> int:
    if how.quick:
        raise UserError("--rehearse is for evidence, and a quick look is none: leave --quick out")
    from guerdon.loop.proof.rehearsing import refactored

    told = lambda place: output.console.print(f"rehearsed: {place}", soft_wrap=True)  # noqa: E731
    outcomes = _until_interrupted(lambda: refactored(names, Path(before), how, told))
    for each in outcomes if not output.as_json else ():
        output.say(f"{each.name}: {each.line}")
    output.finish({"rehearsed": [dataclasses.asdict(each) for each in outcomes]})
    left = [each.name for each in outcomes if each.is_left_stale]
    if left:
        raise RunStopped(f"{len(left)} of {len(outcomes)} proofs stay stale: {', '.join(left)}")
    return 0


def _calibrate(output: Output, how: How) -> int:
    if how.student:
        raise UserError("--calibrate holds arms against themselves with the shipped model: leave --student out")
    from guerdon.loop.proof.calibration import ALARM, calibrate

    with Tally(output.console) as tally:
        result = _until_interrupted(lambda: calibrate(how, tally))
    for each in result["settings"] if not output.as_json else ():
        shares = ", ".join(f"{100 * each['errors'][w]:.1f} % {w}" for w in ("better", "worse", "equal", "not known"))
        output.say(
            f"{each['arm']} on {each['claim']['task']}, against itself, {len(each['differences'])} pairs: {shares}"
        )
        seen = ", ".join(f"{100 * p['better']:.0f} % at {p['times']:g} times the effect" for p in each["power"])
        output.say(f"  an effect is seen as better: {seen}")
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
    """What a page says, in a few lines."""
    proof = brief(proof)
    name = file_name(proof["recipe"], proof.get("student", ""))
    for claim in proof["claims"]:
        output.say()
        output.say(f"{name}: {claim['claim']['says']}")
        for line in claim_lines(claim):
            output.say(f"  {line}")
        output.pairs({f"  {name}": _arm_line(claim, name) for name in claim["arms"]})
    look = "  (a quick look, not evidence)" if how.quick else ""
    output.say(f"  {how.folder / name}.md{look}")


def claim_lines(claim: Mapping[str, Any]) -> list[str]:
    """The verdict with what it means and what becomes of the claim, the numbers behind it, and what speaks against them."""
    gap, kept = claim["against"]["baseline"], claim.get("quality")
    fresh, effect = claim["replication"], claim["claim"]["effect"]
    numbers = (
        f"{better_by(gap)} over {len(gap['differences'])} seeds, where {effect:g} counts; by signs alone p ="
        f" {gap['flip']:.2g}"
    )
    keeps = f"{claim['claim']['keeps']}: {better_by(kept)}, {kept['alone']}" if kept else ""
    again = (
        f"fresh seeds: {signed(fresh['mean'], effect)}, to be within {signed(fresh['low'], effect)} and"
        f" {signed(fresh['high'], effect)}"
        if fresh
        else ""
    )
    lines = [
        f"{badge(claim)}: {meaning(claim).replace('*', '')}",
        "; ".join([*outcome(claim), registration(claim)]),
        numbers,
        keeps,
        again,
        unfinished(claim),
    ]
    return [line for line in lines if line]


def _arm_line(claim: Mapping[str, Any], name: str) -> str:
    arm = claim["arms"][name]
    default = claim["rates"].get(name, {}).get("default", arm["lr"])
    rate = "" if arm["lr"] == default else f", learning rate {arm['lr']:g} (default {default:g})"
    return f"{plain(arm['score'], claim['claim']['effect'])}  {arm['what']}{rate}"


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
        self.total, self.began = 0, time.monotonic()

    def __enter__(self) -> Tally:
        self.live.enter_context(live(self.bar))
        return self

    def __exit__(self, *_: object) -> None:
        self.live.close()

    def __call__(self, done: int, total: int, last: RunJob | None) -> None:
        """What is wanted may grow on the way: the time that is left is that of the runs that are wanted by now."""
        if last is None:
            self.began = time.monotonic()
            self.console.print(_runs_to_go(total), soft_wrap=True)
            left = ""
        else:
            left = f"{clock((time.monotonic() - self.began) / done * (total - done))} left"
            more = f" ({total - self.total} more are wanted)" if total > self.total else ""
            if not self.console.is_terminal:
                self.console.print(f"{done} of {total} runs: {last.name}  {left}{more}", soft_wrap=True)
        self.total = total
        self.bar.update(self.row, completed=done, total=total, left=left)


def _runs_to_go(number: int) -> str:
    return "all runs are known" if not number else "1 run to go" if number == 1 else f"{number} runs to go"
