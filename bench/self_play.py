"""Self-play for `bench.worlds`: GRPO in which one policy plays both sides of a game, examined against an opponent that never
changes.

The tries of either side at a deal are compared with each other: what one side wins the other loses. Exams are held-out deals
of which the policy plays one side, the one that a perfect player wins. Leaves out: past selves as opponents
(`gd.models.pool`), games of more than two, and a running baseline for each side (SPIRAL's, arXiv:2506.24119).
"""

from __future__ import annotations

import dataclasses

import guerdon as gd
from guerdon.recipes.house.grpo import grpo

SIDES = ("first", "second")


@gd.recipe("self_play", on=grpo)
def self_play(base: gd.Recipe, *, against: str = "perfect") -> gd.Recipe:
    """GRPO of one policy in both seats of a game for two; in exams it sits on one side, `against` a fixed opponent."""
    game = base.exams[0].source
    between, examined = (dataclasses.replace(game, against=other) for other in ("", against))
    changes = {"uniform.task": between, "verified.task": between, "verified.role": SIDES}
    exams = [gd.Exam(examined, env=examined)]
    return base.but(env=between, exams=exams, seats=dict.fromkeys((*SIDES, "policy"), "policy"), **changes)
