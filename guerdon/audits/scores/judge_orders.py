"""JudgeBench: a judge's verdicts on pairs with known labels, asked in both orders.

Follows ScalerLab/JudgeBench at e2c52c2, utils/metrics.py:14-78: the second verdict is turned round; each that agrees with the
label counts 1, each that says the opposite -1, a tie or no verdict 0; a pair is right where the sum is above 0. With one
order the verdict is to be the label. Sources by how they begin: run_judge.py:94-96. A score makes a verdict by `A>B` where
the first is higher, else `B>A` (utils/judges.py:473, 525): so a reward model's tie is B>A there. Paper: arXiv:2410.12784. A
missing verdict is not a number: as in their code, its pair stays in the count and is not correct; how many there are is
reported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from guerdon.audits.scores.rows import Ledger, ScoreRow, ScoreRows, ScoreSettings, TextSlot, protocol

SOURCES = ("mmlu-pro", "livebench-reasoning", "livebench-math", "livecodebench")
TURNED = {"A>B": "B>A", "B>A": "A>B"}
LABELS = tuple(TURNED)


@protocol(
    "judgebench",
    "verdicts on pairs in both orders: right where they agree with the label on the whole, by source",
    "label (A>B or B>A), and judgments (a list of {decision}), decisions (a list), or score_A and score_B; source",
    "ScalerLab/JudgeBench e2c52c2, utils/metrics.py:14-78, run_judge.py:94-96; arXiv:2410.12784",
    [TextSlot("score_A", "question", "response_A"), TextSlot("score_B", "question", "response_B")],
)
def judgebench(rows: ScoreRows, settings: ScoreSettings) -> Ledger:
    ledger = Ledger()
    for row in rows:
        label = row.text("label")
        if label not in LABELS:
            row.refuse(f"label is A>B or B>A, not {label!r}")
        problem = row.text("pair_id") if row.has("pair_id") else row.problem()
        decisions = _decisions(row, label, problem, ledger)
        ledger.count("verdicts", sum(each is not None for each in decisions))
        ledger.count("missing verdicts", sum(each is None for each in decisions))
        source = row.word("source")
        notes = worth_of(decisions, label)
        of = {f"source/{name}": notes["accuracy"] for name in SOURCES if source.startswith(name)}
        ledger.notes(problem, next((name for name in SOURCES if source.startswith(name)), ""), {**notes, **of})
    return ledger


def worth_of(decisions: list[str | None], label: str) -> dict[str, float]:
    """What the verdicts on a pair are worth, the second asked with the answers exchanged.

    >>> worth_of(["A>B", "A=B"], "A>B")
    {'accuracy': 1.0, 'right in both orders': 0.0, 'same verdict in both orders': 0.0}
    >>> worth_of(["A>B", "A>B"], "A>B")["accuracy"]  # it likes whatever stands first
    0.0
    """
    if len(decisions) == 1:
        return {"accuracy": float(decisions[0] == label)}
    first, second = decisions[0], TURNED.get(decisions[1] or "", decisions[1])
    total = sum((each == label) - (each == TURNED[label]) for each in (first, second))
    return {
        "accuracy": float(total > 0),
        "right in both orders": float(first == label and second == label),
        "same verdict in both orders": float(first == second),
    }


def _decisions(row: ScoreRow, label: str, problem: str, ledger: Ledger) -> list[str | None]:
    if row.has("judgments", "decisions"):
        judged = row.list_of("judgments", "decisions")
        if len(judged) not in (1, 2):
            row.refuse(f"{row.has('judgments', 'decisions')} has one verdict or two, not {len(judged)}")
        if row.has("judgments") and isinstance(judged[0], Mapping):
            _scores_said(row, judged[0].get("judgment"), label, problem, ledger)
        return [_decision(row, each) for each in judged]
    a, b = row.number("score_A"), row.number("score_B")
    _apart(row, a, b, label, problem, ledger)
    ledger.count("missing scores", int(math.isnan(a)) + int(math.isnan(b)))
    return [None if math.isnan(a - b) else "A>B" if a > b else "B>A"]


def _decision(row: ScoreRow, judged: Any) -> str | None:
    said = judged.get("decision") if isinstance(judged, Mapping) else judged
    if said is not None and not isinstance(said, str):
        row.refuse("a decision is A>B, B>A, A=B or null")
    return said


def _scores_said(row: ScoreRow, judgment: Any, label: str, problem: str, ledger: Ledger) -> None:
    """The scores behind a reward model's verdict, where the file has them."""
    scores = judgment.get("scores") if isinstance(judgment, Mapping) else None
    if isinstance(scores, list) and len(scores) == 2:
        a, b = (row.as_number(each, "scores") for each in scores)
        _apart(row, a, b, label, problem, ledger)


def _apart(row: ScoreRow, a: float, b: float, label: str, problem: str, ledger: Ledger) -> None:
    ledger.pair(problem, *((a, b) if label == "A>B" else (b, a)))
    for side, score in (("A", a), ("B", b)):
        ledger.answer(problem, score, float(label.startswith(side)), row.lengths(f"response_{side}", 1)[0])
