"""Command lines in processes that are killed: at a write, at a random moment, or not at all.

This file runs as a process that has imported everything and forks one child for each command line; so a hundred kills take a
minute or two, not ten. A child may be told to kill itself (by SIGKILL) at a chosen write: before and after a file is renamed,
synced or removed, and when half of what goes to it is there. Writes have names in which numbers are left out: `half of
checkpoints/step-N/tensors.safetensors, beside`, where the last word is of those that another thread does than the main one.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from starting import USED_LATER

BESIDE = ", beside"
MARK = "GUERDON_TESTS_STARTED_BY"  # in the environment of all that a child starts

# --- in a child -------------------------------------------------------------------------------------------------------


class Boundaries:
    """Counts the writes below a folder, and dies at the one that was asked for."""

    def __init__(self, folder: Path, die: tuple[str, int] | None, seen: Path) -> None:
        self.folder, self.die, self.seen = f"{folder.resolve()}/", die, seen
        self.count: Counter[str] = Counter()

    def at(self, moment: str, path: Any) -> None:
        """A write beside the main thread says so at the end of its name."""
        where = os.path.realpath(path) if not isinstance(path, int) else str(Path(f"/proc/self/fd/{path}").readlink())
        if not where.startswith(self.folder):
            return
        name = re.sub(r"\.[0-9a-f]{8}\.tmp", ".tmp", f"{moment} {where.removeprefix(self.folder)}")
        name = re.sub(r"inner/[0-9a-f]+|\d+", lambda m: "inner/N" if m[0].startswith("inner") else "N", name)
        name += BESIDE if threading.current_thread() is not threading.main_thread() else ""
        self.count[name] += 1
        if self.die == (name, self.count[name]):
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self) -> None:
        for module, name in ((os, "replace"), (os, "fsync"), (os, "unlink"), (os, "rmdir"), (os, "mkdir")):
            setattr(module, name, self._around(getattr(module, name), name))
        builtins.open = io.open = self._opened(io.open)  # type: ignore[assignment]
        import safetensors.torch as st

        st.save_file = self._halved(st.save_file, 1)

    def _around(self, plain: Any, name: str) -> Any:
        @functools.wraps(plain)
        def call(path: Any, *more: Any, **named: Any) -> Any:
            self.at(f"before {name} of", path)
            found = plain(path, *more, **named)
            self.at(f"after {name} of", more[0] if name == "replace" else path)
            return found

        return call

    def _halved(self, plain: Any, at: int) -> Any:
        """A library writes the file: it is cut in half and we are gone, or nothing happens."""

        def call(*words: Any, **named: Any) -> Any:
            plain(*words, **named)
            path, die = words[at], self.die
            if die is not None and die[0].startswith("half of"):
                whole = Path(path).read_bytes()
                os.truncate(path, len(whole) // 2)
                self.at("half of", path)
                Path(path).write_bytes(whole)
            else:
                self.at("half of", path)

        return call

    def _opened(self, plain: Any) -> Any:
        def call(file: Any, mode: str = "r", *more: Any, **named: Any) -> Any:
            made = plain(file, mode, *more, **named)
            writes = isinstance(file, str | os.PathLike) and set(mode) & set("wax+") and not isinstance(file, int)
            return Torn(made, self, file) if writes else made

        return call


class Torn:
    """A file in which a write may stay half done."""

    def __init__(self, file: Any, boundaries: Boundaries, path: Any) -> None:
        self.file, self.boundaries, self.path = file, boundaries, path

    def write(self, data: Any) -> Any:
        half = len(data) // 2
        self.file.write(data[:half])
        self.file.flush()
        self.boundaries.at("half of", self.path)
        self.file.write(data[half:])
        return len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> Torn:
        self.file.__enter__()
        return self

    def __exit__(self, *why: Any) -> Any:
        return self.file.__exit__(*why)

    def __iter__(self) -> Any:
        return iter(self.file)


def child(task: dict[str, Any]) -> None:
    from guerdon.cli.main import main

    os.chdir(task["folder"])
    os.environ[MARK] = str(os.getpid())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{task['said']}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    watched = Boundaries(Path(task["folder"]), task["die"] and tuple(task["die"]), Path(f"{task['said']}.seen"))
    watched.watch()
    code = 1
    try:
        code = main(task["words"])
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        watched.seen.write_text(json.dumps(watched.count))
        os._exit(code)


def mother() -> None:
    """Forks a child for every line of standard input and says how it ended.

    All that a run imports is imported here, what libraries import only when they are first used too: a child would take two
    seconds for it.
    """
    for name in USED_LATER:
        importlib.import_module(name)
    import guerdon.cli.main
    import guerdon.cli.train
    import guerdon.models.tables
    import guerdon.prove.proving
    import guerdon.recipes.house.grpo
    import guerdon.tasks.families.tiny
    import guerdon.training.api  # noqa: F401

    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.setsid()
            child(task)
        code = os.waitstatus_to_exitcode(_ended(pid, task["after"]))
        print(json.dumps([code, _outlived_by(pid)]), flush=True)


def _outlived_by(child: int) -> list[int]:
    """What goes on of all that a child started, in any session; what ends with it has some seconds for that."""
    until = time.monotonic() + 300.0
    while True:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it has just ended, or is another user's
                state, _, _, session = (process / "stat").read_text().rpartition(")")[2].split()[:4]
                is_its_own = int(session) == child or f"{MARK}={child}\0".encode() in (process / "environ").read_bytes()
                found += [int(process.name)] if is_its_own and state != "Z" else []
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.02)


def _ended(pid: int, after: float) -> int:
    """How a child ended; killed after so many seconds, if that is not zero and it did not end before."""
    until = time.monotonic() + after
    while True:
        gone, status = os.waitpid(pid, os.WNOHANG if after else 0)
        if gone:
            return status
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            after = 0.0
        time.sleep(0.002)


# --- in a test --------------------------------------------------------------------------------------------------------


def paths() -> dict[str, str]:
    """The environment of a process that imports from the tests."""
    tests = Path(__file__).parent.parent
    found = os.pathsep.join(map(str, (tests.parent, tests, tests / "promises", tests / "models")))
    return {**os.environ, "PYTHONPATH": found, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


class Mother:
    """The process that forks. `run` gives the exit code of a command line, negative where a signal ended it."""

    def __init__(self, said: Path) -> None:
        self.said = said
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=paths()
        )
        self._heard()

    def _heard(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def run(self, folder: Path, *words: str, die: tuple[str, int] | None = None, after: float = 0.0) -> int:
        assert self.process.stdin is not None
        task = {"folder": str(folder), "words": words, "die": die, "after": after, "said": str(self.said)}
        print(json.dumps(task), file=self.process.stdin, flush=True)
        code, left = self._heard()
        assert not left, f"killed, and outlived by {left}"
        return int(code)

    @property
    def errors(self) -> str:
        return Path(f"{self.said}.err").read_text()

    @property
    def seen(self) -> dict[str, int]:
        """The writes of the last command line that came to its end, by name, and how many of each there were."""
        found: dict[str, int] = json.loads(Path(f"{self.said}.seen").read_text())
        return found

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


if __name__ == "__main__":
    mother()
