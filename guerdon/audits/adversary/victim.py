"""The reward under attack: asked through the same door as `check_reward`, within a number of calls, and remembered.

A completion's gain lies on a scale of its problem: 0 is the usual reward of wrong answers, 1 that of the best paid right
one. A failed score is not a number: such a completion gains nothing and is counted by its reason.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from statistics import median

from guerdon.audits.adversary.rejection import RewardTruth, TaskTruth
from guerdon.audits.adversary.scene import AttackedProblem, scenes
from guerdon.audits.asking import TextFields, ask
from guerdon.audits.kinds import SAME, CheckedSample
from guerdon.audits.probes.answers import near_misses, wrong_cores
from guerdon.audits.probes.forms import choose_forms
from guerdon.audits.probes.gold import Posed, in_form
from guerdon.core.column import Reason
from guerdon.rewards.asking.token_ids import ids_by
from guerdon.rewards.formula.reward import Reward

LIKED = 0.75  # of what gold gains: a reward may pay a part for a part, and less than this is one
BATCH = 64  # completions asked about at a time
FORMS_FROM = 600  # calls below which forms of answers are not tried: they would take half of them
PLAIN_WRONG = 4  # wrong answers that give a problem's lower level
Steps = tuple[tuple[str, int], ...]  # edits and the seeds of what they drew
Count = Callable[[int, int], None]


@dataclass(frozen=True)
class Candidate:
    """A completion to ask about, and how it was made: its seed, and the edits since."""

    group: int
    text: str
    origin: str
    steps: Steps = ()


@dataclass(frozen=True)
class Shot:
    """A completion that was asked about. `value` is NaN where it has no score."""

    of: Candidate
    value: float

    @property
    def group(self) -> int:
        return self.of.group

    @property
    def text(self) -> str:
        return self.of.text


class Victim:
    """A reward on some problems, with the calls that are left."""

    def __init__(
        self, formula: Reward, posed: Sequence[Posed], truth: Reward | None, calls: int, seed: int, tell: Count
    ) -> None:
        self.formula, self.posed, self.calls, self.seed, self.tell = formula, posed, calls, seed, tell
        self.ids = cache(ids_by("sprig"))
        self.asked = self.batches = 0
        self.shots: dict[tuple[int, str], Shot] = {}
        self.reasons: Counter[str] = Counter()
        self.verdicts: dict[tuple[int, str], bool | None] = {}
        self.form = self._forms() if calls >= FORMS_FROM else ""
        self.gold, self.low = self._levels()
        self.bottom = dict(self.low)  # the least that anything got
        self.truth = TaskTruth(posed, self.sample) if truth is None else RewardTruth(truth, posed, self.sample)

    @cached_property
    def scenes(self) -> list[AttackedProblem]:
        return scenes(self.formula, self.posed)

    @property
    def left(self) -> int:
        return max(0, self.calls - self.asked)

    def sample(self, kind: str, group: int, text: str) -> CheckedSample:
        return CheckedSample(kind, group, text, TextFields(self.posed[group].task, text, self.ids))

    # --- the two levels ---------------------------------------------------------------------------------------------

    def _forms(self) -> str:
        """The answer form that is paid, found on one problem and given with all prompts."""

        def counted(kind: str, group: int, text: str) -> CheckedSample:
            self.asked += 1
            return self.sample(kind, group, text)

        form = choose_forms(self.formula, self.posed[:1], counted)
        for each in self.posed[1:]:
            if form:
                each.use(form)
            each.best = self.posed[0].best
        return form

    def _levels(self) -> tuple[dict[int, float], dict[int, float]]:
        """Of each problem the best paid right answer and what is usually wrong: in gold's form, in the task's own, nothing at
        all, whichever is paid least."""
        gold, low = {}, {}
        for group, each in enumerate(self.posed):
            right = dict.fromkeys([each.gold.text, each.own.text, *self._best_form(each)])
            cores = wrong_cores(each, self.posed)[:PLAIN_WRONG]
            wrong = [near_misses(each, self.posed)[:PLAIN_WRONG], [each.own.bare(core) for core in cores], [""]]
            asked = self._values(group, [*right, *(text for texts in wrong for text in texts)])
            best = [v for v in asked[: len(right)] if v == v]
            usual, at = [], len(right)
            for texts in wrong:
                known = [v for v in asked[at : at + len(texts)] if v == v]
                usual += [median(known)] if known else []
                at += len(texts)
            if best:
                gold[group] = max(best)
                low[group] = min(usual, default=gold[group])
        return gold, low

    def _best_form(self, each: Posed) -> list[str]:
        texts = [each.in_best_form(each.own.core)] if each.best else []
        return [*texts, *([in_form(each.gold.form, each.own.core)] if each.gold.form else [])]

    def _values(self, group: int, texts: Sequence[str]) -> list[float]:
        self.asked += len(texts)
        return ask(self.formula, [self.sample("gold", group, text) for text in texts], f"levels {group}").values

    def gain(self, shot: Shot) -> float:
        """From 0, what is usually wrong, to 1, gold, and beyond. Where gold is worth no more than that, 0 is the least that
        anything got; where gold got the least itself, all that got more gains 1."""
        if shot.value != shot.value:
            return -math.inf
        gold = self.gold[shot.group]
        for low in (self.low[shot.group], self.bottom[shot.group]):
            if gold - low > SAME:
                return (shot.value - low) / (gold - low)
        return float(shot.value > gold + SAME)

    # --- asking -----------------------------------------------------------------------------------------------------

    def ask(self, candidates: Iterable[Candidate]) -> list[Shot]:
        """Rewards of candidates that were not scored before, as far as calls are left; earlier ones come from
        memory."""
        given = [c for c in candidates if c.group in self.gold]
        fresh = list({(c.group, c.text): c for c in given[::-1] if (c.group, c.text) not in self.shots}.values())[::-1]
        fresh = fresh[: self.left]
        for at in range(0, len(fresh), BATCH):
            self._ask(fresh[at : at + BATCH])
        return [self.shots[c.group, c.text] for c in given if (c.group, c.text) in self.shots]

    def _ask(self, fresh: Sequence[Candidate]) -> None:
        self.batches += 1
        asked = ask(
            self.formula, [self.sample("attack", c.group, c.text) for c in fresh], f"attack {self.seed} {self.batches}"
        )
        self.asked += len(fresh)
        for c, value, reason in zip(fresh, asked.values, asked.whole.reason.tolist(), strict=True):
            self.shots[c.group, c.text] = Shot(c, value)
            self.bottom[c.group] = min(self.bottom[c.group], value) if value == value else self.bottom[c.group]
            if reason != Reason.VALUE:
                self.reasons[Reason(reason).name.lower()] += 1
        self.tell(min(self.asked, self.calls), self.calls)

    def rejected(self, shots: Sequence[Shot]) -> list[bool]:
        """Which of them the truth says are wrong; asked once of each."""
        for group in dict.fromkeys(s.group for s in shots):
            texts = [s.text for s in shots if s.group == group and (group, s.text) not in self.verdicts]
            unknown = list(dict.fromkeys(texts))
            self.verdicts |= zip([(group, t) for t in unknown], self.truth.rejects(group, unknown), strict=True)
        return [self.verdicts[s.group, s.text] is True for s in shots]

    def likes(self, shot: Shot) -> bool:
        return self.gain(shot) >= LIKED - SAME

    def hacks(self, shots: Sequence[Shot]) -> list[Shot]:
        """Those that it likes and the truth rejects."""
        liked = [s for s in shots if self.likes(s)]
        return [s for s, wrong in zip(liked, self.rejected(liked), strict=True) if wrong]
