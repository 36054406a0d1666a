"""What is loaded at first use: public names, and what notebooks show of objects.

Public names are in a stub file that a type checker reads as well.

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

_OURS = b"guerdon"  # in the metadata of a table
_shows: list[str] = []  # the module that makes HTML of objects


def show_with(module: str) -> None:
    """Name the module whose `as_html` notebooks are shown: it is above this one, and imported when one asks."""
    _shows[:] = [module]


def in_notebook(x: Any) -> str:
    """The `_repr_html_` of a class."""
    return str(importlib.import_module(*_shows).as_html(x))


def table_for_notebooks(table: Any) -> Any:
    """A pyarrow table that IPython, where it runs, shows as one: that class has no `_repr_html_` and takes none. Other tables
    of the session are shown as before, and so are all where a formatter was set for them."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None:
        return table
    formatter = shell.display_formatter.formatters["text/html"]
    if type(table) not in formatter.type_printers:
        formatter.for_type(type(table), lambda x: in_notebook(x) if _OURS in (x.schema.metadata or {}) else None)
    return table.replace_schema_metadata({_OURS: b""})


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
