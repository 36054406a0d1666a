"""A reward asked about completions: once for its worth, and again to see whether it says the same."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from guerdon.core.column import Reason
from guerdon.core.seeds import derive
from guerdon.rewards.asking.function import Leaf, ask_all
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.check.reward_report import CheckedSample, Finding, quoted
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.formula.scores import Outcome, Scores
from guerdon.rewards.formula.where import Where
from guerdon.rewards.stage.scorer import work_out

TIMED = ("gold", "long")  # kinds of completions whose time is taken apart from the others'
AT_ONCE = 64  # calls of one that waits for something else: a thousand would outwait each other
AGAIN = 48  # completions that one is asked about again ...
ENDLESS = "endless program"  # nobody waits for its end more than once
TIMES = 3  # ... so many times


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


def unsteady(formula: Reward, asked: Asked) -> list[Finding]:
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
                findings.append(Finding("unsteady", "severe", says, len(other), len(few), example))
                break  # one that is random needs no other order to be so
    return findings


def _same(a: Outcome, b: Outcome) -> bool:
    return a.reason == b.reason and (a.reason is not Reason.VALUE or (a.value, a.steps) == (b.value, b.steps))
