"""Plain pairs, pairs of agents' trajectories, and pairs of instructions.

`pairs`: the share of pairs in which chosen > rejected; beside it ties, and the share with ties as half.

`trajectory-pairs`: Plan-RewardBench, wyy-1112/Plan-RewardBench, eval/evaluate_benchmark_final.py: scores within 1e-4 are a tie,
which is half (lines 431-446, 634-640); accuracy by split and by tokens of the whole input (584-590, 792-833); the score is the
plain mean over splits (835-849). Paper: arXiv:2604.08178. Families are those of its README. Without a column `total_tokens` a
length is a third of the characters of both trajectories, the query and the tools: their own guess where no tokeniser is there.

`contrast`: Contrast Instructions, arXiv:2309.16155: two like instructions, each with its own response. Response side: given
an instruction, its response is above the other's. Instruction side: given a response, its instruction is above the other
(shadowkiller33/Contrast-Instruction, code/inference.py:168-171 and 276-280, which asks the first response alone). Both sides
here are over the two questions that a row holds; `both` is where both are answered right, `first` theirs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from guerdon.audits.scores.rows import (
    CHOSEN,
    REJECTED,
    Ledger,
    ScoredPair,
    ScoreRow,
    ScoreRows,
    ScoreSettings,
    TextSlot,
    mean_of,
    protocol,
    text_length,
)

TIE = 1e-4  # scores of trajectories that are closer are level
PER_TOKEN = 3  # characters, where there are no token counts
FAMILIES = {
    "planning_multi_easy": "complex planning",
    "planning_multi_hard": "complex planning",
    "planning_single_easy": "complex planning",
    "planning_single_hard": "complex planning",
    "robust_recovery": "robust error recovery",
    "safety_refusal": "safety refusal",
    "tool_irrelevance": "tool irrelevance",
}
LENGTHS = (
    (0, 4000, "0-4k"),
    (4000, 8000, "4-8k"),
    (8000, 16000, "8-16k"),
    (16000, 32000, "16-32k"),
    (32000, math.inf, "32k+"),
)
PAIR_TEXTS = (TextSlot("chosen_scores", "prompt", "chosen"), TextSlot("rejected_scores", "prompt", "rejected"))


@protocol(
    "pairs",
    "chosen above rejected, with ties reported; or all right answers to a problem against all wrong ones",
    "chosen_score(s) and rejected_score(s), or probability (that chosen is better); or problem, score and label; subset",
    "the plain count",
    PAIR_TEXTS,
)
def pairs(rows: ScoreRows, settings: ScoreSettings) -> Ledger:
    ledger = Ledger()
    answers: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    for row in rows:
        subset, problem = row.word("subset"), row.problem()
        if row.has("label") and not row.has("probability", *CHOSEN):
            score, right = row.number("score"), _is_right(row)
            ledger.count("missing scores", int(math.isnan(score)))
            ledger.answer(problem, score, float(right), row.lengths("completion", 1)[0])
            if not math.isnan(score):
                answers.setdefault((subset, problem), []).append((score, right))
        elif row.has("probability"):
            _likely(row, subset, problem, ledger)
        else:
            _sides(row, subset, problem, ledger)
    for (subset, problem), of in answers.items():
        good, bad = ([score for score, right in of if right is side] for side in (True, False))
        compare(problem, subset, good, bad, ledger)
    return ledger


def _is_right(row: ScoreRow) -> bool:
    label = row.value("label")
    if label not in (0, 1, True, False, "0", "1", "true", "false"):
        row.refuse(f"label is 1 or 0, not {label!r}")
    return label in (1, True, "1", "true")


def _likely(row: ScoreRow, subset: str, problem: str, ledger: Ledger) -> None:
    p = row.number("probability")
    ledger.count("missing scores", int(math.isnan(p)))
    if math.isnan(p):
        return
    if not 0 <= p <= 1:
        row.refuse(f"probability is between 0 and 1, not {p:g}")
    ledger.pairs.append(ScoredPair(problem, p - 0.5, p))
    _note(problem, subset, p - 0.5, ledger)


def _sides(row: ScoreRow, subset: str, problem: str, ledger: Ledger) -> None:
    chosen, rejected = row.numbers(*CHOSEN), row.numbers(*REJECTED)
    ledger.count("missing scores", sum(map(math.isnan, (*chosen, *rejected))))
    compare(problem, subset, chosen, rejected, ledger)
    for side, scores, label in (("chosen", chosen, 1.0), ("rejected", rejected, 0.0)):
        for score, length in zip(scores, row.lengths(side, len(scores)), strict=True):
            ledger.answer(problem, score, label, length)


def compare(problem: str, subset: str, chosen: Sequence[float], rejected: Sequence[float], ledger: Ledger) -> None:
    """Every chosen score against every rejected one, those that are missing left out."""
    for a in chosen:
        for b in rejected:
            if not math.isnan(a - b):
                ledger.pair(problem, a, b)
                _note(problem, subset, a - b, ledger)


def _note(problem: str, subset: str, margin: float, ledger: Ledger) -> None:
    notes = {
        "accuracy": float(margin > 0),
        "accuracy, ties half": (margin > 0) + (margin == 0) / 2,
        "ties": float(margin == 0),
    }
    ledger.notes(problem, subset, {**notes, **({f"subset/{subset}": notes["accuracy"]} if subset else {})})


@protocol(
    "trajectory-pairs",
    "chosen against rejected trajectories of agents, ties half: by split, family and length",
    "benchmark (the split), and chosen_score and reject_score, or score (1, 0.5, 0) and winner; total_tokens",
    "wyy-1112/Plan-RewardBench, eval/evaluate_benchmark_final.py:431-446, 584-590, 634-640, 792-849; arXiv:2604.08178",
)
def trajectory_pairs(rows: ScoreRows, settings: ScoreSettings) -> Ledger:
    ledger = Ledger()
    for row in rows:
        split = row.text("benchmark", "split", "subset")
        problem = f"{split} {row.word('uuid') or row.problem()}"
        if row.has("score"):
            worth = row.number("score")
        else:
            chosen, rejected = row.number(*CHOSEN), row.number(*REJECTED)
            worth = worth_of_trajectories(chosen, rejected)
            ledger.pair(problem, chosen, rejected)
            ledger.answer(problem, chosen, 1.0, row.lengths("chosen", 1)[0])
            ledger.answer(problem, rejected, 0.0, row.lengths("reject" if row.has("reject") else "rejected", 1)[0])
        if math.isnan(worth):
            ledger.count("missing scores")
            continue
        notes = {"accuracy": worth, "ties": float(worth == 0.5), f"split/{split}": worth}
        if split in FAMILIES:
            notes[f"family/{FAMILIES[split]}"] = worth
        tokens = _tokens(row)
        if tokens is not None:
            notes[f"tokens/{next(name for low, high, name in LENGTHS if low <= tokens < high)}"] = worth
        ledger.notes(problem, split, notes)
    ledger.derive = lambda means: {"score": mean_of(means, [name for name in means if name.startswith("split/")])}
    return ledger


def worth_of_trajectories(chosen: float, rejected: float) -> float:
    """1 where chosen is higher, 0.5 where the two are level.

    >>> worth_of_trajectories(0.50004, 0.5), worth_of_trajectories(0.4, 0.5)
    (0.5, 0.0)
    """
    if math.isnan(chosen - rejected):
        return math.nan
    return 0.5 if abs(chosen - rejected) <= TIE else float(chosen > rejected)


def _tokens(row: ScoreRow) -> float | None:
    if row.has("total_tokens"):
        tokens = row.number("total_tokens")
        return None if math.isnan(tokens) else tokens
    texts = [row.value(name) for name in ("chosen", "reject", "rejected") if row.has(name)]
    lengths = [text_length(each) for each in texts]
    if len(lengths) < 2 or None in lengths:
        return None
    rest = [row.value(name) for name in ("query", "tools") if row.has(name)]
    extra = sum(len(each if isinstance(each, str) else json.dumps(each)) // PER_TOKEN for each in rest)
    return sum((each or 0.0) // PER_TOKEN for each in lengths) + extra


CONTRAST = (
    TextSlot("query_own", "query", "query_response_k"),
    TextSlot("query_other", "query", "retrieval_response_k"),
    TextSlot("retrieval_own", "retrieval", "retrieval_response_k"),
    TextSlot("retrieval_other", "retrieval", "query_response_k"),
)


@protocol(
    "contrast",
    "two like instructions with a response each: does a score follow the response, and the instruction",
    "query_own, query_other, retrieval_own, retrieval_other: the score of each instruction with its own response and with"
    " the other's; or scores, [[own, other], [other, own]] with a row for each instruction; subset",
    "arXiv:2309.16155; shadowkiller33/Contrast-Instruction, code/inference.py:168-171, 276-280",
    CONTRAST,
)
def contrast(rows: ScoreRows, settings: ScoreSettings) -> Ledger:
    ledger = Ledger()
    for row in rows:
        first, first_other, second, second_other = _four(row)
        missing = sum(map(math.isnan, (first, first_other, second, second_other)))
        ledger.count("missing scores", missing)
        if missing:
            continue
        problem, subset = row.problem(), row.word("subset")
        responses = [first > first_other, second > second_other]
        instructions = [first > second_other, second > first_other]
        notes: dict[str, float] = {}
        for side, right in (("response side", responses), ("instruction side", instructions)):
            notes |= {side: sum(right) / 2, f"{side}, both": float(all(right)), f"{side}, first": float(right[0])}
            notes |= {f"{side}/{subset}": sum(right) / 2} if subset else {}
        ledger.notes(problem, subset, notes)
        ledger.pair(problem, first, first_other)
        ledger.pair(problem, second, second_other)
    return ledger


def _four(row: ScoreRow) -> tuple[float, float, float, float]:
    if not row.has("scores"):
        own, other, own_2, other_2 = (row.number(slot.score) for slot in CONTRAST)
        return own, other, own_2, other_2
    grid = row.list_of("scores")
    if len(grid) != 2 or any(not isinstance(each, list) or len(each) != 2 for each in grid):
        row.refuse("scores is [[a, b], [c, d]]: a row for each instruction, a column for each response")
    (a, b), (c, d) = ([row.as_number(each, "scores") for each in line] for line in grid)
    return a, b, d, c
