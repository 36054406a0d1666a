"""The tool `read_file`: text files below one folder, and nothing above it or elsewhere.

A path is walked name by name from the folder, each opened from the one before it and no link followed, so that no name, link or
change in between leads out. Leaves out: writing, and files that are not text.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.envs.tools.tool_schema import tool

MOST_NAMES = 200  # of a listing


@part
class read_file:
    """The tool `read_file`: reads a text file below `folder`, up to `most` bytes of it, or lists a folder there. Links are not
    followed.

    Args:
        folder: folder that may be read.
        most: the most bytes of a file.

    >>> import pathlib, tempfile
    >>> import guerdon as gd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.txt").write_text("hello")
    ...     reader = gd.envs.read_file(folder)
    ...     reader.read("a.txt"), reader.read(".")
    ('hello', 'a.txt')
    """

    folder: Any = knob(hashed=False)
    most: int = knob(default=64 << 10, ge=1)

    def __post_init__(self) -> None:
        if not isinstance(self.folder, str | os.PathLike) or not Path(self.folder).is_dir():
            raise UserError(f"read_file needs a folder that is there, not {self.folder!r}")
        self.folder = str(Path(self.folder).resolve())

    def identity(self) -> str:
        """What lies in the folder: another text is another problem."""
        digest = hashlib.sha256()
        for path in sorted(p for p in Path(self.folder).rglob("*") if p.is_file() and not p.is_symlink()):
            digest.update(f"{path.relative_to(self.folder)}\0{path.stat().st_size}\0".encode(errors="surrogateescape"))
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()[:16]

    def open(self, seed: int, meta: Mapping[str, Any]) -> read_file:
        """Nothing changes in it: all episodes have the same."""
        return self

    @tool(name="read_file")
    def read(self, path: Annotated[str, "below the folder, such as notes/a.txt; . lists it"]) -> str:
        """Read a text file, or list what is in a folder."""
        number = self._opened(path)
        try:
            kind = os.fstat(number).st_mode
            if stat.S_ISDIR(kind):
                return _listed(number)
            if not stat.S_ISREG(kind):
                raise ValueError(f"{path} is no plain file")
            data, size = os.read(number, self.most), os.fstat(number).st_size
        finally:
            os.close(number)
        try:
            text = data.decode() if size <= self.most else data.decode(errors="ignore")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is no text") from error
        if "\0" in text:
            raise ValueError(f"{path} is no text")
        return text if size <= self.most else f"{text}\n... ({size:,} bytes, the first {self.most:,} are shown)"

    def _opened(self, path: str) -> int:
        names = [name for name in path.split("/") if name not in ("", ".")]
        if path.startswith("/") or ".." in names or "\0" in path:
            raise ValueError(f"{path!r} leads out of the folder: name a file below it")
        at = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in names:
            try:
                below = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
            except OSError as error:
                raise ValueError(f"there is no {path!r} to read: {error.strerror}") from error
            finally:
                os.close(at)
            at = below
        return at


def _listed(number: int) -> str:
    with os.scandir(number) as entries:
        names = sorted(e.name + "/" * e.is_dir(follow_symlinks=False) for e in entries if not e.is_symlink())
    more = [f"... and {len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    return "\n".join([*names[:MOST_NAMES], *more]) or "(an empty folder)"
