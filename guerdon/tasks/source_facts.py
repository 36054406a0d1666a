"""What a source of problems has of what a recipe may need, by the names of `core/needs.py`.

Leaves out: what a source needs of a model (`envs/tools`), and what is missing (`training/unmet_needs.py`).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.task import kinds_of
from guerdon.tasks.recited_rows import RecitedRows
from guerdon.tasks.stepwise import has_steps

METHODS = {  # what a source can do, by its method
    "solutions": "solution",
    "tests": "passed_later",
    "searched": "searched",
}
DATABASES = "databases"  # in a task's meta


def facts_of(source: Any) -> frozenset[str]:
    """What a source has, with the names of its families.

    >>> import guerdon as gd
    >>> facts_of(gd.tasks.load("chain:1-2")) >= {"chain", "errors", "step_checker", "kinds", "endless"}
    True
    >>> sorted(facts_of(gd.tasks.rows([{"question": "1+1=", "answer": "2"}] * 2)))
    ['answers', 'data', 'finite', 'one_turn']
    """
    end = "endless" if source.size("train") is None else "finite"
    if isinstance(source, RecitedRows):
        return source.brings | {end}
    kinds = kinds_of(source)
    first = [kind.get("train", 0) for kind in kinds.values()]
    families = {task.family for task in first}
    has = {end, *families, *(["solutions"] if all("solution" in task.meta for task in first) else [])}
    if not any(hasattr(each, "home") for each in [source, *kinds.values()]):
        has.add("one_turn")
    has |= {name for name, method in METHODS.items() if all(hasattr(kind, method) for kind in kinds.values())}
    if getattr(source, "has_answers", True):
        has.add("answers")
    if all(hasattr(kind, "near_misses") for kind in kinds.values()) and "solutions" in has:
        has |= {"errors", "preferences", "labels"}
    if has_steps(source):
        has |= {"step_checker", "step_labels"}
    if all(DATABASES in task.meta for task in first):
        has.add("databases")
    return frozenset(has | ({"kinds"} if len(kinds) > 1 else set()) | ({"domains"} if len(families) > 1 else set()))
