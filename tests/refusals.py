"""The sentences of refusals, all in one file: a test asserts what kind of error it is, and the facts in it; `messages.txt` has
the words.

    with refusal(UserError, "--steps", "-1"):  # its kind, and what must be in it whatever its words
        gd.train("grpo", steps=-1)

Each refusal of a test is compared, whole, with the line of that test in `messages.txt`, in their order. To reword messages,
change the code, run `make messages` (which runs the tests that provoke them), and read what changed in that one file.
Leaves out: the command line, whose words tests still name (`command_line.refused`); tests of other machines' messages.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import functools
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
GOLDEN = HERE / "messages.txt"
WRITE = "GUERDON_MESSAGES"  # set: messages are written and not compared
LONGEST = 240  # characters of a message that are compared: lists of names grow
base = ""  # of the folders of tests
seen: dict[str, list[str]] = defaultdict(list)  # by test, in this process


@contextlib.contextmanager
def refusal(kind: type[BaseException], *facts: str) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """What runs in it is refused with this kind of error, whose message has the facts, and is the one in `messages.txt`."""
    with pytest.raises(kind) as raised:
        yield raised
    message, name = str(raised.value), type(raised.value).__name__
    del raised  # its traceback has this frame, and keeps what the test opened
    for fact in facts:
        assert fact in message, f"{fact!r} is not in {message!r}"
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].removeprefix("tests/")
    seen[test].append(f"{name}: {plain(message)}")
    if WRITE not in os.environ:
        known = golden().get(test, [])[len(seen[test]) - 1 : len(seen[test])]
        assert seen[test][-1:] == known, (
            f"{test}: the message is not that of {GOLDEN.name}; where it is right: make messages"
        )


def plain(message: str) -> str:
    """A message in one line, without what differs from run to run: folders of tests, lines of files, ports, addresses."""
    message = re.sub(re.escape(base) + r"/[^/\s'\",:;)]+", "TMP", message) if base else message
    message = re.sub(r"[^\s'\"(]*/(\w+\.py)\b", r"\1", message).replace("\n", "\\n")
    message = re.sub(r"(\.py), line \d+", r"\1, line N", message)
    message = re.sub(r"(127\.0\.0\.1|localhost):\d+", r"\1:PORT", message)
    message = re.sub(r"0x[0-9a-f]+", "0x", message)
    return message if len(message) <= LONGEST else f"{message[:LONGEST]}..."


@functools.cache
def golden() -> dict[str, list[str]]:
    messages: dict[str, list[str]] = {}
    for line in GOLDEN.read_text().splitlines():
        if line.startswith("    "):
            messages[[*messages][-1]].append(line[4:])
        else:
            messages[line] = []
    return messages


def provoking() -> list[str]:
    """The tests that provoke refusals, as pytest names them."""
    names = []
    for file in sorted(HERE.rglob("test_*.py")):
        defined = ast.walk(ast.parse(file.read_text())) if "with refusal(" in file.read_text() else ()
        for node in defined:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and "refusal(" in ast.unparse(node):
                names.append(f"{file.relative_to(HERE)}::{node.name}")
    return names


@atexit.register
def write() -> None:
    if WRITE in os.environ and seen:
        messages, there = golden() | seen, {*provoking()}
        kept = {test: lines for test, lines in sorted(messages.items()) if test.partition("[")[0] in there}
        GOLDEN.write_text("".join("\n    ".join([test, *lines]) + "\n" for test, lines in kept.items()))


if __name__ == "__main__":
    asked = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "not browser",
        *(f"tests/{test}" for test in provoking()),
    ]
    sys.exit(subprocess.run(asked, env={**os.environ, WRITE: "1"}, cwd=HERE.parent, check=False).returncode)
