"""Rewards for what has not been seen before: by counting, by distance to a memory, by how badly it is predicted.

All three remember what they scored; what they remember is state,
so it goes to the checkpoint and a resumed run continues exactly.
They pay for being different and not for being right: add them to a reward that knows the truth, with a small weight.
Samples of one step are all rated before any is remembered, or all after, so their order never counts.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from guerdon.core.part import knob, live, part, state
from guerdon.core.seeds import generator
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.text.answers import marked, normal, number


class Remembers(Leaf):
    """A leaf that rates all completions of a step together. A sample without one is not rated and not remembered."""

    alone: ClassVar[bool] = False

    async def score(self, samples: Samples) -> list[Outcome]:
        there = [i for i, fields in enumerate(samples.fields) if fields.get("completion") is not None]
        rated = self.rate([samples.fields[i] for i in there], samples.seed) if there else []
        by_place = dict(zip(there, rated, strict=True))
        return [outcome_of(by_place.get(i)) for i in range(len(samples))]

    def rate(self, fields: Sequence[Mapping[str, Any]], seed: int) -> list[float | None]:
        """Of each sample that has a completion; `seed` is the run's."""
        raise NotImplementedError


@part
class count_novelty(Remembers):
    r"""$1/\sqrt{n}$, with $n$ how often the sample's key has come so far, itself and its step included (Strehl & Littman 2008;
    with hashed keys, Tang et al. 2017, arXiv:1611.04717).

    The key is the `text` (in any case, any space as one) or the last `number`; with a `mark`, of what follows it. Without a key
    it does not apply. Keys are counted per `task`, or over the whole `run`; beyond `most` of them the oldest is
    forgotten, and new again.

    Args:
        key: what is counted: the text, or its last number.
        mark: only what follows its last place is the key.
        by: count within each task, or over the whole run.
        most: keys that are remembered.

    >>> import guerdon as gd
    >>> bold = gd.count_novelty(key="number")
    >>> [gd.score_samples(bold, [{"completion": text}]).whole for text in ("so 4", "it is 4", "it is 5")]
    [[1.0], [0.7071067811865475], [1.0]]
    """

    key: Literal["text", "number"] = "text"
    mark: str = ""
    by: Literal["task", "run"] = "task"
    most: int = knob(default=100_000, ge=1)

    counts: dict[str, int] = state(factory=dict)

    def __post_init__(self) -> None:
        check_plain(self)

    def rate(self, fields: Sequence[Mapping[str, Any]], seed: int) -> list[float | None]:
        keys = [self._key(each) for each in fields]
        for key in (k for k in keys if k is not None):
            self.counts[key] = self.counts.get(key, 0) + 1
        novelty = [None if key is None else 1 / math.sqrt(self.counts[key]) for key in keys]
        for old in list(self.counts)[: max(0, len(self.counts) - self.most)]:
            del self.counts[old]
        return novelty

    def _key(self, fields: Mapping[str, Any]) -> str | None:
        text = marked(fields["completion"], self.mark) if self.mark else fields["completion"]
        if text is None:
            return None
        key = normal(text, casefold=True, spaces=True)
        if self.key == "number":
            read = number(text, last=not self.mark)
            if read is None:
                return None
            key = str(read.value)
        task = fields.get("task")
        place = "" if self.by == "run" else fields.get("prompt", "") if task is None else task.key
        return hashlib.sha256(f"{place}\x1f{key}".encode()).hexdigest()[:16]


def hashed_ngrams(texts: Sequence[str], size: int, n: int = 3) -> Tensor:
    """[N, size] the n-grams of characters of each text, hashed to places and signs, as a vector of length 1 (Weinberger et al.
    2009, arXiv:0902.2206). The empty text is a vector too, so that it is new only once.

    >>> a, b, c = hashed_ngrams(["the cat sat", "The  cat sat!", "357 + 12"], 256)
    >>> bool(a @ b > 0.8), bool(abs(a @ c) < 0.2)
    (True, True)
    """
    vectors = np.zeros((len(texts), size))
    edge = " " * (n - 1)
    for row, text in zip(vectors, texts, strict=True):
        plain = edge + normal(text, casefold=True, spaces=True) + edge
        for at in range(len(plain) - n + 1):
            code = zlib.crc32(plain[at : at + n].encode())
            row[(code >> 1) % size] += 1.0 if code & 1 else -1.0
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return torch.from_numpy(vectors / np.maximum(length, 1e-12))


@part
class embedding_novelty(Remembers):
    r"""$\frac1k \sum_{j=1}^{k} (1 - \cos(x, m_j))$: the mean distance to the $k$ nearest earlier texts (novelty
    search, Lehman & Stanley 2011), from 0 for the same again to about 1 for nothing in common.

    Texts are vectors of hashed n-grams of characters (`hashed_ngrams`, of `size` numbers): they see spelling, not meaning, and
    a paraphrase is new. Of the last `memory` completions of earlier steps the nearest are taken; while there are none it does
    not apply.

    Args:
        k: number of nearest completions.
        size: length of the vectors.
        memory: completions that are remembered.

    >>> import guerdon as gd
    >>> new = gd.embedding_novelty(k=1)
    >>> gd.score_samples(new, [{"completion": "the cat sat"}]).whole
    [None]
    >>> [round(x, 2) for x in gd.score_samples(new, [{"completion": t} for t in ("The cat sat", "the cat ran")]).whole]
    [0.0, 0.36]
    """

    k: int = knob(default=10, ge=1)
    size: int = knob(default=256, ge=8)
    memory: int = knob(default=2048, ge=1)

    seen: Tensor | None = state()  # [M, size], oldest first

    def __post_init__(self) -> None:
        check_plain(self)

    def rate(self, fields: Sequence[Mapping[str, Any]], seed: int) -> list[float | None]:
        new = hashed_ngrams([each["completion"] for each in fields], self.size)
        novelty: list[float | None] = [None] * len(new)
        if self.seen is not None:
            near = (1 - new @ self.seen.t()).clamp(min=0.0).topk(min(self.k, len(self.seen)), largest=False).values
            novelty = [*near.mean(1).tolist()]
        self.seen = (new if self.seen is None else torch.cat([self.seen, new]))[-self.memory :].clone()
        return novelty


@part
class rnd(Remembers):
    r"""$\|f(x) - \hat f(x)\|^2$ over its root mean square so far: how badly a net $\hat f$, trained on earlier texts,
    predicts a fixed random net $f$ (random network distillation, Burda et al. 2018, arXiv:1810.12894).

    $x$ are the hashed n-grams of `embedding_novelty`; both nets have one hidden layer of `width`. Each step is rated first,
    then learned from in `updates` steps of gradient descent. The nets are drawn by the run's seed. Burda et al. learn with
    Adam, and divide by the running deviation of returns.

    Args:
        width: units of the hidden layers.
        size: length of the vectors.
        lr: learning rate of the trained net.
        updates: its gradient steps in each step of the run.

    >>> import guerdon as gd
    >>> curious = gd.rnd()
    >>> often = [gd.score_samples(curious, [{"completion": "the cat sat"}]).whole[0] for _ in range(50)]
    >>> often[-1] < 0.5 * often[0] < 2 * gd.score_samples(curious, [{"completion": "357 + 12"}]).whole[0]
    True
    """

    width: int = knob(default=64, ge=1)
    size: int = knob(default=256, ge=8)
    lr: float = knob(default=0.1, gt=0.0)
    updates: int = knob(default=4, ge=1)

    predictor: dict[str, Tensor] = state(factory=dict)
    squares: float = state(default=0.0)  # the sum of the errors' squares so far ...
    rated: int = state(default=0)  # ... and how many there were
    target: dict[str, Tensor] = live()

    def __post_init__(self) -> None:
        check_plain(self)

    def rate(self, fields: Sequence[Mapping[str, Any]], seed: int) -> list[float | None]:
        self.target = self.target or self._fresh("target", seed)
        self.predictor = self.predictor or self._fresh("predictor", seed)
        x = hashed_ngrams([each["completion"] for each in fields], self.size)
        aim = _through(self.target, x)
        error = (_through(self.predictor, x) - aim).square().sum(1)
        self.squares += float(error.square().sum())
        self.rated += len(error)
        usual = math.sqrt(self.squares / self.rated)
        for _ in range(self.updates):
            weights = {name: w.detach().requires_grad_() for name, w in self.predictor.items()}
            loss = (_through(weights, x) - aim).square().sum(1).mean()
            slopes = torch.autograd.grad(loss, list(weights.values()))
            steps = zip(weights.items(), slopes, strict=True)
            self.predictor = {name: (w - self.lr * slope).detach() for (name, w), slope in steps}
        return [e / usual if usual else 0.0 for e in error.tolist()]

    def _fresh(self, which: str, seed: int) -> dict[str, Tensor]:
        draw = generator(seed, "rnd", which)
        shapes = {"first": (self.size, self.width), "second": (self.width, self.width)}
        return {name: torch.randn(shape, generator=draw, dtype=torch.float64) for name, shape in shapes.items()}


def _through(net: Mapping[str, Tensor], x: Tensor) -> Tensor:
    """Weights of size 1 over the root of the width: one learning rate does for any width."""
    return torch.relu(x @ net["first"]) @ net["second"] / math.sqrt(len(net["second"]))
