"""What a recipe needs against what there is: refused in a line that says what is missing and how to supply it.

Weights are not loaded and nothing is written before. What data and models have is asked of them (`tasks/source_facts.py`,
`models/model_facts.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.needs import NEEDED, Needs
from guerdon.core.recipe import RecipeEntry
from guerdon.core.shown_text import cut
from guerdon.core.task import TaskSource
from guerdon.models.model_facts import model_facts
from guerdon.tasks.source_facts import facts_of
from guerdon.tasks.task_loading import knows


class Unmet(UserError):
    """A recipe needs something that is not there."""


def refuse_untaken(entry: RecipeEntry, **given: Any) -> None:
    """Refuse a task, model or reward that was given and that a method does not take, with the reason."""
    for slot, value in given.items():
        taken = slot in entry.parameters() and not (slot == "reward" and entry.needs.learns_from)
        if value is not None and not taken:
            raise Unmet(f"{entry.name} {entry.needs.untaken(slot)}")


def refuse_unmet(entry: RecipeEntry, source: TaskSource | None, asked: Any, model: Any, given: Collection[str]) -> None:
    """The first thing that is missing of the data, the model and the machine. The `source` was `asked` for by this name, if it
    was by one; `given` are knobs, and the reward."""
    needs = entry.needs
    if source is not None and needs != Needs():
        title = asked if isinstance(asked, str) else str(getattr(source, "title", source.name))
        _refuse(entry.name, needs, "data", facts_of(source), given, f"{title} does not have")
    if model is not None:
        also = (
            Needs(tools=True).over(needs) if getattr(getattr(source, "home", None), "need_any_tools", False) else needs
        )
        who = entry.name if also is needs else f"{entry.name} on {getattr(source, 'name', source)}"
        shown = model if isinstance(model, str) else cut(repr(model))
        if also != Needs():
            _refuse(who, also, "model", model_facts(model), given, f"{shown} is not")
    _refuse(entry.name, needs, "machine", machine_facts(), given, "this machine does not have")


def machine_facts() -> frozenset[str]:
    """What this machine has of what a recipe may need."""
    return frozenset({"sandbox"} if sys.platform.startswith("linux") else ())


def other_rows(entry: RecipeEntry, error: UserError) -> Unmet:
    """Rows of another kind than a recipe needs, with what it needs before what was found."""
    wanted = next((NEEDED[name].what for name in entry.needs.names if NEEDED[name].in_columns), "problems")
    return Unmet(f"{entry.name} needs {wanted}: {error}")


def _refuse(who: str, needs: Needs, of: str, has: Collection[str], given: Collection[str], lacks: str) -> None:
    for name in needs.missing(of, has, given):
        which = "" if name == "second" else f", which {lacks}"
        what = f"problems of {' or '.join(needs.of_families)}" if name == "families" else NEEDED[name].what
        raise Unmet(f"{who} needs {what}{which}: {needs.how(name, _typed)}")


def _typed(family: str) -> str:
    """A family as `--task` takes it: a form of another (`notes_rewrite`) is a knob of that one."""
    whole, _, form = family.partition("_")
    return f"{whole}:3 --set {whole}.form={form}" if knows(whole) and not knows(family) else family
