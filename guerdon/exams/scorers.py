"""How good scorers are: reward models on pairs, process reward models on lines, any confidence, implicit preferences.

Leaves out: the value of a scorer to a policy (`best_of_n.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.field_columns import ColumnField, FieldColumns
from guerdon.core.part import knob, part
from guerdon.core.statistics import brier, calibration_error, stratified_auc
from guerdon.exams.exam import TRUTH, Sitting
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.stage.step_labels import CheckedSolution, checked_solutions, labelled_solutions
from guerdon.tasks.family import Family
from guerdon.tasks.recited_rows import RecitedRows


@part
class pair_accuracy:
    r"""Every right try against every wrong one of the same problem, by the value head of `model` after each.

    With $p=\sigma(r^+-r^-)$: `pair_accuracy`, the share with $p>\frac12$ (a tie counts half); `pair_brier`, the mean of
    $(1-p)^2$; `pair_ece`, the expected calibration error of the verdict, which is as sure as $\max(p, 1-p)$. Problems
    with tries of one kind only make no pair; `pairs_examined` is their number. Pairs of one problem are not
    independent.

    Args:
        model: name of a model of the run with a value head.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> sitting = example_sitting([["= 4", "= 5"], ["= 6", "= 4"]], answer="4", rm__final=[2.0, 1.0, 1.0, 0.0])
    >>> numbers = gd.exams.pair_accuracy("rm")(sitting)
    >>> numbers["pair_accuracy"], numbers["pairs_examined"]
    (0.5, 2)
    """

    model: str = "rm"

    @property
    def needs(self) -> tuple[str, ...]:
        return (TRUTH, f"{self.model}.final")

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        batch = sitting.batch
        right, final = batch[TRUTH], batch[f"{self.model}.final"].double()
        group, _ = batch.group("task")
        right = torch.where(final.isnan(), final.float(), right)
        better, worse = torch.nonzero(
            (group[:, None] == group[None, :]) & (right[:, None] == 1) & (right[None, :] == 0), as_tuple=True
        )
        chance = torch.sigmoid(final[better] - final[worse]).tolist()
        if not chance:
            return {"pairs_examined": 0}
        hit = [0.5 if p == 0.5 else float(p > 0.5) for p in chance]
        return {
            "pair_accuracy": fmean(hit),
            "pair_ece": calibration_error([max(p, 1 - p) for p in chance], hit),
            "pair_brier": brier(chance, [1.0] * len(chance)),
            "pairs_examined": len(chance),
        }


@part(aliases=("labelled_first_error",))
class first_error(FieldColumns):
    r"""Lines of solutions against the task's step checker, or steps against a file's labels (`gd.tasks.labelled_steps`), with
    $p=\sigma(v)$ of the value head of `model` after each one's last token.

    Over lines up to the first error: `step_accuracy` at $p\ge\frac12$, `step_ece` and `step_brier`. Over solutions, by the
    protocol of ProcessBench (Zheng et al. 2024, arXiv:2412.06559): `found_share` of the wrong ones (the first line with
    $p<\frac12$ is the first wrong one), `cleared_share` of the right ones, and `first_error_f1`. Solutions that were cut short
    are in no share, steps labelled neither right nor wrong in no rate. `lines_examined`, of a file `steps_examined`, is their
    number.

    Args:
        model: name of a model of the run with a value head.

    >>> import guerdon as gd
    >>> gd.exams.first_error("prm").needs
    ('prm.after',)
    """

    model: Annotated[str, ColumnField("needs", ("after",))] = "prm"

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        solutions, counted = _known_solutions(sitting)
        after = torch.sigmoid(sitting.batch[f"{self.model}.after"].double()).tolist()
        told = [(after[s], y) for each in solutions for s, y in zip(each.ends, each.labels, strict=False)]
        lines = [(p, y) for p, y in told if not math.isnan(y)]
        if not lines:
            return {counted: 0}
        chance, truth = zip(*lines, strict=True)
        whole = [each for each in solutions if each.whole]
        predicted = [first_wrong([after[s] for s in each.ends]) for each in whole]
        return {
            "step_accuracy": fmean((p >= CERTAIN) == (y == 1) for p, y in lines),
            "step_ece": calibration_error(chance, truth),
            "step_brier": brier(chance, truth),
            **first_error_scores(predicted, [each.wrong for each in whole]),
            counted: len(lines),
        }


def _known_solutions(sitting: Sitting) -> tuple[list[CheckedSolution], str]:
    """Solutions whose lines are known to be right or wrong, by a file or by the task; and what they are counted as."""
    truth, batch, play, role = sitting.exam.truth, sitting.batch, sitting.play, sitting.exam.role
    if isinstance(getattr(sitting.exam.source, "task", sitting.exam.source), RecitedRows):
        return labelled_solutions(batch, play, role), "steps_examined"
    if not isinstance(truth, Family):
        name = getattr(truth, "name", repr(truth))
        raise UserError(f"{name} has no step checker: choose a generated family (guerdon list tasks)")
    return checked_solutions(batch, truth, play, role), "lines_examined"


@part
class calibration:
    r"""Whether a confidence is worth its number: over the tries that have one and could be checked, `ece`, the expected
    calibration error $\sum_b \frac{n_b}{n}|\text{said}_b - \text{right}_b|$ over ten equal bins (Guo et al. 2017,
    arXiv:1706.04599); `brier`, the mean of $(p-y)^2$; `confidence`, the mean of $p$, to be compared with
    pass@1; and `confident`, how many they were.

    `confidence` is a reward, or the name of a column with a number for each try, such as a model's reading `rm.final`; with
    `squash` $p$ is its $\sigma$. Anything outside of 0 to 1 is refused. ECE is biased upwards where bins hold few.

    Args:
        confidence: a reward, or a column with a number for each try.
        squash: apply the logistic function first.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> numbers = gd.exams.calibration("rm.final")(example_sitting([["= 4", "= 5"]], answer="4", rm__final=[0.9, 0.2]))
    >>> round(numbers["ece"], 4), round(numbers["brier"], 4), round(numbers["confidence"], 4)
    (0.15, 0.025, 0.55)
    """

    confidence: Any
    squash: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.confidence, str):
            self.confidence = as_reward(self.confidence)

    @property
    def needs(self) -> tuple[str, ...]:
        return (TRUTH, self.confidence) if isinstance(self.confidence, str) else (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        column, checked = _scored_tries(self.confidence, sitting, "calibration")
        there = checked & ~column.missing
        confidence = column.value.double()[there]
        right = sitting.batch[TRUTH][there].tolist()
        sure = (torch.sigmoid(confidence) if self.squash else confidence).tolist()
        if any(not 0.0 <= p <= 1.0 for p in sure):
            name = self.confidence if isinstance(self.confidence, str) else "reward"
            raise UserError(f"a confidence lies between 0 and 1, and {name!r} does not: calibration(..., squash=True)")
        if not sure:
            return {"confident": 0}
        return {
            "ece": calibration_error(sure, right),
            "brier": brier(sure, right),
            "confidence": fmean(sure),
            "confident": len(sure),
        }


@part
class auroc:
    r"""`auroc`: how often a right try has a higher score than a wrong one, ties half: the area under the ROC curve,
    $\frac{1}{n_1 n_0}\sum_{i: y_i = 1}\sum_{j: y_j = 0}\left([s_i > s_j] + \tfrac12[s_i = s_j]\right)$.

    `by="all"` compares tries at any two problems, as a score that filters data does; `by="problem"` only tries at the same
    one, as best-of-N does, each pair with the same weight. `auroc_right` and `auroc_wrong` are how many tries were compared.
    Tries without a score, or that could not be checked, are in no pair, and `auroc_unscored` is the share of the checked
    ones that has no score; without a pair there is no area.

    Args:
        score: a reward, or a column with a number for each try.
        by: compare tries at all problems, or at the same one.
        name: name of the numbers, where an exam has several.

    >>> import guerdon as gd
    >>> from guerdon.exams.example_sitting import example_sitting
    >>> sitting = example_sitting([["= 4", "= 5"], ["= 4", "= 6"]], answer="4", sure=[0.9, 0.2, 0.3, 0.3])
    >>> gd.exams.auroc("sure")(sitting)["auroc"], gd.exams.auroc("sure", by="problem")(sitting)["auroc"]
    (0.875, 0.75)
    """

    score: Any
    by: Literal["all", "problem"] = "all"
    name: str = "auroc"

    def __post_init__(self) -> None:
        if not isinstance(self.score, str):
            self.score = as_reward(self.score)

    @property
    def needs(self) -> tuple[str, ...]:
        return (TRUTH, self.score) if isinstance(self.score, str) else (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        column, checked = _scored_tries(self.score, sitting, "auroc")
        strata: dict[int, tuple[list[float], list[float]]] = {}
        groups = sitting.batch.group("task")[0].tolist() if self.by == "problem" else [0] * sitting.batch.K
        truth = sitting.batch[TRUTH].tolist()
        for k in torch.nonzero(checked & ~column.missing).flatten().tolist():
            strata.setdefault(groups[k], ([], []))[truth[k] < 0.5].append(float(column.value[k]))
        area = stratified_auc(list(strata.values()))
        unscored = int((checked & column.missing).sum()) / max(int(checked.sum()), 1)
        right, wrong = (sum(map(len, side)) for side in zip(*strata.values(), strict=True)) if strata else (0, 0)
        numbers = {f"{self.name}_right": right, f"{self.name}_wrong": wrong, f"{self.name}_unscored": unscored}
        return numbers if math.isnan(area) else {self.name: area, **numbers}


def _scored_tries(reward: Any, sitting: Sitting, who: str) -> tuple[Column, Tensor]:
    """A number for each try, of a reward or a column; and which tries are the role's and could be checked."""
    batch, name = sitting.batch, reward
    if not isinstance(name, str):
        batch, name = score(reward, role=sitting.exam.role)(batch, sitting.play), "reward"
    mine = batch.tracks_of([sitting.exam.role])
    return batch.track_column(name, who), mine & ~batch.cols[TRUTH].missing


@part
class implicit_pairs:
    r"""Every better answer against every worse one of the same prompt, by the reward that a policy implies,
    $r(y)=\beta\sum_t\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$ (Rafailov et al. 2023, arXiv:2305.18290).

    `pair_accuracy` is the share with $r^+>r^-$ (a tie counts half: a policy that has not moved is at a half), `pair_margin`
    the mean of $r^+-r^-$, `pairs_examined` how many there were. With `across` pairs are of any two prompts, for answers that
    are labelled one by one. Without a `reference` the reward is $\beta\sum_t\log\pi(y_t)$. It measures what the policy has
    learned to distinguish, not what it writes.

    Args:
        model: name of the trained model.
        reference: name of the reference model; "" for none.
        beta: scale of the log-ratio.
        across: compare answers to different prompts too.

    >>> import guerdon as gd
    >>> gd.exams.implicit_pairs(beta=0.5).needs
    ('correct', 'policy.logp', 'reference.logp')
    """

    model: str = "policy"
    reference: str = "reference"
    beta: float = knob(default=0.1, gt=0.0)
    across: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        return (TRUTH, f"{self.model}.logp", *([f"{self.reference}.logp"] if self.reference else []))

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        batch = sitting.batch
        gain = batch[f"{self.model}.logp"].double()
        if self.reference:
            gain = (batch[f"{self.model}.logp"] - batch[f"{self.reference}.logp"]).double()
        implied = self.beta * torch.stack([gain[steps].sum() for steps in batch.steps_by_track()])
        right, group = batch[TRUTH], batch.group("task")[0]
        alike = (group[:, None] == group[None, :]) | self.across
        better, worse = torch.nonzero(alike & (right[:, None] == 1) & (right[None, :] == 0), as_tuple=True)
        margins = (implied[better] - implied[worse]).tolist()
        if not margins:
            return {"pairs_examined": 0}
        return {
            "pair_accuracy": fmean(0.5 if margin == 0 else float(margin > 0) for margin in margins),
            "pair_margin": fmean(margins),
            "pairs_examined": len(margins),
        }


CERTAIN = 0.5  # a step that is less likely right than this is called wrong


def first_wrong(chance: Sequence[float]) -> int | None:
    """The first step that is called wrong, None where none is."""
    return next((i for i, p in enumerate(chance) if p < CERTAIN), None)


def first_error_scores(predicted: Sequence[int | None], truth: Sequence[int | None]) -> dict[str, float]:
    r"""ProcessBench's protocol (Zheng et al. 2024, arXiv:2412.06559): the share of wrong solutions whose first error was
    named exactly, the share of right ones in which none was found, and F1, their harmonic mean.

    The paper chooses a model's threshold on one of its subsets; here it is 1/2. Where all solutions are of one kind there
    is no F1.

    >>> first_error_scores([1, 0, None, None], [1, 2, None, None])
    {'found_share': 0.5, 'cleared_share': 1.0, 'first_error_f1': 0.6666666666666666}
    """
    wrong = [s == t for s, t in zip(predicted, truth, strict=True) if t is not None]
    right = [s is None for s, t in zip(predicted, truth, strict=True) if t is None]
    scores = {name: sum(hits) / len(hits) for name, hits in (("found_share", wrong), ("cleared_share", right)) if hits}
    if len(scores) == 2:
        a, b = scores.values()
        scores["first_error_f1"] = 2 * a * b / (a + b) if a + b else 0.0
    return scores
