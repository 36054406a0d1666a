"""A Python file as units: its functions, methods, classes and constants, each with the hash of what it does.

The hash of a unit is that of its syntax without comments, docstrings and annotations, its local variables numbered in the order
in which they are bound: a renamed local, a reworded docstring or a moved line change nothing. Parameters keep their names, for
callers use them. Nested functions belong to the function they stand in.
Reads text alone and imports nothing, so it needs no torch.
Leaves out: which units belong together (`evidence/identity.py`).
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gc
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from guerdon.core.syntax import told

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda)
BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")  # fields of statements that hold statements
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
NAMING = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)  # what binds a name that is no `ast.Name`
NODES = (ast.AST, list)
DIGITS = 12  # of a hash
PROGRAM = re.compile(r"(?:from|import) guerdon\.([\w.]+)")  # in a text that another process runs
RECIPE = "recipe"  # the decorator whose words about papers and claims have hashes of their own
DECIDES = ("on", "absent", "data")  # of its arguments, those that decide what is built


@dataclass
class NamesRead:
    """What a piece of code reads: global names as dotted paths, and all words by which it may ask for members of things."""

    names: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    processes: set[str] = field(default_factory=set)  # modules that programs in its texts begin with


@dataclass(frozen=True)
class Unit:
    """A function, or the statements that bind a constant."""

    digest: str
    names: frozenset[str]
    words: frozenset[str]
    processes: frozenset[str] = frozenset()


@contextlib.contextmanager
def without_collecting() -> Iterator[None]:
    """Without the search for garbage: syntax trees that stay are millions of objects, and searching them takes longer than
    reading them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class SourceFile:
    """A file's units by qualified name, and what its imports bind."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.functions: dict[str, list[Function]] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.statements: dict[str, list[ast.stmt]] = {}
        self.imports = dict(_imports(self.tree))
        self._collect(self.tree.body, "")
        for statement in self.tree.body:
            if not isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
                for name in {each.id for each in ast.walk(statement) if isinstance(each, ast.Name)} & self._bound:
                    self.statements.setdefault(name, []).append(statement)
        self._units: dict[str, Unit | None] = {}
        self._headers: dict[str, ClassHeader] = {}

    def _collect(self, body: Iterable[ast.stmt], prefix: str) -> None:
        for statement in body:
            if isinstance(statement, FUNCTIONS):
                self.functions.setdefault(prefix + statement.name, []).append(statement)
            elif isinstance(statement, ast.ClassDef):
                self.classes[prefix + statement.name] = statement
                self._collect(statement.body, f"{prefix}{statement.name}.")
            else:
                for inner in ("body", "orelse", "finalbody"):
                    self._collect(getattr(statement, inner, ()), prefix)
                for handler in getattr(statement, "handlers", ()):
                    self._collect(handler.body, prefix)

    @functools.cached_property
    def _bound(self) -> set[str]:
        """The constants: names that the file's own statements bind."""
        return set(_bindings(s for s in self.tree.body if not isinstance(s, (*FUNCTIONS, ast.ClassDef))))

    def unit(self, name: str) -> Unit | None:
        """A function or a constant; None where the file has none of that name."""
        if name not in self._units:
            nodes: list[Any] = [*self.functions.get(name, ()), *self.statements.get(name, ())]
            self._units[name] = _unit(nodes) if nodes else None
        return self._units[name]

    def is_decorated(self, name: str) -> bool:
        return any(node.decorator_list for node in self.functions.get(name, ()))

    def header(self, name: str) -> ClassHeader:
        if name not in self._headers:
            self._headers[name] = ClassHeader(self.classes[name])
        return self._headers[name]

    @functools.cached_property
    def whole(self) -> Unit:
        """All of the file but its imports."""
        return _unit([s for s in self.tree.body if not isinstance(s, ast.Import | ast.ImportFrom)])


class ClassHeader:
    """What a class is besides the code of its methods: decorators, bases, the values of its fields, which names it has."""

    def __init__(self, node: ast.ClassDef) -> None:
        self.node = node
        self.bases = [ast.unparse(base) for base in node.bases]
        self.methods = sorted({each.name for each in node.body if isinstance(each, FUNCTIONS)})
        self.fields: dict[str, list[ast.stmt]] = {}
        for statement in node.body:
            if not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                for name in _bindings([statement]):
                    self.fields.setdefault(name, []).append(statement)
        self._units: dict[frozenset[str], Unit] = {}

    def unit(self, words: Collection[str]) -> Unit:
        """As much of it as code that says these words can ask for: double underscores are asked for by Python itself."""
        asked = frozenset(n for n in (*self.fields, *self.methods) if n in words or n.startswith("__"))
        if asked not in self._units:
            self._units[asked] = self._unit(asked)
        return self._units[asked]

    def _unit(self, asked: frozenset[str]) -> Unit:
        statements = {id(s): s for name, each in self.fields.items() if name in asked for s in each}
        shell = ast.ClassDef(self.node.name, self.node.bases, self.node.keywords, [*statements.values()], [])
        shell.decorator_list = self.node.decorator_list
        unit = _unit([shell])
        methods = " ".join(name for name in self.methods if name in asked)
        return replace(unit, digest=_digest(f"{unit.digest} {methods}"))


def _unit(nodes: Iterable[Any]) -> Unit:
    reading = NamesRead()
    normal = _Normal(reading)
    body = [normal.visit(node, {}) for node in nodes]
    text = told(ast.Module([each for each in body if each is not None], []))
    return Unit(_digest(text), *map(frozenset, (reading.names, reading.words, reading.processes)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _imports(tree: ast.AST) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each name that an import binds, anywhere in the file: the module, and which name of it, if not all."""
    for node in _statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((alias.asname or alias.name, (node.module, alias.name)) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or whole, (whole, "")


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements, outer ones first, in the order of `ast.walk`, which looks into every expression too and takes five times
    as long."""
    level: list[Any] = [tree]
    while level:
        yield from level
        level = [each for node in level for name in node._fields if name in BLOCKS for each in getattr(node, name)]


# --- names that mean nothing outside -------------------------------------------------------------------------------


class _Normal:
    """A copy of some syntax in which local names are numbers, and docstrings and annotations are gone."""

    def __init__(self, reading: NamesRead) -> None:
        self.reading, self.number = reading, 0

    def visit(self, node: Any, names: Mapping[str, str]) -> Any:
        """The copy; `names` are the local ones around it, by what they are here."""
        kind: Any = type(
            node
        )  # compared exactly: hundreds of thousands of nodes are visited, and none is of a subclass
        if kind is list:
            return [each for each in [self.visit(one, names) for one in node] if each is not None]
        if not issubclass(kind, ast.AST) or not kind._fields:
            return node
        if kind in SCOPES:
            return self._function(node, names)
        if kind is ast.ClassDef:
            return self._class(node, names)
        if kind is ast.AnnAssign:
            return self._assignment(node, names)
        if kind in COMPREHENSIONS:
            names = {**names, **self._numbered(_targets(each.target for each in node.generators))}
        self._read(kind, node, names)
        copy = kind()
        for name in kind._fields:
            value = getattr(node, name, None)
            setattr(copy, name, self.visit(value, names) if isinstance(value, NODES) else value)
        if kind is ast.Name:
            copy.id = names.get(copy.id, copy.id)
        elif kind in NAMING and copy.name is not None:
            copy.name = names.get(copy.name, copy.name)
        elif kind is ast.MatchMapping and copy.rest is not None:
            copy.rest = names.get(copy.rest, copy.rest)
        elif kind in (ast.Global, ast.Nonlocal):
            copy.names = [names.get(each, each) for each in copy.names]
        return copy

    def _read(self, kind: type[ast.AST], node: Any, names: Mapping[str, str]) -> None:
        if kind is ast.Name:
            if type(node.ctx) is ast.Load and node.id not in names:
                self.reading.names.add(node.id)
        elif kind is ast.Attribute:
            self.reading.words.add(node.attr)
            path = _dotted(node)
            if path and path.partition(".")[0] not in names:
                self.reading.names.add(path)
        elif kind is ast.Constant:
            if isinstance(node.value, str):
                self.reading.words.update([node.value] if node.value.isidentifier() else [])
                self.reading.processes.update(PROGRAM.findall(node.value))
        elif kind is ast.keyword:
            self.reading.words.update([node.arg] if node.arg else [])
        elif kind is ast.MatchClass:
            self.reading.words.update(node.kwd_attrs)

    def _numbered(self, names: Iterable[str]) -> dict[str, str]:
        numbered = {}
        for name in names:
            if name not in numbered:
                self.number += 1
                numbered[name] = f"·{self.number}"
        return numbered

    def _function(self, node: Any, names: Mapping[str, str]) -> Any:
        copy = type(node)()
        own = {each.arg: each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        body = node.body if isinstance(node.body, list) else [node.body]
        if isinstance(node, FUNCTIONS):
            copy.name = names.get(node.name, node.name)
            copy.decorator_list = [self.visit(each, names) for each in map(_deciding, node.decorator_list)]
            body = body[1:] if ast.get_docstring(node, clean=False) is not None else body
        nodes = _within(body)
        outside = {name for each in nodes if isinstance(each, ast.Global) for name in each.names}
        inherited = {name for each in nodes if isinstance(each, ast.Nonlocal) for name in each.names}
        bound = [name for name in _bound(nodes) if name not in own and name not in outside and name not in inherited]
        inner = {k: v for k, v in {**names, **own, **self._numbered(bound)}.items() if k not in outside}
        copy.args = self._arguments(node.args, names)
        copy.body = self.visit(body, inner) if isinstance(node.body, list) else self.visit(node.body, inner)
        return copy

    def _arguments(self, node: ast.arguments, names: Mapping[str, str]) -> ast.arguments:
        return ast.arguments(
            posonlyargs=[ast.arg(each.arg) for each in node.posonlyargs],
            args=[ast.arg(each.arg) for each in node.args],
            vararg=None if node.vararg is None else ast.arg(node.vararg.arg),
            kwonlyargs=[ast.arg(each.arg) for each in node.kwonlyargs],
            kw_defaults=[None if each is None else self.visit(each, names) for each in node.kw_defaults],
            kwarg=None if node.kwarg is None else ast.arg(node.kwarg.arg),
            defaults=[self.visit(each, names) for each in node.defaults],
        )

    def _class(self, node: ast.ClassDef, names: Mapping[str, str]) -> ast.ClassDef:
        """Names that its body binds are its members, which methods do not see as names."""
        copy = ast.ClassDef(names.get(node.name, node.name), [], [], [], [])
        for part in ("bases", "keywords", "decorator_list"):
            setattr(copy, part, self.visit(getattr(node, part), names))
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        members = {name: name for name in _bindings(body)}
        for each in body:
            if isinstance(each, ast.AnnAssign):  # what is said of a field may decide what it is
                copy.body.append(self._assignment(each, {**names, **members}, keeps=True))
            else:
                copy.body.append(self.visit(each, names if isinstance(each, FUNCTIONS) else {**names, **members}))
        self.reading.words.update(members)
        return copy

    def _assignment(self, node: ast.AnnAssign, names: Mapping[str, str], *, keeps: bool = False) -> Any:
        target = self.visit(node.target, names)
        if keeps:
            value = None if node.value is None else self.visit(node.value, names)
            return ast.AnnAssign(target, self.visit(node.annotation, names), value, node.simple)
        return None if node.value is None else ast.Assign([target], self.visit(node.value, names))


def _deciding(decorator: ast.expr) -> ast.expr:
    """A decorator, less what it says of papers and claims."""
    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).split(".")[-1] == RECIPE:
        return ast.Call(decorator.func, [], [each for each in decorator.keywords if each.arg in DECIDES])
    return decorator


def _within(body: Iterable[ast.AST]) -> list[ast.AST]:
    """All nodes of a scope in order, without those of scopes inside it; of these, the nodes at their heads."""
    nodes: list[ast.AST] = []
    left: list[Any] = [*body][::-1]
    while left:
        node = left.pop()
        nodes.append(node)
        kind = type(node)
        if not kind._fields:
            continue
        inner: list[Any] = []
        if kind in FUNCTIONS:
            inner = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
        elif kind is ast.Lambda:
            inner = [*node.args.defaults, *node.args.kw_defaults]
        elif kind is ast.ClassDef:
            inner = [*node.decorator_list, *node.bases, *node.keywords]
        else:
            for name in kind._fields:
                value = getattr(node, name, None)
                if type(value) is list:
                    inner += value
                elif isinstance(value, ast.AST):
                    inner.append(value)
        inner.reverse()
        left += [each for each in inner if isinstance(each, ast.AST)]
    return nodes


def _bindings(body: Iterable[ast.AST]) -> list[str]:
    return _bound(_within(body))


def _bound(nodes: Iterable[Any]) -> list[str]:
    """The names that the nodes of a scope bind, in order. Those of comprehensions are their own, but for `:=`; those of imports
    say what they are, and stay."""
    names: list[str] = []
    hidden = {id(name) for node in nodes if type(node) in COMPREHENSIONS for name in _own_names(node)}
    for node in nodes:
        kind = type(node)
        if kind is ast.Name:
            if type(node.ctx) is not ast.Load and id(node) not in hidden:
                names.append(node.id)
        elif kind in FUNCTIONS or kind is ast.ClassDef or (kind in NAMING and node.name):
            names.append(str(node.name))
        elif kind is ast.MatchMapping and node.rest:
            names.append(node.rest)
    return list(dict.fromkeys(names))


def _own_names(node: Any) -> Iterator[ast.Name]:
    for each in node.generators:
        yield from (name for name in ast.walk(each.target) if isinstance(name, ast.Name))


def _targets(targets: Iterable[ast.AST]) -> list[str]:
    names = [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    return list(dict.fromkeys(names))


def _dotted(node: ast.AST) -> str:
    """`a.b.c` as text; empty where it does not begin with a name."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(words)]) if isinstance(node, ast.Name) else ""
