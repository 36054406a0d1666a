"""What ran, as hashes: the functions that a run executed, and the constants and classes that they read.

A run's *code* is a table of units (`core.learn:Learn.__call__`, `losses.reduce:EPS`), each with the hash of its syntax
(`evidence/code_units.py`). It begins with the functions that were seen to run and grows by what they read:
constants with the functions that make them, classes as far as the words of that code can ask for their members, and decorated
functions with all that they call, which something else than Python may run (GPU kernels) or remember (caches). Left out are
observers, which change no weight, and what builds a recipe, for what was built is in its hash.
Needs no torch, for evidence is listed without it.
A module that was moved is compared at its new place (`core/renamed.py`).
Leaves out: libraries; what a function reaches by a name that it computes; functions and classes that were renamed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import fingerprint
from guerdon.core.renamed import current_module
from guerdon.core.user_folders import cache_folder
from guerdon.evidence.code_units import DIGITS, SourceFile, without_collecting
from guerdon.runs.whole_files import remove, write_text

HOUSE = Path(__file__).resolve().parent.parent
NAME = HOUSE.name
# what only observes, records and shows
OBSERVERS = (
    "runs",
    "results",
    "evidence",
    "prove",
    "display",
    "watch",
    "cli",
    "studio",
    "training.onlooker",
    "training.what_ran",
    "training.save_beside",
    "core.manifest",
    "core.shown_text",
)
# what makes a recipe of words and hashes it: what was made is in the hash
BUILDERS = (
    "core.part", "core.recipe", "core.knob_values", "core.syntax", "core.decided", "core.lazy",
    "core.tensor_hashes", "training.api", "training.build", "training.catalog", "training.homes",
)  # fmt: skip
# what refuses a run before it begins: a run that began is as it would be without
CHECKS = ("core.needs", "core.problems", "models.model_facts", "tasks.source_facts", "training.unmet_needs")
HANDS_OVER = ("torch", "triton")  # libraries that call methods of the classes made on theirs from threads of their own
WHOLE = "*"  # the unit that is a whole file
MOST_NAMED = 3
KEPT = 8  # trees that are remembered
KEY_DIGITS = 32  # of the hash that some code is remembered by


def module_of(file: str | Path) -> str:
    """What units of a file are called by: its place in the package, or, for other code, its path from here."""
    path = Path(file) if Path(file).is_relative_to(HOUSE) else Path(file).resolve()
    if not path.is_relative_to(HOUSE):
        here = Path.cwd()
        return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()
    parts = path.relative_to(HOUSE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def is_left_out(module: str) -> bool:
    """Whether nothing of a module counts."""
    return any(module == room or module.startswith(f"{room}.") for room in (*OBSERVERS, *BUILDERS, *CHECKS))


def path_of(module: str, house: Path = HOUSE, own: Path | None = None) -> Path | None:
    """The file of a module of the package, or of other code, in the folder `own` (default: here)."""
    if module.endswith(".py"):
        file = (own or Path()) / module
        return file if file.is_file() else None
    path = house.joinpath(*module.split("."))
    return next((each for each in (path.with_suffix(".py"), path / "__init__.py") if each.is_file()), None)


@dataclass
class Sources:
    """The files of a package as they are now, read when they are asked for."""

    house: Path = HOUSE
    own: Path | None = None  # the folder of other code
    package: Sources | None = None  # where the package has been read already
    files: dict[str, SourceFile | None] = field(default_factory=dict)
    _paths: dict[str, Path | None] = field(default_factory=dict)
    _bytes: dict[str, str] = field(default_factory=dict)
    _meant: dict[tuple[str, str], tuple[str, str] | None] = field(default_factory=dict)

    def _holder(self, module: str) -> Sources:
        """Who reads a module: a user's own file is read here."""
        return self if self.package is None or module.endswith(".py") else self.package

    def path(self, module: str) -> Path | None:
        if (holder := self._holder(module)) is not self:
            return holder.path(module)
        if module not in self._paths:
            self._paths[module] = path_of(module, self.house, self.own)
        return self._paths[module]

    def file(self, module: str) -> SourceFile | None:
        if (holder := self._holder(module)) is not self:
            return holder.file(module)
        if module not in self.files:
            path = self.path(module)
            self.files[module] = SourceFile(path.read_text(encoding="utf-8")) if path is not None else None
        return self.files[module]

    def bytes_of(self, module: str) -> str:
        if (holder := self._holder(module)) is not self:
            return holder.bytes_of(module)
        if module not in self._bytes:
            path = self.path(module)
            self._bytes[module] = hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS] if path is not None else ""
        return self._bytes[module]

    def resolve(self, module: str, dotted: str) -> tuple[str, str] | None:
        """The module and name of what code in a module means by `a.b`; None where it is a library's, or nothing that counts."""
        if (holder := self._holder(module)) is not self:
            return holder.resolve(module, dotted)
        if (module, dotted) not in self._meant:
            self._meant[module, dotted] = self._resolved(module, dotted)
        return self._meant[module, dotted]

    def _resolved(self, module: str, dotted: str) -> tuple[str, str] | None:
        first, _, rest = dotted.partition(".")
        file = self.file(module)
        if file is None:
            return None
        if first in file.statements or first in file.functions or first in file.classes:
            return module, first
        if first not in file.imports:
            return self._offered(module, first)
        imported, name = file.imports[first]
        room, _, inner = imported.partition(".")
        if room != NAME:
            return None
        path = [*filter(None, [*inner.split("."), name, *rest.split(".")])]
        return self._along(path)

    def _along(self, path: list[str]) -> tuple[str, str] | None:
        """What the first name after the modules of a path is."""
        module = ""
        for i, word in enumerate(path):
            deeper = f"{module}.{word}".strip(".")
            if self.path(deeper) is None:
                return self.resolve(module, ".".join(path[i:])) if module else self._offered("", word)
            module = deeper
        return None

    def _offered(self, module: str, name: str) -> tuple[str, str] | None:
        """What a front door offers by a name: its stub says where that is."""
        stub = self.house.joinpath(*filter(None, module.split(".")), "__init__.pyi")
        if not stub.is_file():
            return None
        where = (self.package or self)._stub(stub).get(name)
        if where is None or not where[0].startswith(f"{NAME}."):
            return None
        return self.resolve(where[0].partition(".")[2], where[1] or name)

    @functools.cache  # noqa: B019 - as long lived as the files it reads
    def _stub(self, stub: Path) -> dict[str, tuple[str, str]]:
        return SourceFile(stub.read_text(encoding="utf-8")).imports

    __hash__ = object.__hash__


class Closure:
    """From units that ran to all that count, on the files as they are."""

    def __init__(self, ran: Iterable[str], sources: Sources) -> None:
        self.sources = sources
        self.digests: dict[str, str] = {}
        self.words: set[str] = set()
        self.classes: set[tuple[str, str]] = set()
        self._met: set[tuple[str, bool]] = set()
        self._read: set[tuple[str, str, bool]] = set()
        self._left = [(unit, False) for unit in sorted(ran)]
        self._close()

    def _close(self) -> None:
        """Classes are read by the words of all that counts, so more of them may count once more code does."""
        said = -1
        while self._left or said != len(self.words):
            said = len(self.words)
            while self._left:
                self._take(*self._left.pop())
            for module, name in sorted(self.classes):
                file = self.sources.file(module)
                assert file is not None
                header = file.header(name).unit(self.words)
                self.digests[f"{module}:{name}"] = header.digest
                self._follow(module, header.names, header.words, made=True)

    def _take(self, unit: str, made: bool) -> None:
        """A unit that counts. `made`: it ran when a module was imported, outside of tracing, and so did what it calls."""
        if (unit, made) in self._met or (unit, True) in self._met:
            return
        self._met.add((unit, made))
        module, _, name = unit.partition(":")
        file = self.sources.file(module)
        if file is None:
            self.digests[unit] = ""
            return
        if name in file.classes:
            self._take_class(module, name)
            return
        code = file.whole if name == WHOLE else file.unit(name)
        self.digests[unit] = code.digest if code is not None else ""
        if code is None:
            return
        self._follow(module, code.names, code.words, made=made or name in file.statements or file.is_decorated(name))
        for begun in code.processes:
            self._left += [(inner, False) for inner in child_units(begun, self.sources)]
        outer = name.rpartition(".")[0]
        while outer:
            if outer in file.classes:
                self._take_class(module, outer)
            outer = outer.rpartition(".")[0]

    def _take_class(self, module: str, name: str) -> None:
        if (module, name) in self.classes:
            return
        self.classes.add((module, name))
        file = self.sources.file(module)
        assert file is not None
        header = file.header(name)
        roots = {file.imports.get(base.partition(".")[0], ("", ""))[0].partition(".")[0] for base in header.bases}
        if roots.intersection(HANDS_OVER):
            self._left += [(f"{module}:{name}.{method}", False) for method in header.methods]

    def _follow(self, module: str, names: Iterable[str], words: Iterable[str], *, made: bool) -> None:
        self.words.update(words)
        for dotted in names:
            if (module, dotted, made) in self._read:
                continue
            self._read.add((module, dotted, made))
            meant = self.sources.resolve(module, dotted)
            if meant is None or is_left_out(meant[0]):
                continue
            file = self.sources.file(meant[0])
            assert file is not None
            unit = f"{meant[0]}:{meant[1]}"
            is_made = meant[1] in file.statements or file.is_decorated(meant[1])  # a cache may have run it before
            if is_made or meant[1] in file.classes or made:
                self._left.append((unit, made or is_made))


@dataclass(frozen=True)
class Code:
    """The units that a run's results come of, with their hashes, and the files they stand in, by the hash of their bytes: while
    a file is the same to the byte, so are its units."""

    units: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return fingerprint(dict(self.units))

    def to_json(self) -> dict[str, Any]:
        return {"units": dict(self.units), "files": dict(self.files)}


def code_of(ran: Iterable[str], sources: Sources | None = None) -> Code:
    """The code of what ran, as it is now."""
    counted = [unit for unit in ran if not is_left_out(unit.partition(":")[0])]
    sources = sources or _here(unit.partition(":")[0] for unit in counted)
    with without_collecting():
        closed = Closure(counted, sources)
    units = dict(sorted(closed.digests.items()))
    modules = sorted({unit.partition(":")[0] for unit in units})
    return Code(units, {module: sources.bytes_of(module) for module in modules})


Changes = dict[str, tuple[str, str]]


def changed(code: Code, sources: Sources | None = None) -> Changes:
    """The units of some code that are not what they were: their hashes then and now, empty where there is none."""
    here = sources or _here(code.files)
    if code.files and all(here.bytes_of(_place(module, here)) == digest for module, digest in code.files.items()):
        return {}
    if here is today():
        return _looked_up(code)
    return _compared(code, here)


def _compared(code: Code, sources: Sources) -> Changes:
    then: dict[str, str] = {}
    for unit, digest in code.units.items():
        module, _, name = unit.partition(":")
        if is_left_out(place := _place(module, sources)):
            continue  # it counted when it was recorded
        moved = f"{place}:{name}"
        then[moved if then.get(moved, digest) == digest else unit] = digest  # of two that would be one now, one is gone
    now = code_of(then, sources).units
    every = sorted({*then, *now})
    return {u: (then.get(u, ""), now.get(u, "")) for u in every if then.get(u, "") != now.get(u, "")}


def _place(module: str, sources: Sources) -> str:
    """Where a module is that a run recorded: a move that the table of old names lists changes no code."""
    return module if sources.path(module) is not None else current_module(module)


def _looked_up(code: Code) -> Changes:
    """The same of the package as it is, remembered on disk: to read all of it again takes seconds."""
    said = json.dumps([dict(code.units), dict(code.files)], sort_keys=True)
    tree = cache_folder() / "code" / tree_hash()
    path = tree / f"{hashlib.sha256(said.encode()).hexdigest()[:KEY_DIGITS]}.json"
    try:
        return {unit: (then, now) for unit, (then, now) in json.loads(path.read_text()).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        changes = _compared(code, today())
    with contextlib.suppress(OSError, UserError):  # a home that cannot be written to
        if not tree.is_dir():
            _forget_older(tree.parent)
            tree.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(changes))
    return changes


def _forget_older(folder: Path) -> None:
    """All trees but the last ones, so that one more is remembered."""
    for older in sorted(folder.glob("*"), key=lambda each: each.stat().st_mtime)[: 1 - KEPT]:
        remove(older)


def named(units: Iterable[str]) -> str:
    """Units for a person: `losses/reduce.py track_means, core/learn.py Learn._update and 3 more`."""
    every = [unit.partition(":") for unit in units]
    told = [f"{m if m.endswith('.py') else m.replace('.', '/') + '.py'} {n}" for m, _, n in every[:MOST_NAMED]]
    more = len(every) - len(told)
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


@functools.cache
def today() -> Sources:
    """The package as it is while this process runs."""
    return Sources()


def _here(modules: Iterable[str]) -> Sources:
    """The files as they are: a user's own may change while this process runs."""
    return Sources(package=today()) if any(module.endswith(".py") for module in modules) else today()


@functools.cache
def tree_hash(*others: str) -> str:
    """Of every Python file of the package, and of others: what two runs that share it have in common, whatever they execute."""
    digest = hashlib.sha256()
    for path in [*sorted(HOUSE.rglob("*.py")), *map(Path, others)]:
        digest.update(str(path.relative_to(HOUSE) if path.is_relative_to(HOUSE) else path.name).encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()[:16]


def child_units(module: str, sources: Sources | None = None) -> Iterator[str]:
    """The units of a process of its own that begins with a module: that file, and those of the package that it imports. What
    runs there is not seen from here, so all of it counts."""
    sources = sources or today()
    left, met = [module], set[str]()
    while left:
        name = left.pop()
        file = sources.file(name)
        if file is None or name in met or is_left_out(name):
            continue
        met.add(name)
        yield f"{name}:{WHOLE}"
        for imported, attribute in file.imports.values():
            room, _, inner = imported.partition(".")
            if room == NAME:
                deeper = f"{inner}.{attribute}".strip(".")
                left.append(deeper if sources.path(deeper) is not None else inner)
