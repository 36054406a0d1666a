"""What every reward promises, as a check any author can run before training: `print(gd.check_reward(mine, "countdown:4"))`.

A reward is asked about solutions whose worth is known (gold ones,
and near-misses that look right and are not) and about odd ones (nothing, blanks, very much, strange letters).
Leaves out: what a trained policy would make of it; nothing is sampled here, and a reward that passes can still be gamed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from guerdon import tasks
from guerdon.core.column import Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Task, TaskSource
from guerdon.rewards.asking.function import Leaf, ask_all
from guerdon.rewards.asking.samples import FIELDS, Samples, fields_of
from guerdon.rewards.check.reward_report import CheckedSample, Finding, RewardReport, brief, kind_rows, mean_of
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.rewards.formula.scores import Outcome, Scores
from guerdon.rewards.formula.where import Where
from guerdon.rewards.stage.scorer import work_out
from guerdon.tasks.family import Family

ODD = 4  # problems that odd completions are tried on
LONG = 20_000  # characters of a very long completion
SAME = 1e-9  # scores closer than this are equal


def check_reward(reward: Any, task: TaskSource | str, *, problems: int = 20, strict: bool = False) -> RewardReport:
    """Hold a reward (a function, a `reward`, a formula) to its contract on problems of a task.

    It asks only for fields that exist; gives a number, None or a `Score` whatever the completion is; says the same when
    asked again and in another order; and puts the gold solution of a problem above its near-misses (above the answers of
    other problems, where the task is no `Family`). The report lists what was found and measured; with `strict` the first
    finding is raised.

    >>> import guerdon as gd
    >>> report = gd.check_reward(lambda completion, answer: float(answer in completion), "chain:1", problems=4)
    >>> type(report).__name__
    'RewardReport'
    """
    if problems < 1:
        raise UserError(f"check_reward needs at least one problem, not {problems}")
    source = tasks.load(task) if isinstance(task, str) else task
    formula = as_reward(reward)
    size = source.size("train")
    posed = [source.get("train", i) for i in range(problems if size is None else min(size, problems))]
    samples = [s for group, each in enumerate(posed) for s in _samples(source, each, group, posed)]
    wrong = _arguments(formula, posed)
    report = RewardReport(str(formula), source.name, len(posed), len(samples), wrong)
    if not wrong:  # else it cannot be asked at all
        report = _asked(formula, samples, report)
    if strict and report.findings:
        more = len(report.findings) - 1
        raise UserError(f"{formula}: {report.findings[0]}" + (f" (and {more} more)" if more else ""))
    return report


# --- what it is asked about -----------------------------------------------------------------------------------------


def _samples(source: TaskSource, task: Task, group: int, posed: Sequence[Task]) -> list[CheckedSample]:
    if isinstance(source, Family):
        gold = source.solution(task)
        misses = [m.text for m in source.near_misses(task, random.Random(derive("near miss", task.prompt)))]
    else:
        gold = task.answer
        misses = [a for a in dict.fromkeys(t.answer for t in posed) if source.check(task, a) == 0.0][:4]
    completions = [("gold", gold), *(("near-miss", text) for text in misses)]
    if group < ODD:
        completions += [
            ("empty", ""),
            ("blank", " \n\t "),
            ("padded", f"\n   {gold}   \n\n"),
            ("long", (gold + "x ") * (LONG // (len(gold) + 2) + 1)),
            ("unicode", "\u202e\u0663 \u6f22\u5b57 \U0001f642 e\u0301 \x00 \ufffd"),
            ("repeated", "\n".join([gold] * 3)),
        ]
    return [CheckedSample(kind, group, text, _fields(task, text)) for kind, text in completions]


def _fields(task: Task, text: str) -> Mapping[str, Any]:
    none = np.zeros(0, np.int64)
    segment = Segment("policy", task.prompt, none, none, np.zeros(0, np.float32), text)
    return fields_of(Episode(Ask(task), (segment,)), [segment])


def _arguments(formula: Reward, posed: Sequence[Task]) -> list[Finding]:
    """Fields a leaf asks for and some problem does not have."""
    findings = []
    for leaf in formula.leaves:
        for name in leaf.wants.names:
            lack = sum(name not in FIELDS and name not in task.meta for task in posed)
            if lack and name not in leaf.wants.optional:
                has = ", ".join([*FIELDS, *sorted({n for task in posed for n in task.meta} - set(FIELDS))])
                message = (
                    f"{leaf.name} asks for {name!r}, which {lack} of {len(posed)} problems do not have; there is {has}"
                )
                findings.append(Finding("argument", message))
    return findings


# --- asking ---------------------------------------------------------------------------------------------------------


def _asked(formula: Reward, samples: Sequence[CheckedSample], report: RewardReport) -> RewardReport:
    outcomes: dict[int, list[Outcome]] = {}
    seconds = np.zeros(len(samples))
    for leaf in formula.leaves:
        outcomes[id(leaf)], taken = _answers(leaf, samples, "first")
        seconds += taken
    where = Where(torch.tensor([s.group for s in samples]))
    worked_out = work_out(formula, {leaf: Scores.of(results) for leaf, results in outcomes.items()}, where)
    whole, parts = worked_out.whole, worked_out.parts
    slowest = int(seconds.argmax())
    failures = _failures(formula, samples, outcomes)
    return report.but(
        findings=[
            *_broken(failures),
            *_unsteady(formula, samples, outcomes),
            *_worth(samples, whole),
        ],
        failures=failures,
        kinds=kind_rows(samples, whole),
        components=[{"name": name, **_component(samples, scores)} for name, scores in parts.items()],
        pairs=_pairs(samples, whole),
        spread=_spread(samples, whole),
        seconds={"median": float(np.median(seconds)), "worst": float(seconds[slowest]), "on": samples[slowest].kind},
    )


def _answers(leaf: Leaf, samples: Sequence[CheckedSample], when: str) -> tuple[list[Outcome], NDArray[np.float64]]:
    """What a leaf says about samples, and the seconds each took: asked one by one, unless it compares them. `when` is
    what one that draws random numbers draws by."""
    seeds = [derive("check", when, i) for i in range(len(samples))]
    whole = Samples.of([s.fields for s in samples], seeds, [s.group for s in samples])
    asked = [[i] for i in range(len(samples))] if leaf.apart else [list(range(len(samples)))]
    outcomes, seconds = [], []
    for index in asked:
        began = time.perf_counter()
        outcomes += ask_all([(leaf, whole.pick(index))])[0]
        seconds += [(time.perf_counter() - began) / len(index)] * len(index)
    return outcomes, np.array(seconds)


def _failures(
    formula: Reward, samples: Sequence[CheckedSample], outcomes: Mapping[int, Sequence[Outcome]]
) -> list[dict[str, Any]]:
    failures = []
    for leaf in formula.leaves:
        for sample, outcome in zip(samples, outcomes[id(leaf)], strict=True):
            if outcome.reason >= Reason.FAILED:
                error = str(outcome.detail["error"]).strip().rpartition("\n")[2]
                where = {"component": leaf.name, "kind": sample.kind, "task": sample.fields["task"].id}
                failures.append({**where, "error": error, "completion": sample.text})
    return failures


def _broken(failures: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """One finding for each component and kind of completion that broke it."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for each in failures:
        groups.setdefault((each["component"], each["kind"]), []).append(each)
    return [
        Finding("failure", f"{name} fails on {len(them)} {kind} completions, {brief(them[0])}")
        for (name, kind), them in groups.items()
    ]


def _unsteady(
    formula: Reward, samples: Sequence[CheckedSample], outcomes: Mapping[int, Sequence[Outcome]]
) -> list[Finding]:
    """Leaves that say something else when asked again, or in another order."""
    findings = []
    for leaf in formula.leaves:
        first = outcomes[id(leaf)]
        for how in ("asked again", "asked in another order"):
            order = list(range(len(samples)))[:: 1 if how == "asked again" else -1]
            again = dict(zip(order, _answers(leaf, [samples[i] for i in order], how)[0], strict=True))
            other = [i for i, outcome in enumerate(first) if not _same(outcome, again[i])]
            if other:
                i = other[0]
                message = f"{leaf.name} gives {len(other)} of {len(samples)} completions another score when {how}"
                findings.append(Finding("unsteady", f"{message}, {first[i].value:g} then {again[i].value:g}"))
                break  # one that is random needs no other order to be so
    return findings


def _same(a: Outcome, b: Outcome) -> bool:
    return a.reason == b.reason and (a.reason is not Reason.VALUE or (a.value, a.steps) == (b.value, b.steps))


# --- worth ----------------------------------------------------------------------------------------------------------


def _worth(samples: Sequence[CheckedSample], whole: Scores) -> list[Finding]:
    findings: list[Finding] = []
    if not bool(whole.valued.any()):
        return [] if bool(whole.broken.any()) else [Finding("worth", "it does not apply to any completion")]
    gold, miss = mean_of(samples, whole, "gold"), mean_of(samples, whole, "near-miss")
    if not gold > miss + SAME and gold == gold and miss == miss:
        findings.append(Finding("worth", f"gold solutions score {gold:.3g} on average, near-misses {miss:.3g}"))
    pairs = _pairs(samples, whole)
    if pairs["below"]:
        message = f"{pairs['below']} of {pairs['pairs']} near-misses score above the gold solution of their problem"
        findings.append(Finding("worth", message))
    for kind in ("empty", "blank", "long", "unicode", "repeated"):
        odd = mean_of(samples, whole, kind)
        if odd > gold + SAME:
            findings.append(
                Finding("worth", f"{kind} completions score {odd:.3g}, more than gold solutions, {gold:.3g}")
            )
    return findings


def _pairs(samples: Sequence[CheckedSample], whole: Scores) -> dict[str, int]:
    """Gold against each near-miss of its problem, where both have a score: how many pairs, gold below, and level."""
    value = whole.value.tolist()
    gold = {s.group: value[i] for i, s in enumerate(samples) if s.kind == "gold"}
    gaps = [gold[s.group] - value[i] for i, s in enumerate(samples) if s.kind == "near-miss"]
    known = [gap for gap in gaps if gap == gap]
    return {
        "pairs": len(known),
        "below": sum(gap < -SAME for gap in known),
        "level": sum(abs(gap) <= SAME for gap in known),
    }


def _spread(samples: Sequence[CheckedSample], whole: Scores) -> dict[str, float]:
    """Inside the near-misses of each problem: whether the reward tells wrong from more wrong."""
    groups: dict[int, list[float]] = {}
    for sample, value in zip(samples, whole.value.tolist(), strict=True):
        if sample.kind == "near-miss" and value == value:
            groups.setdefault(sample.group, []).append(value)
    spreads = [float(np.std(values)) for values in groups.values() if len(values) > 1]
    return {
        "groups": len(spreads),
        "flat": sum(s <= SAME for s in spreads),
        "mean": float(np.mean(spreads)) if spreads else float("nan"),
    }


def _component(samples: Sequence[CheckedSample], scores: Scores) -> dict[str, Any]:
    return {
        "gold": mean_of(samples, scores, "gold"),
        "near-miss": mean_of(samples, scores, "near-miss"),
        "scored": int(scores.valued.sum()),
        "failed": int(scores.broken.sum()),
        "not_applicable": int((scores.reason == Reason.NOT_APPLICABLE).sum()),
    }
