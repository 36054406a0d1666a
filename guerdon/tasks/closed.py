"""Problems with the answers to choose from: the closed form of a generated family, in a role that every family has."""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.task import kinds_of
from guerdon.tasks.family import Family
from guerdon.tasks.mixtures import mixture
from guerdon.tasks.role_tasks import in_role

Closed = Literal["prefer", "verify"]


def closed_form(task: Any, role: Closed = "prefer") -> mixture:
    """The problems of a task as choices: two solutions of which one is right ("prefer": a or b), or one that is right or not
    ("verify": yes or no). Every kind of problem becomes a kind.

    Args:
        task: where problems come from.
        role: "prefer" or "verify".

    >>> import guerdon as gd
    >>> closed = gd.tasks.closed_form(gd.tasks.load("chain:1-2"))
    >>> closed.get("train", 1).kind, closed.get("train", 0).prompt.splitlines()[0]
    ('prefer/chain:2', 'prefer')
    """
    sources = list(kinds_of(task).values())
    if not all(isinstance(source, Family) for source in sources):
        raise UserError(
            f"{task.name} has no closed form: wrong answers to choose among are known of generated families alone (guerdon"
            " list tasks)"
        )
    return mixture(f"{role}/{task.name}", [in_role(role, source) for source in sources])
