"""Where a user's programs keep things, by the XDG rules: a path in a variable that is not whole does not count."""

from __future__ import annotations

import os
from pathlib import Path

NAME = "guerdon"


def cache_folder() -> Path:
    """For what can be made again."""
    return _folder("XDG_CACHE_HOME", ".cache")


def data_folder() -> Path:
    """For what was asked for."""
    return _folder("XDG_DATA_HOME", ".local/share")


def _folder(variable: str, usual: str) -> Path:
    chosen = Path(os.environ.get(variable, ""))
    try:
        return (chosen if chosen.is_absolute() else Path.home() / usual) / NAME
    except RuntimeError:  # a user without a home
        return Path(os.devnull)
