"""Whose run folder it is: the Python files that its run.json names are run only for who started the run here.

A run.json may name a recipe, a task, a reward or a truth in a file, and resuming the run executes them.
Who starts such a run keeps a mark of it outside the folder, so that a folder from another person executes nothing by itself.
The mark is in $XDG_STATE_HOME/guerdon/made (~/.local/state/guerdon/made): two empty files, named by hashes of the run's
random id and of the files it names, one with where they lie, one with what is in them.
A folder that was moved, or whose file was edited in place, is still one's own.
One that came from elsewhere, or names other files, is not.
Leaves out: what the files import.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.runs.run_config import read_small
from guerdon.runs.whole_files import absolute
from guerdon.training.catalog import in_file

# the file that each of them is read from, as those who load it find it; none for a name of the package's
FILE_OF: dict[str, Callable[[str], str]] = {
    "recipe": lambda spec: in_file(spec)[0],
    "task": lambda spec: f"{spec.partition('.py:')[0]}.py" if ".py:" in spec else "",
    "reward": lambda spec: spec.rpartition(":")[0] if ".py" in spec else "",
    "check": lambda spec: spec.rpartition(":")[0] if ".py" in spec else "",
    "truth": lambda spec: spec.rpartition(":")[0] if ".py" in spec else "",
    "env": lambda spec: spec.rpartition(":")[0] if ".py:" in spec else "",
}


def python_files(config: Mapping[str, Any], slots: Collection[str] = tuple(FILE_OF)) -> dict[str, str]:
    """The Python files that a config names, by what names them."""
    check = (config.get("data") or {}).get("check")
    names = {"recipe": config["recipe"], **config["wish"], "check": check} if config["plain"] else {}
    truth = config["options"].get("truth")
    names["truth"] = truth if isinstance(truth, str) else ""
    env = (config.get("settings") or {}).get("env") if config["plain"] else None
    names["env"] = env if isinstance(env, str) else ""
    files = {f"{slot} {names[slot]}": FILE_OF[slot](names[slot]) for slot in slots if names.get(slot)}
    return {name: file for name, file in files.items() if file}


def remember(config: Mapping[str, Any], here: Path) -> list[str]:
    """Keep in mind that this user made a run, of files as they are called from `here`; a warning where that cannot be."""
    if not python_files(config):
        return []
    folder = _folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for mark in _marks(config, here):
            (folder / mark).touch(mode=0o600)
    except OSError as error:
        return [f"cannot note in {folder} that this run is yours ({error.strerror}): --resume will ask for --trust"]
    return []


def check_trust(run: str, config: Mapping[str, Any], trust: bool, slots: Collection[str] = tuple(FILE_OF)) -> None:
    """Refuse a run that names Python files and was made by another user, unless told to trust it."""
    files = python_files(config, slots)
    if not files or trust or any((_folder() / mark).is_file() for mark in _marks(config, absolute(""))):
        return
    named = ", ".join(dict.fromkeys(files.values()))
    raise UserError(
        f"{run} names Python files ({named}) and was not made by you on this computer: read them, then add --trust"
        " (trust=True in Python)"
    )


def _folder() -> Path:
    """Where state is kept, by the XDG rules: a path that is not whole does not count. Nowhere for a user without a home."""
    chosen = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        base = chosen if chosen.is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:
        base = Path(os.devnull)
    return base / "guerdon" / "made"


def _marks(config: Mapping[str, Any], here: Path) -> list[str]:
    """By where the files lie, and by what is in them; none for a run that has no id."""
    marks = []
    for fact in (os.path.realpath, _content):
        try:
            facts = {name: fact(str(here / file)) for name, file in python_files(config).items()}
        except (OSError, ValueError):  # a file that is not there or not to be read, a name that is none
            continue
        text = json.dumps([fact.__name__, config.get("id"), facts]).encode()
        marks.append(hashlib.blake2b(text, digest_size=32).hexdigest())
    return marks if config.get("id") else []


def _content(file: str) -> str:
    return hashlib.blake2b(read_small(Path(file)).encode()).hexdigest()
