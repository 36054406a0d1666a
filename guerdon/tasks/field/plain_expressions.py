"""Evaluates the expressions of plain functions, a syntax node at a time, counting each.

Leaves out: statements (`plain_python.py`), what builtins and methods do (`plain_builtins.py`).
"""

from __future__ import annotations

import abc
import ast
import builtins
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from guerdon.tasks.field.plain_builtins import (
    BUILTINS,
    HOLDERS,
    LONGEST,
    ONE_BY_ONE,
    PLAIN,
    Endless,
    Once,
    Unsupported,
    check_sizes,
    counted,
    known_order,
    method_of,
    weigh,
)

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
GROWING = (ast.Mult, ast.Pow, ast.LShift)
IDENTITY = (ast.Is, ast.IsNot)
MOST_NODES = 200_000  # in one call: a right function of this kind takes a few hundred
UNWEIGHED = {"len", "range", "abs", "bool"}  # these do not go through what they are given


def bound_names(target: ast.expr) -> list[str]:
    """The names that a target binds."""
    if isinstance(target, ast.Name):
        return [target.id]
    return [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]


class Scope:
    """The names of a function, or of a comprehension or a lambda in the middle of one."""

    __slots__ = ("above", "names", "own")

    def __init__(self, own: set[str], above: Scope | None = None) -> None:
        self.own, self.above = own, above
        self.names: dict[str, Any] = {}


class Expressions(abc.ABC):
    """What one call of a function may still do, and the values of its expressions."""

    def __init__(self, functions: dict[str, Any]) -> None:
        self.functions, self.left = functions, MOST_NODES
        self.by_node: dict[type[ast.expr], Callable[[Any, Scope], Any]] = {
            ast.BinOp: self.binary, ast.UnaryOp: self.unary,
            ast.BoolOp: self.boolean, ast.Compare: self.compared, ast.IfExp: self.chosen, ast.Call: self.called,
            ast.Subscript: self.subscript, ast.Slice: self.slice, ast.List: self.listed, ast.Tuple: self.tupled,
            ast.Set: self.set_of, ast.Dict: self.dict_of, ast.ListComp: self.list_made, ast.SetComp: self.set_made,
            ast.DictComp: self.dict_made, ast.GeneratorExp: self.generated, ast.Lambda: self.function,
            ast.Attribute: self.unknown, ast.Starred: self.unknown,
        }  # fmt: skip

    @abc.abstractmethod
    def call(self, function: Any, arguments: Sequence[Any]) -> Any:
        """Call a function of the program's."""

    def tick(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Endless

    def value(self, node: ast.expr, scope: Scope) -> Any:
        self.left -= 1
        if self.left < 0:
            raise Endless
        kind = type(node)
        if kind is ast.Name:
            name = node.id  # type: ignore[attr-defined]
            return scope.names[name] if name in scope.names else self.name(name, scope)
        if kind is ast.Constant:
            return node.value  # type: ignore[attr-defined]
        return self.by_node[kind](node, scope)

    def unknown(self, node: ast.expr, scope: Scope) -> Any:
        raise Unsupported(type(node).__name__)

    # --- names

    def name(self, name: str, scope: Scope) -> Any:
        where: Scope | None = scope
        while where is not None:
            if name in where.own:
                if name in where.names:
                    return where.names[name]
                raise NameError(name)  # its own, and not bound yet
            where = where.above
        if name in self.functions:
            return self._as_callable(self.functions[name])
        if name in BUILTINS:
            return BUILTINS[name]
        if name in ONE_BY_ONE or hasattr(builtins, name):
            raise Unsupported(f"the name {name}")
        raise NameError(name)

    def _as_callable(self, function: Any) -> Callable[..., Any]:
        return lambda *arguments: self.call(function, arguments)

    def bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        """Give a value to a name, a place in a list, or several of these."""
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            if type(value) is range and len(value) > LONGEST:
                raise ValueError("another number of values")
            values = list(known_order(value))
            if len(values) != len(target.elts):
                raise ValueError("another number of values")
            for each, one in zip(target.elts, values, strict=True):
                self.bind(each, one, scope)
        elif isinstance(target, ast.Subscript):
            self.put(self.value(target.value, scope), self.value(target.slice, scope), value)
        else:
            raise Unsupported("a strange target")

    def put(self, held: Any, key: Any, value: Any) -> None:
        if type(held) not in (list, dict):
            if type(held) in (str, tuple, int, set, range, float, bool, type(None)):
                raise TypeError("items can not be put there")
            raise Unsupported("items of something else")
        if type(key) is slice and (type(value) is not list or len(value) + len(held) > LONGEST):
            raise Unsupported("a slice that is put")
        held[key] = value

    # --- values

    def binary(self, node: ast.BinOp, scope: Scope) -> Any:
        a, b = self.value(node.left, scope), self.value(node.right, scope)
        op = type(node.op)
        if type(a) is not int or type(b) is not int or op in GROWING:
            check_sizes(op, a, b)
        return BINARY[op](a, b)

    def unary(self, node: ast.UnaryOp, scope: Scope) -> Any:
        return UNARY[type(node.op)](self.value(node.operand, scope))

    def boolean(self, node: ast.BoolOp, scope: Scope) -> Any:
        stops = isinstance(node.op, ast.Or)
        value: Any = None
        for each in node.values:
            value = self.value(each, scope)
            if bool(value) is stops:
                break
        return value

    def compared(self, node: ast.Compare, scope: Scope) -> Any:
        a = self.value(node.left, scope)
        if len(node.ops) == 1 and type(a) is int:  # nearly always
            b = self.value(node.comparators[0], scope)
            if type(b) is int and type(node.ops[0]) not in IDENTITY:
                return COMPARED[type(node.ops[0])](a, b)
            return self.one_compared(node.ops[0], a, b, node.comparators[0])
        truth: Any = True
        for op, right in zip(node.ops, node.comparators, strict=True):
            b = self.value(right, scope)
            truth = self.one_compared(op, a, b, right)
            if not truth:
                break
            a = b
        return truth

    def one_compared(self, op: ast.cmpop, a: Any, b: Any, right: ast.expr) -> Any:
        if type(op) in IDENTITY and not (isinstance(right, ast.Constant) and right.value is None):
            raise Unsupported("identity")
        for each in (a, b):
            if type(each) in HOLDERS:
                weigh(each)
            elif type(each) not in PLAIN or type(each) is Once:
                raise Unsupported("a comparison of what is not plain")
        return COMPARED[type(op)](a, b)

    def chosen(self, node: ast.IfExp, scope: Scope) -> Any:
        return self.value(node.body if self.value(node.test, scope) else node.orelse, scope)

    def subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        return self.item(self.value(node.value, scope), self.value(node.slice, scope))

    def item(self, held: Any, key: Any) -> Any:
        if type(held) not in (list, str, tuple, dict, range):
            if type(held) in (int, float, bool, type(None), set):
                raise TypeError("it has no items")
            raise Unsupported("items of something else")
        return held[key]

    def slice(self, node: ast.Slice, scope: Scope) -> Any:
        return slice(
            *[None if each is None else self.value(each, scope) for each in (node.lower, node.upper, node.step)]
        )

    # --- lists, and what is made of lists

    def listed(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> list[Any]:
        values: list[Any] = []
        for each in node.elts:
            if isinstance(each, ast.Starred):
                values.extend(counted(known_order(self.value(each.value, scope)), self.tick))
            else:
                values.append(self.value(each, scope))
        return values

    def tupled(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self.listed(node, scope))

    def set_of(self, node: ast.Set, scope: Scope) -> Any:
        return set(self.listed(node, scope))

    def dict_of(self, node: ast.Dict, scope: Scope) -> Any:
        if any(key is None for key in node.keys):
            raise Unsupported("a dict in a dict")
        return {
            self.value(k, scope): self.value(v, scope)
            for k, v in zip(node.keys, node.values, strict=True)
            if k is not None
        }

    def list_made(self, node: ast.ListComp, scope: Scope) -> Any:
        return [self.value(node.elt, inner) for inner in self.rounds(node.generators, scope)]

    def set_made(self, node: ast.SetComp, scope: Scope) -> Any:
        return {self.value(node.elt, inner) for inner in self.rounds(node.generators, scope)}

    def dict_made(self, node: ast.DictComp, scope: Scope) -> Any:
        inside = self.rounds(node.generators, scope)
        return {self.value(node.key, inner): self.value(node.value, inner) for inner in inside}

    def generated(self, node: ast.GeneratorExp, scope: Scope) -> Any:
        first = known_order(self.value(node.generators[0].iter, scope))  # at once, as Python does
        return Once(self.value(node.elt, inner) for inner in self.rounds(node.generators, scope, [first]))

    def rounds(self, parts: list[ast.comprehension], scope: Scope, first: list[Any] | None = None) -> Iterator[Scope]:
        """The scope of a comprehension, for each of its rounds."""
        own = {name for part in parts for name in bound_names(part.target)}
        inner = Scope(own, scope)
        begin = first[0] if first else known_order(self.value(parts[0].iter, scope))
        yield from self._nested(parts, 0, inner, begin)

    def _nested(self, parts: list[ast.comprehension], at: int, inner: Scope, values: Any) -> Iterator[Scope]:
        part = parts[at]
        for value in values:
            self.tick()
            self.bind(part.target, value, inner)
            for test in part.ifs:
                if not self.value(test, inner):
                    break
            else:
                if at + 1 == len(parts):
                    yield inner
                else:
                    yield from self._nested(parts, at + 1, inner, known_order(self.value(parts[at + 1].iter, inner)))

    # --- calls

    def function(self, node: ast.Lambda, scope: Scope) -> Any:
        given = node.args
        if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
            raise Unsupported("a lambda with more than plain arguments")
        names = [each.arg for each in (*given.posonlyargs, *given.args)]

        def act(*arguments: Any) -> Any:
            if len(arguments) != len(names):
                raise TypeError("another number of arguments")
            inner = Scope(set(names), scope)
            inner.names.update(zip(names, arguments, strict=True))
            return self.value(node.body, inner)

        return act

    def called(self, node: ast.Call, scope: Scope) -> Any:
        if any(keyword.arg is None for keyword in node.keywords):
            raise Unsupported("arguments in a dict")
        made = node.func
        if isinstance(made, ast.Attribute):
            if isinstance(made.value, ast.Name) and (made.value.id, made.attr) == ("dict", "fromkeys"):
                arguments, named = self.arguments(node, scope)
                if named or "dict" in scope.own:
                    raise Unsupported("arguments by name")
                return dict.fromkeys(known_order(arguments[0]), *arguments[1:])
            held = self.value(made.value, scope)
            arguments, named = self.arguments(node, scope)
            return method_of(held, made.attr, arguments, named)
        if isinstance(made, ast.Name) and made.id in ONE_BY_ONE and not self._is_bound(made.id, scope):
            arguments, named = self.arguments(node, scope)
            if named:
                raise Unsupported("arguments by name")
            return counted(ONE_BY_ONE[made.id](*arguments), self.tick)
        act = self.value(made, scope)
        arguments, named = self.arguments(
            node, scope, weighed=not (isinstance(made, ast.Name) and made.id in UNWEIGHED)
        )
        if type(act) in PLAIN:
            raise TypeError("it can not be called")
        if named and not (isinstance(made, ast.Name) and made.id in ("sorted", "max", "min")):
            raise Unsupported("arguments by name")
        return act(*arguments, **named)

    def _is_bound(self, name: str, scope: Scope | None) -> bool:
        while scope is not None:
            if name in scope.own:
                return True
            scope = scope.above
        return False

    def arguments(self, node: ast.Call, scope: Scope, weighed: bool = True) -> tuple[list[Any], dict[str, Any]]:
        values: list[Any] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                values.extend(counted(known_order(self.value(each.value, scope)), self.tick))
            elif isinstance(each, ast.Attribute):
                values.append(self._bound_method(each, scope))
            else:
                values.append(self.value(each, scope))
        named = {
            str(keyword.arg): self._bound_method(keyword.value, scope)
            if isinstance(keyword.value, ast.Attribute)
            else self.value(keyword.value, scope)
            for keyword in node.keywords
        }
        if weighed:
            for value in values:
                weigh(value)
        return values, named

    def _bound_method(self, node: ast.Attribute, scope: Scope) -> Callable[..., Any]:
        """A method that is handed on, as in `key=xs.count`."""
        held, tick = self.value(node.value, scope), self.tick
        if type(held) not in (list, str, dict):
            raise Unsupported("a method of something else")

        def act(*arguments: Any) -> Any:
            tick()
            return method_of(held, node.attr, list(arguments), {})

        return act
