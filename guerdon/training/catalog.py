"""Recipes by name.

Listing reads the files without running them, so it needs neither torch nor time.
A recipe is a file, `recipes/<family>/<name>.py`, or a folder, `recipes/<family>/<name>/`.
In a folder a file named recipe holds it, and beside it lie the parts that only this recipe wants.
"""

from __future__ import annotations

import ast
import functools
import importlib
import os
import warnings
from collections.abc import Container
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from guerdon.core.errors import Notice, UserError, spelled, unknown
from guerdon.core.needs import ROWS, Needs
from guerdon.core.packages import brought, with_brought
from guerdon.core.problems import Problem
from guerdon.core.user_file import load_file

FOLDER = Path(__file__).resolve().parent.parent / "recipes"
SLOTS = ("task", "model", "reward")  # what a user chooses, as a recipe's parameters
RECIPE = "recipe"  # the module of a recipe that has a folder


@dataclass(frozen=True)
class Listing:
    """What a recipe's file says about it, read from its text."""

    name: str
    family: str
    paper: str
    about: str
    claims: tuple[str, ...]
    module: str
    needs: Needs
    takes: tuple[str, ...]  # of task, model and reward
    helps: tuple[Problem, ...] = ()  # its own, not those of the recipe that it is made on


@dataclass(frozen=True)
class _Written:
    """A recipe as its file has it: `on` is the module and function of the one that it is made on, if any."""

    listing: Listing
    function: str
    on: tuple[str, str] | None


def listings() -> dict[str, Listing]:
    """Every recipe in the package by name, with what it needs and takes by the recipes that it is made on."""
    return dict(_listings(tuple(_files())))


@functools.lru_cache(maxsize=1)
def _listings(files: tuple[tuple[str, int], ...]) -> dict[str, Listing]:
    """Made again when a file is changed, added or removed."""
    in_order = sorted(files, key=lambda file: Path(file[0]))
    every = [each for path, changed in in_order for each in _read(path, changed)]
    by_place = {(each.listing.module, each.function): each for each in every}

    def whole(each: _Written) -> Listing:
        if each.on is None:
            return each.listing
        base = whole(by_place[each.on])
        needs = each.listing.needs.over(base.needs)
        return replace(each.listing, needs=needs, takes=_taken({*base.takes, *each.listing.takes}, needs))

    return {each.listing.name: whole(each) for each in every}


def _taken(slots: Container[str], needs: Needs) -> tuple[str, ...]:
    """Of task, model and reward, those that a recipe takes: no reward if it learns from something else."""
    return tuple(slot for slot in SLOTS if slot in slots and not (slot == "reward" and needs.learns_from))


def every_listing() -> dict[str, Listing]:
    """Those of the package and of other packages, which are imported for it. One that cannot be loaded is warned of."""
    every = listings()
    for name, each in brought("recipes").items():
        if name in every:
            continue
        try:
            entry = _brought(name)
        except UserError as error:
            warnings.warn(str(error), Notice, stacklevel=2)
            continue
        says, takes = (claim.says for claim in entry.claims), _taken(entry.parameters(), entry.needs)
        place = (each.package, entry.paper, entry.about, tuple(says), entry.function.__module__)
        every[name] = Listing(name, *place, entry.needs, takes, entry.helps)
    return every


def part_modules() -> list[str]:
    """The modules beside a recipe's own, in its folder: the parts that only this recipe wants."""
    return sorted(_module(path) for path in FOLDER.glob("*/*/*.py") if path.stem not in ("__init__", RECIPE))


def _files() -> list[tuple[str, int]]:
    """The files that may hold a recipe, with the times of their last changes. Those without one are what a family
    shares. Asked whenever a recipe is wanted by name, so without `Path.glob`, which takes several times as long."""
    files = list[tuple[str, int]]()
    for family in _entries(FOLDER):
        for each in _entries(family.path) if family.is_dir() else ():
            if each.name.endswith(".py"):
                files.append((each.path, each.stat().st_mtime_ns))
            elif each.is_dir():
                own = [file for file in _entries(each.path) if file.name == f"{RECIPE}.py"]
                files += [(file.path, file.stat().st_mtime_ns) for file in own]
    return files


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return [*entries]


def _module(path: Path) -> str:
    return ".".join(["guerdon", "recipes", *path.relative_to(FOLDER).with_suffix("").parts])


@functools.cache
def _read(file: str, changed: int = 0) -> list[_Written]:
    """The recipes in a file, read again when it has `changed`."""
    path = Path(file)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = {
        name.asname or name.name: (str(node.module), name.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    read = []
    for node in tree.body:
        for call in getattr(node, "decorator_list", []):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "recipe":
                words = {k.arg: k.value for k in call.keywords}
                about = ast.get_docstring(node) or ""  # type: ignore[arg-type]
                says = tuple(
                    str(k.value.value)
                    for c in ast.walk(words["claim"])
                    if isinstance(c, ast.Call)
                    for k in c.keywords
                    if k.arg == "says" and isinstance(k.value, ast.Constant)
                ) if "claim" in words else ()  # fmt: skip
                listing = Listing(
                    name=ast.literal_eval(call.args[0]),
                    family=ast.literal_eval(words["family"]) if "family" in words else "mine",
                    paper=ast.literal_eval(words["paper"]) if "paper" in words else "",
                    about=about.strip().splitlines()[0] if about else "",
                    claims=says,
                    module=_module(path),
                    needs=_needs(words),
                    takes=tuple(slot for slot in SLOTS if slot in _parameters(node)),
                    helps=ast.literal_eval(words["helps"]) if "helps" in words else (),
                )
                on = getattr(words.get("on"), "id", "")
                read.append(_Written(listing, str(getattr(node, "name", "")), imported[on] if on else None))
    return read


def _needs(words: dict[str | None, ast.expr]) -> Needs:
    """What a recipe says that it needs, without what the recipe needs that it is made on."""
    call = words.get("needs")
    if isinstance(call, ast.Call):
        return Needs(**{str(each.arg): ast.literal_eval(each.value) for each in call.keywords})
    rows = ast.literal_eval(words["data"]) if "data" in words else ""
    of_rows: dict[str, Any] = {name: True for name, kind in ROWS.items() if kind == rows}
    return Needs(**of_rows)


def _parameters(node: ast.stmt) -> set[str]:
    arguments: Any = getattr(node, "args", None)
    return {each.arg for each in [*arguments.args, *arguments.kwonlyargs]}


def find_recipe(name: str) -> Any:
    """The `RecipeEntry` of a recipe: a name in the package, or a file of the user's (`./mine.py`, `./mine.py:name`)."""
    from guerdon.core.recipe import RecipeEntry

    file, wanted = in_file(name)
    if file:
        entries = entries_in(file)
        if wanted and wanted not in entries:
            raise unknown(f"recipe in {file}", wanted, entries)
        if not wanted and len(entries) > 1:
            raise UserError(f"{name} defines several recipes: choose one, {name}:{next(iter(entries))}")
        return entries[wanted] if wanted else next(iter(entries.values()))
    name = known_name(name)
    if (own := listings().get(name)) is None:
        return _brought(name)
    module = importlib.import_module(own.module)
    return next(e for e in vars(module).values() if isinstance(e, RecipeEntry) and e.name == name)


def known_name(name: str) -> str:
    """A recipe's name as it is written in the package, or in another one that brings it; refused where there is none."""
    known = with_brought("recipes", listings())
    name = spelled(name, known)
    if name not in known:
        raise unknown("recipe", name, known)
    return name


def _brought(name: str) -> Any:
    """The recipe of an installed package."""
    from guerdon.core.recipe import RecipeEntry

    from_package = brought("recipes")[name]
    entry = from_package.load()
    if not isinstance(entry, RecipeEntry):
        raise UserError(f"{from_package.about} is no recipe: it needs @recipe(...) above a function")
    return entry


def in_file(name: str) -> tuple[str, str]:
    """The file and the recipe in it that a name means; no file for a recipe of the package."""
    if name.endswith(".py"):
        return name, ""
    file, is_file, wanted = name.rpartition(".py:")
    return (f"{file}.py", wanted) if is_file else ("", name)


def entries_in(file: str) -> dict[str, Any]:
    """The recipes a file defines, by name; not those it imports."""
    from guerdon.core.recipe import RecipeEntry

    module = load_file(file, "recipe")
    visible = [e for e in vars(module).values() if isinstance(e, RecipeEntry)]
    entries = {e.name: e for e in visible if e.function.__module__ == module.__name__}
    if not entries:
        raise UserError(f"{file} defines no recipe: write @recipe(...) above a function that returns a Recipe")
    return entries
