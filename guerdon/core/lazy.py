"""Public names, loaded at first use from a stub file that a type checker reads as well.

A package has its front door in `__init__.pyi`: `from guerdon.credit.group_relative import centre as centre`.
Its `__init__.py` says `__getattr__, __dir__, __all__ = front_door(__name__)`, and importing it imports nothing else.
Leaves out: names that the package defines itself.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from guerdon.core.renamed import new_name


def front_door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, by its stub."""
    where = places_of(package)

    def load(name: str) -> Any:
        name = new_name(package, name)
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        module, original = where[name]
        if module == package:  # a package in it
            value: Any = importlib.import_module(f"{module}.{original}")
        else:
            value = getattr(importlib.import_module(module), original)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(where), list(where)


def places_of(package: str) -> dict[str, tuple[str, str]]:
    """What a package's stub re-exports: name -> the module it comes from, and its name there. One name a line."""
    stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
    imports = [line.split() for line in stub.read_text().splitlines() if line.startswith("from ")]
    return {alias: (module, name) for _, module, _, name, _, alias in imports}
