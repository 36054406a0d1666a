"""Process reward models evaluated on labelled steps: ProcessBench and PRMBench.

`processbench`: QwenLM/ProcessBench at e802463, code/run_eval.py:112-130: a prediction is right where it is the label, the
first wrong step counted from 0, or -1 where none is. F1 is the harmonic mean of accuracy on solutions with an error and on
those without, for each split; the score is the mean F1 over splits. Scores of steps predict the first that is not above the
threshold; `threshold="gsm8k"` looks for the one with the highest F1 on that split, as the paper does for models with scores
(arXiv:2412.06559, section 4.1).

`prmbench`: ssmisya/PRMBench at a1ae4ea, mr_eval/tasks/prmtest_classified/task.py:59-316: every step counts, right ones as
positives; totals leave the solutions called `correct` out. PRMScore is half F1 and half the F1 of wrong steps, for
multi_solutions F1 alone, and a category's the mean of its classes (mr_visualize/eval_res_view/draw_figure/draw_radar.ipynb).
A step's label is score > 0.5, of redundancy > 0.15 (mr_eval/models/abstract_model.py:16-17); redundancy, where given, is what
redundency and circular go by. Paper: arXiv:2501.03124.

Other than theirs: solutions with a missing step score are left out and counted (a missing `prediction` is wrong, as theirs);
an F1 of two accuracies of 0 is 0; and where a rate has no steps to be over there is no number, theirs is -1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from guerdon.audits.scores.rows import Array, Ledger, Means, ScoreRow, ScoreRows, ScoreSettings, mean_of, protocol
from guerdon.core.errors import UserError

NO_ERROR = -1
STEP_SCORES = ("step_scores", "scores", "step_level_validity_scores")
MOST_THRESHOLDS = 1000  # that are tried
REDUNDANT = 0.15  # PRMBench's threshold for a step that is not needed
BY_REDUNDANCY = ("redundency", "circular")
CATEGORIES = {
    "simplicity": ("redundency", "circular"),
    "soundness": ("counterfactual", "step_contradiction", "domain_inconsistency", "confidence"),
    "sensitivity": ("missing_condition", "deception", "multi_solutions"),
}
F1_ALONE = ("multi_solutions",)


def first_wrong(steps: Sequence[float], threshold: float) -> int:
    """The first step that does not score above a threshold, from 0; -1 where all do.

    >>> first_wrong([0.9, 0.5, 0.2], 0.5), first_wrong([0.9, 0.6], 0.5)
    (1, -1)
    """
    return next((place for place, score in enumerate(steps) if not score > threshold), NO_ERROR)


@protocol(
    "processbench",
    "the first wrong step: accuracy on wrong and on right solutions, their harmonic mean F1, by split",
    "label (the first wrong step from 0, or -1), and prediction or step_scores; split, or an id such as gsm8k-12",
    "QwenLM/ProcessBench e802463, code/run_eval.py:112-130; arXiv:2412.06559",
)
def processbench(rows: ScoreRows, settings: ScoreSettings) -> Ledger:
    ledger = Ledger()
    solutions: list[tuple[ScoreRow, str, int, list[float]]] = []
    for row in rows:
        split = row.word("split", "config", "subset") or row.word("id").rpartition("-")[0] or "all"
        steps = [] if row.has("prediction") else row.numbers(*STEP_SCORES)
        if any(map(math.isnan, steps)):
            ledger.count("missing scores", sum(map(math.isnan, steps)))
        else:
            solutions.append((row, split, row.whole("label"), steps))
    threshold = _threshold(settings.threshold, [(split, label, steps) for _, split, label, steps in solutions])
    if any(steps for *_, steps in solutions):
        ledger.remarks.append(f"a step is right where its score is above {threshold:g}")
    for row, split, label, steps in solutions:
        predicted = first_wrong(steps, threshold) if steps else row.number("prediction")
        if not steps:
            ledger.count("missing predictions, not right", int(math.isnan(predicted)))
        kind = "correct" if label == NO_ERROR else "error"
        problem = row.word("id") or row.where
        ledger.notes(f"{split} {problem}", f"{split} {kind}", {f"{kind} accuracy/{split}": float(predicted == label)})
    splits = list(dict.fromkeys(split for _, split, *_ in solutions))
    ledger.derive = lambda means: _f1_of_splits(means, splits)
    return ledger


def harmonic(a: Array, b: Array) -> Array:
    """The harmonic mean of two rates, 0 where both are 0."""
    mean: Array = np.divide(2 * a * b, a + b, out=np.where(np.isnan(a + b), np.nan, 0.0), where=a + b > 0)
    return mean


def _f1_of_splits(means: Means, splits: Sequence[str]) -> Means:
    by_split = {
        f"F1/{split}": harmonic(means[f"error accuracy/{split}"], means[f"correct accuracy/{split}"])
        for split in splits
        if f"error accuracy/{split}" in means and f"correct accuracy/{split}" in means
    }
    return {"F1": mean_of(by_split, list(by_split)), **by_split} if by_split else {}


def _threshold(given: float | str, solutions: Sequence[tuple[str, int, list[float]]]) -> float:
    """The threshold itself, or the one with the highest F1 on a split."""
    try:
        return float(given)
    except ValueError:
        pass
    of = [(label, steps) for split, label, steps in solutions if split == given and steps]
    splits = sorted({split for split, *_ in solutions})
    if not of:
        raise UserError(
            f"threshold is a number or a split with step scores, not {given!r}; splits: {', '.join(splits)}"
        )
    every = [step for _, steps in of for step in steps]
    tried = np.unique([min(every) - 1, *every])
    if len(tried) > MOST_THRESHOLDS:
        tried = np.quantile(tried, np.linspace(0, 1, MOST_THRESHOLDS))

    def f1(threshold: float) -> float:
        hits = {True: [0, 0], False: [0, 0]}
        for label, steps in of:
            side = hits[label == NO_ERROR]
            side[0] += first_wrong(steps, threshold) == label
            side[1] += 1
        a, b = (right / max(many, 1) for right, many in hits.values())
        return 2 * a * b / (a + b) if a + b else 0.0

    return float(max(tried, key=f1))


@protocol(
    "prmbench",
    "every step marked right or wrong: F1, F1 of wrong steps, PRMScore, by class of error and category",
    "idx, classification, error_steps (from 1), and step_labels or step_scores, or scores with step_level_validity_labels",
    "ssmisya/PRMBench a1ae4ea, mr_eval/tasks/prmtest_classified/task.py:59-316; arXiv:2501.03124",
)
def prmbench(rows: ScoreRows, settings: ScoreSettings) -> Ledger:
    ledger = Ledger(plain=("similarity",))
    if isinstance(settings.threshold, str):
        raise UserError(f"prmbench: threshold is a number, not {settings.threshold!r}")
    seen: dict[str, tuple[str, list[int], list[bool]]] = {}
    for row in rows:
        idx, kind = row.text("idx", "id"), row.text("classification")
        errors = [int(row.as_number(each, "error_steps")) - 1 for each in row.list_of("error_steps")]
        labels = _labels(row, kind, settings.threshold, ledger)
        if idx in seen:
            ledger.count("repeated rows, excluded")
        elif labels is not None:
            seen[idx] = (kind, errors, labels)
    clean = {idx: sum(labels) / len(labels) for idx, (kind, _, labels) in seen.items() if kind == "correct" and labels}
    for idx, (kind, errors, labels) in seen.items():
        counts = confusion(errors, labels)
        notes = {f"_{kind} {name}": float(many) for name, many in counts.items()}
        if kind != "correct":
            notes |= {f"_all {name}": float(many) for name, many in counts.items()}
            if errors and 0 <= min(errors) < len(labels):
                notes["first error accuracy"] = float(not labels[min(errors)])
            alike = clean.get("correct_" + idx.removeprefix(f"{kind}_"))
            if alike and labels:  # theirs leaves out a correct solution of which no step is called right
                notes["similarity"] = abs(sum(labels) / len(labels) - alike)
        ledger.notes(idx, kind, notes)
    kinds = sorted({kind for kind, *_ in seen.values()})
    ledger.derive = lambda means: _rates_of_kinds(means, kinds)
    return ledger


def confusion(errors: Sequence[int], labels: Sequence[bool]) -> dict[str, int]:
    """Steps by truth and label, right ones being positive.

    >>> confusion([1], [True, True, False])
    {'TP': 1, 'FP': 1, 'TN': 0, 'FN': 1}
    """
    cells = [
        ("FP" if said else "TN") if place in errors else ("TP" if said else "FN") for place, said in enumerate(labels)
    ]
    return {cell: cells.count(cell) for cell in ("TP", "FP", "TN", "FN")}


def _labels(row: ScoreRow, kind: str, threshold: float, ledger: Ledger) -> list[bool] | None:
    """Which steps are called right; None where the answer was not valid, or a score is missing."""
    if row.has("validity") and not row.value("validity"):
        ledger.count("invalid answers, excluded")
        return None
    nested = row.value("scores") if row.has("scores") else None
    own = ScoreRow(nested, row.where) if isinstance(nested, Mapping) else row
    redundant = own.has("step_level_redundancy_labels", "step_level_redundancy_scores")
    said: Callable[[float], bool]
    if kind in BY_REDUNDANCY and redundant is not None:
        given = own.numbers(redundant)
        said = (lambda x: not x) if redundant.endswith("labels") else (lambda x: not x > REDUNDANT)
    elif own.has("step_labels", "step_level_validity_labels"):
        given, said = own.numbers("step_labels", "step_level_validity_labels"), bool
    else:
        given, said = own.numbers(*STEP_SCORES), lambda x: x > threshold
    missing = sum(map(math.isnan, given))
    ledger.count("missing scores", missing)
    return None if missing else [said(each) for each in given]


def _rates_of_kinds(means: Means, kinds: Sequence[str]) -> Means:
    result = _rates(means, "all") if any(kind != "correct" for kind in kinds) else {}
    by_kind = {kind: _rates(means, kind) for kind in kinds}
    scores: Means = {}
    for kind, rates in by_kind.items():
        scores[kind] = rates["F1"] if kind in F1_ALONE else rates["PRMScore"]
        result[f"F1/{kind}"], result[f"negative F1/{kind}"] = rates["F1"], rates["negative F1"]
    result |= {f"PRMScore/{kind}": score for kind, score in scores.items() if kind != "correct"}
    for category, of in CATEGORIES.items():
        if all(kind in scores for kind in of):
            result[f"category/{category}"] = mean_of(scores, of)
    return result


def _rates(means: Means, kind: str) -> Means:
    """Rates of steps; means over the same solutions replace their sums."""
    tp, fp, tn, fn = (means[f"_{kind} {cell}"] for cell in ("TP", "FP", "TN", "FN"))
    precision, recall = _share(tp, tp + fp), _share(tp, tp + fn)
    wrong_precision, wrong_recall = _share(tn, tn + fn), _share(tn, tn + fp)
    f1, negative = harmonic(precision, recall), harmonic(wrong_precision, wrong_recall)
    return {
        "PRMScore": (f1 + negative) / 2,
        "F1": f1,
        "negative F1": negative,
        "precision": precision,
        "recall": recall,
        "negative precision": wrong_precision,
        "negative recall": wrong_recall,
        "step accuracy": _share(tp + tn, tp + fp + tn + fn),
        "right step accuracy": recall,
        "wrong step accuracy": wrong_recall,
    }


def _share(part: Array, whole: Array) -> Array:
    share: Array = np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
    return share
