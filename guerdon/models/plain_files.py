"""Files of models that strangers made: plain ones, of a size that can be, and one clear line for all others.

A pipe, a device or a folder in a file's place never hangs a reader,
and the size that a file states is checked against the file before memory is allocated.
Leaves out: what the files mean.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"  # which file holds which tensor, where there are several
TEXT = 16 << 20  # bytes of a file that is read whole; tokenizers are larger
TOKENIZER = 256 << 20


def is_there(path: Path) -> bool:
    """Whether there is such a file. Anything but a plain file is refused: it is not what its name says."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise UserError(f"{_shown(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        if path.is_file():
            return True
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    raise UserError(f"{path} is not a plain file, but a folder, a pipe, a device or a link to nowhere")


def read_text(path: Path, most: int = TEXT) -> str:
    try:
        if path.stat().st_size > most:
            raise UserError(f"{path} cannot be read: it has {path.stat().st_size} bytes, {most} are the most")
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error


def read_object(path: Path) -> dict[str, Any]:
    """The content of a JSON file, which must be an object."""
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise UserError(f"{path} cannot be read: it is not a dictionary")
    return value


@contextmanager
def understanding(path: Path | str) -> Iterator[None]:
    """Whatever the values of a stranger's file lead to is a fault of the file, in one line."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # values of any kind lead to errors of any kind
        message = (str(error).splitlines() or [""])[0][:200]
        raise UserError(f"{path} cannot be understood: {type(error).__name__}: {message}") from error


def check_memory(weights: int, where: str) -> None:
    """Refuse a model that this machine could not hold, before it tries to."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if 2 * weights > memory:  # in bfloat16, and nothing beside it
        raise UserError(
            f"{where} asks for a model of {weights:.3g} weights, {2 * weights / 2**30:.3g} GiB at the least:"
            f" this machine has {memory / 2**30:.3g} GiB"
        )


def _shown(path: Path) -> str:
    text = ascii(str(path))[1:-1]
    return text if len(text) < 100 else text[:97] + "..."
