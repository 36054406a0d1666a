"""An audit as text for a terminal: findings first, each with its examples and its mend, then what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from guerdon.audits.kinds import quoted, table_lines, time_in_words, wrapped

WIDTH = 88  # columns, where nobody says how many there are
MARGIN = 10


def as_text(report: Any, width: int = WIDTH) -> str:
    return "\n".join(_lines(report, width))


def _lines(report: Any, width: int) -> Iterator[str]:
    counted = f", tokens counted by {report.tokens}" if report.tokens else ""
    size = f"{report.problems} problem{'s' * (report.problems != 1)}, {report.samples:,} completions{counted}"
    yield from wrapped(f"{report.reward} on {report.task}: {size}", "", width)
    severe = sum(f.severity == "severe" for f in report.findings)
    others = len(report.findings) - severe
    yield (
        f"{severe} severe finding{'s' * (severe != 1)}, {others} warning{'s' * (others != 1)}"
        if report.findings
        else "nothing found"
    )
    for finding in report.findings:
        yield ""
        yield from _finding(finding, width)
    if report.kinds:
        yield ""
        yield from _kinds(report.kinds, width)
        yield ""
        for text in _measured(report):
            yield from wrapped(text, "  ", width)


def _kinds(rows: Sequence[Any], width: int) -> Iterator[str]:
    """A table of the kinds that are wrongly scored at times, gold before them; the others in a sentence."""
    told = [
        row
        for row in rows
        if row["kind"] == "gold" or row["errors"] or row["rate"] is None or row["rate"] != row["rate"]
    ]
    titles = ("completion", "count", "wrongly scored", "95 % interval", "mean", "lowest", "highest")
    yield from table_lines(titles, [_row(row) for row in told], "kind")
    clean = [row for row in rows if row not in told]
    if clean:
        names = ", ".join(row["kind"] for row in clean)
        count = sum(row["count"] for row in clean)
        yield from wrapped(f"none wrongly scored among {count:,} completions of other kinds: {names}", "  ", width)


def _finding(finding: Any, width: int) -> Iterator[str]:
    indent = " " * MARGIN
    yield from wrapped(
        f"{finding.severity.upper():<{MARGIN - 1}} {finding.name} (harm {finding.harm:.2f})", indent, width
    )
    yield from wrapped(f"{indent}{finding.says}", indent, width)
    for each in finding.examples:
        yield from wrapped(
            f"{indent}- {quoted(each.completion)} is paid {each.score:.3g}, right is {each.gold:.3g}",
            indent + "  ",
            width,
        )
    if finding.note:
        yield from wrapped(f"{indent}- {finding.note}", indent + "  ", width)
    if finding.mend:
        yield from wrapped(f"{indent}mend: {finding.mend}", indent + "      ", width)


def _row(row: Any) -> dict[str, Any]:
    rate, low, high = row["rate"], row["low"], row["high"]
    known = rate is not None and rate == rate
    return {
        **row,
        "wrongly_scored": f"{rate:.1%}" if known else "-",
        "95_%_interval": f"{low:.1%} to {high:.1%}" if known else "-",
    }


def _measured(report: Any) -> Iterator[str]:
    rates = report.rates
    for name, words in (("false_positives", "wrong completions accepted"), ("false_negatives", "right ones refused")):
        told = rates.get(name)
        if told and told["of"]:
            yield f"{words}: {told['rate']:.1%} ({told['low']:.1%} to {told['high']:.1%}), {told['count']} of {told['of']}"
    if report.auc.get("problems"):
        told = report.auc
        yield f"a right completion is paid more than a wrong one in {told['auc']:.1%} of pairs (AUC, ties half)"
    still = []
    for what, by_truth in report.sensitivity.items():
        moves = [
            f"{truth} answers by {told['mean']:+.2f}" for truth, told in sorted(by_truth.items()) if told["largest"]
        ]
        if moves:
            yield f"{what} alone moves {' and '.join(moves)} of what being right is worth"
        else:
            still.append(what)
    if still:
        yield f"no score changes with {' or '.join(still)} alone"
    if report.partial:
        told = report.partial
        credit = "partial credit" if told["gives_partial_credit"] else "no partial credit"
        yield f"{credit}: {told['out_of_order']} of {told['pairs']} pairs of better and worse answers out of order"
    if report.form:
        yield f"answers were written as {report.form}"
    if report.tried:
        told = report.tried
        yield (
            f"of {told['tries']} tries of the model, {told['judged']} could be judged: {told['right']} right, the reward"
            f" agrees on {told['agree']}; all tries worth the same in {told['flat']} of {told['groups']} problems"
        )
    if report.attack:
        told = report.attack
        yield f"an adversary with {told['calls']:,} calls found {len(told['hacks'])} ways to be paid for wrong answers"
        for name, rows in told["curves"].items():
            first, last = rows[0], rows[-1]
            yield (
                f"{name.replace('_', ' ')}: the reward goes from {first['proxy']:.2f} to {last['proxy']:.2f}, the truth from"
                f" {first['truth']:.2f} to {last['truth']:.2f}"
            )
    if report.failures:
        yield f"it failed on {len(report.failures)} completions"
    if report.seconds:
        told = report.seconds
        yield f"a call takes {time_in_words(told['median'])}, at worst {time_in_words(told['worst'])} ({told['on']})"
