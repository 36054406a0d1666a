"""Recipes, tasks, rewards and environments that installed packages bring: by entry points of the groups `guerdon.recipes`,
`guerdon.tasks`, `guerdon.rewards` and `guerdon.envs`.

Their names are read from the packages' metadata; a package is imported when one of its names is asked for.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from guerdon.core.errors import UserError, in_a_line, is_ctrl_c, spelled

Kind = Literal["recipes", "tasks", "rewards", "envs"]
KINDS: tuple[Kind, ...] = ("recipes", "tasks", "rewards", "envs")
GROUP = "guerdon."


@dataclass(frozen=True)
class Brought:
    """A name that a package brings: of which kind, from which package and version, and where it stands there."""

    name: str
    kind: Kind
    package: str
    place: str
    entry: EntryPoint = field(repr=False, compare=False)

    def load(self) -> Any:
        """What it names. Whatever the package raises is one line that names it."""
        return self._tried(self.entry.load)

    def make(self, **settings: Any) -> Any:
        """What it names; what that makes of `settings`, where it is a class or a function."""
        named = self.load()
        return self._tried(lambda: named(**settings)) if callable(named) else named

    def _tried(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except BaseException as error:  # any error of a package's, and any way to end the program
            if isinstance(error, UserError) or is_ctrl_c(error):
                raise
            raise UserError(f"{self.about} cannot be loaded: {in_a_line(error)}") from error

    @property
    def about(self) -> str:
        return f"{self.name} of the package {self.package} ({self.place})"


def brought(kind: Kind) -> dict[str, Brought]:
    """What packages bring of a kind, by name. Of a name that several bring the first in the order of packages counts."""
    return {each.name: each for each in reversed(_all(kind, tuple(sys.path)))}


def find_brought(kind: Kind, name: str) -> Brought | None:
    """What a package brings by a name, in whatever case that is written."""
    known = brought(kind)
    return known.get(spelled(name, known))


def with_brought(kind: Kind, names: Iterable[str]) -> list[str]:
    """Names of the package's own, and those that others bring."""
    return [*dict.fromkeys([*names, *brought(kind)])]


@functools.lru_cache(maxsize=8)
def _all(kind: Kind, path: tuple[str, ...]) -> list[Brought]:
    """In the order of packages. Asked again where the path changes: to read all metadata takes some hundredths of a second."""
    every = [
        Brought(each.name, kind, f"{each.dist.name} {each.dist.version}" if each.dist else "?", each.value, each)
        for each in entry_points(group=GROUP + kind)
    ]
    return sorted(every, key=lambda each: (each.package, each.name))
