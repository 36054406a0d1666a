"""Cyclical curriculum learning: from pass to pass the data grow from a few easy examples to all of them, and shrink again.

Paper: Kesgin & Amasyali 2022, Cyclical Curriculum Learning (arXiv:2202.05531), and the authors' code
(github.com/CyclicalCurriculum/Cyclical-Curriculum). Each pass samples a share of the examples, which grows and shrinks, with
probabilities 1 / loss under a network trained before on all of them; as in the paper its cost is not counted. All arms see
equally many samples. Followed: sizes, scores, sampling, defaults. Different: the authors report the best test accuracy of any
pass, and a cyclical run has more passes; here all arms are evaluated equally often, and the model with the best validation
accuracy counts. Leaves out: other data, scores that follow the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.seeds import generator
from guerdon.studies.classify import accuracy, fitted, learn, losses, network
from guerdon.studies.digits import Examples, digits

BATCH, LOOKS = 32, 40


@recipe(
    "cyclical-curriculum-learning",
    family="curriculum",
    paper="arXiv:2202.05531",
    claim=Claim(
        says="Data sizes that go up and down, easy examples first, classify better than all examples at every pass.",
        baseline="cyclical-curriculum-learning start=1 scores=equal",
        ablation="cyclical-curriculum-learning scores=equal",
        model="",
        metric="accuracy",
        effect=0.005,
        budget=20_000,
        unit="samples",
    ),
    needs=Needs(world="images of digits for a small network"),
)
def cyclical_curriculum_learning(
    start: float = 0.25,  # start, end, alpha: the authors' script
    end: float = 1.0,
    alpha: float = 0.5,
    scores: Literal["easy", "equal"] = "easy",
    samples: int = 20_000,  # 20 passes over the digits; the authors give their data sets 4 to 48
) -> Study:
    """Data sizes that go up and down: a network on scikit-learn's digits."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        data, net, opt = digits(seed), network(seed), adam()
        chances = torch.ones(len(data.train), dtype=torch.float64)
        if scores == "easy":
            plain = partial(fitted, seed, data.train, opt, samples // BATCH, BATCH)
            told = run.remember("losses", lambda: losses(plain(), data.train).tolist())
            chances = 1.0 / torch.tensor(told, dtype=torch.float64).clamp(min=1e-9)
        batches = list(drawn(data.train, chances, cycle(start, end, alpha), samples, BATCH, seed))
        seen, every, looks = [0, *accumulate(map(len, batches))], samples // LOOKS, []

        def look(net: torch.nn.Module, done: int) -> None:
            if seen[done] // every > seen[done - 1] // every:
                looks.append((accuracy(net, data.validation), accuracy(net, data.test), seen[done]))

        learn(net, batches, opt, len(batches), look)
        curve = [{"spent": spent, "value": value} for _, value, spent in looks]
        return {"accuracy": max(looks, key=lambda x: x[0])[1], "last": looks[-1][1], "curve": curve}

    return Study(body)


def cycle(start: float, end: float, alpha: float) -> Iterator[float]:
    """The share of the examples that each pass takes, without end: from `start` it grows by 1/alpha up to `end`, shrinks by
    alpha down to `start`, and so on."""
    share, grows = start, True
    while True:
        yield share
        grows = share == start or (grows and share != end)
        share = min(share / alpha, end) if grows else max(share * alpha, start)


def drawn(
    examples: Examples, scores: Tensor, shares: Iterator[float], samples: int, batch: int, *path: int | str
) -> Iterator[Examples]:
    """Batches of one pass after the other until so many samples are drawn, the last pass cut short. A pass draws its share
    without replacement, each example with a probability in proportion to its score, and shuffles it."""
    draw, left = generator(*path, "drawn"), samples
    while left:
        rows = torch.multinomial(scores, max(1, int(next(shares) * len(examples))), generator=draw)
        rows = rows[torch.randperm(len(rows), generator=draw)][:left]
        yield from (examples[chunk] for chunk in torch.split(rows, batch))
        left -= len(rows)
