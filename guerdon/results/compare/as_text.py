"""A comparison as lines for a terminal: 80 columns by default, curves as sparks of blocks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import zip_longest

from guerdon.display.run.metric_curves import Curve
from guerdon.results.compare.compared import ComparedRuns
from guerdon.results.compare.prompts import PromptInRun, TryShown, told_apart
from guerdon.results.compare.words import (
    UNITS,
    by_seed_words,
    difference_lines,
    exam_words,
    in_words,
    plain,
    rate_words,
    run_words,
    seed_words,
)

BLOCKS = "▁▂▃▄▅▆▇█"
SPARK, ENDS = 24, 30  # columns of a curve, and of what stands beside it
LEAST = 24  # columns below which tries stand one below the other
SETTINGS, CURVES, TRIES = 16, 8, 4  # shown here; the page and --json have all
LINES = 12  # of one completion


def comparison_text(compared: ComparedRuns, width: int) -> str:
    """All of it, a section after the other."""
    width = max(width, LEAST)
    sections = [
        _arms(compared, width),
        _rates(compared, width),
        _settings(compared, width),
        _cost(compared, width),
        _curves(compared, width),
        _prompt(compared, width),
        [line for note in compared.notes for line in _wrapped(f"note: {note}", width, "  ")],
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent) or [""]


def _arms(compared: ComparedRuns, width: int) -> list[str]:
    lines = []
    for arm in compared.arms:
        lines += _wrapped(f"{arm.letter}  {arm.name}", width, "   ")
        lines += _wrapped(f"   {run_words(arm)}", width, "   ")
    return lines


def _rates(compared: ComparedRuns, width: int) -> list[str]:
    if not compared.metric:
        return []
    metric, arms = compared.metric, compared.arms
    head = f"{in_words(metric)}, {exam_words(metric, arms)}"
    rows = [("", "before", "after", "")]
    for arm in arms:
        before, after = compared.rates[arm.letter]
        rows.append((arm.letter, rate_words(metric, before), rate_words(metric, after), seed_words(arm, after)))
    lines = [*_wrapped(head, width), *_table(rows, width)]
    for arm in arms:
        by_seed = by_seed_words(arm, metric)
        lines += _wrapped(f"{arm.letter}, after: {by_seed}", width, "  ") if by_seed else []
    for said in difference_lines(metric, compared.differences):
        lines += _wrapped(said, width, "  ")
    return lines


def _settings(compared: ComparedRuns, width: int) -> list[str]:
    if not compared.settings:
        return ["the configurations are equal"]
    letters = [arm.letter for arm in compared.arms]
    shown, more = compared.settings[:SETTINGS], len(compared.settings) - SETTINGS
    lines = _table([("differs in", *letters), *((s.name, *s.values) for s in shown)], width)
    return [*lines, f"and {more} more: --html or --json"] if more > 0 else lines


def _cost(compared: ComparedRuns, width: int) -> list[str]:
    spent = [arm.mean_spent() for arm in compared.arms]
    many = any(len(arm.runs) > 1 for arm in compared.arms)
    head = ("cost of a run" if many else "cost", *(arm.letter for arm in compared.arms))
    rows = [(words, *(f"{cost[unit]:,.0f}" for cost in spent)) for unit, words in UNITS.items()]
    return _table([head, *rows], width)


def _curves(compared: ComparedRuns, width: int) -> list[str]:
    if not compared.curves:
        return []
    columns = max(SPARK // 3, min(SPARK, width - ENDS))
    lines = ["curves, first to last step"]
    shown = list(compared.curves.items())[:CURVES]
    for name, curves in shown:
        lines.append(f"  {name}")
        values = [v for curve in curves for v in curve.value if v is not None]
        for arm, curve in zip(compared.arms, curves, strict=True):
            ends = [v for v in curve.value if v is not None]
            numbers = f"{plain(ends[0])} -> {plain(ends[-1])}"
            lines.append(f"    {arm.letter}  {spark(curve, min(values), max(values), columns):<{columns}}  {numbers}")
    more = len(compared.curves) - CURVES
    return [*lines, f"and {more} more: --html or --json"] if more > 0 else lines


def spark(curve: Curve, low: float, high: float, columns: int = SPARK) -> str:
    """A curve as blocks, each the mean of its share of the steps; a blank where there is no value.

    >>> spark(Curve("x", "x", [0, 1, 2, 3], [0.0, 1.0, None, 3.0], None, 3), 0.0, 7.0)
    '▁▂ ▄'
    """
    n = len(curve.value)
    columns = min(columns, n)
    text = ""
    for c in range(columns):
        inside = [v for v in curve.value[c * n // columns : (c + 1) * n // columns] if v is not None]
        if not inside:
            text += " "
            continue
        height = (math.fsum(inside) / len(inside) - low) / (high - low) if high > low else 0.5
        text += BLOCKS[round(min(1.0, max(0.0, height)) * (len(BLOCKS) - 1))]
    return text


# --- the prompt -------------------------------------------------------------------------------------------------------


def _prompt(compared: ComparedRuns, width: int) -> list[str]:
    shown = compared.prompt
    if not shown.runs:
        return _wrapped(shown.note, width)
    lines = ["prompt" if shown.id == shown.prompt else f"prompt {shown.id}"]
    lines += [f"  {line}" for text in shown.prompt.splitlines() for line in _wrapped(text, width - 2)]
    if shown.answer:
        lines += _wrapped(f"  expected {shown.answer}", width, "    ")
    each = (width - 2 * (len(shown.runs) - 1)) // len(shown.runs)
    columns = [_run_lines(run, shown.column, each if each >= LEAST else width) for run in shown.runs]
    if each < LEAST:
        return [*lines, *(line for column in columns for line in ["", *column])]
    beside = ("  ".join(cell.ljust(each) for cell in row).rstrip() for row in zip_longest(*columns, fillvalue=""))
    return [*lines, "", *beside]


def _run_lines(run: PromptInRun, column: str, width: int) -> list[str]:
    mean = f", mean {column} {plain(run.mean)}" if not math.isnan(run.mean) else ""
    lines = _wrapped(f"{run.arm}  step {run.step}, {_count(run.tries)}{mean}", width, "   ")
    told = told_apart(run.tries)
    for each, times in told[:TRIES]:
        lines += ["", *_try_lines(each, times, column, width)]
    more = sum(times for _, times in told[TRIES:])
    return [*lines, "", f"and {more} more"] if more else lines


def _count(tries: Sequence[TryShown]) -> str:
    return f"{len(tries)} {'try' if len(tries) == 1 else 'tries'}"


def _try_lines(each: TryShown, times: int, column: str, width: int) -> list[str]:
    said = [f"{name} {plain(v) if isinstance(v, float) else v}" for name, v in each.columns.items()]
    first = sorted(said, key=lambda words: not words.startswith(f"{column} "))
    lines = _wrapped(", ".join(first) + (f" ({times} times)" if times > 1 else ""), width, "  ")
    for name, why in each.why.items():
        lines += _wrapped(f"{name}: {why}", width, "  ")
    text = [line for part in each.completion.splitlines() for line in textwrap.wrap(part, width - 2) or [""]]
    cut = [*text[: LINES - 1], "..."] if len(text) > LINES else text
    return [*lines, *(f"| {line}" for line in cut or [""])]


# --- tables -----------------------------------------------------------------------------------------------------------


def _table(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Rows with columns aligned. What does not fit becomes a line for each cell, under the row's name; a long cell is cut
    nowhere."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    if sum(widths) + 2 * (len(widths) - 1) <= width:
        return ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    head, lines = rows[0], [rows[0][0]] if rows[0][0] else []
    for row in rows[1:]:
        lines += _wrapped(f"  {row[0]}", width, "    ")
        for title, cell in zip(head[1:], row[1:], strict=True):
            if cell:
                lines += _wrapped(f"    {title}  {cell}" if title else f"    {cell}", width, "      ")
    return lines
