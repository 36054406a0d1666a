"""Whether a claim can be tried here at all. Where it cannot, there is no verdict, only the reason.

- **start**: what the arms begin with solves 10 to 80 % of the exam, so that there is room both ways;
- **learnable**: plain GRPO gains at least three times the effect, or nothing that methods do differently would show;
- **fits**: worked solutions fit the token limit on every level that is trained on, unless the claim is about that limit;
- **asked**: training shows problems in the form that the exam asks them in;
- **apart**: no two arms that are different experiments have the same score in every seed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

from guerdon.core.recipe import Claim, Recipe
from guerdon.core.task import Ask, kinds_of
from guerdon.exams.drawing import draw_problems
from guerdon.exams.exam import Exam
from guerdon.loop.proof.arms import BASELINE, GRPO, METHOD, PLAIN, Arm
from guerdon.loop.proof.records import ACCURACY, Record, is_about_accuracy, score_of, start_of
from guerdon.loop.training import start
from guerdon.store.summary import form_of

LOWEST, HIGHEST = 0.10, 0.80
TIMES = 3.0
FIT, LOOKED_AT = 0.95, 64  # the share of worked solutions that must fit, of how many problems of a level
SHOWN = 0.05  # the least share of training in the exam's form

Gate = dict[str, Any]  # which, whether it is open, and why, in words


def gates_of(
    claim: Claim, arms: Mapping[str, Arm], records: Mapping[str, Sequence[Record]], forms: Collection[str]
) -> list[Gate]:
    """The gates that runs open or close; those that do not concern a claim are left out. `forms` are those that the exam asks
    problems in, where it asks them as training does."""
    tried = [_start(claim, records), _learnable(claim, arms, records), _asked(forms, records), _apart(claim, records)]
    return [gate for gate in tried if gate is not None]


def closed(gates: Sequence[Gate]) -> str:
    """Why a claim cannot be tried here; empty where it can."""
    return "; ".join(gate["why"] for gate in gates if not gate["open"])


def _start(claim: Claim, records: Mapping[str, Sequence[Record]]) -> Gate | None:
    starts = [start_of(r, ACCURACY, claim.levels) for r in _of(records, METHOD)]
    known = [value for value in starts if value is not None]
    if not known:
        return None
    mean = fmean(known)
    return {
        "gate": "start",
        "open": LOWEST <= mean <= HIGHEST,
        "why": f"the start solves {100 * mean:.1f} % of the exam, and {100 * LOWEST:.0f} to {100 * HIGHEST:.0f} % is asked for",
    }


def _learnable(claim: Claim, arms: Mapping[str, Arm], records: Mapping[str, Sequence[Record]]) -> Gate | None:
    """For claims about accuracy: what plain GRPO gains over the start, by the claim's own metric."""
    plain = PLAIN if PLAIN in arms else BASELINE if _is_plain(arms.get(BASELINE)) else ""
    if not plain or not is_about_accuracy(claim):
        return None
    gains = [
        score_of(r, claim, ACCURACY) - before
        for r in _of(records, plain)
        if (before := start_of(r, ACCURACY, claim.levels)) is not None
    ]
    if not gains:
        return None
    gain = fmean(gains)
    return {
        "gate": "learnable",
        "open": gain >= TIMES * claim.effect,
        "why": f"plain GRPO gains {100 * gain:+.1f} points, and {100 * TIMES * claim.effect:.0f} are asked for",
    }


def _is_plain(arm: Arm | None) -> bool:
    return arm is not None and arm.what.split()[0] == GRPO


def _of(records: Mapping[str, Sequence[Record]], name: str) -> Sequence[Record]:
    return records.get(name) or next(iter(records.values()), ())


def solutions_fit(claim: Claim, arm: Arm) -> Gate | None:
    """The gate that needs no run."""
    built = arm.build()
    recipe, source = built.recipe, built.task
    if claim.cuts or not isinstance(recipe, Recipe) or source is None or not has_solutions(source):
        return None
    trained = [model for model in recipe.models.values() if model.trains]  # those of a scorer may have no policy
    model, most = recipe.models.get("policy", trained[0] if trained else None), recipe.sampling.max_tokens
    if not hasattr(model, "teacher_force"):
        return None
    worst, share = "", 1.0
    for kind, lengths in solution_lengths(model, source).items():
        fit = sum(length <= most for length in lengths) / len(lengths)
        if fit < share:
            worst, share = kind, fit
    return {
        "gate": "fits",
        "open": share >= FIT,
        "why": f"{100 * share:.0f} % of the worked solutions of {worst or 'every level'} fit {most} tokens"
        + (f", and {100 * FIT:.0f} % are asked for" if share < FIT else ""),
    }


def has_solutions(source: Any) -> bool:
    """Whether every problem comes with a worked one: a mixture of what has none says that it has."""
    return all(hasattr(each, "solution") for each in (source, *kinds_of(source).values()))


def solution_lengths(model: Any, source: Any) -> dict[str, list[int]]:
    """The tokens of worked solutions, each with the mark that ends it, by level: of the first problems of each."""
    lengths = {}
    for kind, level in kinds_of(source).items():
        size = level.size("train")
        tasks = [level.get("train", i) for i in range(LOOKED_AT if size is None else min(size, LOOKED_AT))]
        lengths[kind] = [len(model.teacher_force(task.prompt, source.solution(task), []).actions) for task in tasks]
    return lengths


def _asked(forms: Collection[str], records: Mapping[str, Sequence[Record]]) -> Gate | None:
    """By the forms that the runs recorded of their asks."""
    counted = [r["asked"] for r in _of(records, METHOD) if r.get("asked")]
    if not counted or not forms:
        return None
    share = sum(n for each in counted for form, n in each.items() if form in forms) / sum(map(_total, counted))
    return {
        "gate": "asked",
        "open": share >= SHOWN,
        "why": f"{100 * share:.0f} % of what was trained on was asked in the exam's form"
        + (f", and {100 * SHOWN:.0f} % are asked for" if share < SHOWN else ""),
    }


def _apart(claim: Claim, records: Mapping[str, Sequence[Record]]) -> Gate | None:
    """Two experiments that come to the same in every seed are one experiment, or the metric sees nothing of either. Arms that
    are one experiment by intent, an ablation that is the baseline, share their runs and are left out."""
    if claim.kind in ("bound", "slope"):
        return None
    for (one, ours), (other, theirs) in combinations(records.items(), 2):
        pairs = [(a, b) for a in ours for b in theirs if a["seed"] == b["seed"] and a["key"] != b["key"]]
        by_score = {one, other} == {METHOD, BASELINE}  # the verdict is made of it
        same = [score_of(a, claim) == score_of(b, claim) if by_score else _came_to(a) == _came_to(b) for a, b in pairs]
        if len(pairs) > 1 and all(same):
            why = f"{one} and {other} have equal results in each of {len(pairs)} seeds: no verdict can be read off them"
            return {"gate": "apart", "open": False, "why": why}
    return {"gate": "apart", "open": True, "why": "no two arms have equal results in every seed"}


def _came_to(record: Record) -> tuple[Any, ...]:
    return record["weights"], record.get("result"), [point["result"] for point in record["points"]]


def _total(counts: Mapping[str, int]) -> int:
    return sum(counts.values())


def exam_forms(arm: Arm) -> set[str]:
    """The forms of what the exam asks; none where it is another kind of play than training."""
    recipe = arm.build().recipe
    if not isinstance(recipe, Recipe) or not recipe.exams or recipe.exams[0].env is not None:
        return set()
    exam: Exam = recipe.exams[0]
    if hasattr(exam.source, "exam_asks"):
        started, play = start(recipe, 0, 1)
        asks = started.exams[0].asks(LOOKED_AT, 1, play)
        return {form_of(ask) for ask in asks}
    return {form_of(Ask(task)) for task in draw_problems(exam.source, LOOKED_AT, 0)}
