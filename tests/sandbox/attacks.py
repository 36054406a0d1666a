"""The hostile programs of this folder: what each tries, how it must end, and what there is for it to steal.

A file opens with what it tries and how it must end: `ends: CAUSE, words`, several causes with `|` between them where kernels,
processors and the hour differ. Those in `tested` lie to unit tests, those in `twice` run two times in a row, those in `sql`
are queries. Each prints LOOT where it has what it wanted. Run as a program, this file writes the list in docs/sandbox.md anew.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import secrets
import site
import socket
import sqlite3
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.sandbox import Cause, Limits

HOSTILE = Path(__file__).parent / "hostile"
PAGE = Path(__file__).parent.parent.parent / "docs" / "sandbox.md"
KINDS = {
    "alone": "programs that are run",
    "tested": "programs that lie to their unit tests",
    "twice": "programs that leave something for the next",
    "sql": "queries",
}
PATIENT = {"cpu": 20.0, "wall": 120.0}  # an attack ends by what it is about, however busy the machine


@dataclass(frozen=True)
class Attack:
    name: str
    kind: str
    tries: str
    causes: tuple[Cause, ...]
    words: str
    limits: Limits
    source: str

    def wrong(self, ran: Any) -> str:
        """What is wrong with how it ended; nothing if it ended as it must."""
        if ran.cause not in self.causes:
            return f"{self.kind}/{self.name} ended as {ran.cause}: {ran.error!r} {ran.forbidden} {ran.stderr[-300:]}"
        if self.words not in f"{ran.error} {' '.join(ran.forbidden)}":
            return f"{self.kind}/{self.name} says {ran.error!r} {ran.forbidden} and not {self.words!r}"
        if "LOOT" in ran.stdout:
            return f"{self.kind}/{self.name} has what it wanted: {ran.stdout[:500]}"
        if len(ran.error.splitlines()) > 1 or "\x1b" in ran.error:
            return f"{self.kind}/{self.name} has an error that is not one plain line: {ran.error[:500]!r}"
        return ""


def attacks(kind: str) -> list[Attack]:
    folder = HOSTILE if kind == "alone" else HOSTILE / kind
    return [read_attack(path, kind) for path in sorted(folder.iterdir()) if path.is_file()]


def read_attack(path: Path, kind: str) -> Attack:
    source = path.read_text()
    head = [re.sub(r"^(#|--) ", "", line) for line in source.splitlines() if line.startswith(("# ", "-- "))]
    how = re.fullmatch(r"ends: ([a-z|]+)(?:, (.+))?", head[1])
    assert how, f"{path.name} does not say how it ends"
    limits: dict[str, Any] = dict(PATIENT)
    if len(head) > 2 and head[2].startswith("limits: "):
        limits |= {name: float(x) if "." in x else int(x) for name, x in re.findall(r"(\w+)=([\d.]+)", head[2])}
    causes = tuple(Cause(cause) for cause in how[1].split("|"))
    return Attack(path.stem, kind, head[0], causes, how[2] or "", Limits(**limits), source)


@dataclass
class Victim:
    """What there is to steal, and who came for it."""

    folder: Path
    secret: str = field(default_factory=lambda: f"canary-{secrets.token_hex(8)}")
    callers: list[str] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)

    def facts(self, **more: Any) -> str:
        """All that an attacker could hope to know, as the hostile programs read it."""
        return json.dumps({**self.about, **more})

    def stolen(self, ran: Any) -> bool:
        return self.secret in repr(ran)

    def left(self) -> list[str]:
        """What an attack has changed or left outside of its box."""
        wrong = [f"somebody called: {caller}" for caller in self.callers]
        if {path.name for path in self.folder.iterdir()} != {"secret.txt", "secret.db", "unix"}:
            wrong.append("its folder has other files")
        if Path(self.about["secret_file"]).read_text() != self.secret:
            wrong.append("its file was changed")
        for place in (Path("/tmp"), Path("/dev/shm"), Path(self.about["site"])):
            wrong += [str(path) for path in place.glob("guerdon-test-*")] + [
                str(path) for path in place.glob("left-by-*")
            ]
        return wrong


@contextlib.contextmanager
def victim(folder: Path) -> Iterator[Victim]:
    """A file, a database, a variable of the environment, words in memory and three services, all with one secret."""
    made = Victim(folder)
    secret_file, database = folder / "secret.txt", folder / "secret.db"
    secret_file.write_text(made.secret)
    with contextlib.closing(sqlite3.connect(database)) as opened, opened:
        opened.execute("CREATE TABLE theirs AS SELECT ? AS secret", (made.secret,))
    in_memory = ctypes.create_string_buffer(made.secret.encode())
    abstract = f"guerdon-{secrets.token_hex(8)}"
    before = os.environ.get("GUERDON_CANARY")
    os.environ["GUERDON_CANARY"] = made.secret
    with contextlib.ExitStack() as doors:
        door = doors.enter_context(socket.create_server(("127.0.0.1", 0)))
        for name in (str(folder / "unix"), f"\0{abstract}"):
            local = doors.enter_context(socket.socket(socket.AF_UNIX))
            local.bind(name)
            local.listen()
            doors.callback(_answering(local, made))
        doors.callback(_answering(door, made))
        made.about = {
            "secret_file": str(secret_file),
            "database": str(database),
            "names": ["secret.txt", "secret.db"],
            "home": str(Path.home()),
            "project": str(PAGE.parent.parent),
            "site": site.getsitepackages()[0],
            "parent": os.getpid(),
            "address": ctypes.addressof(in_memory),
            "length": len(in_memory),
            "pattern": r"canary-[0-9a-f]{16}",
            "port": door.getsockname()[1],
            "unix": str(folder / "unix"),
            "abstract": abstract,
        }
        try:
            yield made
        finally:
            del os.environ["GUERDON_CANARY"]
            if before is not None:
                os.environ["GUERDON_CANARY"] = before


def _answering(door: socket.socket, made: Victim) -> Any:
    """Serves the secret to every caller. Returns the function that stops it."""

    def answer() -> None:
        with contextlib.suppress(OSError):
            while True:
                line, who = door.accept()
                made.callers.append(str(who))
                with line, contextlib.suppress(OSError):
                    line.sendall(f"HTTP/1.0 200 OK\r\n\r\n{made.secret}".encode())
                    line.shutdown(socket.SHUT_WR)
                    line.settimeout(10)
                    while line.recv(4096):  # or what was asked would be thrown away, and the answer with it
                        pass

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()

    def end() -> None:
        with contextlib.suppress(OSError):
            door.shutdown(socket.SHUT_RDWR)
        thread.join(5)

    return end


def in_boxes() -> set[int]:
    """Every process in a box of this process's, if there are more than the two that each zygote is; found by the network that
    each zygote has of its own, which none can leave."""
    mine = _network("self")
    started: list[str] = []
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            started += (thread / "children").read_text().split()
    boxed = {_network(pid) for pid in started} - {mine, ""}
    inside = {int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _network(entry.name) in boxed}
    return inside if len(inside) > 2 * len(boxed) else set()


def _network(pid: str) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return ""


def listed() -> str:
    """The attacks as the docs list them: how each ends, with what it tries."""
    lines = []
    for kind, words in KINDS.items():
        these = attacks(kind)
        lines += [f"**{len(these)} {words}**", "", "| it | ends |", "| --- | --- |"]
        for attack in these:
            tries = attack.tries.replace("|", "\\|")
            causes = " or ".join(attack.causes)
            lines.append(f"| {tries} | {causes}{f', `{attack.words}`' if attack.words else ''} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def page_with(text: str) -> str:
    """The page with the list, and the number of them all, as they are now."""
    head, _, rest = text.partition("<!-- attacks -->\n")
    _, mark, tail = rest.partition("<!-- end of attacks -->")
    assert mark, "docs/sandbox.md has no place for the list"
    return f"{head}<!-- attacks -->\n{listed()}{mark}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text()))
    print(f"{sum(len(attacks(kind)) for kind in KINDS)} attacks", file=sys.stderr)
