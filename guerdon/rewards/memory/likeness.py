"""Rewards for being like earlier right tries, or unlike earlier wrong ones, at the most similar prompts.

They share the vectors of texts with `novelty.py`, and as there what is remembered is state.
Leaves out: novelty whatever was right (`novelty.py`).
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import knob, part, state
from guerdon.rewards.asking.function import ask_all_later
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.memory.novelty import Remembers, hashed_ngrams

VERDICT = "verdict"  # what `right` says of a sample, beside its fields
RIGHT = 0.5  # value of `right` from which a try is right
FLAT = 1e-6  # spread of recent distances that may be rounding


@part
class remembered_likeness(Remembers):
    r"""How like remembered right tries, or how unlike remembered wrong ones, a try is, from 0 to 1 (Memory-R+, Le et al. 2025,
    arXiv:2504.02273).

    With `which="right"` $1 - \mathrm{mm}(\|y - \bar m\|)$, with $\bar m$ the centroid of all right tries at the $k$
    remembered prompts nearest to the try's own; with `which="wrong"` $\mathrm{mm}(1 - \max_j \cos(y, m_j))$ over the wrong
    ones there. Texts are the vectors of `embedding_novelty`. $\mathrm{mm}$ puts the least of recent distances at 0 and the
    greatest at 1; recent are those of the newest steps that have `window` of them together.

    `right` is another reward, and a try is right where that is at least 1/2. One that has no value there is rated and not
    remembered. All of a step are remembered before any is rated, so a right try counts in its own centroid, and a wrong one is
    0 far from itself. Where nothing is remembered yet, while prompts are fewer than `wait`, and where all recent distances are
    the same it does not apply.

    *Biased:* likeness pays for repeating what was right once, also where it is wrong. The vectors see spelling, not meaning.

    Args:
        right: reward that says which tries are right; no formula.
        which: what is remembered: right tries, or wrong ones.
        k: nearest prompts whose tries are compared.
        window: recent distances, at least.
        wait: prompts with such a try before which nothing is rated.
        prompts: prompts that are remembered, the newest.
        tries: tries that are remembered of a prompt, the newest.
        size: length of the vectors.

    >>> import guerdon as gd
    >>> like = gd.rewards.remembered_likeness(gd.exact())
    >>> tries = [{"prompt": "2+2?", "completion": text, "answer": "4"} for text in ("4", "4.", "none")]
    >>> [round(x, 2) for x in gd.score_samples(like, tries).whole]
    [1.0, 0.16, 0.0]
    """

    right: Any
    which: Literal["right", "wrong"] = "right"
    k: int = knob(default=1, ge=1)
    window: int = knob(default=100, ge=1)
    wait: int = knob(default=0, ge=0)
    prompts: int = knob(default=10_000, ge=1)
    tries: int = knob(default=100, ge=1)
    size: int = knob(default=256, ge=8)

    asked: list[str] = state(factory=list)  # [Q] a hash of each prompt, oldest first
    prompt_vectors: Tensor | None = state()  # [Q, size]
    made_at: list[str] = state(factory=list)  # [M] the prompt of each try, oldest first
    try_vectors: Tensor | None = state()  # [M, size]
    recent: list[list[float]] = state(factory=list)  # distances of the last steps

    def __post_init__(self) -> None:
        check_plain(self)
        self.right = as_reward(self.right)
        if self.right.of:
            raise UserError(
                f"remembered_likeness.right is one reward, and {self.right} is a formula: name one of its parts"
            )

    async def score(self, samples: Samples) -> list[Outcome]:
        key = (VERDICT, id(self.right))
        if key not in samples.made:  # a memory of right and one of wrong tries ask once
            (samples.made[key],) = await ask_all_later([(self.right, samples)])
        told = [{**each, VERDICT: verdict} for each, verdict in zip(samples.fields, samples.made[key], strict=True)]
        return await super().score(dataclasses.replace(samples, fields=told))

    def rate(self, fields: Sequence[Mapping[str, Any]], seed: int) -> list[float | None]:
        shown = [str(each.get("prompt", "")) for each in fields]
        names = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in shown]
        prompts = hashed_ngrams(shown, self.size).float()
        tries = hashed_ngrams([each["completion"] for each in fields], self.size).float()
        wanted = [i for i, each in enumerate(fields) if self._is_kept(each[VERDICT])]
        self._remember([names[i] for i in wanted], prompts[wanted], tries[wanted])
        if not self.asked or len(self.asked) < self.wait:
            return [None] * len(fields)
        return self._between(self._distances(prompts, tries))

    def _is_kept(self, verdict: Outcome) -> bool:
        is_known = verdict.reason is Reason.VALUE
        return is_known and (verdict.value >= RIGHT) == (self.which == "right")

    def _remember(self, names: Sequence[str], prompts: Tensor, tries: Tensor) -> None:
        """Tries and their prompts behind those that are there, then the newest of both."""
        if not names:
            return
        there = {*self.asked}
        new = {name: i for i, name in enumerate(names) if name not in there}
        self.asked = [*self.asked, *new][-self.prompts :]
        self.prompt_vectors = _joined(self.prompt_vectors, prompts[[*new.values()]])[-self.prompts :].clone()
        made_at, vectors = [*self.made_at, *names], _joined(self.try_vectors, tries)
        known, newer, kept = {*self.asked}, Counter[str](), []
        for at in reversed(range(len(made_at))):
            newer[made_at[at]] += 1
            if made_at[at] in known and newer[made_at[at]] <= self.tries:
                kept.append(at)
        self.made_at, self.try_vectors = [made_at[at] for at in kept[::-1]], vectors[kept[::-1]]

    def _distances(self, prompts: Tensor, tries: Tensor) -> list[float]:
        """[N] of each try, from the tries at the prompts nearest to its own."""
        assert self.prompt_vectors is not None and self.try_vectors is not None
        rows: dict[str, list[int]] = {}
        for at, name in enumerate(self.made_at):
            rows.setdefault(name, []).append(at)
        nearest = (prompts @ self.prompt_vectors.t()).topk(min(self.k, len(self.asked))).indices.tolist()
        measure = from_centroid if self.which == "right" else from_nearest
        there = [self.try_vectors[[at for q in near for at in rows[self.asked[q]]]] for near in nearest]
        return [measure(own, others) for own, others in zip(tries, there, strict=True)]

    def _between(self, distances: list[float]) -> list[float | None]:
        """Where each distance lies between the least of recent ones and the greatest; for right tries the other way round."""
        self.recent.append(distances)
        while sum(map(len, self.recent[1:])) >= self.window:
            del self.recent[0]
        low, high = min(map(min, self.recent)), max(map(max, self.recent))
        if high - low < FLAT:
            return [None] * len(distances)
        share = [(each - low) / (high - low) for each in distances]
        return [1 - each if self.which == "right" else each for each in share]


def from_centroid(own: Tensor, others: Tensor) -> float:
    r"""$\|y - \frac1M \sum_j m_j\|$.

    >>> from_centroid(torch.tensor([1.0, 0.0]), torch.tensor([[0.0, 0.0], [2.0, 0.0]]))
    0.0
    """
    return float((own - others.mean(0)).norm())


def from_nearest(own: Tensor, others: Tensor) -> float:
    r"""$1 - \max_j \cos(y, m_j)$.

    >>> round(from_nearest(torch.tensor([2.0, 0.0]), torch.tensor([[0.0, 1.0], [3.0, 4.0]])), 6)
    0.4
    """
    return 1 - float(torch.cosine_similarity(own[None], others).max())


def _joined(old: Tensor | None, new: Tensor) -> Tensor:
    return new if old is None else torch.cat([old, new])
