"""Results that are made once and kept in a file, with the functions that made them: for runs that have them in common.

Leaves out: what may be shared (`core/decided.py` says what decides a result).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.manifest import OWNER, Damaged
from guerdon.runs.checksums import KEY, is_whole, sealed
from guerdon.runs.folder import RunFolder
from guerdon.runs.whole_files import write_json
from guerdon.training.what_ran import also, seen


def remember(path: Path, make: Callable[[], Any], what: str, shared: bool = True, owner: str = "") -> Any:
    """What a file keeps, made first if it is not there or not whole: `what` it is, for the author of something other than JSON.
    Where it is `shared`, others that want it meanwhile wait. One that names another run than its `owner` is refused."""
    with RunFolder(path.with_suffix("")).lock(wait=True) if shared else nullcontext():
        if (kept := _kept(path)) is None:
            made = make()
            try:
                write_json(path, sealed({"made": made, "ran": seen()} | ({OWNER: owner} if owner else {})))
            except TypeError as error:
                raise UserError(f"{what}: {error}; give numbers, text, lists and dicts") from error
            kept = _kept(path)
    assert kept is not None
    if kept.get(OWNER, owner) != owner:
        raise Damaged(f"{path.name} in {path.parent} is of another run: take it out to resume")
    also(kept["ran"])
    return kept["made"]


def _kept(path: Path) -> dict[str, Any] | None:
    try:
        stored = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    names = set(stored) - {OWNER} if isinstance(stored, dict) else set()
    return stored if names == {"made", "ran", KEY} and is_whole(stored) else None
