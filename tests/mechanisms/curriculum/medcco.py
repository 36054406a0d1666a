"""MedCCO: problems with options to choose among first, then the same problems asked openly."""

from __future__ import annotations

from harness import Later, Mechanism, World, made

from guerdon.core.task import kinds_of
from guerdon.curricula.plain import in_stages

TASK = "countdown:1-2"


def drawn(*steps, **knobs):
    """The families that are drawn from at these steps of ten, and the tries."""
    curriculum = made("medcco", TASK, **knobs).curriculum
    asks = [ask for step in steps for ask in curriculum.draw(2, Later(step, 10))]
    return [ask.task.family for ask in asks], asks[0].n


def closed(**knobs):
    """How much more is chosen among options in the first half of a run than in the second."""
    early, late = (sum(family != "countdown" for family in drawn(*half, **knobs)[0]) for half in ((0, 4), (5, 9)))
    return (early - late) / 4


def verified():
    return list(kinds_of(made("medcco", TASK).stages.scores[0].task))


C = "prefer/countdown"
mechanism = Mechanism(
    "medcco",
    source="arXiv:2505.19213: closed questions, then open ones",
    also=[in_stages.draw],
    numbers={
        "closed first": (lambda: drawn(0, 4, 5, 9), [[C] * 4 + ["countdown"] * 4, 8]),
        "open first": (lambda: drawn(4, 5, order="open_first")[0], ["countdown"] * 2 + [C] * 2),
        "mixed": (lambda: sorted(set(drawn(0, 1, order="mixed")[0])), ["countdown", C]),
        "open": (lambda: drawn(0, order="open")[0], ["countdown"] * 2),
        "verify": (lambda: drawn(0, closed="verify")[0][0], "verify/countdown"),
        "later": (lambda: drawn(7, 8, at=0.8)[0], [C] * 2 + ["countdown"] * 2),
        "what has begun does not go back": (lambda: drawn(5, 4)[0], ["countdown"] * 4),
        "both forms are verified": (verified, [f"{C}:1", f"{C}:2", "countdown:1", "countdown:2"]),
        "tries": (
            lambda: [drawn(step, tries=3, order=o)[1] for step in (0, 9) for o in ("closed_first", "mixed")],
            [3] * 4,
        ),
    },
    world=World(
        says="choices come in the first half of the run and not in the second",
        measure=closed,
        off={"order": "open"},
        moves=1.0,
    ),
    equal={"in_stages.draw: 1 -> 2": "for a run of no steps, which draws nothing"},
)
