"""TPO: lists of the steps that go on from one place, ranked by the policy's log-ratios and weighed by what a swap would do."""

from __future__ import annotations

from math import exp, log, log2

import torch
from harness import Mechanism, World, made
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.losses.pair import list_ranking, ranks
from guerdon.select.pairs import step_pairs


def rows(*worths, **knobs):
    """A list for each, behind a trunk of one step, siblings of two steps; as the recipe pairs them."""
    siblings = [[segment([i, i], parent=0) for i in range(len(worth))] for worth in worths]
    batch = pack([episode(segment([0]), *each, number=n) for n, each in enumerate(siblings)])
    value = torch.tensor([x for worth in worths for x in worth]).double()
    reference = Column.full("step", -0.1 * torch.arange(batch.S).double())
    batch = batch.with_cols({"correct": Column.full("track", value), "reference.logp": reference})
    (learner,) = made("tpo", **knobs).stages.learners
    return learner, learner.on(batch, ExamplePlay())


def loss(worths, ratio, hidden=None, **knobs):
    """Of the log-ratio of each step to the start model."""
    learner, batch = rows(*worths, **knobs)
    live = {"logp": batch["reference.logp"] + torch.tensor(ratio)}
    if hidden is not None:
        live["hidden"] = torch.tensor(hidden).double()
    return float(learner.loss(batch, live)[0])


def pairs(*worths, **knobs):
    made_of = rows(*worths, **knobs)[1].pairs
    return [made_of.better.tolist(), made_of.worse.tolist(), made_of.margin.tolist()]


def by_hand(worth, score, cosine=0.0):
    """The sum over the pairs of a list: what swapping them would do to its gain, times the logistic loss of the margin."""
    place = [1 + sum((score[j], worth[j]) > (score[i], worth[i]) for j in range(len(worth))) for i in range(len(worth))]
    total = 0.0
    for i, vi in enumerate(worth):
        for j, vj in enumerate(worth):
            if vi > vj:
                swap = abs(2**vi - 2**vj) * abs(1 / log2(1 + place[i]) - 1 / log2(1 + place[j]))
                total += swap * log(1 + exp(-(1 + cosine) * (score[i] - score[j])))
    return total


GRADED, LOGP = [0.25, 1.0, 0.5], [5.0, 0.5, 0.5, 1.0, 2.0, -1.0, 0.0]  # the trunk's step, then two of each
SCORE = [0.1 * x for x in (1.0, 3.0, -1.0)]
ALIKE = [[9.0, 9.0], [1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]  # hidden states at 45 degrees


def composed(**knobs):
    recipe = made("tpo", **knobs)
    return [repr(recipe.env), recipe.curriculum.tries, [type(stage).__name__ for stage in recipe.stages]]


def middle(learn_from):
    """How hard the loss pulls at the middle one of three graded steps, which pairs of the ends leave out."""
    learner, batch = rows(GRADED, learn_from=learn_from, **({"adapt": 0.0} if learn_from == "lists" else {}))
    logp = batch["reference.logp"].clone().requires_grad_()
    learner.loss(batch, {"logp": logp})[0].backward()
    return float(logp.grad[torch.isin(batch.action, torch.tensor([2]))].abs().sum())


CALL = "list_ranking.__call__:"
GAINS, LABELLED = "(gains[pairs.better] - gains[pairs.worse])", "-pairs.label * logsigmoid(margin)"
HIDDEN = "hidden.new_zeros(batch.G, hidden.shape[1]).index_add(0, b..."

mechanism = Mechanism(
    "tpo",
    source="arXiv:2410.12854; MrBlankness/TPO@ba87a23, loss.py, lines 24, 25, 56 to 65; lambdas as in arXiv:2402.01878",
    also=[list_ranking.__call__, list_ranking._margins, ranks, step_pairs._pairs],
    numbers={
        "a list of three graded steps": (lambda: loss([GRADED], LOGP, adapt=0.0), by_hand(GRADED, SCORE) / 3),
        "two lists": (
            lambda: loss([GRADED, [0.0, 1.0]], [*LOGP, 1.0, 0.5, 0.5, 2.0, 2.0], adapt=0.0),
            (by_hand(GRADED, SCORE) + by_hand([0.0, 1.0], [0.1, 0.4])) / 4,
        ),
        "another beta": (
            lambda: loss([GRADED], LOGP, adapt=0.0, beta=0.2),
            by_hand(GRADED, [2 * x for x in SCORE]) / 3,
        ),
        "1 + the cosine of hidden states": (
            lambda: loss([[1.0, 0.0]], LOGP[:5], ALIKE),
            by_hand([1.0, 0.0], SCORE[:2], 0.5**0.5),
        ),
        "less where they agree": (
            lambda: loss([[1.0, 0.0]], LOGP[:5], ALIKE, adapt=-1.0),
            by_hand([1.0, 0.0], SCORE[:2], -(0.5**0.5)),
        ),
        "all pairs of a list": (lambda: pairs(GRADED), [[1, 1, 2], [0, 2, 0], [0.75, 0.5, 0.25]]),
        "the ends of it": (lambda: pairs(GRADED, learn_from="pairs"), [[1], [0], [0.75]]),
        "the ends of another": (lambda: pairs([0.5, 1.0, 0.25], learn_from="pairs"), [[0], [1], [0.75]]),
        "far enough apart": (lambda: pairs(GRADED, least=0.5), [[1, 1], [0, 2], [0.75, 0.5]]),
        "ranks, ties by worth, then shared": (
            lambda: ranks(
                *map(torch.tensor, ([0.5, 2.0, 0.5, 0.5, 9.0, 1.0], [0.0, 0.0, 1.0, 0.0, 0.0, 1.0], [0, 0, 0, 0, 1, 1]))
            ),
            [3.5, 1.0, 2.0, 3.5, 1.0, 2.0],
        ),
        "composed": (
            lambda: composed(branch=(3, 2), tokens=5),
            ["sampled_tree(branch=(3, 2), tokens=5)", 1, ["verified", "Learn"]],
        ),
        "by lines": (lambda: composed()[0], "sampled_tree(branch=(4, 2, 2), tokens=0)"),
    },
    world=World(
        says="a list has a step in the middle: it is learned from too",
        measure=middle,
        on={"learn_from": "lists"},
        off={"learn_from": "pairs"},
        moves=0.005,
    ),
    equal={
        **dict.fromkeys(
            (f"{CALL} batch.weight > 0 -> batch.weight >= 0", f"{CALL} 0.0 -> 1.0"), "no step is given here"
        ),
        f"{CALL} {GAINS}.abs() -> {GAINS[1:-1]}": "the better is worth more",
        **dict.fromkeys(
            (
                f"{CALL} {LABELLED} - (1 - pairs.label) * l... -> {LABELLED} + (1 - pairs.label) * l...",
                f"{CALL} {LABELLED} - (1 - pairs.label) * l... -> {LABELLED}",
                f"{CALL} (1 - pairs.label) * logsigmoid(-margin) -> 1 - pairs.label",
                f"{CALL} logsigmoid(-margin) -> -margin",
                f"{CALL} -margin -> margin",
            ),
            "the label of a pair of steps is 1",
        ),
        "list_ranking._margins: batch.length.clamp(min=1) -> batch.length": "no segment is empty",
        "list_ranking._margins: 1 -> 2 (2)": "of the trunk, which cancels",
        f"list_ranking._margins: {HIDDEN} -> {HIDDEN}": "a cosine does not depend on lengths",
        "list_ranking._margins: cosine_similarity(...) with _at(mean_G, worse) before _at(mean_G, better)": "symmetric",
        **dict.fromkeys(
            (
                *(f"ranks: torch.argsort(...) without stable={n}" for n in ("", " (2)", " (3)")),
                *(f"ranks: True -> False ({n})" for n in (2, 4, 5)),
            ),
            "so few are sorted in a stable way anyhow",
        ),
        "ranks: torch.bincount(...) without minlength=": "where there are no tracks",
        "ranks: 1 -> 2 (3)": "where there are no tracks",
    },
)
