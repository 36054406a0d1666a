"""Problem families by name: `load("successor")`, `load("successor:2")` for level 2, `load("successor:1-3")` for a mix."""

from __future__ import annotations

import functools
import importlib
import re
from typing import Any

from guerdon.core.arguments import check_arguments
from guerdon.core.errors import UserError, spelled, unknown
from guerdon.core.packages import brought, find_brought, with_brought
from guerdon.core.task import TaskSource

NAMES = {  # family: the module that defines it
    "successor": "guerdon.tasks.families.tiny",
    "parity": "guerdon.tasks.families.tiny",
    "chain": "guerdon.tasks.families.chained_arithmetic",
    "sorting": "guerdon.tasks.families.number_sorting",
    "lists": "guerdon.tasks.families.list_operations",
    "strings": "guerdon.tasks.families.string_operations",
    "units": "guerdon.tasks.families.unit_conversion",
    "bases": "guerdon.tasks.families.number_bases",
    "modular": "guerdon.tasks.families.modular_arithmetic",
    "clock": "guerdon.tasks.families.clock_times",
    "counting": "guerdon.tasks.families.number_counting",
    "addition": "guerdon.tasks.families.long_addition",
    "boolean": "guerdon.tasks.families.boolean_expressions",
    "countdown": "guerdon.tasks.families.countdown_search",
    "equation": "guerdon.tasks.families.linear_equations",
    "grid": "guerdon.tasks.families.grid_paths",
    "lookup": "guerdon.tasks.families.table_lookup",
    "trace": "guerdon.tasks.families.program_traces",
    "notes": "guerdon.tasks.messages.note_tasks",
    "tutoring": "guerdon.tasks.messages.tutoring_tasks",
    "translation": "guerdon.tasks.messages.translation_tasks",
    "gym": "guerdon.tasks.field.gym_datasets",
    "json_forms": "guerdon.tasks.field.json_form_tasks",
    "text_to_sql": "guerdon.tasks.field.sql_tasks",
    "reflecting": "guerdon.tasks.field.reflection_tasks",
    "functions": "guerdon.tasks.code.function_tasks",
    "cloze": "guerdon.tasks.worked_steps",
    "shuffled": "guerdon.tasks.worked_steps",
    "hops": "guerdon.envs.corpora.fact_questions",
    "claims": "guerdon.envs.corpora.fact_questions",
    "rewriting": "guerdon.envs.corpora.query_rewriting",
    "forms": "guerdon.envs.pages.page_sources",
    "menus": "guerdon.envs.pages.page_sources",
    "shop": "guerdon.envs.pages.page_sources",
    "tables": "guerdon.envs.pages.page_sources",
    "inbox": "guerdon.envs.pages.page_sources",
    "cursor": "guerdon.envs.pages.page_sources",
    "asking": "guerdon.envs.people.asked_users",
    "tutored": "guerdon.envs.people.tutored_students",
    "with_feedback": "guerdon.envs.people.retries",
    "planned": "guerdon.envs.people.planning",
    "repairs": "guerdon.envs.programs.repair_tasks",
    "nim": "guerdon.envs.games.own_games",
    "hunt": "guerdon.envs.games.own_games",
    "spiel": "guerdon.envs.games.spiel_games",
    "arena": "guerdon.envs.games.arena_games",
}
BY_NAME = {  # family: what follows the colon, where that is not a level
    "gym": "dataset",
    "arena": "game",
    "spiel": "game",
    "with_feedback": "source",
    "planned": "source",
    "reflecting": "source",
    "cloze": "source",
    "shuffled": "source",
}
TOOLS = ("calculator", "python")  # what may stand before a slash besides roles: problems to be solved with these


def load(name: str, **settings: Any) -> TaskSource:
    """A source of problems by name.

    NAME or NAME:LEVEL is a family; NAME:LOW-HIGH its levels from LOW to HIGH, mixed; A+B several of these, mixed; ROLE/NAME
    asks for another role than solving (`verify/chain:3`), TOOL/NAME gives a tool to solve with (`calculator/chain:4`); NAME@N
    has only the first N training problems.

    Args:
        name: name of the source.
        settings: its knobs.

    >>> import guerdon as gd
    >>> gd.tasks.load("countdown:3").get("train", 0).prompt
    'countdown 8 5 7 make 4'
    >>> sorted(gd.tasks.load("chain:1-2+clock:3").kinds())
    ['chain:1', 'chain:2', 'clock:3']
    >>> gd.tasks.load("chain:2@256").size("train")
    256
    """
    check_arguments("gd.tasks.load", load, locals(), name='"countdown:4"')
    rest, at, count = name.partition("@")
    if at and not count.isdigit():
        raise UserError(f"the number of training problems must be a whole number, not {count!r}: {rest}@256")
    parts = rest.split("+")
    sources = [_one(word, settings) for part in parts for word in _levels(part, len(parts) > 1)]
    if len(sources) > 1:
        from guerdon.tasks.mixtures import mixture

        source: Any = mixture(rest, sources)
    else:
        source = sources[0]
    if at:
        from guerdon.tasks.choosing import first

        source = first(source, int(count))
    whole: TaskSource = source
    return whole


def knows(name: str) -> bool:
    """Whether a name begins with a family's, as `load` reads it."""
    family = name.partition("+")[0].rpartition("/")[2].partition("@")[0].partition(":")[0]
    return family in NAMES or find_brought("tasks", family) is not None


def refuse_unknown_family(name: str) -> None:
    """Refuse a name with a family that there is not, as `load` reads it; what stands around families is left to that."""
    for part in name.partition("@")[0].split("+"):
        if "/" not in part:
            _known(part.partition(":")[0])


def _known(family: str) -> str:
    known = with_brought("tasks", NAMES)
    family = spelled(family, known)
    if family not in known:
        raise unknown("task", family, known)
    return family


@functools.cache
def family_names() -> list[str]:
    """The families with exact truth, which is what every role needs.

    >>> family_names()[:4]
    ['chain', 'sorting', 'lists', 'strings']
    """
    from guerdon.tasks.family import Family

    return [name for name in NAMES if name not in BY_NAME and isinstance(load(name), Family)]


def _levels(name: str, mixed: bool = False) -> list[str]:
    """NAME:2-4 as NAME:2, NAME:3, NAME:4; any other name as itself. What is around a source (`cloze:chain:2-4`) is one for all
    its levels, but beside others, where it is `mixed`: a kind each."""
    around, slash, name = name.rpartition("/")
    if slash:
        return [f"{around}/{each}" for each in _levels(name, mixed)]
    family, _, level = name.partition(":")
    if mixed and BY_NAME.get(family) == "source":
        return [f"{family}:{each}" for each in _levels(level, mixed)]
    if family == "gym" and re.fullmatch(r"gym:[^:]+:[0-9]+-[0-9]+", name):  # its data sets have levels
        family, _, level = name.rpartition(":")
    elif family in BY_NAME:
        return [name]
    low, dash, high = level.partition("-")
    if not dash:
        return [name]
    if not (low.isdigit() and high.isdigit() and int(low) <= int(high)):
        raise UserError(f"levels are given as LOW-HIGH, not {level!r}: {family}:1-4")
    return [f"{family}:{n}" for n in range(int(low), int(high) + 1)]


def _one(name: str, settings: dict[str, Any]) -> TaskSource:
    """A single family at a single level, in a role."""
    if "/" in name:
        from guerdon.tasks.role_tasks import ROLES, in_role

        role, _, rest = name.partition("/")
        if role in TOOLS:
            shelf: Any = importlib.import_module("guerdon.envs.tools.tool_tasks")
            tooled: TaskSource = shelf.named_tools(role, _one(rest, settings))
            return tooled
        if role not in ROLES:
            raise unknown("role or tool", role, [*ROLES, *TOOLS])
        return in_role(role, _one(rest, settings))
    family, _, level = name.partition(":")
    family = _known(family)
    if level and family in BY_NAME:
        settings = {**settings, BY_NAME[family]: level}
    elif level:
        if not level.isdigit():
            raise UserError(f"task level must be a whole number, not {level!r}: {family}:2")
        settings = {**settings, "level": int(level)}
    if family not in NAMES:
        return _brought(family, settings)
    source: TaskSource = getattr(importlib.import_module(NAMES[family]), family)(**settings)
    return source


def _brought(family: str, settings: dict[str, Any]) -> TaskSource:
    """The task of an installed package: what makes it, or one that is made."""
    from_package = brought("tasks")[family]
    source = from_package.make(**settings)
    if not isinstance(source, TaskSource):
        raise UserError(f"{from_package.about} is no task: it needs name, size, get and check (docs/your_own_task.md)")
    return source
