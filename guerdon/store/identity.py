"""The code that a result came from, as a hash beside that of the recipe's knobs.

A recipe's `hash` says which parts it is made of; its *source* says what the code of those parts does.
The source is the syntax, without comments and docstrings, of the modules that hold the recipe's function, parts and losses.
`core`, `engine` and `models`, which all recipes use, are not in it: one number, `RESULTS`, is raised by hand when they come to
other results. Needs no torch, for evidence is listed without it.
Leaves out: libraries, and for a recipe what its parts call in other modules.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from guerdon.core.part import walk
from guerdon.core.syntax import parsed, told

RESULTS = (
    2  # raise it when the same recipe, seed and machine come to other weights by a change of core, engine or models
)
HOUSE = Path(__file__).resolve().parent.parent
GROUND = ("core", "engine", "models")  # what RESULTS stands for
AROUND = (*GROUND, "store", "loop", "cli", "sandbox")  # what a study's code does not reach into


def modules_of(recipe: Any, functions: Iterable[Callable[..., Any]] = ()) -> tuple[str, ...]:
    """The modules that a recipe's source is made of: of the functions that built it and what they share with other recipes,
    and of its parts with the classes they are made on. A study is plain Python, so there all that its modules import counts."""
    is_study = callable(getattr(recipe, "body", None))
    written = {fn.__module__ for fn in (*functions, *([recipe.body] if is_study else []))}
    classes = {cls for _, part in walk(recipe) for cls in type(part).__mro__ if _is_own(cls, type(part))}
    start = written | {cls.__module__ for cls in classes}
    reached = _reached(start if is_study else written, AROUND if is_study else None) | start
    return tuple(sorted(name for name in reached if _room(name) not in GROUND))


def code_hash(modules: Iterable[str]) -> str:
    """The hash of what some modules do, as their files are now. One that is not here has no say but its name."""
    digests = sorted(_digest(name) for name in modules)
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16]


def code_digests(modules: Iterable[str]) -> dict[str, str]:
    """The same of each by itself, to tell which of them has changed."""
    return {name: _digest(name) for name in modules}


def _digest(module: str) -> str:
    file = _file(module)
    return _read(file, file.stat().st_mtime_ns)[0] if file is not None else module


def _is_own(cls: type, of: type) -> bool:
    """Whether a class that a part is made on is ours or its author's, and no library's."""
    return cls.__module__.partition(".")[0] in ("guerdon", of.__module__.partition(".")[0])


def _room(module: str) -> str:
    house, _, rest = module.partition(".")
    return rest.partition(".")[0] if house == "guerdon" else ""


def _file(module: str) -> Path | None:
    if _room(module):
        return _house_file(HOUSE, module)
    path = Path(getattr(sys.modules.get(module), "__file__", None) or "")
    return path if path.is_file() else None


@functools.cache
def _house_file(house: Path, module: str) -> Path | None:
    """Asked some hundred times for one recipe: where the files of the house are does not change while it runs."""
    path = house.joinpath(*module.split(".")[1:])
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)


@functools.cache
def _read(file: Path, changed: int) -> tuple[str, tuple[str, ...]]:
    """The hash of a file's syntax, and the modules of the house that it may import."""
    tree = parsed(file.read_text(encoding="utf-8"))
    return hashlib.sha256(told(tree).encode()).hexdigest()[:16], tuple(_imports(tree))


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _reached(modules: Iterable[str], not_into: tuple[str, ...] | None) -> set[str]:
    """What modules import of the house, and what that imports: other recipes, or all but some rooms."""
    reached, left = set[str](), set(modules)
    while left:
        name = left.pop()
        file = _file(name)
        if file is not None and name not in reached:
            reached.add(name)
            near = [each for each in _read(file, file.stat().st_mtime_ns)[1] if _room(each)]
            left |= {
                each for each in near if (_room(each) == "recipes" if not_into is None else _room(each) not in not_into)
            }
    return reached
