"""Rewards and checks of text over a policy that makes none: refused when its first tracks are there, never a silent 0.

Leaves out: rewards that take what was made, the actions or the path, which need no text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.errors import RunStopped
from guerdon.core.task import makes_no_text
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Roles, each_role, paths
from guerdon.rewards.formula.reward import Reward

TEXT = {"completion", "turns"}
OTHERS = {"made", "actions", "path", "episode"}  # that a reward can use without a text
OF_TEXT = (
    "guerdon.judges.",
    "guerdon.rewards.text.",
    "guerdon.rewards.memory.",
)  # shelves of leaves that read completions


def refuse_without_text(scorers: Iterable[Any], batch: Batch, role: Roles = "policy") -> None:
    """Stop a run, or an exam, one of whose stages or metrics has a reward that reads the text of a role that makes none.
    `role` is meant where one says no role."""
    for scorer in scorers:
        formula = getattr(scorer, "reward", None)
        leaves = [leaf for leaf in formula.leaves if reads_text(leaf)] if isinstance(formula, Reward) else []
        silent = silent_roles(batch, getattr(scorer, "role", role)) if leaves else []
        if silent:
            raise RunStopped(
                f"reward {leaves[0].name} reads the completion, and {silent[0]!r} makes no text: give a reward that takes"
                " made, actions or path"
            )


def reads_text(leaf: Leaf) -> bool:
    """Whether a leaf's score is of the text alone."""
    names = {name for name in leaf.wants.names if name not in leaf.wants.optional}
    if not leaf.wants.names and not leaf.wants.any_name:  # one that is given all samples together
        return type(leaf).__module__.startswith(OF_TEXT)
    return bool(TEXT & names) and not OTHERS.intersection(leaf.wants.names)


def silent_roles(batch: Batch, role: Roles) -> list[str]:
    """Those of the roles that have a track without text."""
    tracks = [path for _, path in paths(batch)]
    return [each for each in each_role(role) if any(p[-1].role == each and makes_no_text(p) for p in tracks)]
