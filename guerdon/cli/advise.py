"""`guerdon advise`: which method to use, from what one has and the problem that one meets. Needs no torch."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, cast

import typer

from guerdon.cli.options import Json, Model
from guerdon.cli.output import Output
from guerdon.core.errors import UserError, unknown
from guerdon.core.problems import PROBLEMS, Problem

if TYPE_CHECKING:
    from guerdon.training.advice import Method

MOST = 5  # methods shown
WIDTH = 80
INDENT = 13


def advise(
    have: Annotated[
        list[str] | None,
        typer.Option(
            "--have",
            metavar="answers|tests|preferences|labels|step-labels|judge|nothing",
            help="What you have to learn from; repeatable.  [default: by the columns of --data]",
        ),
    ] = None,
    problem: Annotated[
        str | None,
        typer.Option("--problem", metavar="PROBLEM", help=f"What goes wrong: {', '.join(PROBLEMS)}."),
    ] = None,
    model: Model = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="FILE", help="Your file: its columns say what you have.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Say which methods fit: what was measured of each, what it costs, and the command. Without options it asks."""
    from guerdon.training import advice

    output = Output(as_json)
    columns = _columns(data) if data else ()
    if not have and not problem and not data and not as_json and sys.stdin.isatty():
        have = [
            _ask(output, "What do you have?", {word: each.about for word, each in advice.OWNED.items()}) or "nothing"
        ]
        problem = _ask(output, "What is the problem?", {str(word): about for word, about in PROBLEMS.items()}) or None
        model = model or _line("Which model? (a name or folder; Enter: sprig)") or None
    words = [word for each in have or [] for word in each.split(",")]
    if not words and data:
        words = [advice.have_of(columns)]
    if not words:
        raise UserError(f"say what you have: --have {'|'.join(advice.OWNED)}, or --data FILE")
    for kind, names, allowed in (("--have", words, advice.OWNED), ("--problem", [problem], PROBLEMS)):
        for name in names:
            if name is not None and name not in allowed:
                raise unknown(kind, name, allowed)
    chosen = cast(Problem | None, problem)
    methods = advice.advise(words, chosen, model or "", data or "", columns)
    shown = methods[:MOST]
    if not as_json:
        _tell(output, shown, words, chosen, len(methods))
    facts = [
        {
            "recipe": each.recipe.name,
            "result": each.result,
            "stale": advice.is_stale(each),
            "lower_bound": each.measured.low if each.measured else None,
            "cost": each.measured.cost if each.measured else "",
            "about": each.recipe.about,
            "helps": list(each.recipe.helps),
            "command": each.command,
        }
        for each in (shown if as_json else [])
    ]
    output.finish({"have": words, "problem": problem, "methods": facts})
    return 0


def _columns(data: str) -> tuple[str, ...]:
    from guerdon.data.opening import open_records

    return open_records(data).columns


def _tell(output: Output, methods: Sequence[Method], have: Sequence[str], problem: Problem | None, count: int) -> None:
    from guerdon.training.advice import is_stale

    is_special = problem is None or any(problem in each.recipe.helps for each in methods)
    if not methods:
        output.say(f"No method trains on {' and '.join(have)} with this model: guerdon list recipes --usable")
        return
    if not is_special:
        output.say(f"No method for {problem} trains on {' and '.join(have)}; these train on it:")
    for number, each in enumerate(methods, 1):
        stale = " (stale)" if is_stale(each) else ""
        output.say(f"{number}. {each.recipe.name}")
        lines = {"measured": each.result + stale, "cost": each.measured.cost if each.measured else ""}
        for name, text in {**lines, "why": each.recipe.about}.items():
            if text:
                _say(output, name, textwrap.wrap(text, WIDTH - INDENT, break_on_hyphens=False))
        _say(output, "run", _command_lines(each.command))
    output.say()
    notes = [f"{len(methods)} of {count} methods."] if count > len(methods) else []
    notes.append("In brackets 95 % intervals; above 0 the method is better than its baseline.")
    if any(is_stale(each) for each in methods):
        notes.append("Stale: measured with earlier code.")
    for line in textwrap.wrap(" ".join([*notes, "guerdon show NAME says more."]), WIDTH):
        output.say(line)


def _say(output: Output, name: str, lines: Sequence[str]) -> None:
    for i, line in enumerate(lines):
        output.say(f"   {'' if i else name:<{INDENT - 4}} {line}")


def _command_lines(command: str) -> list[str]:
    """A command over as many lines as it needs; each ends as a shell wants it."""
    lines = [""]
    for word in command.replace(" --", "\n--").split("\n"):
        if lines[-1] and len(lines[-1]) + len(word) + 3 > WIDTH - INDENT:
            lines[-1] += " \\"
            lines.append(f"  {word}")
        else:
            lines[-1] = f"{lines[-1]} {word}".strip() if len(lines) == 1 else f"{lines[-1]} {word}"
    return lines


def _ask(output: Output, question: str, choices: Mapping[str, str]) -> str:
    """A choice by its number or word; Enter for none."""
    output.say(question)
    for number, (word, about) in enumerate(choices.items(), 1):
        output.say(f"  {number}  {word:<18} {about}")
    said = _line("Number or word (Enter: unknown)")
    if said.isdigit() and 1 <= int(said) <= len(choices):
        return list(choices)[int(said) - 1]
    return said


def _line(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False)).strip()
