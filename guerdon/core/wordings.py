"""Knobs that depend on whether the model knows sprig's roles: above all the wording in which it is asked to act in a role.

sprig was trained on control words: `verify`, a problem and an attempt, a line each. A model that follows instructions is asked
in plain language. Such a knob has both values. Which of them counts is decided when a recipe is complete and its model is known
(`fit_wordings`); `--set roles.verify=FILE` replaces the wording wherever that role is asked (`set_wording`).
Leaves out: the wordings (`tasks/role_wordings.py`), and how replies are read (`text/verdicts.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.part import knob, walk

ROLES = "roles."  # begins the settings that replace a wording
BY_MODEL = "by_model"  # in the metadata of a knob


@dataclasses.dataclass(frozen=True)
class ByModel:
    """The two values of a knob. That of a wording has its `role` and `places`: the fields of the role's wordings, by what they
    are called in this knob."""

    sprig: Any
    plain: Any
    role: str = ""
    places: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(self.places)


def by_model(
    sprig: Any,
    plain: Any,
    *,
    role: str = "",
    places: Mapping[str, str] | None = None,
    required: bool = False,
    absent: Any = dataclasses.MISSING,
) -> Any:
    """A knob that is `sprig` for a model that knows sprig's roles, and `plain` for another."""
    made = ByModel(sprig, plain, role, places or {})
    return _with(lambda part: made, dataclasses.MISSING if required else sprig, absent)


def by_own_role(values: Callable[[Any], ByModel | None]) -> Any:
    """A knob whose values depend on the part's role too, empty for a model that knows sprig's roles."""
    return _with(values, "", "")


def _with(values: Callable[[Any], ByModel | None], default: Any, absent: Any) -> Any:
    metadata = knob(default=default, absent=absent).metadata
    return dataclasses.field(default=default, metadata={**metadata, BY_MODEL: values})


def knobs_by_model(root: Any) -> Iterator[tuple[Any, str, ByModel]]:
    """Every such knob in a tree of parts: the part, the knob's name, its values."""
    for _, member in walk(root):
        for f in dataclasses.fields(member):
            values = f.metadata[BY_MODEL](member) if BY_MODEL in f.metadata else None
            if values is not None:
                yield member, f.name, values


def asked_roles(root: Any) -> dict[str, tuple[str, ...]]:
    """The roles that a recipe asks a model in, with the fields of their wordings."""
    return {each.role: each.fields for _, _, each in knobs_by_model(root) if each.role}


def fit_wordings(root: Any, knows_roles: bool) -> None:
    """Use the values for this kind of model wherever no other was given."""
    for member, name, each in knobs_by_model(root) if not knows_roles else ():
        if getattr(member, name) == each.sprig:
            setattr(member, name, each.plain)


def set_wording(root: Any, role: str, given: Any) -> None:
    """Ask for a role in this wording: the path of a text file, or the text itself, which has fields in braces."""
    asked = asked_roles(root)
    if role not in asked:
        if not asked:
            raise UserError(f"{ROLES}{role}: nothing here asks a model in a role; leave it out")
        raise unknown("role that the recipe asks a model in", role, asked)
    text = wording_of(given, f"{ROLES}{role}")
    for member, name, each in knobs_by_model(root):
        if each.role == role:
            setattr(member, name, with_places(text, each.places, f"{ROLES}{role}"))


def wording_of(given: Any, where: str) -> str:
    """A wording that is given as itself, which has fields in braces, or as the path of a text file."""
    if isinstance(given, str) and "{" in given:
        return given
    try:
        return Path(given).read_text(encoding="utf-8").strip("\n")
    except (OSError, UnicodeDecodeError, TypeError) as error:
        raise UserError(f"{where}: {given} cannot be read as a text file: {error}") from error


def with_places(template: str, places: Mapping[str, str], where: str) -> str:
    """A template with other names for its fields, which it must have all of.

    >>> with_places("Is {answer} right? {{}}", {"answer": "attempt"}, "roles.verify")
    'Is {attempt} right? {{}}'
    """
    fields = ", ".join(f"{{{name}}}" for name in places)
    try:
        parts = [(text, name) for text, name, _, _ in Formatter().parse(template)]
    except ValueError as error:
        raise UserError(f"{where} cannot be read ({error}): write {{{{ and }}}} for plain braces") from error
    names = [name for _, name in parts if name is not None]
    wrong = next((name for name in names if name not in places), None)
    if wrong is not None:
        raise UserError(f"{where} has {{{wrong}}}, which is none of its fields {fields}: use these alone")
    missing = next((name for name in places if name not in names), None)
    if missing is not None:
        raise UserError(f"{where} has no {{{missing}}}: its fields are {fields}, and it must have all of them")
    return "".join(
        text.replace("{", "{{").replace("}", "}}") + ("" if name is None else f"{{{places[name]}}}")
        for text, name in parts
    )


def unfilled(template: str, text: str) -> str | None:
    """What a template of one field was filled with, None if the text is not made of it. The field may stand there twice.

    >>> unfilled("reflect {x}", "reflect 2+2"), unfilled("reflect {x}", "2+2")
    ('2+2', None)
    """
    first, *others = _around(template)
    rest = len(text) - len(first) - sum(map(len, others))
    if not others or rest < 0 or rest % len(others) or not text.startswith(first):
        return None
    filling = text[len(first) : len(first) + rest // len(others)]
    return filling if text == first + "".join(filling + each for each in others) else None


def _around(template: str) -> list[str]:
    """The texts around the fields of a template."""
    around = [""]
    for text, name, _, _ in Formatter().parse(template):
        around[-1] += text
        if name is not None:
            around.append("")
    return around
