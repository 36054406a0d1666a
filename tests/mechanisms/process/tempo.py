"""TEMPO: GRPO's advantage, corrected at the tokens where the tries at a problem part."""

from __future__ import annotations

from math import nan

import torch
from harness import Mechanism, World, credited, made, said_tries

from guerdon.credit.tree import Tree, branch_gain, merged_tree

TRIES = [((0, 1, 0), 1), ((0, 1, 1), 0), ((0, 0), 0), ((1, 1), 0)]  # what was said, and whether it was right
S = (4 * (1 / 4) * (3 / 4) / 3) ** 0.5 + 1e-4  # the sample deviation of one right of four
# values: 1/4 at the start; 1/3 after 0, 1/2 after 0 1
PART = [[1 / 12, 1 / 6, 1 / 2], [1 / 12, 1 / 6, -1 / 2], [1 / 12, -1 / 3], [-1 / 4, 0.0]]
GAPS = [3 / 4, -1 / 4, -1 / 4, -1 / 4]


def by_hand(outcome):
    return [(outcome * gap + part) / S for gap, parts in zip(GAPS, PART, strict=True) for part in parts]


def advantages(*problems, method="tempo", **knobs):
    return credited(made(method, **knobs), said_tries(*(problems or [TRIES])))


def undivided(second=0, **divided):
    """Two tries that part at once, divided otherwise."""
    return advantages([((0,), 1), ((1,), second)], **{f"branch_gain.{name}": value for name, value in divided.items()})


def on_the_wrong_turn(**knobs):
    """How much worse off the token that leaves the only right way is than those that two wrong tries had in common with it."""
    _, wrong, *_ = torch.tensor(advantages(**knobs)).split([3, 3, 2, 2])
    return float(wrong[2] - wrong[0])


SUM = "unrolled.of(gap_K) + tree.gained() + 0 * unrolled.of(rewa..."
LESS, ALONE = "unrolled.of(gap_K) + tree.gained() - 0 * unrolled.of(rewa...", "unrolled.of(gap_K) + tree.gained()"

mechanism = Mechanism(
    "tempo",
    source="arXiv:2509.18314: A_t = (r - mean + V(s_t+1) - V(s_t)) / std",
    also=[branch_gain, merged_tree, Tree.gain, Tree.gained],
    numbers={
        "four tries": (advantages, by_hand(1.0)),
        "the corrections alone": (lambda: advantages(outcome=0.0), by_hand(0.0)),
        "half of the outcome": (lambda: advantages(outcome=0.5), by_hand(0.5)),
        "all alike": (lambda: advantages([((0, 1), 1), ((1, 0), 1)]), [0.0] * 4),
        "nothing tried": (lambda: credited(made("tempo"), said_tries()), []),
        "not divided": (lambda: undivided(std=False), [1.0, -1.0]),
        "another eps": (lambda: undivided(eps=0.5), [1 / (0.5**0.5 + 0.5), -1 / (0.5**0.5 + 0.5)]),
        "no spread and no eps": (lambda: undivided(1, eps=0.0), [0.0, 0.0]),
        "a try without a value has none": (
            lambda: advantages([((0,), 1), ((1,), nan), ((1,), 0)]),
            [1 / (0.5**0.5 + 1e-4), nan, -1 / (0.5**0.5 + 1e-4)],
        ),
        "two problems": (
            lambda: advantages([((0,), 1), ((1,), 0)], [((0, 0), 1), ((0, 1), 1)]),
            [1 / (0.5**0.5 + 1e-4), -1 / (0.5**0.5 + 1e-4), 0.0, 0.0, 0.0, 0.0],
        ),
    },
    world=World(
        says="two tries part at their last token: the credit for the outcome goes there",
        measure=on_the_wrong_turn,
        off={"method": "grpo"},
        moves=-1.0,
    ),
    equal={
        **dict.fromkeys(
            ("tempo: branch_gain(...) without std=", "tempo: branch_gain(...) without eps="), "GRPO's are the same"
        ),
        "branch_gain.__call__: 1.0 -> 2.0": "0 over 1 or over 2",
        **dict.fromkeys(
            (f"branch_gain.__call__: {SUM} -> {there}" for there in (LESS, ALONE)), "a gap without a value is NaN"
        ),
        "branch_gain.__call__: 0 * unrolled.of(reward_K) -> 0": "a gap without a value is NaN",
        "merged_tree: -1 -> 1": "no start is asked what it continues",
        "merged_tree: -1 -> 1 (2)": "every step is written over",
        "merged_tree: 0 -> 1": "a round for no tracks does nothing",
        "merged_tree: 1 -> 2": "a base larger than any number",
        "merged_tree: 1 -> 2 (2)": "the same, where there are none",
        "Tree.gain: self.above.clamp(min=0) -> self.above": "what a start continues is left out after",
    },
)
