"""What verbs say of the package alone, remembered in the user's cache folder: to import and build it takes seconds.

It is remembered with the hash of every file of the package and the time of the last installation of a library, and made again
after any change.
Leaves out: what depends on a user's files, on runs or on options.
"""

from __future__ import annotations

import contextlib
import json
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.user_folders import cache_folder
from guerdon.evidence import proof_files
from guerdon.evidence.identity import tree_hash
from guerdon.evidence.packed import VERDICTS
from guerdon.runs.whole_files import write_json

KEPT = 3  # states of the package


def remembered(asked: Sequence[Any], make: Callable[[], Any]) -> Any:
    """What `make` gives, in JSON's types, for what was `asked`: read from disk where that was asked before."""
    path, key = _file(), json.dumps(list(asked))
    known = _read(path)
    if key not in known:
        made = make()
        with contextlib.suppress(OSError, UserError):
            _write(path, {**_read(path), key: made})
        return made
    return known[key]


def _file() -> Path:
    shown_too = [str(proof_files.SHIPPED / name) for name in (VERDICTS, proof_files.REGISTER, proof_files.PILOTS)]
    installed = Path(sysconfig.get_path("purelib"))
    libraries = installed.stat().st_mtime_ns if installed.is_dir() else 0
    return cache_folder() / "answers" / f"{tree_hash(*shown_too)}-{libraries:x}.json"


def _read(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write(path: Path, known: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for older in sorted(path.parent.glob("*.json"), key=lambda each: each.stat().st_mtime)[:-KEPT]:
        older.unlink()
    write_json(path, known)
