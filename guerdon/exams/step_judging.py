"""How well a reward that comes in lines judges lines, whatever it is made of; and how many answers are sound, right by right
lines alone.

Leaves out: what a policy could farm from it (`farming.py`), and a value head by itself (`first_error` in `scorers.py`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby, pairwise
from statistics import fmean
from typing import Any, NamedTuple

import torch

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.statistics import brier, calibration_error, pass_at_k
from guerdon.exams.exam import TRUTH, Sitting
from guerdon.exams.scorers import first_error_scores
from guerdon.exams.tries import checked, powers, rights, with_interval
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.stage.step_labels import checked_solutions
from guerdon.tasks.roles import marks
from guerdon.tasks.stepwise import by_steps

F1 = "first_error_f1"


class JudgedSolution(NamedTuple):
    """A try with the truth about its lines and a reward of each."""

    problem: int
    scores: list[float]
    labels: list[float]  # of the lines up to the first wrong one, or all
    whole: bool

    @property
    def wrong(self) -> int | None:
        return self.labels.index(0.0) if 0.0 in self.labels else None

    def called(self, threshold: float) -> int | None:
        """The first line that scores below the threshold."""
        return next((i for i, said in enumerate(self.scores) if said < threshold), None)


@part
class judged_steps:
    r"""Lines of tries against the task's step checker, by `reward` of each line: any reward that comes in lines,
    such as `process_model(aggregate="steps")`, `implicit(per="line")`, `true_lines` or a function that returns a list.

    `step_auc` $= P(s^+ > s^-) + \frac12 P(s^+ = s^-)$ over a right line and a first wrong one, of all tries. What needs a
    scale is fitted on every other problem and measured on the rest. By the protocol of ProcessBench (Zheng et al. 2024,
    arXiv:2412.06559), which chooses a model's threshold by F1 on one of its subsets: `found_share` of the wrong solutions
    (the first line below the threshold is the first wrong one), `cleared_share` of the right ones, their harmonic mean
    `first_error_f1`, and the `step_threshold` itself. `step_ece` and `step_brier` are those of the scores where all lie
    between 0 and 1 (`step_fitted` 0), else of $\sigma(as + b)$, fitted by Platt's method (`step_fitted` 1).

    Lines after an error are in no rate; solutions cut short before one only in `step_auc` and calibration. Tries without a
    score, or with another number of scores than lines, are left out: their share is `steps_missing`. A share for which
    there is no solution of its kind, among those measured or those the threshold is chosen on, is not given. `name` is put
    before all of them, `NAME_step_auc`, where an exam has several. What is found depends on whose tries they are:
    compare on the same ones.

    Args:
        reward: a reward of lines.
        name: prefix of the numbers.

    >>> import guerdon as gd
    >>> family = gd.tasks.load("chain:2")
    >>> metric = gd.exams.judged_steps(gd.true_lines(family))
    >>> exam = gd.Exam(gd.curricula.contrasts(family), [metric], env=gd.envs.side_by_side(tries=0))  # right and wrong, recited
    >>> numbers = gd.evaluate("sprig", exam=exam, tasks=6)
    >>> numbers["step_auc"], numbers["first_error_f1"], numbers["step_brier"]
    (1.0, 1.0, 0.0)
    """

    reward: Any
    name: str = ""
    chances: bool | None = None  # whether scores are chances; None: where all lie between 0 and 1

    def __post_init__(self) -> None:
        self.reward = as_reward(self.reward)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        judged, missing = judged_solutions(sitting, self.reward)
        lines = [line for each in judged for line in zip(each.scores, each.labels, strict=False)]
        numbers: dict[str, Any] = {"lines_examined": len(lines), "steps_missing": missing}
        if lines:
            numbers |= rank_statistic(lines) | _on_the_rest(judged, self.chances)
        return {f"{self.name}_{name}" if self.name else name: value for name, value in numbers.items()}


def judged_solutions(sitting: Sitting, reward: Any) -> tuple[list[JudgedSolution], float]:
    """Every checked try that the reward has a number for each line of, and the share of those it has not."""
    family, role, batch = by_steps(sitting.exam.truth), sitting.exam.role, sitting.batch
    solutions = checked_solutions(batch, family, sitting.play, role)
    scored = score(reward, role=role)(batch, sitting.play).cols["reward"]
    there, problem = (~scored.missing).tolist(), batch.task[batch.leaf].tolist()
    judged, plain = [], 0
    for each in solutions:
        steps = (scored.detail.get(each.track) or {}).get("steps")
        plain += there[each.track] and steps is None
        if there[each.track] and steps is not None and len(steps) == len(each.ends):
            judged.append(JudgedSolution(problem[each.track], steps, each.labels, each.whole))
    if plain:
        raise UserError(
            f"reward {reward.name} does not come in lines: one that does is process_model(aggregate='steps'),"
            " implicit(per='line'), or a function that returns a list"
        )
    return judged, 1.0 - len(judged) / len(solutions) if solutions else 1.0


def _on_the_rest(judged: Sequence[JudgedSolution], chances: bool | None) -> dict[str, Any]:
    """What is fitted on every other problem, in the order they were asked, and measured on those between."""
    chosen_on = set(sorted({each.problem for each in judged})[::2])
    fitting = [each for each in judged if each.problem in chosen_on]
    rest = [each for each in judged if each.problem not in chosen_on]
    threshold = best_threshold(fitting)
    numbers: dict[str, Any] = {}
    if threshold is not None:
        whole = [each for each in rest if each.whole]
        shares = first_error_scores([each.called(threshold) for each in whole], [each.wrong for each in whole])
        numbers = {**shares, "step_threshold": threshold}
    known, seen = (
        [line for each in part for line in zip(each.scores, each.labels, strict=False)] for part in (fitting, rest)
    )
    if not seen:
        return numbers
    within = all(0.0 <= said <= 1.0 for each in judged for said in each.scores)
    if chances and not within:
        raise UserError("a chance lies between 0 and 1, and a score does not: leave judged_steps(chances=...) out")
    are_chances = within if chances is None else chances
    slope, offset = (1.0, 0.0) if are_chances else platt(*zip(*known, strict=True))
    chance = [said if are_chances else 1.0 / (1.0 + math.exp(-_bounded(slope * said + offset))) for said, _ in seen]
    truth = [label for _, label in seen]
    return numbers | {
        "step_ece": calibration_error(chance, truth),
        "step_brier": brier(chance, truth),
        "step_fitted": float(not are_chances),
    }


def _bounded(logit: float) -> float:
    return max(-700.0, min(700.0, logit))


def best_threshold(judged: Sequence[JudgedSolution]) -> float | None:
    """Between two scores, where F1 is highest (of several such places the lowest); None where solutions are of one kind."""
    whole = [each for each in judged if each.whole]
    truth = [each.wrong for each in whole]
    said = sorted({score for each in whole for score in each.scores})
    if not said or None not in truth or all(wrong is None for wrong in truth):
        return None
    places = [said[0], *((low + high) / 2 for low, high in pairwise(said)), said[-1] + 1.0]
    places = _thinned(places)
    found_f1 = [first_error_scores([each.called(place) for each in whole], truth)[F1] for place in places]
    return places[found_f1.index(max(found_f1))]


def _thinned(places: Sequence[float], most: int = 256) -> list[float]:
    """Of many places as many as are worth trying, evenly through their ranks."""
    if len(places) <= most:
        return list(places)
    return [places[round(i * (len(places) - 1) / (most - 1))] for i in range(most)]


def rank_statistic(lines: Sequence[tuple[float, float]]) -> dict[str, float]:
    """The chance that a right line scores above a wrong one, a tie being half of one; nothing where lines are of one kind."""
    right = sum(label == 1.0 for _, label in lines)
    wrong = len(lines) - right
    if not right or not wrong:
        return {}
    above, below = 0.0, 0  # wrong lines so far
    for _, tied in groupby(sorted(lines), key=lambda line: line[0]):
        labels = [label for _, label in tied]
        good = sum(label == 1.0 for label in labels)
        above += good * (below + (len(labels) - good) / 2)
        below += len(labels) - good
    return {"step_auc": above / (right * wrong)}


def platt(scores: Sequence[float], labels: Sequence[float]) -> tuple[float, float]:
    r"""$a, b$ of $\sigma(as+b)$ by Newton's method on the cross-entropy with Platt's targets, $\frac{n_++1}{n_++2}$ and
    $\frac{1}{n_-+2}$ (Platt 1999; no paper on arXiv), which are finite where scores separate all lines."""
    s, y = torch.tensor(scores, dtype=torch.float64), torch.tensor(labels, dtype=torch.float64)
    middle, spread = s.mean(), s.std(correction=0)
    spread = spread if float(spread) > 0 else torch.ones_like(spread)
    x = torch.stack([(s - middle) / spread, torch.ones_like(s)], 1)
    good = y.sum()
    target = torch.where(y == 1, (good + 1) / (good + 2), 1 / (len(y) - good + 2))
    w = torch.zeros(2, dtype=torch.float64)
    for _ in range(50):
        p = torch.sigmoid(x @ w)
        curve = x.T @ (x * (p * (1 - p))[:, None]) + 1e-9 * torch.eye(2, dtype=torch.float64)
        step = torch.linalg.solve(curve, x.T @ (target - p))
        w = w + step.clamp(-4.0, 4.0)
        if float(step.abs().max()) < 1e-10:
            break
    slope = float(w[0] / spread)
    return slope, float(w[1]) - slope * float(middle)


@part
class sound:
    r"""`sound@k` $= 1 - \binom{n-c}{k} / \binom{n}{k}$ of a problem with $c$ sound ones among $n$ tries, the mean over
    problems: a try is sound if its answer is right and every line before it follows. For every power of two up to the
    number of tries, with the ends of 95 % intervals (`sound@1_low`, `sound@1_high`); and `false_positive_share`,
    likewise: of the right answers to a problem those with a wrong line before them, the mean over problems that have any.
    `right_examined` is the number of right answers.

    Yuan et al. (2025, arXiv:2510.07774) call the first Verified Pass@N, and ask people and models whether lines follow;
    here the task's step checker does, which is exact. Tries that could not be checked are in no rate; one that was cut
    short is not sound. Where an exam's problems were drawn by kind, kinds weigh the same.

    >>> import guerdon as gd
    >>> asks, recited = gd.curricula.contrasts(gd.tasks.load("chain:2")), gd.envs.side_by_side(tries=0)
    >>> numbers = gd.evaluate("sprig", exam=gd.Exam(asks, [gd.exams.sound()], env=recited), tasks=6)
    >>> numbers["sound@1"], numbers["false_positive_share"], numbers["right_examined"]
    (0.5, 0.0, 6)
    """

    most: int = knob(default=0, ge=0)  # the largest k, 0: the number of tries

    needs = (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        batch, right, family = sitting.batch, rights(sitting), by_steps(sitting.exam.truth)
        samples = Samples.of_batch(batch, sitting.play, sitting.exam.role)
        assert samples.track is not None
        seen = [marks(family, fields["task"], "\n".join(fields["turns"])) for fields in samples.fields]
        follows = {k for k, each in zip(samples.track.tolist(), seen, strict=True) if "-" not in each}
        tried = [[k for ask in asks for k in ask] for asks in checked(sitting)]
        episode = batch.episode[batch.leaf].tolist()
        kind = [batch.episodes[episode[tracks[0]]].task.kind for tracks in tried]
        numbers: dict[str, Any] = {}
        for k in powers(min(self.most or sitting.tries, sitting.tries)):
            by_kind: dict[str, list[float]] = defaultdict(list)
            for name, tracks in zip(kind, tried, strict=True):
                if len(tracks) >= k:
                    by_kind[name].append(pass_at_k(len(tracks), sum(right[t] and t in follows for t in tracks), k))
            numbers |= with_interval(f"sound@{k}", by_kind, sitting.evenly)
        unsound: dict[str, list[float]] = defaultdict(list)
        for name, tracks in zip(kind, tried, strict=True):
            if answered := [t for t in tracks if right[t]]:
                unsound[name].append(fmean(t not in follows for t in answered))
        shares = with_interval("false_positive_share", unsound, sitting.evenly) if unsound else {}
        return {**numbers, **shares, "right_examined": sum(right[t] for tracks in tried for t in tracks)}
