"""The pages of `docs/parts`, made from the parts themselves: `python scripts/document_parts.py`, or `make pages`.

One page for each part of the folders below: formula, assumptions, bias, paper and example are its docstring; knobs, columns
and the house recipes that use it are read off the code. And an index. The chart of algorithms is `algorithm_chart.py`.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import re
import tokenize
import types
import typing
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from algorithm_chart import HOUSE, Built, built_recipes, chart_page, linked, row

from guerdon.core.part import PARTS, type_hints, walk

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "docs" / "parts"
FOLDERS = {
    "credit": "How scores become advantages: stages that read columns of rewards and give a number for every step.",
    "losses": "What is descended: losses for `Learn`, the terms that are added to them, and the stages they need.",
    "curricula": "Which problems are asked: what a recipe's `curriculum` can be.",
    "exams": "What is measured on held-out problems and games: the `metrics` of an `Exam`.",
    "select": "Which tries are learned from: selections for `Learn(on=...)`, and stages that ask for more or make pairs.",
}


def pages() -> dict[str, str]:
    """Every page by its path under `docs/parts`."""
    parts = registered()
    recipes = built_recipes()
    found = {
        "README.md": index_page(parts),
        "algorithms.md": chart_page(recipes, {n: c for members in parts.values() for n, c in members.items()}),
    }
    for folder, members in parts.items():
        for name, cls in members.items():
            found[f"{folder}/{name}.md"] = part_page(folder, cls, recipes)
    return found


def registered() -> dict[str, dict[str, type]]:
    """The parts of each folder by name."""
    for folder in FOLDERS:
        package = importlib.import_module(f"guerdon.{folder}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"guerdon.{folder}.{module.name}")
    found: dict[str, dict[str, type]] = {folder: {} for folder in FOLDERS}
    for place, cls in sorted(PARTS.items(), key=lambda item: item[0].rsplit(".", 1)[1]):
        folder = place.split(".")[1] if place.startswith("guerdon.") else ""
        if folder in found:
            assert cls.__name__ not in found[folder], f"two parts of guerdon/{folder} are called {cls.__name__}"
            found[folder][cls.__name__] = cls
    return found


# --- a part's page ------------------------------------------------------------------------------------------------


def part_page(folder: str, cls: type, recipes: Built) -> str:
    source = f"guerdon/{cls.__module__.split('.', 1)[1].replace('.', '/')}.py"
    lines = [f"# {cls.__name__}", ""]
    lines += [
        f"`from {cls.__module__} import {cls.__name__}` · [{source}](../../../{source}) · [all parts](../README.md)",
        "",
    ]
    lines += [markdown(inspect.getdoc(cls) or ""), ""]
    lines += [*knob_table(cls), *columns(cls), *used_by(cls, recipes)]
    return "\n".join(lines).rstrip("\n") + "\n"


def markdown(docstring: str) -> str:
    """A docstring's paragraphs, a line each, and its examples without prompts: what they print becomes a comment."""
    blocks = []
    for paragraph in docstring.split("\n\n"):
        if paragraph.lstrip().startswith(">>>"):
            blocks.append("```python\n" + "\n".join(example(paragraph)) + "\n```")
        else:
            blocks.append(linked(maths(" ".join(line.strip() for line in paragraph.splitlines()))))
    return "\n\n".join(blocks)


def example(paragraph: str) -> Iterator[str]:
    for line in inspect.cleandoc(paragraph).splitlines():
        yield line[4:] if line.startswith((">>> ", "... ")) else f"# {line}"


def maths(text: str) -> str:
    """Formulas as GitHub reads them: in $`...`$ where Markdown has a meaning of its own for what they are made of."""

    def guard(found: re.Match[str]) -> str:
        return f"$`{found[1]}`$" if re.search(r"[_*<]|\\[^a-zA-Z]", found[1]) else found[0]

    return re.sub(r"\$([^$]+)\$", guard, text)


def knob_table(cls: type) -> list[str]:
    own = [f for f in dataclasses.fields(cls) if f.init]
    kept = [f.name for f in dataclasses.fields(cls) if f.metadata.get("state")]
    lines = ["## Knobs", ""]
    if own:
        hints, said = type_hints(cls), comments(cls)
        lines += ["| knob | takes | default | |", "| --- | --- | --- | --- |"]
        for f in own:
            cells = [
                f"`{f.name}`",
                takes(hints.get(f.name), f.metadata.get("limits", {})),
                default(f),
                said.get(f.name, ""),
            ]
            lines.append(row(cells))
    else:
        lines.append("None.")
    if kept:
        lines += ["", f"Kept in the checkpoint: {', '.join(f'`{name}`' for name in kept)}."]
    return [*lines, ""]


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


def default(f: dataclasses.Field[Any]) -> str:
    if f.default_factory is not dataclasses.MISSING:
        return f"`{f.default_factory()!r}`"
    return "required" if f.default is dataclasses.MISSING else f"`{f.default!r}`"


def comments(cls: type) -> dict[str, str]:
    """What stands beside a knob in the source."""
    found: dict[str, str] = {}
    for base in reversed([c for c in cls.__mro__ if c.__module__.startswith("guerdon.")]):
        text = inspect.cleandoc("\n" + inspect.getsource(base))
        beside = {
            t.start[0]: t.string
            for t in tokenize.generate_tokens(StringIO(text).readline)
            if t.type == tokenize.COMMENT
        }
        for node in typing.cast(ast.ClassDef, ast.parse(text).body[0]).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.end_lineno in beside:
                found[node.target.id] = beside[node.end_lineno].lstrip("# ")
    return found


def columns(cls: type) -> list[str]:
    """The columns a part reads and gives as it comes, and the readings of the model that it asks for."""
    missing = dataclasses.MISSING
    whole = all(f.default is not missing or f.default_factory is not missing for f in dataclasses.fields(cls) if f.init)
    holder = cls() if whole else cls
    lines = []
    for name, words in (("needs", "Reads columns"), ("wants", "Reads of the model it teaches"), ("gives", "Gives")):
        found = getattr(holder, name, None)
        if isinstance(found, tuple) and found:
            lines.append(f"{words}: {', '.join(f'`{column}`' for column in found)}.")
    return ["## Columns", "", *(["As it comes. " + " ".join(lines)] if lines else []), ""] if lines else []


def used_by(cls: type, recipes: Built) -> list[str]:
    """The house recipes it stands in as they come, and those that a knob puts it in. Others are left out: a new recipe is
    one file, and must not make these pages out of date."""
    inside = [name for name, made in recipes.items() if any(type(p) is cls for _, p in walk(made[0][1]))]
    can = {name for name, made in recipes.items() if any(type(p) is cls for _, one in made for _, p in walk(one))}
    asked = sorted(can - set(inside))
    link = {name: f"[{name}](../../../{HOUSE}/{name}.py)" for name in [*inside, *asked]}
    words = [f"In the house recipes {', '.join(link[n] for n in inside)}."] if inside else []
    words += [f"Where a knob asks for it: {', '.join(link[n] for n in asked)}."] if asked else []
    return [
        "## Used by",
        "",
        " ".join(words) or "No house recipe.",
        "",
        "[Which algorithm is which combination](../algorithms.md)",
        "",
    ]


# --- the index --------------------------------------------------------------------------------------------------


def index_page(parts: Mapping[str, Mapping[str, type]]) -> str:
    lines = ["# The parts", "", "Made from the parts themselves by `make pages`; what to change is a docstring.", ""]
    lines += ["[Which algorithm is which combination](algorithms.md)", ""]
    for folder, members in parts.items():
        lines += [f"## {folder}", "", FOLDERS[folder], "", "| part | what it is |", "| --- | --- |"]
        lines += [row([f"[{name}]({folder}/{name}.md)", maths(first_sentence(cls))]) for name, cls in members.items()]
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def first_sentence(cls: type) -> str:
    text = " ".join(line.strip() for line in (inspect.getdoc(cls) or "").split("\n\n")[0].splitlines())
    text = re.sub(r"\s*\([^()]*(?:arXiv:|https?:)[^()]*\)", "", text)  # the page cites
    return re.split(r"(?<=[.])\s+(?=[A-Z`$])", text)[0]


def write() -> list[str]:
    """Bring the folder up to date; the paths that changed."""
    made = pages()
    changed = stale(made)
    for path in changed:
        if path in made:
            (PLACE / path).parent.mkdir(parents=True, exist_ok=True)
            (PLACE / path).write_text(made[path], encoding="utf-8")
        else:
            (PLACE / path).unlink()
    return changed


def stale(made: Mapping[str, str]) -> list[str]:
    """Pages that are missing, differ, or have no part any more."""
    there = {str(path.relative_to(PLACE)): path for path in PLACE.rglob("*.md")}
    differs = [
        path for path, text in made.items() if path not in there or there[path].read_text(encoding="utf-8") != text
    ]
    return sorted([*differs, *(path for path in there if path not in made)])


if __name__ == "__main__":
    for path in write():
        print(f"docs/parts/{path}")
