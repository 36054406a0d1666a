"""DR. SAF: length is paid by how well the group does, so is saying what is within reach, and no right try is pushed down."""

from __future__ import annotations

import torch
from harness import Mechanism, World, credited, made, paid

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.example import example_tries
from guerdon.recipes.curriculum.dr_saf.parts import length_by_rate


@gd.reward(isolate=False)
def right(completion):
    if completion.endswith("half"):
        return 0.5
    return None if completion == "?" else float(completion.endswith("4"))


def pay(*tries, **knobs):
    """What tries of so many tokens at one problem are paid."""
    recipe = made("dr-saf", reward=right, **knobs)
    return paid(recipe, [{"completion": said, "actions": [0] * n} for said, n in tries])


def lengths(*tries):
    """The part for length alone: 0.06 where it is earned."""
    return [each - float(said.endswith("4")) for (said, _), each in zip(tries, pay(*tries, aware=False), strict=True)]


def advantages(rewards, correct, **knobs):
    batch = example_tries([rewards]).with_cols({"correct": Column.full("track", torch.tensor(correct))})
    return credited(made("dr-saf", **knobs), batch)


def by_rate(*tries, group=None, **knobs):
    samples = [{"completion": said, "actions": [0] * n} for said, n in tries]
    return gd.score_samples(length_by_rate(right, **knobs), samples, group).whole


def two_groups():
    batch = example_tries([[1.0, 2.0], [0.0, 4.0]])
    batch = batch.with_cols({"correct": Column.full("track", torch.tensor([1.0, 1.0, 0.0, 1.0]))})
    return credited(made("dr-saf"), batch)


S = torch.tensor([1.0, 1.06, 1.0, 1.5]).std().item() + 1e-4
HALF = 0.5 / (0.5**0.5 + 1e-4)
ALL = ("4", 2), ("4", 4), ("4", 6)

BOTH = "(right.reason, word.reason)"

mechanism = Mechanism(
    "dr-saf",
    source="arXiv:2508.11582, with the released code's 0.06, 0.2, 0.12, 0.95 and 0.9",
    numbers={
        "all right: those up to the median": (lambda: lengths(*ALL), [0.06, 0.06, 0.0]),
        "some right: wrong ones from the median of the right on": (
            lambda: lengths(("4", 4), ("5", 3), ("5", 4), ("5", 9), ("4", 4)),
            [0.0, 0.0, 0.06, 0.06, 0.0],
        ),
        "none right: from the median of all on": (lambda: lengths(("5", 2), ("5", 4), ("5", 6)), [0.0, 0.06, 0.06]),
        "between, 19 of 21 right, nothing is said": (
            lambda: sum(lengths(*[("4", 4)] * 19, ("5", 9), ("5", 1))),
            0.0,
        ),
        "a try without a verdict is in no rate": (
            lambda: pay(("4", 2), ("?", 9), ("4", 6), aware=False),
            [1.06, None, 1.0],
        ),
        "19 of 20 right is easy, for those who are": (
            lambda: lengths(*[("4", 4)] * 19, ("5", 1)),
            [0.06] * 19 + [0.0],
        ),
        "9 of 10 right is not hard": (lambda: lengths(*[("4", 4)] * 9, ("5", 9)), [0.0] * 10),
        "half right is right": (lambda: by_rate(("half", 2), ("half", 4)), [1.0, 0.0]),
        "easy before hard": (lambda: by_rate(("4", 2), ("4", 4), ("5", 9), easy=0.5, hard=0.9), [1.0, 0.0, 0.0]),
        "groups by themselves": (
            lambda: by_rate(("4", 2), ("4", 4), ("4", 9), ("4", 20), ("5", 8), ("5", 1), group=[0, 0, 1, 1, 2, 2]),
            [1.0, 0.0, 1.0, 0.0, 1.0, 0.0],
        ),
        "another weight": (lambda: pay(*ALL, brief=0.5, aware=False), [1.5, 1.5, 1.0]),
        "said to be easy, and is; said to be hard, and is not; not said": (
            lambda: pay(("CFRB 4", 1), ("PFRB 4", 1), ("4", 1), brief=0.0),
            [1.32, 1.12, 1.0],
        ),
        "said to be easy, and is not, by one who is right and one who is not; said to be hard": (
            lambda: pay(("CFRB 4", 1), ("CFRB 5", 1), ("PFRB 5", 1), ("PFRB CFRB 4", 1), brief=0.0),
            [1.12, 0.0, 0.32, 1.32],
        ),
        "easy at 19 of 20, and half right is right": (
            lambda: pay(*[("CFRB half", 1)] * 19, ("PFRB 5", 1), brief=0.0)[18:],
            [0.5 + 0.32, 0.12],
        ),
        "after the thinking nothing is looked at, nor inside a word": (
            lambda: pay(("so</think>CFRB 4", 1), ("XCFRB 4", 1), brief=0.0),
            [1.0, 1.0],
        ),
        "no right try below 0: the worst is the baseline": (
            lambda: advantages([1.0, 1.06, 1.0, 1.5], [1.0] * 4),
            [0.0, 0.06 / S, 0.0, 0.5 / S],
        ),
        "a wrong try leaves the mean": (lambda: advantages([0.0, 1.0], [0.0, 1.0]), [-HALF, HALF]),
        "two groups": (two_groups, [0.0, 1 / (0.5**0.5 + 1e-4), -2 / (8**0.5 + 1e-4), 2 / (8**0.5 + 1e-4)]),
        "right by its column, from a half on": (
            lambda: [advantages([0.7, 1.0], [c, 1.0], **{"spare_correct.std": False}) for c in (0.0, 0.5)],
            [[-0.15, 0.15], [0.0, 0.3]],
        ),
        "the mean, as in GRPO": (lambda: advantages([1.0, 2.0], [1.0] * 2, spare=False), [-HALF, HALF]),
        "not divided": (lambda: advantages([1.0, 2.0], [1.0] * 2, **{"spare_correct.std": False}), [0.0, 1.0]),
        "no spread, no eps": (lambda: advantages([1.0, 1.0], [1.0] * 2, **{"spare_correct.eps": 0.0}), [0.0, 0.0]),
        "another eps": (
            lambda: advantages([1.0, 2.0], [1.0] * 2, **{"spare_correct.eps": 0.5}),
            [0.0, 1 / (0.5**0.5 + 0.5)],
        ),
    },
    world=World(
        says="all tries are right and the short ones are paid more: a long one is not pushed down for it",
        measure=lambda **knobs: advantages([1.06, 1.06, 1.0], [1.0] * 3, **knobs)[2],
        off={"spare": False},
        moves=1.0,
    ),
    equal={
        **dict.fromkeys(
            (
                f"{name}: sorted({{*group.tolist()}}) -> {{*group.tolist()}}"
                for name in ("rates", "length_by_rate._medians")
            ),
            "groups in another order",
        ),
        "rates: right.value[own & right.valued] shuffled": "a share has no order",
        "length_by_rate._medians: length.value[among] shuffled": "a median has no order",
        "length_by_rate._medians: (group == g) & length.valued -> group == g": "lengths are always known here",
        **dict.fromkeys(
            (
                "knows_limits.combine: word.reason == Reason.NOT_APPLICABLE -> word.reason != Reason.NOT_APPLICABLE",
                f"knows_limits.combine: torch.where(...) with torch.maximum{BOTH} before right.reason",
                f"knows_limits.combine: torch.maximum{BOTH} -> torch.minimum{BOTH}",
            ),
            "in a blend what does not apply adds nothing, and a verdict that failed fails it by itself",
        ),
        "spare_correct.__call__: (worst < mean) & (spread > 0) -> worst < mean": "below the mean only where there is a spread",
        "spare_correct.__call__: spread > 0 -> spread >= 0": "the same",
        "spare_correct.__call__: worst < mean -> worst <= mean": "the same number",
        "spare_correct.__call__: 1.0 -> 2.0": "0 over 1 or over 2",
    },
)
