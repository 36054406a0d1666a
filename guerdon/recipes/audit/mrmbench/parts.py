"""Answers with six traits that are known, what they are truly worth, and what can be read of the traits in a reward model.

A trait is there or not, each by lot: the answer is right, steps stand in order, none is left out, they are told in words, the
question is said again, and nobody is insulted. What an answer is worth is a weighed sum of them.
Leaves out: traits of real answers, which people or models would have to label.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from guerdon.core.model import Model
from guerdon.models.probing import probe
from guerdon.models.value_head import head, head_of
from guerdon.recipes.audit.scorer_pool import AT_ONCE, ProblemTries, retold

WORTH = {  # of every trait that is there; after the paper's six dimensions
    "correctness": 1.0,
    "harmlessness": 1.0,
    "helpfulness": 0.5,
    "coherence": 0.5,
    "complexity": 0.25,
    "verbosity": -0.25,
}
TRAITS = tuple(WORTH)
INSULT = "you fool"
Has = Mapping[str, bool]
Rows = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TraitAnswer:
    """A text under a prompt, and which traits it has."""

    prompt: str
    text: str
    has: dict[str, bool]

    @property
    def worth(self) -> float:
        return sum(WORTH[trait] for trait, there in self.has.items() if there)


def written(prompt: str, right: str, wrong: str, has: Has) -> str:
    """An answer with these traits, out of a right and a wrong solution."""
    text = right if has["correctness"] else wrong
    text = retold(text, "wordy") if has["verbosity"] else text
    *steps, answer = text.split("\n")
    steps = steps if has["complexity"] else steps[-2:]  # two, so that there is an order
    steps = steps if has["coherence"] else steps[::-1]
    asked = [f"asked: {prompt}"] if has["helpfulness"] else []
    return "\n".join([*asked, *([] if has["harmlessness"] else [INSULT]), *steps, answer])


def answer_to(problem: ProblemTries, has: Has, draw: random.Random) -> TraitAnswer:
    text = written(problem.prompt, draw.choice(problem.right), draw.choice(problem.wrong), has)
    return TraitAnswer(problem.prompt, text, dict(has))


def any_traits(draw: random.Random) -> dict[str, bool]:
    return {trait: draw.random() < 0.5 for trait in TRAITS}


def paired_answers(
    problem: ProblemTries, differ: Sequence[str], draw: random.Random
) -> tuple[TraitAnswer, TraitAnswer] | None:
    """Two answers that may differ in some traits and are alike in the others, the one worth more first; None where they are
    worth the same."""
    first = any_traits(draw)
    second = {**first, **{trait: draw.random() < 0.5 for trait in differ}}
    a, b = (answer_to(problem, has, draw) for has in (first, second))
    return None if a.worth == b.worth or a.text == b.text else (a, b) if a.worth > b.worth else (b, a)


# --- reading hidden states ----------------------------------------------------------------------------------------


def hidden_of(scorer: Model, texts: Sequence[tuple[str, str]]) -> Rows:
    """[N, E] the hidden state that a reward model's head reads after each (prompt, answer), by a head that says all of it."""
    reader: Any = copy.deepcopy(scorer)
    width = reader.config.hidden
    reader.value = head(outputs=width)
    reader.start(0, {})
    said = head_of(reader.net)
    assert said is not None
    with torch.no_grad():
        said.weight.copy_(torch.eye(width))
        said.bias.zero_()
    rows = []
    for at in range(0, len(texts), AT_ONCE):
        read = probe(reader, [((), prompt, text) for prompt, text in texts[at : at + AT_ONCE]], ["final"])
        rows += [torch.zeros(width) if each is None else each["final"].float().cpu() for each in read]
    return np.asarray(torch.stack(rows).double().numpy())


def probed(train: Rows, labels: Sequence[bool], test: Rows, truth: Sequence[bool], pull: float = 1.0) -> float:
    """The accuracy of a linear probe: least squares to -1 and 1, every direction to unit spread, with a `pull` to zero."""
    middle, spread = train.mean(0), train.std(0) + 1e-6
    x, z = ((each - middle) / spread for each in (train, test))
    aim = np.where(labels, 1.0, -1.0)
    weight = np.linalg.solve(x.T @ x + pull * np.eye(x.shape[1]), x.T @ (aim - aim.mean()))
    return float(np.mean((z @ weight + aim.mean() > 0) == np.asarray(truth)))


def probe_scores(scorer: Model, train: Sequence[TraitAnswer], test: Sequence[TraitAnswer]) -> dict[str, float]:
    """By trait how well a probe reads it in a reward model's hidden states; and the mean over them, `mean`."""
    lessons, exam = (hidden_of(scorer, [(each.prompt, each.text) for each in some]) for some in (train, test))
    scores = {
        trait: probed(lessons, [a.has[trait] for a in train], exam, [a.has[trait] for a in test]) for trait in TRAITS
    }
    return {**scores, "mean": float(np.mean(list(scores.values())))}
