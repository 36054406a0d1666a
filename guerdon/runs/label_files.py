"""What follows from labels, in files that other verbs take; regenerated whenever a label changes.

`truth.jsonl` has a row for every sample that was judged, a prompt, a completion and whether it is good: `guerdon train kto`,
`guerdon check --labels`. `pairs.jsonl` has a prompt, the better answer and the worse one, as labelled or as it follows from
a right and a wrong try at one prompt: `guerdon train reward_model`, `guerdon train dpo`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.runs.labels import FOLDER, VERDICTS, LabelBook, Place, Row, add_label, withdraw
from guerdon.runs.whole_files import remove, write_text

TRUTH, PAIRS = "truth.jsonl", "pairs.jsonl"
ABOUT = (
    "answer",
    "asked",
    "meta",
    "turns",
    "family",
    "task_id",
    "level",
    "role",
    "reward",
    "step",
    "episode",
    "segment",
)
PER_PROMPT = 64  # pairs that follow from the verdicts on one prompt's tries, or one for each try where those are more


def label(run: Path, row: Mapping[str, Any]) -> LabelBook:
    """Give a label, and write what follows."""
    return add_label(run, row, lambda book: write_files(run, book))


def take_back(run: Path, place: Place | None = None, kind: str = "") -> tuple[LabelBook, Row | None]:
    """Take back the last label, of all or of a sample, of any kind or one, and write what follows."""
    return withdraw(run, place, kind, lambda book: write_files(run, book))


def write_files(run: Path, book: LabelBook) -> None:
    """The files as they follow from the labels that stand; one that would be empty is not there."""
    for name, rows in ((TRUTH, truth_rows(book)), (PAIRS, pair_rows(book))):
        path = run / FOLDER / name
        if rows:
            write_text(path, "".join(json.dumps(row) + "\n" for row in rows))
        else:
            remove(path)


def truth_rows(book: LabelBook) -> list[Row]:
    """Each text that was judged, once: where a run said one thing twice and people judged it twice, the last counts."""
    rows: dict[str, Row] = {}
    for each in book.labels:
        if each["kind"] in VERDICTS and isinstance(each.get("completion"), str):
            said = _same(each["prompt"], each["completion"])
            rows.pop(said, None)
            rows[said] = {
                "prompt": each["prompt"],
                "completion": each["completion"],
                "label": each["kind"] == "right",
                "kind": each["kind"],
                **{name: each[name] for name in ABOUT if each.get(name) is not None},
            }
    return list(rows.values())


def pair_rows(book: LabelBook) -> list[Row]:
    """Labelled pairs, then those that follow; what follows never reverses a labelled pair."""
    judged = [row for row in book.labels if row["kind"] in ("better", "level") and "completion" in row["other"]]
    pairs: dict[frozenset[str], Row | None] = {}
    for row in judged:
        _put(
            pairs, row["prompt"], row["completion"], row["other"]["completion"], "better", level=row["kind"] == "level"
        )
    by_prompt: dict[str, list[Row]] = {}
    for each in truth_rows(book):
        by_prompt.setdefault(json.dumps(each["prompt"]), []).append(each)
    for rows in by_prompt.values():
        right, wrong = ([row for row in rows if row["label"] is good] for good in (True, False))
        for one, other in _crossed(right, wrong):
            if _both(one["prompt"], one["completion"], other["completion"]) not in pairs:
                _put(pairs, one["prompt"], one["completion"], other["completion"], f"right over {other['kind']}")
    return [row for row in pairs.values() if row is not None]


def _put(
    pairs: dict[frozenset[str], Row | None], prompt: Any, chosen: str, rejected: str, why: str, level: bool = False
) -> None:
    if chosen != rejected:
        row = {"prompt": prompt, "chosen": chosen, "rejected": rejected, "why": why}
        pairs[_both(prompt, chosen, rejected)] = None if level else row


def _crossed(right: Sequence[Row], wrong: Sequence[Row]) -> Iterable[tuple[Row, Row]]:
    """Each of some with each of others, every one of them as soon as may be."""
    if not right or not wrong:
        return ()
    more, fewer = sorted((right, wrong), key=len, reverse=True)
    every = ((one, fewer[(n + turn) % len(fewer)]) for turn in range(len(fewer)) for n, one in enumerate(more))
    chosen = itertools.islice(every, max(PER_PROMPT, len(more)))
    return chosen if more is right else ((other, one) for one, other in chosen)


def _same(*text: Any) -> str:
    return json.dumps(text)


def _both(prompt: Any, one: str, other: str) -> frozenset[str]:
    return frozenset((_same(prompt, one), _same(prompt, other)))
