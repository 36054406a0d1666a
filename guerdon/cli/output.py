"""How every verb speaks: lines and tables for people, one JSON object as the last line for programs.

With `--json` only that object goes to standard output, and progress goes to standard error.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, cast

from rich.console import Console
from rich.table import Table
from rich.text import Text

from guerdon.cli.streams import Escaped, shown
from guerdon.runs.event_types import Alarmed
from guerdon.runs.headline import percent as percent
from guerdon.runs.headline import plain

UNBOUNDED = 4096  # columns of a file or pipe: the reader wraps it


class Output:
    """Where a verb's words go. `console` is for people; it is standard error when a program reads standard output."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.console = console_on(sys.stderr if as_json else sys.stdout)

    def say(self, line: str = "") -> None:
        self.console.print(line, soft_wrap=True)

    def table(self, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        table = Table(*titles, box=None, pad_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*row)
        with self.console.capture() as held:
            self.console.print(table)
        for line in held.get().splitlines():  # rich pads the last column; a pipe's reader does not want that
            self.console.file.write(line.rstrip() + "\n")

    def pairs(self, pairs: Mapping[str, str]) -> None:
        """Names and values, one a line, values aligned."""
        width = max(map(len, pairs), default=0)
        for name, value in pairs.items():
            first, *more = value.splitlines() or [""]
            self.say(f"{name:<{width}}  {first}".rstrip())
            for line in more:
                self.say(f"{'':<{width}}  {line}")

    def finish(self, result: Mapping[str, Any]) -> None:
        """The verb's result, for programs. Does nothing unless `--json` was given."""
        if self.as_json:
            print_json(result)


class HeldOutput(Output):
    """Keeps what a verb says, its lines and its result, for an output like another one."""

    def __init__(self, like: Output) -> None:
        self.as_json, self.console = like.as_json, like.console
        self.lines: list[str] = []
        self.result: Mapping[str, Any] = {}

    def say(self, line: str = "") -> None:
        self.lines.append(line)

    def finish(self, result: Mapping[str, Any]) -> None:
        self.result = _strict(result) if self.as_json else {}


class Screen(Console):
    """rich's console, for which text is text: nothing in it is an effect but what rich adds."""

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(shown(text), **how)


def console_on(stream: IO[str]) -> Console:
    """Colours and width on a terminal; elsewhere bare text. Nothing a user wrote is ever taken for markup."""
    # the console makes effects, and escapes what is not its own by itself
    bare = cast(IO[str], stream.under) if isinstance(stream, Escaped) else stream
    terminal = bare.isatty()
    return Screen(
        file=bare,
        force_terminal=terminal,
        width=None if terminal else UNBOUNDED,
        markup=False,
        emoji=False,
        highlight=False,
    )


def print_json(value: Mapping[str, Any]) -> None:
    print(json.dumps(_strict(value)).replace("\x7f", "\\u007f"), flush=True)  # the one sign that JSON leaves as it is


def _strict(value: Any) -> Any:
    """JSON has no NaN: a number that is none becomes null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): _strict(v) for k, v in value.items()}
    return [_strict(v) for v in value] if isinstance(value, list | tuple) else value


def rate(result: Mapping[str, Any], name: str = "pass@1") -> str:
    """A pass rate with its 95 % interval, as people read it."""
    low, high = result[f"{name}_low"], result[f"{name}_high"]
    return f"{percent(result[name])} ({100 * low:.1f} to {100 * high:.1f})"


def cost(spent: Mapping[str, float]) -> str:
    """What a run has cost, in the four things that are counted; env steps in place of tokens where there are those alone."""
    units = {"tokens": "tokens generated", "read": "processed", "updates": "updates", "seconds": "seconds"}
    if not any(spent.values()):
        return ""
    if spent.get("env_steps"):
        of_text = {unit: words for unit, words in units.items() if unit not in ("tokens", "read") or spent[unit]}
        units = {"env_steps": "env steps", **of_text}
    counts = {words: f"{spent[unit]:,.0f}" for unit, words in units.items()}
    return ", ".join(f"{count} {words.removesuffix('s') if count == '1' else words}" for words, count in counts.items())


def alarms_in_words(alarms: Sequence[Alarmed]) -> str:
    """How many there were, and which rules raised them at which steps; empty where there were none."""
    steps: dict[str, list[str]] = {}
    for alarm in alarms:
        steps.setdefault(alarm.rule, []).append(str(alarm.step))
    told = ", ".join(f"{rule} at step {' and '.join(at)}" for rule, at in steps.items())
    return f"{len(alarms)}: {told}" if alarms else ""


def alarm_facts(alarm: Alarmed) -> dict[str, Any]:
    """An alarm for a program."""
    names = ("step", "rule", "severity", "about", "message", "fix", "numbers", "rollouts")
    return {name: getattr(alarm, name) for name in names}


def exam_lines(result: Mapping[str, Any], told: str = "") -> dict[str, str]:
    """An evaluation's numbers, one line for each named exam, without the number that is shown elsewhere (`told`); of the exam
    without a name ("") those that `rate` does not show."""
    by_exam: dict[str, list[str]] = {}
    for key, value in result.items():
        exam, _, name = key.partition("/") if "/" in key else ("", "", key)
        is_shown_elsewhere = name in ("task", "tasks", "tries", "steps_done") or name.endswith(("_low", "_high"))
        is_shown_elsewhere |= key == told
        is_shown_elsewhere |= not exam and name.startswith(("pass@", "missing", "length"))
        if not is_shown_elsewhere and isinstance(value, int | float):
            low, high = (result.get(f"{key}_{end}") for end in ("low", "high"))
            around = "" if low is None or high is None else f" ({plain(low)} to {plain(high)})"
            by_exam.setdefault(exam, []).append(f"{name} {plain(value)}{around}")
    return {exam: ", ".join(words) for exam, words in by_exam.items()}


def first_paragraph(doc: str | None) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((doc or "").strip().partition("\n\n")[0].split())
