"""SPO: advantages of segments, from what the policy comes to where they begin and where they end."""

from __future__ import annotations

import dataclasses
from math import log

import torch
from harness import Mechanism, World, credited, made
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.credit.tree import Tree, _of_children, played_tree, prefix_gain
from guerdon.select.filters import unlikely

# 0 and 2 begin; below 0 are 1 (right) and 3 (which has the leaves 4 right and 5 wrong); 2 is a wrong leaf
# another problem has two leaves, 6 and 7, and a judge's word below the first of them, which is no segment of its track
PARENTS = ((-1, 0, -1, 0, 3, 3), (-1, -1, 0))
REWARDS = [1.0, 0.0, 1.0, 0.0, 0.25, 0.75, 9.0]  # of the leaves 1, 2, 4 and 5; 6 and 7; and the judge's
START = (0.75 + 0.0) / 2  # a node is worth the mean of its children: 0 is worth 3/4 and 3 a half
GAIN = [0.75 - START, 1 - 0.75, 0.0 - START, 0.5 - 0.75, 1 - 0.5, 0.0 - 0.5, -0.25, 0.25, 0.0]
THROUGH = [3, 1, 1, 2, 1, 1, 1, 1, 1]  # tracks through each


def tree():
    first, second = ([segment([0, 1], parent=parent, logp=[-0.05, -1.0]) for parent in parents] for parents in PARENTS)
    second[2] = second[2].but(role="judge")
    batch = pack([episode(*first, name="a"), episode(*second, name="b", number=1)])
    return batch.with_cols({"correct": Column.full("track", torch.tensor(REWARDS))})


def gains(**knobs):
    """The advantage of each segment, the same at both of its steps."""
    advantage = credited(made("spo", **knobs), tree())
    assert advantage[::2] == advantage[1::2]
    return advantage[::2]


def learned(**knobs):
    """The steps that are learned from, of two in a segment with the probabilities 0.95 and 0.37."""
    on = made("spo", **knobs).stages.learners[0].on
    return (~(on(tree(), ExamplePlay()) if on else tree()).muted).tolist()[:2]


def muted():
    """Two steps at a probability of 1/2, the second of them muted, and two below it, the first of them muted."""
    batch = pack([episode(segment([0] * 4, logp=[log(0.5), log(0.4), log(0.4), log(0.4)]))])
    batch = dataclasses.replace(batch, muted=torch.tensor([False, False, True, False]))
    return unlikely(0.5)(batch, ExamplePlay()).muted


def composed(**knobs):
    recipe = made("spo", **knobs)
    loss = recipe.stages.learners[0].loss
    return [repr(recipe.env), [term.mean for term in getattr(loss, "terms", [loss])], recipe.curriculum.tries]


def chain(**knobs):
    (credit,) = made("spo", form="chain", **knobs).stages.credit
    return [type(credit).__name__, credit.tries, credit.every, credit.below, type(credit.score).__name__]


def told_apart(method="spo"):
    """How much more the right end is credited that was chosen where half go wrong (4) than that where most go well (1)."""
    advantage = credited(made(method), tree())
    return advantage[8] - advantage[2]


mechanism = Mechanism(
    "spo",
    source="arXiv:2505.23564; AIFrameResearch/SPO@b9fc6a26, tree_episode_generator.py, lines 100 to 106",
    also=[prefix_gain, played_tree, _of_children, Tree.gain, unlikely],
    numbers={
        "a node is the mean of its children, a segment counts once": (
            gains,
            [gain / through for gain, through in zip(GAIN, THROUGH, strict=True)],
        ),
        "counted as often as there are tracks": (lambda: gains(**{"prefix_gain.once": False}), GAIN),
        "a node is the mean of its tracks": (
            lambda: gains(**{"prefix_gain.once": False, "prefix_gain.mean": "track"}),
            [2 / 3 - 0.5, 1 - 2 / 3, -0.5, 0.5 - 2 / 3, 0.5, -0.5, -0.25, 0.25, 0.0],
        ),
        "likely tokens are not learned from": (learned, [False, True]),
        "less likely ones": (lambda: learned(mask=0.3), [False, False]),
        "all of them": (lambda: learned(mask=1.0), [True, True]),
        "at the bound, and muted before": (muted, [True, False, True, False]),
        "a tree of segments, a mean over tokens": (composed, ["sampled_tree(branch=(6, 6, 6))", ["step"], 1]),
        "with a KL": (
            lambda: composed(kl=0.1, branch=(2, 2), tokens=4),
            ["sampled_tree(branch=(2, 2), tokens=4)", ["step", "step"], 1],
        ),
        "a chain": (chain, ["restarts", 9, 5, 0.9, "verified"]),
        "another chain": (lambda: chain(more=2, cuts=3, rho=0.5), ["restarts", 2, 3, 0.5, "verified"]),
    },
    world=World(
        says="two right answers, one of them from a place where half go wrong: the segment chosen there is credited more",
        measure=told_apart,
        off={"method": "grpo"},
        moves=0.2,
    ),
    equal={
        "spo: mask < 1 -> mask <= 1": "no step has a probability above 1",
        "spo: 1 -> 2": "the same",
        "prefix_gain.__call__: batch.shared.clamp(min=1) -> batch.shared": "every segment is on a track here",
        "played_tree: batch.parent.clamp(min=0) -> batch.parent": "what a first segment continues is left out after",
        "_of_children: at.clamp(min=0) -> at": "what a start continues is left out after",
        "played_tree: batch.role[above] shuffled": "all parents here are the policy's",
        "_of_children: at >= 0 -> at > 0": "when a chain is at node 0, that node's own is at its start",
        "_of_children: 0 -> 1": "the same",
        "_of_children: above[rows] shuffled (2)": "a set has no order",
        "_of_children: 0 -> 1 (5)": "where there are no nodes",
        "Tree.gain: self.above.clamp(min=0) -> self.above": "what a start continues is left out after",
    },
)
