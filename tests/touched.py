"""`pytest --quick` runs the test files that a change touched, by a map that earlier quick runs recorded: of each test file, the
functions of the package that ran in it, the files of the repository that it opened, and hashes of both.

A test file is left out where all of these are as they were when it last passed:
- the functions that ran, in it and while tests were collected;
- what else stands in their modules and in those that these import (constants, classes, the names and arguments of functions);
- the test file, the modules of this folder that it imports, and every file that it opened;
- what holds for all tests: `conftest.py`, pyproject.toml, the pinned requirements.

What cannot be mapped is run: a file without a record, one that starts processes, one that lists folders of the repository.
Every test file runs in a process of its own, for what one test keeps in memory another does not run again.
Leaves out: files that are only looked for (`Path.exists`), variables of the environment, libraries of other versions.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PLACE = "guerdon/touched"  # in pytest's cache
WHOLE = "*"  # a whole module
REST = ""  # what stands in a module besides the bodies of functions
DEFAULT = "not slow and not browser"
FORALL = (
    "pyproject.toml",
    "requirements/*.txt",
    "conftest.py",
    "tests/**/conftest.py",
    "tests/forks.py",
    "tests/touched.py",
)
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system", "socket.connect"}
LISTS = {"os.listdir", "os.scandir"}
OPENS = {"open", "sqlite3.connect"}
HEARD = STARTS | LISTS | OPENS
IMPORTS = "<frozen importlib"
LOCALS = ".<locals>"


@functools.cache
def file_hash(path: str) -> str:
    """Of a file of the repository; nothing where there is none."""
    file = ROOT / path
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if file.is_file() else ""


@functools.cache
def parts_of(module: str) -> dict[str, str]:
    """Hashes of a module's functions, by qualified name, and of the rest of it."""
    file = ROOT / module
    return hashed_parts(file.read_text("utf8")) if file.is_file() else {}


def hashed_parts(text: str) -> dict[str, str]:
    lines, found = text.splitlines(), dict[str, str]()
    rest = set(range(len(lines)))

    def collect(node: ast.AST, prefix: str) -> None:
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                name, first = prefix + each.name, each.body[0].lineno - 1
                whole = lines[each.lineno - 1 : each.end_lineno]
                found[name] = _digest("\n".join((found.get(name, ""), *whole)))  # several of one name are one
                rest.difference_update(range(first, each.end_lineno or first))
            else:
                collect(each, f"{prefix}{each.name}." if isinstance(each, ast.ClassDef) else prefix)

    collect(ast.parse(text), "")
    return {**found, REST: _digest("\n".join(lines[number] for number in sorted(rest)))}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@functools.cache
def imports_of(module: str) -> frozenset[str]:
    """Modules that a file of the repository imports: of the package, and of the folders of tests."""
    file, found = ROOT / module, set[str]()
    if not file.is_file():
        return frozenset()
    for node in ast.walk(ast.parse(file.read_text("utf8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            place = name.replace(".", "/")
            for path in (f"{place}.py", f"{place}/__init__.py", *helpers().get(name, ())):
                if (ROOT / path).is_file():
                    found.add(path)
    return frozenset(found)


@functools.cache
def helpers() -> dict[str, list[str]]:
    """Modules beside tests, which are imported by their bare names."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        found.setdefault(path.stem, []).append(path.relative_to(ROOT).as_posix())
    return found


def closure(modules: set[str], within: str) -> set[str]:
    """Modules, and all below a folder that they import, and that those import."""
    left, met = [*modules], set[str]()
    while left:
        module = left.pop()
        if module not in met:
            met.add(module)
            left += [each for each in imports_of(module) if each.startswith(within)]
    return met


class Looking:
    """What runs and is opened while one test file runs, in this process."""

    def __init__(self) -> None:
        self.ran: set[tuple[str, str]] = set()
        self.opened: set[str] = set()
        self.why = ""  # it cannot be mapped
        self._met: dict[int, CodeType] = {}  # by identity: hashing code is slow
        self._package, self._root = f"{ROOT / 'guerdon'}{os.sep}", f"{ROOT}{os.sep}"

    def look(self, on: bool) -> None:
        if on:
            _audited()
            _LOOKING.add(self)
        else:
            _LOOKING.discard(self)
        threading.settrace(self._called if on else None)
        sys.settrace(self._called if on else None)

    def told(self) -> dict[str, Any]:
        if sys.gettrace() != self._called:
            self.why = self.why or "it traces by itself"
        self.look(False)
        return {"ran": sorted(self.ran), "opened": sorted(self.opened), "why": self.why}

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if id(code) not in self._met:
            self._met[id(code)] = code
            if code.co_filename.startswith(self._package):
                name = code.co_qualname.partition(LOCALS)[0].partition(".<")[0]
                self.ran.add((code.co_filename.removeprefix(self._root), name))

    def _heard(self, event: str, given: tuple[Any, ...]) -> None:
        if event in STARTS:
            if event != "socket.connect" or isinstance(given[1], str | bytes):  # to a process of this machine
                self.why = self.why or f"it starts processes: {event}"
        elif given and isinstance(given[0], str | bytes | os.PathLike):
            path = Path(os.fsdecode(given[0])).absolute()
            if path.is_relative_to(ROOT) and not _is_made(path) and not _of_tools():
                place = path.relative_to(ROOT).as_posix()
                if event in OPENS:
                    self.opened.add(place)
                else:
                    self.why = self.why or f"it lists {place}"


_LOOKING = set[Looking]()  # those that look now


@functools.cache
def _audited() -> None:
    """One hook in a process, since none can be taken away and each makes every call that Python audits slower."""

    def heard(event: str, given: tuple[Any, ...]) -> None:
        if _LOOKING and event in HEARD:
            for each in [*_LOOKING]:
                each._heard(event, given)

    sys.addaudithook(heard)


def _is_made(path: Path) -> bool:
    """Whether tools and runs make it: nobody commits what is below it."""
    return any(
        part in ("__pycache__", ".git") or part.startswith((".venv", ".pytest", ".hypothesis", ".mypy"))
        for part in path.relative_to(ROOT).parts
    )


def _of_tools() -> bool:
    """Whether Python imports, or hypothesis reads the constants of every module."""
    frame: FrameType | None = sys._getframe(3)  # above the hook, and what it asks
    if frame is not None and frame.f_code.co_filename.startswith(IMPORTS):
        return True
    while frame is not None and not frame.f_code.co_filename.endswith("constants_ast.py"):
        frame = frame.f_back
    return frame is not None


class Touched:
    """The map, and which test files are left out by it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        given = config.option
        self._all = not given.keyword and given.markexpr == DEFAULT and not any("::" in each for each in config.args)
        self._left_out = 0
        self.looking = Looking()

    def pytest_sessionstart(self) -> None:
        known = self._config.cache.get(PLACE, {}) if self._config.cache else {}
        forall = {path: file_hash(path) for path in sorted(_forall())}
        whole = known.get("forall") == forall and self._same(known.get("collected", {}))
        self._files: dict[str, Any] = known.get("files", {}) if whole else {}
        self._known = {"forall": forall, "collected": known.get("collected", {}) if whole else {}, "files": self._files}
        self.looking.look(True)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        path = collection_path.resolve().relative_to(ROOT).as_posix()
        if not self.is_as_it_was(path):
            return None
        self._left_out += 1
        return True

    def pytest_collection_finish(self) -> None:
        self.looking.look(False)
        for module, name in self.looking.ran:
            self._known["collected"].setdefault(module, {WHOLE: file_hash(module)})[name] = parts_of(module).get(
                name, ""
            )
        self.looking.ran, self.looking.opened, self.looking.why = set(), set(), ""
        self.looking._met.clear()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._config.cache:
            self._config.cache.set(PLACE, self._known)
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(f"{self._left_out} test files are as they were when they last passed")

    def is_as_it_was(self, path: str) -> bool:
        record = self._files.get(path)
        return bool(
            record
            and not record["why"]
            and all(file_hash(file) == digest for file, digest in record["opened"].items())
            and self._same(record["ran"])
        )

    def keep(self, path: str, told: dict[str, Any], passed: bool) -> None:
        """What a test file told of itself; of one that failed, or ran in part, nothing is known."""
        self._files.pop(path, None)
        if not passed or not self._all:
            return
        ours = closure({path}, "tests/")
        named = {each for module in ours for each in imports_of(module) if each.startswith("guerdon/")}
        ran: dict[str, dict[str, str]] = {}
        for module in closure(named | {module for module, _ in told["ran"]}, "guerdon/"):
            ran[module] = {WHOLE: file_hash(module), REST: parts_of(module).get(REST, "")}
        for module, name in told["ran"]:
            ran[module][name] = parts_of(module).get(name, "")
        opened = {*told["opened"], *ours}
        self._files[path] = {
            "ran": ran,
            "opened": {file: file_hash(file) for file in sorted(opened)},
            "why": told["why"],
        }

    @staticmethod
    def _same(ran: dict[str, dict[str, str]]) -> bool:
        changed = {module: names for module, names in ran.items() if file_hash(module) != names[WHOLE]}
        return all(
            parts_of(module).get(name, "") == digest
            for module, names in changed.items()
            for name, digest in names.items()
            if name != WHOLE
        )


def _forall() -> set[str]:
    return {path.relative_to(ROOT).as_posix() for pattern in FORALL for path in ROOT.glob(pattern)}
