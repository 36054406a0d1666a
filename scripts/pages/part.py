"""The page of one public name. Its docstring says formula, assumptions, bias, paper and example; what a table can say is read
off the code: knobs, columns, problems of a task, and the house recipes that use a part."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import inspect
import json
import random
import tokenize
import types
import typing
from collections.abc import Mapping
from io import StringIO
from typing import Any

from guerdon.cli.knob_words import arguments
from guerdon.core.errors import UserError
from guerdon.core.knob_values import type_hints
from guerdon.core.part import walk
from guerdon.tasks.family import Family
from pages.chart import METHODS, Built
from pages.discover import PYTHON, Public
from pages.prose import table

LEVELS = (1, 4, 8)  # of a family, of which a problem is shown


def name_page(public: Public, recipes: Built) -> str:
    """The whole page: a part's, or a function's or class's, whose heading and signature mkdocstrings writes."""
    if not public.is_part:
        return "\n\n".join([docstring(public), *([] if public.of_gd else [imported(public)])]) + "\n"
    sections = [f"# {public.name}", imported(public), docstring(public), *part_sections(public, recipes)]
    return "\n\n".join(sections) + "\n"


def imported(public: Public) -> str:
    """How it is imported, and for a part how it is written with its defaults."""
    lines = ["import guerdon as gd" if public.of_gd else public.written]
    if public.is_part:
        lines += ["", f"{public.written if public.of_gd else public.name}{signature(public.value)}"]
    return "```python\n" + "\n".join(lines) + "\n```"


def signature(cls: type) -> str:
    """A part's knobs with their defaults, over several lines where one is too short."""
    words = [f.name if default_of(f) is dataclasses.MISSING else f"{f.name}={default_of(f)!r}" for f in own_knobs(cls)]
    line = f"({', '.join(words)})"
    return line if len(line) < 70 else "(\n" + "".join(f"    {word},\n" for word in words) + ")"


def docstring(public: Public) -> str:
    """The block that mkdocstrings fills: text and source of a part; heading, signature and members too of what is none."""
    members = not public.is_part or public.room == PYTHON
    options = {
        "show_root_heading": not public.is_part,
        "show_root_toc_entry": not public.is_part,
        "heading": public.written if public.of_gd else public.name,
        "heading_level": 2 if public.is_part else 1,
        "members": None if members else False,
        "merge_init_into_class": not public.is_part,
    }
    return f"::: {public.path}\n    options: {json.dumps(options)}"


def part_sections(public: Public, recipes: Built) -> list[str]:
    cls = public.value
    sections = [f"## Knobs\n\n{part_knobs(cls)}", columns(cls)]
    if issubclass(cls, Family) and any(
        f.name == "level" for f in dataclasses.fields(cls)
    ):  # a mixture has levels of others
        sections.append(problems(cls))
    return [section for section in [*sections, used_by(cls, recipes)] if section]


# --- knobs --------------------------------------------------------------------------------------------------------


def own_knobs(cls: type) -> list[dataclasses.Field[Any]]:
    return [f for f in dataclasses.fields(cls) if f.init]


def part_knobs(cls: type) -> str:
    """What a part's knobs take, and what else of it goes to the checkpoint."""
    kept = [f.name for f in dataclasses.fields(cls) if f.metadata.get("state")]
    hints, beside = type_hints(cls), arguments(inspect.getdoc(cls) or "") | comments(cls)
    rows = [
        [
            f"`{f.name}`",
            takes(hints.get(f.name), f.metadata.get("limits", {})),
            "required" if default_of(f) is dataclasses.MISSING else f"`{default_of(f)!r}`",
            beside.get(f.name, ""),
        ]
        for f in own_knobs(cls)
    ]
    text = table(["knob", "takes", "default", ""], rows) if rows else "None."
    state = f"\n\nKept in the checkpoint: {', '.join(f'`{name}`' for name in kept)}." if kept else ""
    return f"{text}{state}"


def takes(hint: Any, limits: Mapping[str, Any]) -> str:
    """What a knob admits, in words."""
    choices = limits.get("choices")
    if choices is not None:
        return ", ".join(f"`{c!r}`" for c in choices)
    words = {"ge": "at least", "gt": "above", "le": "at most"}
    bounds = [f"{words[sign]} {limits[sign]:g}" for sign in words if limits.get(sign) is not None]
    return ", ".join([kind(hint), *bounds])


def kind(hint: Any) -> str:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return ", ".join(f"`{c!r}`" for c in inner)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(kind, inner))
    if hint is Any or hint is None:
        return "a part"
    names = {float: "a number or a schedule", int: "a whole number", str: "a name", bool: "`True` or `False`"}
    if hint in names:
        return names[hint]
    if hint is type(None):
        return "`None`"
    if origin is list and inner == (Any,):
        return "a list of parts"
    return f"`{str(hint).replace('typing.', '') if origin else getattr(hint, '__name__', hint)}`"


def default_of(f: dataclasses.Field[Any]) -> Any:
    return f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default


def comments(cls: type) -> dict[str, str]:
    """What stands beside a knob in the source."""
    bases = [c for c in cls.__mro__ if c.__module__.startswith("guerdon.")]
    return {name: comment for base in reversed(bases) for name, comment in own_comments(base).items()}


@functools.cache
def own_comments(cls: type) -> dict[str, str]:
    """Those of a class itself: many parts share a base."""
    text = inspect.cleandoc("\n" + inspect.getsource(cls))
    beside = {
        t.start[0]: t.string for t in tokenize.generate_tokens(StringIO(text).readline) if t.type == tokenize.COMMENT
    }
    return {
        node.target.id: beside[node.end_lineno].lstrip("# ")
        for node in typing.cast(ast.ClassDef, ast.parse(text).body[0]).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.end_lineno in beside
    }


# --- what else is read off the code -------------------------------------------------------------------------------


def columns(cls: type) -> str:
    """The columns a part reads and gives as it comes, the readings of the model that it asks for, or a scorer's fields."""
    holder: Any = cls
    if all(default_of(f) is not dataclasses.MISSING for f in own_knobs(cls)):
        with contextlib.suppress(UserError):  # knobs of which one must be given: `mlp`'s choices or moves
            holder = cls()
    lines = []
    for name, words in (("needs", "Reads columns"), ("wants", "Reads from the model it trains"), ("gives", "Gives")):
        try:
            names: Any = getattr(holder, name, None)
        except UserError:  # it lacks something that only its user can give
            continue
        if hasattr(names, "any_name"):  # the fields of a sample that a scorer is called with
            words, names = "Reads from the sample", names.names
        if isinstance(names, tuple) and names:
            lines.append(f"{words}: {', '.join(f'`{column}`' for column in names)}.")
    return f"## Columns\n\nWith default knobs. {' '.join(lines)}" if lines else ""


def problems(family: type[Family]) -> str:
    """A problem of several levels with its worked solution, and what looks right and is not, as the family makes them."""
    blocks = []
    for level in LEVELS:
        source = family(level=level)  # type: ignore[call-arg]
        task = source.get("train", 0)
        misses = source.near_misses(task, random.Random(0))
        wrong = (
            f"\n\nNear-misses: {', '.join(dict.fromkeys(miss.kind for miss in misses))}." if level == LEVELS[0] else ""
        )
        blocks.append(f"Level {level}: `{task.prompt}`\n\n```text\n{source.solution(task)}\n```{wrong}")
    return "## Problems\n\nThe first training problem of three levels, with its worked solution.\n\n" + "\n\n".join(
        blocks
    )


def used_by(cls: type, recipes: Built) -> str:
    """The house recipes it stands in as they come, and those that a knob puts it in."""
    inside = [name for name, variants in recipes.items() if any(type(p) is cls for _, p in walk(variants[0][1]))]
    can = {n for n, variants in recipes.items() if any(type(p) is cls for _, one in variants for _, p in walk(one))}
    asked = sorted(can - set(inside))
    link = {name: f"[{name}](../../{METHODS}/{name}.md)" for name in [*inside, *asked]}
    words = [f"In the house recipes {', '.join(link[n] for n in inside)}."] if inside else []
    words += [f"Where a knob asks for it: {', '.join(link[n] for n in asked)}."] if asked else []
    if not words:
        return ""
    return f"## Used by\n\n{' '.join(words)} [Which algorithm is which combination](../algorithms.md)"
