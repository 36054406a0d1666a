"""Two audits of a task, before and after a fix: which findings went, which came, which stayed, and the numbers of both.

A finding is the same when its name is: the rule or the kind of completion that it is about. Of several with one name the first
is compared with the first. Leaves out: whether a difference of two rates is more than chance, which their intervals show.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Told = dict[str, Any]
SHORT = ("name", "severity", "says", "fix", "harm")  # of a finding


def compared(before: Told, after: Told) -> Told:
    """Findings that `went`, `came` and `stayed` (as pairs), and by kind and over all the rates of both."""
    first, second = _by_name(before["findings"]), _by_name(after["findings"])
    shared = [key for key in first if key in second]
    return {
        "went": [_short(each) for key, each in first.items() if key not in second],
        "came": [_short(each) for key, each in second.items() if key not in first],
        "stayed": [[_short(first[key]), _short(second[key])] for key in shared],
        "kinds": _kinds(before.get("kinds", []), after.get("kinds", [])),
        "numbers": [_numbers(each) for each in (before, after)],
    }


def _by_name(findings: Iterable[Told]) -> dict[tuple[str, int], Told]:
    keyed: dict[tuple[str, int], Told] = {}
    counts: dict[str, int] = {}
    for each in findings:
        number = counts[each["name"]] = counts.get(each["name"], -1) + 1
        keyed[each["name"], number] = each
    return keyed


def _short(finding: Told) -> Told:
    return {name: finding[name] for name in SHORT}


def _kinds(before: list[Told], after: list[Told]) -> list[Told]:
    """Kinds that either has errors of, the largest change first; what one has no rate of comes last."""
    both = [{each["kind"]: each for each in rows} for rows in (before, after)]
    rows = []
    for kind in dict.fromkeys([*both[0], *both[1]]):
        pair = [each.get(kind) for each in both]
        if any(each is not None and each["errors"] for each in pair):
            first, second = (None if each is None else each["rate"] for each in pair)
            change = None if first is None or second is None else second - first
            rows.append({"kind": kind, "rates": [_rate(each) for each in pair], "change": change})
    return sorted(rows, key=lambda row: (row["change"] is None, -abs(row["change"] or 0.0)))


def _rate(row: Told | None) -> Told | None:
    return None if row is None else {name: row[name] for name in ("rate", "low", "high", "count", "errors")}


def _numbers(audit: Told) -> Told:
    return {name: audit.get(name) or {} for name in ("rates", "auc", "partial", "seconds")}
