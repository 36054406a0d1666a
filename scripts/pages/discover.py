"""What is public, found by walking the package: every part, every name that `guerdon` or one of its rooms offers, and what the
pages tell readers to import.

No module path is kept by hand here, so that parts and modules may move. Left out: parts of single recipes, which their
recipe's page shows, and modules whose library is not installed (kernels).
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import guerdon
from guerdon.core.part import PARTS

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "python"  # the room of what `gd` offers and no shelf holds
SCHEDULES = "schedules"
ROOMS = (  # in the order of the site; a package that is not named here comes last
    "rewards",
    "judges",
    "tasks",
    "envs",
    "search",
    "curricula",
    "select",
    "credit",
    "losses",
    "exams",
    "audits",
    "models",
    SCHEDULES,
    "bridges",
    PYTHON,
)
WORDS = {  # of the rooms that are no package
    SCHEDULES: "A number that changes over a run: any float knob accepts one.",
    PYTHON: "What `import guerdon as gd` offers besides the shelves: training, runs, recipes, batches.",
}
HIDDEN = ("cli", "engine", "recipes", "workers")  # packages whose parts are no shelf of the reader's
INNER = ("core", "studies")  # packages that have schedules


class Public(NamedTuple):
    """A public name, and the object it stands for."""

    name: str
    value: Any
    room: str

    @property
    def path(self) -> str:
        """Where it is defined, as a dotted path."""
        return f"{self.value.__module__}.{self.value.__qualname__}"

    @property
    def is_part(self) -> bool:
        return isinstance(self.value, type) and f"{self.value.__module__}.{self.value.__name__}" in PARTS

    @property
    def about(self) -> str:
        return inspect.getdoc(self.value) or ""

    @property
    def of_gd(self) -> bool:
        """Whether `import guerdon as gd` is all it takes."""
        return self.written.startswith("gd.")

    @property
    def written(self) -> str:
        """How a user reaches it: by `gd`, by a room of `gd`, or by an import."""
        if offers(guerdon, self.name, self.value):
            return f"gd.{self.name}"
        package = importlib.import_module(".".join(self.value.__module__.split(".")[:2]))
        room = package.__name__.removeprefix("guerdon.")
        if offers(package, self.name, self.value):
            return (
                f"gd.{room}.{self.name}" if room in guerdon.__all__ else f"from {package.__name__} import {self.name}"
            )
        return f"from {self.value.__module__} import {self.name}"


def offers(package: Any, name: str, value: Any) -> bool:
    return name in getattr(package, "__all__", ()) and getattr(package, name) is value


def load_all() -> None:
    """Import every module of the package: a part is known once its module is imported."""
    for module in pkgutil.walk_packages(guerdon.__path__, "guerdon."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("guerdon"):
                raise


@functools.cache
def rooms() -> dict[str, dict[str, Public]]:
    """The public names of each room, by name, in the order of the site."""
    load_all()
    names: dict[str, dict[str, Public]] = {room: {} for room in ROOMS}
    for value in _offered():
        room = room_of(value)
        name = value.__name__
        if room is None:
            continue
        known = names.setdefault(room, {}).setdefault(name, Public(name, value, room))
        assert known.value is value, f"two public names of guerdon/{room} are called {name}"
    return {room: dict(sorted(members.items(), key=_by_name)) for room, members in names.items() if members}


def _offered() -> list[Any]:
    """Parts, what `gd` offers, and what a room's package offers: each once."""
    values = [cls for path, cls in PARTS.items() if path.startswith("guerdon.") and stands_in_its_module(cls)]
    values += [getattr(guerdon, name) for name in guerdon.__all__]
    for package in pkgutil.iter_modules(guerdon.__path__, "guerdon."):
        if package.ispkg and package.name.split(".")[1] not in HIDDEN:
            module = importlib.import_module(package.name)
            values += [getattr(module, name) for name in getattr(module, "__all__", ())]
    values += imported_by_pages()
    documented = [
        v for v in values if (inspect.isclass(v) or inspect.isfunction(v)) and v.__module__.startswith("guerdon.")
    ]
    return list({id(value): value for value in documented}.values())


def imported_by_pages() -> list[Any]:
    """What a page of docs/ imports from the package: a reader is told to reach for it, so it is public."""
    texts = [page.read_text() for page in sorted((ROOT / "docs").rglob("*.md"))]
    lines = {
        line for text in texts for line in re.findall(r"^from (guerdon[\w.]* import [\w, ]+)$", text, re.MULTILINE)
    }
    values = []
    for line in sorted(lines):
        module, names = line.split(" import ")
        values += [getattr(importlib.import_module(module), name.split()[0]) for name in names.split(",")]
    return values


def stands_in_its_module(cls: type) -> bool:
    """Not so a part that an example in a docstring defines: it is known once the example has run."""
    return getattr(sys.modules.get(cls.__module__), cls.__name__, None) is cls


def room_of(value: Any) -> str | None:
    """The room whose page shows it: that of its package, or the one that offers it; None for what no reader reaches for."""
    folder = value.__module__.split(".")[1]
    if folder in HIDDEN or value.__name__.startswith("_"):
        return None
    if folder in INNER and hasattr(value, "__part__") and callable(getattr(value, "at", None)):
        return SCHEDULES
    if folder in guerdon.__all__ or folder in ROOMS:
        return folder
    offering = [room for room in ROOMS if room not in WORDS and offers(_package(room), value.__name__, value)]
    return offering[0] if offering else PYTHON


def _package(room: str) -> Any:
    return importlib.import_module(f"guerdon.{room}")


def intro(room: str) -> str:
    """What a room holds: its package's docstring."""
    return WORDS.get(room) or inspect.getdoc(_package(room)) or ""


@functools.cache
def pages() -> dict[int, str]:
    """The page of every public name, by the identity of its object. Two names that differ in case alone get pages that differ
    in more: some file systems do not tell cases apart."""
    places: dict[int, str] = {}
    for room, members in rooms().items():
        for name, public in members.items():
            alike = [each for other, each in members.items() if other.casefold() == name.casefold()]
            has_part = any(each.is_part for each in alike)  # else the function has the name, and its class another
            alone = len(alike) == 1 or (public.is_part if has_part else name.islower())
            places[id(public.value)] = f"reference/{room}/{name if alone else f'{name}-type'}.md"
    return places


def _by_name(item: tuple[str, Public]) -> str:
    return item[0].casefold()
