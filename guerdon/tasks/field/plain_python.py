"""Small Python functions, called without running them as Python: an evaluator of syntax trees over plain values.

It knows what functions over numbers, text and lists are written with, and nothing that could reach outside: no attribute but
the methods in `plain_builtins.py`, no name but those there and the program's own. Nothing of the text is compiled or executed.
Whatever else a text holds is `Unsupported`. It always ends: evaluated nodes are counted (`Endless`), and sizes are bounded.
Leaves out: what builtins and methods do (`plain_builtins.py`), and how a program is judged (`code/function_checks.py`).
"""

from __future__ import annotations

import ast
import builtins
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from guerdon.tasks.field.plain_builtins import (
    BUILTINS,
    OF_MATH,
    ONE_BY_ONE,
    Endless,
    Unsupported,
    check_sizes,
    is_plain_answer,
    is_plain_constant,
    known_order,
)
from guerdon.tasks.field.plain_expressions import BINARY, MOST_NODES, Expressions, Scope

__all__ = ["Endless", "Unsupported", "called_plainly", "calls_plainly"]
LONGEST_TEXT = 8_000
DEEPEST = 40  # calls inside of calls
FAULTS = (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError, StopIteration, RuntimeError)
IN_PLACE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.iadd,
    ast.Mult: operator.imul,
    ast.Sub: operator.isub,
    ast.BitAnd: operator.iand,
    ast.BitOr: operator.ior,
    ast.BitXor: operator.ixor,
}
LEAVES = {
    *(
        op
        for base in (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
        for op in base.__subclasses__()
    )
} - {ast.MatMult}
NAMED = {ast.Name: "id", ast.arg: "arg", ast.alias: "name", ast.Attribute: "attr"}
KNOWN = {
    ast.Expr, ast.Pass, ast.Return, ast.Break, ast.Continue, ast.Assign, ast.AugAssign, ast.If, ast.While, ast.For,
    ast.ImportFrom, ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call,
    ast.Subscript, ast.Slice, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.Lambda, ast.Attribute, ast.Starred, ast.comprehension, ast.keyword, ast.arguments, ast.arg, ast.alias,
}  # fmt: skip


def called_plainly(program: str, entry: str, calls: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """What a program's function gives for each list of arguments, in a list of one; an empty list where it raises or gives
    something that is not plain. `Unsupported` where the program is more than this evaluator knows, `Endless` where a call
    does not end.

    >>> from guerdon.tasks.field.plain_python import called_plainly
    >>> called_plainly("def f(xs): return max(xs) - min(xs)", "f", [[[3, 1, 2]], [[]]])
    [[2], []]
    """
    return list(calls_plainly(program, entry, calls))


def calls_plainly(program: str, entry: str, calls: Sequence[Sequence[Any]]) -> Iterator[list[Any]]:
    """The same, call by call: a caller that has enough skips the others."""
    functions = _functions(program)
    if functions is None or entry not in functions:
        yield from ([] for _ in calls)
        return
    run = _Run(functions)
    for arguments in calls:
        run.left, run.depth = MOST_NODES, 0
        try:
            value = run.call(functions[entry], [[*given] if type(given) is list else given for given in arguments])
            yield [value] if is_plain_answer(value) else []
        except FAULTS as error:
            if isinstance(error, RecursionError):
                raise Unsupported("nested too deeply") from None
            yield []


def _functions(program: str) -> dict[str, _Function] | None:
    """The functions that a program defines; None where it is not Python, or fails before it is called."""
    if len(program) > LONGEST_TEXT:
        raise Unsupported("a long program")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(program)
    except (SyntaxError, ValueError):
        return None
    except (RecursionError, MemoryError):
        raise Unsupported("nested too deeply") from None
    functions: dict[str, _Function] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = _Function(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Name):
            if node.value.id not in functions and not hasattr(builtins, node.value.id):
                return None
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise Unsupported(f"{type(node).__name__} outside of a function")
    return functions


class _Function:
    """A function of the program's: its arguments, its body, and the names that are its own. All that this evaluator does not
    know is refused here, before anything is evaluated."""

    def __init__(self, node: ast.FunctionDef) -> None:
        given = node.args
        if node.decorator_list or node.returns or given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
            raise Unsupported("a function with more than plain arguments")
        if (
            any(each.annotation for each in (*given.posonlyargs, *given.args))
            or node.name in BUILTINS
            or node.name in ONE_BY_ONE
        ):
            raise Unsupported("annotations, or the name of a builtin")
        self.arguments = [each.arg for each in (*given.posonlyargs, *given.args)]
        self.body = node.body
        self.own = set(self.arguments)
        _refuse_strange(node.body, in_loop=False)
        self.own |= set(_assigned(node.body))
        if len(set(self.arguments)) < len(self.arguments) or "__debug__" in self.own:
            raise Unsupported("arguments of one name")


def _refuse_strange(body: list[ast.stmt], in_loop: bool) -> None:
    """What the parser lets through and the compiler does not is left to the compiler."""
    for statement in body:
        if isinstance(statement, ast.Break | ast.Continue) and not in_loop:
            raise Unsupported("break outside of a loop")
        for name in ("body", "orelse"):
            inner = isinstance(statement, ast.For | ast.While) and name == "body"
            _refuse_strange(getattr(statement, name, []), in_loop or inner)


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    """The names that statements bind, those of comprehensions and lambdas left out: these are their own. Whatever is not known
    is refused on the way."""
    waiting: list[tuple[ast.AST, bool]] = [(statement, True) for statement in body]
    while waiting:
        node, is_outside = waiting.pop()
        kind = type(node)
        if kind not in KNOWN:
            raise Unsupported(kind.__name__)
        if kind in NAMED:
            name = getattr(node, NAMED[kind])
            if "__" in name:
                raise Unsupported("a name with two underscores")
            if is_outside and (kind is ast.alias or (kind is ast.Name and type(node.ctx) is ast.Store)):  # type: ignore[attr-defined]
                yield name
        if kind is ast.Constant and not is_plain_constant(node.value):  # type: ignore[attr-defined]
            raise Unsupported("a constant")
        if kind is ast.comprehension and type(node.target) not in (ast.Name, ast.Tuple, ast.List):  # type: ignore[attr-defined]
            raise Unsupported("a strange target")
        inside = is_outside and kind is not ast.comprehension
        for field in node._fields:
            below = getattr(node, field, None)
            if isinstance(below, ast.AST):
                if type(below) not in LEAVES:
                    waiting.append((below, inside if field == "target" else is_outside))
            elif type(below) is list:
                waiting.extend(
                    (each, is_outside) for each in below if isinstance(each, ast.AST) and type(each) not in LEAVES
                )


class _Return(Exception):
    """Carries what a function returns out of its loops."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Run(Expressions):
    """One call of a function: its statements, one after the other."""

    depth = 0

    def call(self, function: _Function, arguments: Sequence[Any]) -> Any:
        if len(arguments) != len(function.arguments):
            raise TypeError("another number of arguments")
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unsupported("calls inside of calls")
        scope = Scope(function.own)
        scope.names.update(zip(function.arguments, arguments, strict=True))
        try:
            self.body(function.body, scope)
        except _Return as returned:
            return returned.value
        finally:
            self.depth -= 1
        return None

    def body(self, statements: list[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            self.tick()
            getattr(self, "do_" + type(statement).__name__)(statement, scope)

    # --- statements

    def do_Expr(self, node: ast.Expr, scope: Scope) -> None:
        self.value(node.value, scope)

    def do_Pass(self, node: ast.Pass, scope: Scope) -> None:
        pass

    def do_ImportFrom(self, node: ast.ImportFrom, scope: Scope) -> None:
        for each in node.names:
            if node.module != "math" or node.level or each.asname or each.name not in OF_MATH:
                raise Unsupported("an import")
            scope.names[each.name] = OF_MATH[each.name]

    def do_Return(self, node: ast.Return, scope: Scope) -> None:
        raise _Return(None if node.value is None else self.value(node.value, scope))

    def do_Break(self, node: ast.Break, scope: Scope) -> None:
        raise _Break

    def do_Continue(self, node: ast.Continue, scope: Scope) -> None:
        raise _Continue

    def do_Assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.value(node.value, scope)
        for target in node.targets:
            self.bind(target, value, scope)

    def do_AugAssign(self, node: ast.AugAssign, scope: Scope) -> None:
        target = node.target
        if isinstance(target, ast.Subscript):
            held, key = self.value(target.value, scope), self.value(target.slice, scope)
            before = self.item(held, key)
            self.put(held, key, self.in_place(node.op, before, self.value(node.value, scope)))
        else:
            assert isinstance(target, ast.Name)
            before = self.name(target.id, scope)
            scope.names[target.id] = self.in_place(node.op, before, self.value(node.value, scope))

    def in_place(self, op: ast.operator, before: Any, value: Any) -> Any:
        check_sizes(type(op), before, value)
        return (IN_PLACE.get(type(op)) or BINARY[type(op)])(before, value)

    def do_If(self, node: ast.If, scope: Scope) -> None:
        self.body(node.body if self.value(node.test, scope) else node.orelse, scope)

    def do_While(self, node: ast.While, scope: Scope) -> None:
        while self.value(node.test, scope):
            self.tick()
            try:
                self.body(node.body, scope)
            except _Break:
                return
            except _Continue:
                continue
        self.body(node.orelse, scope)

    def do_For(self, node: ast.For, scope: Scope) -> None:
        for value in known_order(self.value(node.iter, scope)):
            self.tick()
            self.bind(node.target, value, scope)
            try:
                self.body(node.body, scope)
            except _Break:
                return
            except _Continue:
                continue
        self.body(node.orelse, scope)
