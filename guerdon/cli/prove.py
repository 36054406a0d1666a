"""`guerdon prove`: screen recipes, run registered claims, and write evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.cli.options import Json, Model, Task, takes_data
from guerdon.cli.output import Output
from guerdon.cli.proof_tally import Tally
from guerdon.core.errors import CtrlC, RunStopped, UserError, unknown
from guerdon.evidence.brief import brief
from guerdon.evidence.words import (
    badge,
    difference,
    gates_in_words,
    meaning,
    measured,
    name_of,
    outcome,
    plain,
    registration,
    unfinished,
)  # fmt: skip

if TYPE_CHECKING:
    from guerdon.prove.proving import How


Student = Annotated[
    str | None,
    typer.Option(
        "--student",
        metavar="DIR|FILE",
        help="A model in place of the shipped one; first trained on worked solutions with a LoRA adapter.",
    ),
]
Sample = Annotated[
    bool,
    typer.Option("--sample", help="Rerun some recorded runs completely, and compare them with their records."),
]
Rehearse = Annotated[
    str | None,
    typer.Option(
        "--rehearse",
        metavar="BEFORE",
        help="Stale evidence: run two steps of each arm with the code in BEFORE and with today's; keep the evidence if equal.",
    ),
]


Setting = Annotated[
    str | None,
    typer.Option("--setting", metavar="S", help="Screen in a setting of the suite (guerdon list settings)."),
]
Detach = Annotated[bool, typer.Option("--detach", help="Run in the background, in its own session; see --status.")]
Status = Annotated[bool, typer.Option("--status", help="Show the progress of the proofs in --runs DIR; run nothing.")]
Pilot = Annotated[
    bool,
    typer.Option(
        "--pilot",
        help="NAMEs are settings: run their baselines and measure start, gain, failure mode and learning rates.",
    ),
]


@takes_data
def prove(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME|FILE]...", help="Recipes or files.")] = None,
    family: Annotated[str | None, typer.Option("--family", metavar="F", help="All recipes of a family.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All recipes with a registered claim.")] = False,
    register: Annotated[
        bool, typer.Option("--register", help="Date and hash the claims in DIR/register.json; run nothing.")
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Simulate proofs: how often is a word wrong, an effect found, a gate failed?"),
    ] = False,
    tell: Annotated[bool, typer.Option("--tell", help="Run nothing: rebuild evidence from stored runs.")] = False,
    sample: Sample = False,
    rehearse: Rehearse = None,
    setting: Setting = None,
    pilot: Pilot = False,
    detach: Detach = False,
    status: Status = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="2 seeds and a tenth of the budget, in minutes; the result is not evidence.")
    ] = False,
    task: Task = None,
    rows: Any = None,
    model: Model = None,
    student: Student = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", metavar="N[:UNIT]", help="Budget of each run.  [default: the claim's]"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", min=0, help="Parallel runs.  [default: what fits]")] = 0,
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="Folder of the evidence.")] = "evidence",
    runs: Annotated[str, typer.Option("--runs", metavar="DIR", help="Folder of the runs.")] = "runs/prove",
    as_json: Json = False,
) -> int:
    """Screen recipes in settings, or run their registered claims: ahead, behind, no difference beyond x, or inconclusive.

    All arms have the same budget and paired seeds; each has its own tuned learning rate. A recipe without a registered claim is
    screened over 8 seeds: an estimate with its interval, and gates that can fail. A registered claim (--register, before it is
    run) has 8 seeds and 8 fresh seeds that must confirm them. Stored runs are not run again, so after an interruption the same
    command continues. Writes DIR/NAME.json with every run, and a page with its figure.
    Evidence is stale when functions that its runs executed change; keep it with --rehearse if the results did not change.
    """
    output = Output(as_json)
    modes = {
        "register": register,
        "calibrate": calibrate,
        "tell": tell,
        "sample": sample,
        "pilot": pilot,
        "status": status,
    }
    _one_of(**modes, rehearse=rehearse is not None)
    if calibrate:
        return _calibrate(output, quick)
    if status:
        return _status(output, Path(runs))
    chosen = names or [] if pilot else _choose(names or [], family, every)
    asked = {"task": task, "model": model, "student": student, "budget": budget}
    how = dataclasses.replace(_how(asked, rows, quick, jobs, out, runs, tell), setting=setting or "")
    if setting is not None:
        how = dataclasses.replace(how, flags=(*how.flags, "--setting", setting))
    if sample or rehearse is not None:
        evident = [n for n in chosen if names or how.has_evidence(n)]
        return _sample(output, evident, how) if rehearse is None else _rehearse(output, evident, rehearse, how)
    if register:
        return _register(output, chosen, how)
    words = _words(names or [], how, {"--family": family, "--all": every, "--pilot": pilot}, out, runs)
    if detach:
        if not pilot:
            _check_settings(chosen, how)
        return _detach(output, words, Path(runs))
    if pilot:
        return _pilot(output, chosen, how, words)
    return _prove(output, chosen, how, words)


def _prove(output: Output, chosen: list[str], how: How, words: list[str]) -> int:
    from guerdon.prove.proving import prove as run

    _tell_missing(output, chosen)
    with Tally(output.console, how.runs, words) as tally:
        proofs = _until_interrupted(lambda: run(chosen, how, tally))
    for evidence in proofs if not output.as_json else ():
        _tell(output, evidence, how)
    output.finish({"evidence": proofs})
    return 0


def _tell_missing(output: Output, names: list[str]) -> None:
    """A note where the package was installed without the runs of its evidence: the runs of these recipes are made here."""
    from guerdon.evidence import proof_files
    from guerdon.evidence.packed import missing_records

    if missing := missing_records(proof_files.SHIPPED, *names):
        output.say(f"note: {missing}")


def _choose(names: list[str], family: str | None, every: bool) -> list[str]:
    from guerdon.training.catalog import listings

    if sum((bool(names), family is not None, every)) > 1:
        raise UserError("choose one of: recipes by name, --family F, --all")
    if names:
        return names
    claiming = {name: listing for name, listing in listings().items() if listing.claims}
    if every:
        return list(claiming)
    if family is None:
        raise UserError("no recipe given: name one (guerdon list recipes), or use --family F or --all")
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
    from guerdon.prove.proving import How
    from guerdon.training.rows_in_words import in_words

    changes: dict[str, Any] = {k: v for k, v in claims.items() if v is not None and k in ("task", "model")}
    if rows is not None:
        if "task" in changes:
            raise UserError("--task and --data are both sources of problems: give one of them")
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
    from guerdon.prove.proving import register_claims

    batch = register_claims(names, how)
    if batch is None:
        output.say("all of these claims are already registered")
    else:
        claims, recipes = sum(map(len, batch["claims"].values())), len(batch["claims"])
        counts = f"{claims} claim{'s' * (claims > 1)} of {recipes} recipe{'s' * (recipes > 1)}"
        output.say(f"batch {batch['batch']}, {batch['date']}: {counts} registered")
        output.say("commit register.json before you run them, as proof that the claims came first")
    output.finish({"batch": batch})
    return 0


def _one_of(**asked: bool) -> None:
    given = [f"--{name}" for name, is_asked in asked.items() if is_asked]
    if len(given) > 1:
        raise UserError(f"{' and '.join(given)} cannot be combined: give one of them")


def _sample(output: Output, names: list[str], how: How) -> int:
    if how.quick:
        raise UserError("--sample needs evidence, and a --quick run is not evidence: leave --quick out")
    from guerdon.prove.remaking import remake

    with Tally(output.console, how.runs, ["prove", *names, "--sample"]) as tally:
        remade = _until_interrupted(lambda: remake(names, how, tally))
    differ = {one.name: why for one, why in remade if why}
    for name, why in differ.items():
        output.say(f"{name}: {why}")
    output.say(f"{len(remade) - len(differ)} of {len(remade)} reruns are equal to their records")
    output.finish({"remade": len(remade), "differ": differ})
    if differ:
        raise RunStopped(f"{len(differ)} of {len(remade)} reruns differ from their records")
    return 0


def _rehearse(output: Output, names: list[str], before: str, how: How) -> int:
    if how.quick:
        raise UserError("--rehearse needs evidence, and a --quick run is not evidence: leave --quick out")
    from guerdon.prove.rehearsing import refactored

    told = lambda place: output.console.print(f"rehearsed: {place}", soft_wrap=True)  # noqa: E731
    outcomes = _until_interrupted(lambda: refactored(names, Path(before), how, told))
    for each in outcomes if not output.as_json else ():
        output.say(f"{each.name}: {each.line}")
    output.finish({"rehearsed": [dataclasses.asdict(each) for each in outcomes]})
    left = [each.name for each in outcomes if each.is_left_stale]
    if left:
        raise RunStopped(f"{len(left)} of {len(outcomes)} proofs stay stale: {', '.join(left)}")
    return 0


def _calibrate(output: Output, quick: bool) -> int:
    from guerdon.evidence import proof_files
    from guerdon.prove.simulation import PROOFS, recorded, simulate, table, unmet

    proofs = PROOFS // 20 if quick else PROOFS
    rows = [*simulate(proofs), *recorded(proof_files.recorded_pairs(proof_files.SHIPPED), proofs)]
    output.say(table(rows))
    output.finish({"worlds": rows})
    if (why := unmet(rows)) and not quick:
        raise RunStopped(f"the rule does not hold: {why}")
    return 0


def _words(names: list[str], how: How, chosen: Mapping[str, str | bool | None], out: str, runs: str) -> list[str]:
    """The words of the same command, for this process or another."""
    given = [w for flag, value in chosen.items() if value for w in ([flag] if value is True else [flag, str(value)])]
    jobs = ["--jobs", str(how.jobs)] if how.jobs else []
    return ["prove", *names, *given, *how.flags, *jobs, "--out", out, "--runs", runs]


def _pilot(output: Output, names: list[str], how: How, words: list[str]) -> int:
    from guerdon.prove.pilots import pilot
    from guerdon.prove.setting_suite import SUITE

    with Tally(output.console, how.runs, words) as tally:
        piloted = _until_interrupted(lambda: pilot(names or [setting.name for setting in SUITE], how, tally))
    for name, each in piloted.items() if not output.as_json else ():
        output.say()
        output.say(f"{name}: {'passed' if each['passed'] else 'did not pass'}")
        for gate in each["gates"]:
            output.say(f"  {gate['gate']} {'passed' if gate['open'] else 'failed'}: {gate['why']}")
    output.finish({"pilots": piloted})
    return 0


def _check_settings(names: list[str], how: How) -> None:
    from guerdon.prove.proving import check_settings

    check_settings(names, how)


def _detach(output: Output, words: list[str], runs: Path) -> int:
    from guerdon.prove.detached import detach

    log = detach(words[1:], runs)
    output.say(f"running in the background; progress: guerdon prove --status --runs {runs}; output: {log}")
    output.finish({"log": str(log)})
    return 0


def _status(output: Output, runs: Path) -> int:
    from guerdon.prove.detached import status

    told = status(runs)
    if not told:
        output.say(f"no proof was run in {runs}; start one with guerdon prove NAME --runs {runs}")
    for each in told:
        output.say(each["line"])
    output.finish({"proofs": told})
    return 0


def _until_interrupted(work: Any) -> Any:
    try:
        return work()
    except CtrlC:
        raise _Interrupted("interrupted; finished runs are kept: the same command continues") from None


class _Interrupted(UserError):
    exit_code = 130


def _tell(output: Output, proof: dict[str, Any], how: How) -> None:
    """A summary of a page, in a few lines."""
    proof = brief(proof)
    name = name_of(proof)
    for claim in proof["claims"]:
        output.say()
        output.say(f"{name}: {claim['claim']['says']}")
        for line in claim_lines(claim):
            output.say(f"  {line}")
        output.pairs({f"  {arm}": _arm_line(claim, arm) for arm in claim["arms"]})
    look = "  (--quick: not evidence)" if how.quick else ""
    output.say(f"  {how.folder / name}.md{look}")


def claim_lines(claim: Mapping[str, Any]) -> list[str]:
    """The word and its meaning, its numbers, failed gates and notes."""
    kept = claim.get("quality")
    notes = [note for note in outcome(claim) if not note.startswith("gate")]
    lines = [
        f"{badge(claim)}: {meaning(claim)}",
        measured(claim),
        f"{claim['claim']['keeps']} {difference(kept)}" if kept else "",
        gates_in_words(claim),
        "; ".join([*notes, *((registration(claim),) if claim["tier"] == "registered" else ())]),
        unfinished(claim),
    ]
    return [line for line in lines if line]


def _arm_line(claim: Mapping[str, Any], name: str) -> str:
    arm = claim["arms"][name]
    default = claim["rates"].get(name, {}).get("default", arm["lr"])
    rate = "" if arm["lr"] == default else f", learning rate {arm['lr']:g} (default {default:g})"
    return f"{plain(arm['score'], claim['claim']['effect'])}  {arm['what']}{rate}"
