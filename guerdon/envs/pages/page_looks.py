"""How a site is looked at: which page, what is typed and open there, how its lists are sorted. Nothing here is a done thing.

Leaves out: the site's data, and what events do (`page_site.py`).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class ListLook:
    """How a list of the data is looked at."""

    text: str = ""
    where: tuple[tuple[str, str], ...] = ()
    sort: str = ""
    falling: bool = False
    at: int = 0


@dataclass(slots=True)
class Looks:
    """Where the player is and what is open and typed there. Leaving a page forgets what was typed, as leaving a form does."""

    address: str
    history: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    open_parts: dict[str, bool] = field(default_factory=dict)
    popups: tuple[str, ...] = ()
    lists: dict[str, ListLook] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    focus: str = ""
    scroll: int = 0

    def copied(self) -> Looks:
        lists = {name: copy.copy(listing) for name, listing in self.lists.items()}
        return Looks(
            self.address, self.history, dict(self.values), dict(self.open_parts), self.popups, lists, self.errors,
            self.notices, self.focus, self.scroll,
        )  # fmt: skip

    @property
    def place(self) -> tuple[Any, ...]:
        """What distinguishes two views of a site for a search."""
        lists = tuple((name, x.text, x.where, x.sort, x.falling, x.at) for name, x in sorted(self.lists.items()))
        return (self.address, self.popups, tuple(sorted(self.open_parts.items())), lists)
