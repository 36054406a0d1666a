"""Mutants of Python functions: one small change in the syntax of one function, put in the place of its code while it is tested.

Changes are those that a wrong implementation would have: a sign flipped, a term, a baseline or a weight left out, a comparison
turned or moved by one, a condition negated, an index shuffled, a keyword or a statement left out, arguments swapped, a number
raised by 1, a mean in place of a sum. What only reports (`play.log`, exams) or refuses (`raise`) is left as it is.
Every reference to a function sees its mutant, however it was imported: its `__code__` is exchanged, not its name.
Leaves out: defaults of knobs, and changes of two places at once.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
SWAPPED = {"min": "max", "mean": "sum", "any": "all", "amin": "amax", "argmin": "argmax", "minimum": "maximum"}
SWAPPED |= {"floor": "ceil", "setdefault": "get", "nanmean": "nansum"}
SWAPPED |= {there: here for here, there in SWAPPED.items() if here != "setdefault"}
DROPPED = {
    "abs",
    "clamp",
    "clamp_",
    "clip",
    "cumsum",
    "exp",
    "flip",
    "log",
    "neg",
    "reversed",
    "softmax",
    "sorted",
    "sqrt",
}
DROPPED |= {"weight", "gated_by"}  # of a reward
DROPPED |= {"sigmoid", "logsigmoid", "log1p", "expm1", "round", "square"}
KEPT_KEYWORDS = {"strict", "dtype", "device", "generator", "cls", "weights_only"}  # how it is computed, not what
NOT_SWAPPED = {"isinstance", "issubclass", "getattr", "setattr", "hasattr", "cast", "zip", "partial"}
NOT_SWAPPED |= {"min", "max", "minimum", "maximum"}  # symmetric
REPORTS = {"log", "warn", "_log"}  # of a `play`, and methods that do nothing but call those
REPORTED = ("exams", "metrics", "detail")  # what is assigned to is only shown
UNTOLD = {"__str__", "__repr__", "name", "meant", "_log"}  # methods that only say what a part is, or what it did
OTHER = "__another_index__"
LONG = 60  # characters of a name on either side of its arrow
TURNED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
SIGNS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.BitAnd: ast.BitOr(),
    ast.BitOr: ast.BitAnd(),
}


Put = Callable[[Any], None]


@dataclass(frozen=True)
class Target:
    """A function as it runs, and its syntax."""

    name: str  # "class.method" or "function"
    file: Path
    function: FunctionType
    node: ast.FunctionDef | ast.AsyncFunctionDef
    holder: str  # the class it stands in, or nothing
    flags: int


@dataclass(frozen=True)
class Mutant:
    """A function with one change: what it is called in lists of equivalent ones, where it is, and the code to run instead,
    which is compiled when it is asked for: `make test` runs two of a hundred."""

    name: str
    kind: str
    where: str
    target: Target
    old: ast.AST
    new: ast.AST
    put: Put  # another node in the place of `old`

    @functools.cached_property
    def code(self) -> CodeType:
        self.put(ast.fix_missing_locations(ast.copy_location(self.new, self.old)))
        try:
            return compiled(self.target)
        finally:
            self.put(self.old)

    def __str__(self) -> str:
        return f"{self.name}  [{self.kind}, {self.where}]"


# --- which functions ----------------------------------------------------------------------------------------------


def targets_of(thing: Any) -> list[Target]:
    """The functions of a module, a class or a function itself, as written in its file; what only describes is left out."""
    thing = getattr(thing, "function", thing)  # of a recipe's entry
    module: Any = thing if isinstance(thing, ModuleType) else inspect.getmodule(_bare(thing) or thing)
    path, tree, flags = _syntax(module)
    listed = []
    for node in tree.body:
        here = vars(module).get(getattr(node, "name", ""))
        here = getattr(here, "function", here) if not isinstance(here, type) else here
        is_wanted = thing is module or here is thing
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for each in inside:
            if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) or each.name in UNTOLD:
                continue
            is_method = isinstance(node, ast.ClassDef)
            found = _bare(vars(here).get(each.name)) if is_method and isinstance(here, type) else _bare(here)
            if found is not None and (is_wanted or found is _bare(thing)):
                name = f"{node.name}.{each.name}" if is_method else each.name
                listed.append(Target(name, path, found, each, node.name if is_method else "", flags))
    return listed


@functools.cache
def _syntax(module: ModuleType) -> tuple[Path, ast.Module, int]:
    path = Path(inspect.getfile(module))
    import __future__

    flags = (
        __future__.annotations.compiler_flag if getattr(module, "annotations", None) is __future__.annotations else 0
    )
    return path, ast.parse(path.read_text(encoding="utf-8")), flags


def _bare(thing: Any) -> FunctionType | None:
    """The function below a property, a static method, a cache or a decorator that says what it wraps."""
    for inner in ("fget", "func", "__func__", "__wrapped__"):
        while (
            not isinstance(thing, type)
            and getattr(thing, inner, None) is not None
            and not isinstance(thing, ModuleType)
        ):
            thing = getattr(thing, inner)
    return thing if isinstance(thing, FunctionType) else None


# --- what is changed ----------------------------------------------------------------------------------------------


def mutants_of(target: Target) -> list[Mutant]:
    """Every change of the function, each with a name of its own: what stood there, and what stands there now."""
    made, seen = [], dict[str, int]()
    place = target.file.relative_to(ROOT) if target.file.is_relative_to(ROOT) else target.file.name
    closes_over = len(target.function.__code__.co_freevars)
    for old, kind, new, put in _changes(target.node):
        if ast.unparse(old) == ast.unparse(new):
            continue
        name = f"{target.name}: {getattr(new, 'said', '') or f'{_short(old)} -> {_short(new)}'}"
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            name = f"{name} ({seen[name]})"
        line = getattr(old, "lineno", 0) or getattr(getattr(old, "target", None), "lineno", 0)  # of a comprehension
        mutant = Mutant(name, kind, f"{place}:{line}", target, old, new, put)
        if not closes_over or len(mutant.code.co_freevars) == closes_over:  # no change reads more names of around it
            made.append(mutant)
    return made


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= LONG else f"{text[: LONG - 3]}..."


def compiled(target: Target) -> CodeType:
    """The code of the function as its syntax stands now; within its class, for `super()` is of that."""
    bare = copy.copy(target.node)
    bare.decorator_list = []
    body: list[ast.stmt] = [bare]
    if target.holder:
        body = [
            ast.ClassDef(target.holder, bases=[], keywords=[], body=body, decorator_list=[], lineno=1, col_offset=0)
        ]
    code = compile(ast.Module(body, []), str(target.file), "exec", flags=target.flags, dont_inherit=True)
    return next(each for each in _nested(code) if each.co_name == bare.name)


def _nested(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _nested(const)


def _changes(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[ast.AST, str, ast.AST, Put]]:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    for_reports = _made_for_reports(function)
    for statement in body:
        put = functools.partial(_put_in_list, function.body, function.body.index(statement))
        yield from (change for change in _below(statement, put) if change[0] not in for_reports)


def _made_for_reports(function: ast.AST) -> set[ast.AST]:
    """What is worked out for reports alone: assignments to names that nothing but reports reads, and all that is in them."""
    reports = [node for node in ast.walk(function) if _only_reports(node)]
    reports += [
        node.value.elts[1]  # what a loss notes
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2
        if isinstance(node.value.elts[1], ast.Dict | ast.DictComp)
    ]
    within = {each for node in reports for each in ast.walk(node)}
    reads: dict[str, list[ast.AST]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            reads.setdefault(node.id, []).append(node)
    while True:
        size = len(within)
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and node not in within:
                names = [
                    each for aim in node.targets for each in ast.walk(aim) if not isinstance(each, ast.expr_context)
                ]
                plain = [each.id for each in names if isinstance(each, ast.Name)]
                only_names = len(plain) + sum(isinstance(each, ast.Tuple) for each in names) == len(names)
                if only_names and all(set(reads.get(name, ())) <= within for name in plain):
                    within.update(ast.walk(node))
        if len(within) == size:
            return within


def _put_in_list(rows: list[Any], at: int, new: Any) -> None:
    rows[at] = new


def _below(node: ast.AST, put: Put) -> Iterator[tuple[ast.AST, str, ast.AST, Put]]:
    """All changes of a node and of what is below it; `put` writes another in its place."""
    if _only_reports(node):
        return
    for kind, new in itertools.chain(_statement(node), _expression(node)):
        yield node, kind, new, put
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "args") and isinstance(
            node, ast.AnnAssign | ast.FunctionDef
        ):
            continue
        if (
            field == "test"
            and isinstance(value, ast.Name | ast.Attribute | ast.Call)
            and not isinstance(node, ast.While)
        ):
            yield value, "condition negated", ast.UnaryOp(ast.Not(), value), functools.partial(setattr, node, field)
        if isinstance(value, ast.AST):
            if not _is_left(node, field, value):
                yield from _below(value, functools.partial(setattr, node, field))
        elif isinstance(value, list):
            for at, each in enumerate(value):
                if isinstance(each, ast.AST):
                    yield from _below(each, functools.partial(_put_in_list, value, at))


def _is_left(node: ast.AST, field: str, value: ast.AST) -> bool:
    """An index is shuffled as a whole; a sign before a number is changed with it."""
    return (isinstance(node, ast.Subscript) and field == "slice" and isinstance(value, ast.Constant)) or (
        isinstance(node, ast.UnaryOp) and isinstance(value, ast.Constant)
    )


def _only_reports(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Global):
        return True
    if isinstance(node, ast.keyword) and node.arg in KEPT_KEYWORDS:
        return True
    if isinstance(node, ast.If) and not node.orelse and all(map(_only_reports, node.body)):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        return isinstance(called, ast.Attribute) and called.attr in REPORTS
    if isinstance(node, ast.Assign | ast.AugAssign):
        aims = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(any(getattr(n, "attr", getattr(n, "id", "")) in REPORTED for n in ast.walk(aim)) for aim in aims)
    return False


def _statement(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.Assign) and all(isinstance(t, ast.Attribute | ast.Subscript) for t in node.targets):
        yield "statement left out", ast.Pass()
    if isinstance(node, ast.AugAssign):
        yield "statement left out", ast.Pass()
        if type(node.op) in SIGNS:
            yield "sign flipped", ast.AugAssign(node.target, SIGNS[type(node.op)], node.value)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        yield "statement left out", ast.Pass()
    if isinstance(node, ast.Return) and isinstance(node.value, ast.BinOp | ast.Call) and _is_numeric(node.value):
        yield "sign flipped", ast.Return(ast.UnaryOp(ast.USub(), node.value))
    if isinstance(node, ast.comprehension) and node.ifs:
        new_comprehension = copy.copy(node)
        new_comprehension.ifs = []
        yield "condition left out", new_comprehension


def _is_numeric(value: ast.expr) -> bool:
    """Arithmetic that has no sign of its own to flip, or a call of torch or math."""
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ast.Mult | ast.Div | ast.Pow) and not isinstance(
            value.left, ast.List | ast.Constant
        )
    func = value.func if isinstance(value, ast.Call) else None
    return (
        isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id in ("torch", "math", "F")
    )


def _expression(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.BinOp) and not any(_is_text(side) for side in (node.left, node.right)):
        yield from _arithmetic(node)
    elif isinstance(node, ast.UnaryOp):
        kind = "sign flipped" if isinstance(node.op, ast.USub) else "condition negated"
        yield kind, node.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for number, op in enumerate(TURNED.get(type(node.ops[0]), ())):
            kind = "bound moved" if number else "comparison turned"
            yield kind, ast.Compare(node.left, [op()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "and for or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_index(node.slice):
        index = _as_index(node.slice)
        shuffled = ast.Call(ast.Name(OTHER, ast.Load()), [node.value, index], [])
        shuffled.said = f"{_short(node)} shuffled"  # type: ignore[attr-defined]
        yield "index shuffled", shuffled
    elif isinstance(node, ast.Call):
        yield from _call(node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "condition negated", ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "number raised", ast.Constant(node.value + 1)


def _is_index(index: ast.expr) -> bool:
    """Not a name in a table, which has no neighbours, nor one that only adds axes."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    names = [isinstance(part, ast.Constant) and not isinstance(part.value, int) for part in parts]
    whole = [isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step) for part in parts]
    return not _is_text(index) and not all(a or b for a, b in zip(names, whole, strict=True))


def _as_index(index: ast.expr) -> ast.expr:
    """An index as an argument: a slice is none by itself."""
    if isinstance(index, ast.Slice):
        ends = [end or ast.Constant(None) for end in (index.lower, index.upper, index.step)]
        return ast.Call(ast.Name("slice", ast.Load()), ends, [])
    if isinstance(index, ast.Tuple):
        return ast.Tuple([_as_index(each) for each in index.elts], ast.Load())
    return index


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _arithmetic(node: ast.BinOp) -> Iterator[tuple[str, ast.AST]]:
    if type(node.op) in SIGNS:
        yield "sign flipped", ast.BinOp(node.left, SIGNS[type(node.op)], node.right)
    if isinstance(node.op, ast.Sub):
        yield "baseline left out", node.left
    elif isinstance(node.op, ast.Add | ast.BitAnd | ast.BitOr):
        yield "term left out", node.left
        yield "term left out", node.right
    elif isinstance(node.op, ast.Mult):
        yield "weight left out", node.left
        yield "weight left out", node.right
    elif isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod | ast.Pow):
        yield "weight left out", node.left


def _call(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    if name in SWAPPED:
        other = copy.copy(func)
        setattr(other, "attr" if isinstance(func, ast.Attribute) else "id", SWAPPED[name])
        yield f"{SWAPPED[name]} for {name}", ast.Call(other, node.args, node.keywords)
    if name in DROPPED:
        root = func.value if isinstance(func, ast.Attribute) else None
        of_library = isinstance(root, ast.Name) and root.id in ("torch", "math", "np", "F", "functional")
        kept = root if root is not None and not of_library else (node.args[0] if node.args else None)
        if kept is not None:
            yield f"{name} left out", kept
    plain = [each for each in node.args if not isinstance(each, ast.Starred)]
    if len(plain) == len(node.args) >= 2 and name not in NOT_SWAPPED:
        *first, one, two = node.args
        swapped = ast.Call(func, [*first, two, one], node.keywords)
        swapped.said = f"{_short(func)}(...) with {_short(two)} before {_short(one)}"  # type: ignore[attr-defined]
        yield "arguments swapped", swapped
    for at, word in enumerate(node.keywords):
        if word.arg and word.arg not in KEPT_KEYWORDS:
            without = ast.Call(func, node.args, node.keywords[:at] + node.keywords[at + 1 :])
            without.said = f"{_short(func)}(...) without {word.arg}="  # type: ignore[attr-defined]
            yield "keyword left out", without


# --- running one --------------------------------------------------------------------------------------------------


def another(container: Any, index: Any) -> Any:
    """What stands at a neighbouring place: rows of a tensor turned by one, the key before, a slice that begins one later. Where
    there is no other place it raises, as an index out of range does."""
    if isinstance(index, tuple) and isinstance(container, torch.Tensor):
        return torch.roll(container[index], 1, 0) if container[index].dim() else container[index[::-1]]
    if isinstance(index, torch.Tensor | slice) and isinstance(container, torch.Tensor):
        return torch.roll(container[index], 1, 0)
    if isinstance(index, slice) and (index.step or 1) < 0:
        return container[:]
    if isinstance(index, slice):
        return container[slice((index.start or 0) + 1, index.stop, index.step)]
    if isinstance(container, Mapping):
        keys = list(container)
        at = keys.index(index) if index in keys else len(keys)
        return container[keys[at - 1 if at else 1]]
    if isinstance(index, int) and hasattr(container, "__len__"):
        at = index if index >= 0 else len(container) + index
        return container[at - 1 if at else 1]
    raise IndexError(index)


@contextmanager
def put_in(mutant: Mutant) -> Iterator[None]:
    """Run the mutant's code in place of the function's."""
    function = mutant.target.function
    plain = function.__code__
    setattr(builtins, OTHER, another)
    function.__code__ = mutant.code
    try:
        yield
    finally:
        function.__code__ = plain
        delattr(builtins, OTHER)
