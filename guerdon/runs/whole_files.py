"""Writing files that survive a kill or a full disk: each is whole and on disk, or not there at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guerdon.core.errors import RunStopped, UserError

SCRATCH = ".tmp"  # how the names of half-written things end


@contextlib.contextmanager
def disk_errors(what: Path) -> Iterator[None]:
    """A full disk or a lost permission becomes one clear line; what was written before stays as it is."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise RunStopped(
                f"disk full while writing {what}: free some space, then {_go_on(what)}; nothing is lost"
            ) from error
        raise RunStopped(f"cannot write {what}: {error.strerror or error}") from error


def _go_on(what: Path) -> str:
    """What is to be done once there is room: a run can be resumed when it has its run.json, and not before."""
    return "resume" if any((place / "run.json").is_file() for place in [*what.parents][:3]) else "start again"


def refuse_odd(path: Path) -> None:
    """Refuse a pipe, a device or a folder in the place of a file: who opens one may wait for ever."""
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is not a regular file: take it away")


def sync(path: Path) -> None:
    """Have the file or folder reach the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Hand out a scratch path beside `path`, this writer's alone; when the block ends well, it becomes `path` in one step."""
    scratch = _scratch(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield scratch
            if scratch.is_dir():
                for inner in scratch.rglob("*"):
                    sync(inner)
                if path.exists():
                    remove(path)
            sync(scratch)
            scratch.replace(path)
            sync(path.parent)
        finally:
            remove(scratch)


def put_aside(path: Path, data: bytes) -> Path:
    """Write what is to be the file `path` to a scratch path beside it, and have it reach the disk: the scratch path."""
    scratch = _scratch(path)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            scratch.write_bytes(data)
            sync(scratch)
        except BaseException:
            remove(scratch)
            raise
    return scratch


def put_in_place(scratch: Path, path: Path) -> None:
    """What was put aside becomes `path`, in one step."""
    with disk_errors(path):
        scratch.replace(path)
        sync(path.parent)


def _scratch(path: Path) -> Path:
    """A name beside `path` that is this writer's alone."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}{SCRATCH}")


def remove(path: Path) -> None:
    """A file, or a folder with all in it; nothing where there is none."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what killed writers left half-written in a folder and those below it. For callers that know that no process
    writes there."""
    with disk_errors(folder):
        for pattern in (f".*{SCRATCH}", f"*/.*{SCRATCH}"):
            for left in [*folder.glob(pattern)]:
                remove(left)


def absolute(path: str | Path) -> Path:
    """Where a path is, wherever this process goes from here."""
    try:
        return Path(path).absolute()
    except FileNotFoundError as error:
        raise UserError("the folder that this was started in is gone: start it in one that is there") from error


def write_text(path: Path, text: str) -> None:
    with atomic(path) as scratch:
        scratch.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2) + "\n")


def write_readable_json(path: Path, value: Any) -> None:
    """The same with what holds no other thing on one line: for files of many numbers that people read and compare.
    No line of JSON ends within a text, so texts keep every space of theirs."""
    text = json.dumps(value, indent=1)
    innermost = re.compile(r"[\[{][^\[\]{}]*[\]}]")
    write_text(path, innermost.sub(lambda inner: re.sub(r"\n *", " ", inner[0]), text) + "\n")


def file_mark(path: Path) -> tuple[int, ...]:
    """What changes when a file or a folder does; empty where there is none."""
    try:
        now = path.stat()
    except (OSError, ValueError):
        return ()
    return now.st_ino, now.st_size, now.st_mtime_ns
