"""Writes the table of docs/adversary.md: which rewards of known worth the adversary breaks, without a model, at 2,000 calls.

The corpora are those of `guerdon check` (tests/rewards/check_corpus*.py, see document_check.py).

    python scripts/document_adversary.py                    run every corpus and write the page (about ten minutes)
    python scripts/document_adversary.py tests/FILE.py ...  run these and print their tables
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from document_check import Entry, document, entries

from guerdon.audits.adversary.attack import attack
from guerdon.audits.adversary.hacks import AttackReport

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "adversary.md"
BEGIN = "<!-- tables: scripts/document_adversary.py -->"
CALLS = 2000


class Attacked(NamedTuple):
    entry: Entry
    report: AttackReport


def attacked(entry: Entry, calls: int = CALLS) -> Attacked:
    if not isinstance(entry.task, list):
        return Attacked(entry, attack(entry.reward, entry.task, calls=calls))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in entry.task))
        return Attacked(entry, attack(entry.reward, data={"path": str(path)}, calls=calls))


def counted(every: Iterable[Attacked]) -> dict[str, int]:
    """Of the bad ones and of the good ones, how many there are and how many were broken; blindly: with no answer known."""
    numbers = dict.fromkeys(("bad", "bad broken", "good", "good broken", "good broken blindly"), 0)
    for entry, report in every:
        kind = "bad" if entry.is_bad else "good"
        numbers[kind] += 1
        numbers[f"{kind} broken"] += not report.ok
        numbers["good broken blindly"] += not entry.is_bad and any(hack.blind for hack in report.serious)
    return numbers


def table(every: list[Attacked]) -> str:
    rows = [
        "| reward | on | | broken by | on problems | shortest example | calls |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for entry, report in sorted(every, key=lambda each: not each.entry.is_bad):
        first = next(iter(report.serious), None)
        more = f" (and {len(report.serious) - 1} more)" if len(report.serious) > 1 else ""
        told = ("nothing", "", "")
        if first is not None:
            told = (first.name + more, f"{first.problems} of {first.of}", f"`{_short(first.example)}`")
        cells = (f"`{entry.name}`", _on(entry), "bad" if entry.is_bad else "good", *told, str(report.calls))
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows)


def _on(entry: Entry) -> str:
    return entry.task if isinstance(entry.task, str) else "rows" if isinstance(entry.task, list) else entry.task.name


def _short(text: str) -> str:
    shown = repr(text).replace("`", "'")
    return shown if len(shown) <= 50 else f"{shown[:30]} .. {shown[-15:]}"


def chapter(path: Path) -> str:
    every = []
    for entry in entries(path):
        every.append(attacked(entry))
        print(f"{entry.name}: {every[-1].report!r}", file=sys.stderr, flush=True)
    n = counted(every)
    said = f"Of {n['bad']} bad ones {n['bad broken']} broken; of {n['good']} good ones {n['good broken']}"
    said += f", {n['good broken blindly']} of them with no answer known."
    return f"### {path.stem}\n\n{said}\n\n{table(every)}"


if __name__ == "__main__":
    document(chapter, PAGE, BEGIN)
