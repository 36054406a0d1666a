"""Whether code belongs to a library or to the user.

Imports the standard library alone: workers ask it too.
"""

from __future__ import annotations

import functools
import sysconfig
from pathlib import Path

LIBRARIES = (
    *{sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")},
    str(Path(__file__).parents[1]),
)
SITES = {"site-packages", "dist-packages"}


@functools.lru_cache(maxsize=4096)
def is_installed(file: str) -> bool:
    """Whether a file belongs to the standard library, an installed package or this one.

    >>> is_installed(functools.__file__), is_installed(__file__), is_installed("/home/me/my.py"), is_installed("<string>")
    (True, True, False, False)
    """
    path = Path(file)
    return (
        file.startswith("<frozen ")
        or any(path.is_relative_to(place) for place in LIBRARIES)
        or not SITES.isdisjoint(path.parts)
    )
