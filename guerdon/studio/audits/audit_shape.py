"""What an audit.json must be like to be shown: each field of it checked by hand, for the file may come from anywhere.

`audit_of` gives plain data of which every type is known, or a line with what is wrong. Unknown fields are left out; a number
that is none is None. Leaves out: where files lie and how they are read (`audit_shelf.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from guerdon.core.errors import UserError

FORMAT = 2  # as `guerdon audit` writes it; in 1 a finding's `fix` was called `mend`
SEVERITIES = ("severe", "warning")
LONGEST = 50_000  # characters of a text that go to the page
NAME = 200  # and of a field's name
EXACT = 2**53  # beyond which a page's numbers are not exact

Check = Callable[[Any, str], Any]


class NoAudit(UserError):
    """A file that is called like an audit and is none, or a damaged one."""


def text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise NoAudit(f"{where} is no text")
    return value if len(value) <= LONGEST else f"{value[:LONGEST]} ... ({len(value) - LONGEST:,} more characters)"


def severity(value: Any, where: str) -> str:
    if value not in SEVERITIES:
        raise NoAudit(f"{where} is neither {' nor '.join(SEVERITIES)}")
    return str(value)


def flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise NoAudit(f"{where} is neither true nor false")
    return value


def amount(value: Any, where: str) -> float | None:
    """A number, or None where it is not known."""
    if value is None or isinstance(value, float):
        return None if value is None or not math.isfinite(value) else value
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > EXACT:
        raise NoAudit(f"{where} is no number")
    return value


def whole(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= EXACT:
        raise NoAudit(f"{where} is no count")
    return value


def fact(value: Any, where: str) -> str | bool | float | None:
    """Whatever stands on one line."""
    return text(value, where) if isinstance(value, str) else value if isinstance(value, bool) else amount(value, where)


def listed(each: Check) -> Check:
    def check(value: Any, where: str) -> list[Any]:
        if not isinstance(value, list):
            raise NoAudit(f"{where} is no list")
        return [each(one, f"{where}[{n}]") for n, one in enumerate(value)]

    return check


def by_name(each: Check) -> Check:
    def check(value: Any, where: str) -> dict[str, Any]:
        return {name[:NAME]: each(one, f"{where}[{name[:40]!r}]") for name, one in _mapping(value, where).items()}

    return check


def record(must: Mapping[str, Check], may: Mapping[str, Check] | None = None, empty: bool = False) -> Check:
    """Some fields that must be there and some that may; with `empty` there may be none at all."""

    def check(value: Any, where: str) -> dict[str, Any]:
        given = _mapping(value, where)
        if empty and not given:
            return {}
        for name in must:
            if name not in given:
                raise NoAudit(f"{where} has no {name}" if where else f"it has no {name}")
        fields = {**must, **(may or {})}
        return {name: of(given[name], f"{where}.{name}".lstrip(".")) for name, of in fields.items() if name in given}

    return check


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NoAudit(f"{where or 'it'} is no object")
    return value


RATE = record({"rate": amount, "low": amount, "high": amount, "count": whole, "of": whole})
EXAMPLE = record({"kind": text, "prompt": text, "completion": text, "score": amount, "gold": amount})
FINDING = record(
    {"name": text, "severity": severity, "says": text, "fix": text, "harm": amount},
    {"fault": text, "count": whole, "of": whole, "kinds": listed(text), "examples": listed(EXAMPLE), "note": text},
)
KIND = record(
    {"kind": text, "right": flag, "count": whole, "rate": amount, "low": amount, "high": amount, "errors": whole},
    {"mean": amount, "lowest": amount, "highest": amount, "scored": whole, "failed": whole, "not_applicable": whole},
)
MOVED = record({"mean": amount, "low": amount, "high": amount, "largest": amount, "problems": whole})
FAILURE = record({"component": text, "kind": text, "error": text, "completion": text})
PARTIAL = {"problems": whole, "pairs": whole, "out_of_order": whole, "above_gold": whole, "gives_partial_credit": flag}
TRIED = dict.fromkeys(("tries", "judged", "right", "agree", "groups", "flat"), whole)
AUDIT = record(
    {"reward": text, "task": text, "problems": whole, "samples": whole, "findings": listed(FINDING)},
    {
        "tokens": text,
        "form": text,
        "kinds": listed(KIND),
        "rates": record({"false_positives": RATE, "false_negatives": RATE}, empty=True),
        "auc": record({"auc": amount, "low": amount, "high": amount, "problems": whole}, empty=True),
        "sensitivity": by_name(by_name(MOVED)),
        "partial": record(PARTIAL, empty=True),
        "components": listed(by_name(fact)),
        "tried": record(TRIED, empty=True),
        "seconds": record({"median": amount, "worst": amount, "on": text}, empty=True),
        "failures": listed(FAILURE),
    },
)


def audit_of(told: Any) -> dict[str, Any]:
    """An audit as it can be shown; `NoAudit` has what is wrong."""
    version = _mapping(told, "").get("format")
    if isinstance(version, bool) or version not in (1, FORMAT):
        raise NoAudit("it is no audit of this version")
    checked: dict[str, Any] = AUDIT(_as_now(told) if version == 1 else told, "")
    return checked


def _as_now(told: Mapping[str, Any]) -> dict[str, Any]:
    """An audit of format 1."""
    findings = listed(lambda each, where: dict(_mapping(each, where)))(told.get("findings", []), "findings")
    now = [{**each, "fix": each["mend"]} if "mend" in each else each for each in findings]
    return {**told, "findings": now}
