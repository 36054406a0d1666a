"""A reward asked about completions, once for their scores and again for determinism; those scores counted by kind and part."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from guerdon.audits.kinds import PLAINLY_WRONG, RIGHT, SAME, CheckedSample, Finding, quoted
from guerdon.core.column import Reason
from guerdon.core.seeds import derive
from guerdon.core.task import Task
from guerdon.rewards.asking.function import Leaf, ask_all
from guerdon.rewards.asking.samples import FIELDS, Samples, fields_of_text
from guerdon.rewards.asking.token_ids import Ids
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.formula.scores import Outcome, Scores, Where
from guerdon.rewards.stage.scorer import work_out

TIMED = ("gold", "long")  # kinds of completions that are timed separately
AT_ONCE = 64  # calls of one that waits for something else: a thousand would outwait each other
AGAIN = 48  # completions that one is asked about again ...
ENDLESS = "endless program"  # its end is awaited once
TIMES = 3  # ... so many times


class TextFields(Mapping[str, Any]):
    """The fields of a completion that was not sampled. Its tokens, and the episode made of them, come about when a reward asks
    for them: few do, and tokenizing costs more than most rewards."""

    def __init__(self, task: Task, text: str, ids: Ids, turns: Sequence[str] = ()) -> None:
        self._task, self._text, self._ids = task, text, ids
        self._known: dict[str, Any] = {
            "prompt": task.prompt,
            "completion": text,
            "answer": task.answer,
            "task": task,
            "meta": {**task.meta},
            "level": task.level,
            "turns": [*turns] or [text],
        }

    @cached_property
    def _whole(self) -> dict[str, Any]:
        return {**fields_of_text(self._task, self._text, self._ids), **self._known}

    def __getitem__(self, name: str) -> Any:
        return self._known[name] if name in self._known else self._whole[name]

    def __contains__(self, name: object) -> bool:
        return name in FIELDS

    def __iter__(self) -> Iterator[str]:
        return iter(FIELDS)

    def __len__(self) -> int:
        return len(FIELDS)


@dataclass(frozen=True)
class Asked:
    """What a reward said about samples: its leaves one by one, its parts by name, the whole."""

    samples: Sequence[CheckedSample]
    outcomes: dict[int, list[Outcome]]  # by the id of the leaf
    parts: dict[str, Scores]
    whole: Scores
    seconds: NDArray[np.float64]

    @property
    def values(self) -> list[float]:
        """NaN where there is none."""
        values: list[float] = self.whole.value.tolist()
        return values

    def pick(self, index: Sequence[int]) -> Asked:
        at = list(index)
        return replace(
            self,
            samples=[self.samples[i] for i in at],
            outcomes={leaf: [said[i] for i in at] for leaf, said in self.outcomes.items()},
            parts={name: _some(scores, at) for name, scores in self.parts.items()},
            whole=_some(self.whole, at),
            seconds=self.seconds[at],
        )


def _some(scores: Scores, at: list[int]) -> Scores:
    return Scores.of([scores.at(i) for i in at])


def ask(formula: Reward, samples: Sequence[CheckedSample], when: str) -> Asked:
    outcomes: dict[int, list[Outcome]] = {}
    seconds = np.zeros(len(samples))
    for leaf in formula.leaves:
        outcomes[id(leaf)], taken = answers(leaf, samples, when)
        seconds += taken
    where = Where(torch.tensor([s.group for s in samples]))
    worked_out = work_out(formula, {leaf: Scores.of(results) for leaf, results in outcomes.items()}, where)
    return Asked(samples, outcomes, worked_out.parts, worked_out.whole, seconds)


def answers(leaf: Leaf, samples: Sequence[CheckedSample], when: str) -> tuple[list[Outcome], NDArray[np.float64]]:
    """What a leaf says about samples, and the seconds each took: all together, but for the kinds that are timed by themselves.
    `when` is what one that draws random numbers draws by."""
    seeds = [derive("check", when, i) for i in range(len(samples))]
    whole = Samples.of([s.fields for s in samples], seeds, [s.group for s in samples])
    kinds: dict[str, list[int]] = {}
    for i, s in enumerate(samples):
        kinds.setdefault(s.kind if leaf.apart and s.kind in TIMED else "", []).append(i)
    outcomes: dict[int, Outcome] = {}
    seconds = np.zeros(len(samples))
    most = AT_ONCE if getattr(leaf, "is_async", False) else len(samples)
    for index in (some[k : k + most] for some in kinds.values() for k in range(0, len(some), most)):
        began = time.perf_counter()
        outcomes |= zip(index, ask_all([(leaf, whole.pick(index))])[0], strict=True)
        seconds[index] = (time.perf_counter() - began) / len(index)
    return [outcomes[i] for i in range(len(samples))], seconds


def nondeterministic(formula: Reward, asked: Asked) -> list[Finding]:
    """Leaves that say something else when asked again, or in another order."""
    findings = []
    for leaf in formula.leaves:
        first, size = asked.outcomes[id(leaf)], len(asked.samples)
        few = sorted({round(k * (size - 1) / AGAIN) for k in range(AGAIN + 1)}) if leaf.apart else list(range(size))
        few = [i for i in few if asked.samples[i].kind != ENDLESS]
        for how in ("asked again", "asked in another order"):
            order = few[:: 1 if how == "asked again" else -1]
            order = order * TIMES if leaf.apart else order  # one that remembers says something else to the same
            said = list(zip(order, answers(leaf, [asked.samples[i] for i in order], how)[0], strict=True))
            again = {i: outcome for i, outcome in said if not _same(first[i], outcome)}
            other = [i for i in few if i in again]
            if other:
                i = other[0]
                says = f"{leaf.name} gives {len(other)} of {len(few)} completions another score when {how}"
                example = f"{first[i].value:g} then {again[i].value:g} for {quoted(asked.samples[i].text)}"
                findings.append(Finding("nondeterministic", "severe", says, len(other), len(few), example))
                break  # one that is random needs no other order to be so
    return findings


def _same(a: Outcome, b: Outcome) -> bool:
    return a.reason == b.reason and (a.reason is not Reason.VALUE or (a.value, a.steps) == (b.value, b.steps))


def gold_of(asked: Asked) -> dict[int, float]:
    """The worth of each problem's gold, where it has one."""
    said = zip(asked.samples, asked.values, strict=True)
    return {s.group: v for s, v in said if s.kind == "gold" and v == v}


def kind_rows(asked: Asked) -> list[dict[str, Any]]:
    """A row for each kind of completion; `level` counts wrong ones that are worth what gold is, or more."""
    gold, rows = gold_of(asked), []
    reasons, said = asked.whole.reason.tolist(), asked.values
    for kind in dict.fromkeys(s.kind for s in asked.samples):
        at = [i for i, s in enumerate(asked.samples) if s.kind == kind]
        known = [(asked.samples[i].group, said[i]) for i in at if said[i] == said[i]]
        values = [v for _, v in known]
        rows.append(
            {
                "kind": kind,
                "right": kind in RIGHT,
                "count": len(at),
                "mean": float(np.mean(values)) if values else float("nan"),
                "lowest": min(values, default=float("nan")),
                "highest": max(values, default=float("nan")),
                "level": sum(v >= gold[g] - SAME for g, v in known if g in gold),
                "scored": len(values),
                "failed": sum(reasons[i] >= Reason.FAILED for i in at),
                "not_applicable": sum(reasons[i] == Reason.NOT_APPLICABLE for i in at),
            }
        )
    return rows


def component_rows(asked: Asked) -> list[dict[str, Any]]:
    return [{"name": name, **_component(asked, scores)} for name, scores in asked.parts.items()]


def _component(asked: Asked, scores: Scores) -> dict[str, Any]:
    values = scores.value.tolist()
    return {
        "gold": _mean_of(asked, values, "gold"),
        "near-miss": _mean_of(asked, values, "near-miss"),
        "lowest": min((v for v in values if v == v), default=float("nan")),
        "highest": max((v for v in values if v == v), default=float("nan")),
        "scored": int(scores.valued.sum()),
        "failed": int(scores.broken.sum()),
        "not_applicable": int((scores.reason == Reason.NOT_APPLICABLE).sum()),
    }


def _mean_of(asked: Asked, values: list[float], kind: str) -> float:
    known = [v for s, v in zip(asked.samples, values, strict=True) if s.kind == kind and v == v]
    return float(np.mean(known)) if known else float("nan")


def wrong_of(asked: Asked) -> dict[int, float]:
    """What a wrong answer to each problem is usually worth."""
    groups: dict[int, list[float]] = {}
    for sample, value in zip(asked.samples, asked.values, strict=True):
        if sample.kind in PLAINLY_WRONG and value == value:
            groups.setdefault(sample.group, []).append(value)
    return {group: float(np.median(values)) for group, values in groups.items()}
