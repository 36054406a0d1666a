"""Audits written as `guerdon audit` writes them, with numbers that tests know."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from guerdon.audits.kinds import Example, Finding
from guerdon.audits.report import AuditReport

NASTY = "<img src=x onerror=document.title='hacked'>"
HOUR = 3600 * 10**9


def finding(name: str = "substring match", severity: Any = "severe", harm: float = 0.7, **more: Any) -> Finding:
    examples = [
        Example("suffix", "trace a=1; print a", "= 17  \n\tso", 1.0, 1.0),
        Example("prefix", NASTY, NASTY * 40, float("nan"), 1.0),
        Example("empty", "a prompt", "", 0.25, 1.0),
    ]
    told = {"count": 3, "of": 4, "kinds": ("suffix", "prefix"), "examples": examples}
    about = {"name": name, "fix": f"fix {name}", "harm": harm}
    return Finding("worth", severity, f"{name} is what it is", **{**about, **told, **more})


def kind(name: str, rate: float | None, right: bool = False, count: int = 20) -> dict[str, Any]:
    share = 0.0 if rate is None else rate
    ends = {"rate": rate, "low": max(0.0, share - 0.1), "high": min(1.0, share + 0.1), "errors": round(share * count)}
    return {"kind": name, "right": right, "count": count, "mean": 0.5, "lowest": 0.0, "highest": 1.0, "scored": count,
            "failed": 0, "not_applicable": 0, **ends}  # fmt: skip


def report(reward: str = "right", task: str = "trace:3", findings: Any = None, **more: Any) -> AuditReport:
    rate = {"rate": 0.3, "low": 0.25, "high": 0.35, "count": 30, "of": 100}
    moved = {"mean": -0.5, "low": -0.6, "high": -0.4, "largest": -0.9, "problems": 8}
    measured: dict[str, Any] = {
        "tokens": "sprig",
        "kinds": [kind("padded", 0.0, right=True), kind("suffix", 0.875), kind("gold", 0.0, right=True)],
        "rates": {"false_positives": rate, "false_negatives": {**rate, "rate": 0.0, "low": 0.0, "count": 0}},
        "auc": {"auc": 0.81, "low": 0.75, "high": 0.85, "problems": 20},
        "sensitivity": {"length": {"right": moved}, "style": {"wrong": {**moved, "mean": 0.0, "largest": 0.0}}},
        "partial": {"problems": 2, "pairs": 9, "out_of_order": 1, "above_gold": 0, "gives_partial_credit": True},
        "components": [{"name": "right", "gold": 1.0, "near-miss": float("nan"), "failed": 0}],
        "tried": {"tries": 8, "judged": 8, "right": 7, "agree": 6, "unclear": 0, "groups": 4, "flat": 3},
        "seconds": {"median": 0.0001, "worst": 0.002, "on": "long"},
        "failures": [{"component": "right", "kind": "empty", "task": "t", "error": "ValueError: x", "completion": " "}],
    }
    return AuditReport(reward, task, 20, 1115, [finding()] if findings is None else findings, **{**measured, **more})


def write_audit(folder: Path, hours_ago: float = 0, **how: Any) -> Path:
    """Save one, as old as it is said to be."""
    report(**how).save(folder)
    now = 1_800_000_000 * 10**9 - int(hours_ago * HOUR)
    os.utime(folder / "audit.json", ns=(now, now))
    return folder
