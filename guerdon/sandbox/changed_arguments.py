"""What a program changes in its arguments, and when its tests see that.

In Python `xs.clear(); return []` passes `assert f(xs) == sorted(xs)`: the tests compare with what the program left. Here an
argument that a call changed stays as it was until the statement with the call is over. Calls see it changed at once, and so do
operands of `and` and `or` that call nothing, and later elements of a tuple or list: `assert f(xs) is None and xs == [1, 2]`
and `assert (pop(xs), xs) == (2, [1])` work as they are written.
Where the result is kept (`got = f(xs)`), the change is dropped, unless the tests show that they are about changes: a call
whose result nobody takes, an argument that two statements hand over, or one that is compared with nothing of the program's.
Runs in the tests' process. Leaves out: changes of what stands inside an argument by another name.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Iterator
from typing import Any

SETTLE, BEGIN = "__settle__", "__begin__"  # names in the tests that no program sees
_BASE = "__base__"


class ChangedArguments:
    """Changes that are not yet to be seen: the argument, and the value it is to have."""

    def __init__(self) -> None:
        self.held: list[tuple[Any, Any]] = []

    def current(self, argument: Any) -> Any:
        """What a call is given for an argument."""
        return next((value for changed, value in reversed(self.held) if changed is argument), argument)

    def hold(self, argument: Any, value: Any) -> None:
        """A call has made this of its argument."""
        if type(argument) is not type(value):
            raise TypeError("another type")
        self.held.append((argument, value))

    def begin(self) -> int:
        """Where the changes of a function's own statements begin: those before are its caller's to show."""
        return len(self.held)

    def settle(self, base: int = 0, drop: bool = False) -> None:
        """A statement is over: the tests see what its calls have changed, or never do."""
        for argument, value in [] if drop else self.held[base:]:
            if isinstance(argument, list):
                argument[:] = value
            else:
                argument.clear()
                argument.update(value)
        del self.held[base:]


def with_statements_settled(tree: ast.Module, functions: set[str]) -> ast.Module:
    """The tests, with a call of `SETTLE` behind every statement. `functions` are the program's."""
    drops = not _is_about_changes(tree, _callers(tree, functions))
    settled = _Settled(drops)
    tree.body = settled.block(tree.body, in_function=False)
    return ast.fix_missing_locations(tree)


class _Settled(ast.NodeTransformer):
    def __init__(self, drops: bool) -> None:
        self.drops = drops
        self.in_function = False

    def block(self, body: list[ast.stmt], *, in_function: bool, begins: bool = False) -> list[ast.stmt]:
        """Statements in a row. `begins` is where something was evaluated before the first of them."""
        before, self.in_function = self.in_function, in_function
        made: list[ast.stmt] = [ast.Expr(self._settle())] if begins else []
        for statement in body:
            made.append(self.visit(statement))
            if not isinstance(
                statement, ast.Return | ast.Raise | ast.Break | ast.Continue | ast.ImportFrom | ast.Import
            ):
                kept = isinstance(statement, ast.Assign | ast.AnnAssign)
                made.append(ast.Expr(self._settle(drop=kept and self.drops)))
        self.in_function = before
        for statement in made:
            ast.copy_location(statement, body[0]) if not hasattr(statement, "lineno") else None
        return made

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            begin = ast.Assign([ast.Name(_BASE, ast.Store())], ast.Call(ast.Name(BEGIN, ast.Load()), [], []))
            at = 1 if ast.get_docstring(node, clean=False) is not None else 0
            node.body = [*node.body[:at], ast.copy_location(begin, node), *self.block(node.body[at:], in_function=True)]
            return node
        if isinstance(node, ast.ClassDef):
            node.body = [super(_Settled, self).visit(each) for each in node.body]
            return node
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                begins = name != "finalbody" and not (isinstance(node, ast.Try) and name == "body")
                setattr(node, name, self.block(value, in_function=self.in_function, begins=begins))
            elif isinstance(value, list):
                setattr(node, name, [self.visit(each) if isinstance(each, ast.AST) else each for each in value])
            elif isinstance(value, ast.AST):
                setattr(node, name, self.visit(value))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        first, *rest = (self.visit(each) for each in node.values)
        node.values = [first, *(each if _calls(each) else self._after_settling(each) for each in rest)]
        return node

    def _elements(self, node: ast.Tuple | ast.List) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and node.elts:
            first, *rest = node.elts
            node.elts = [first, *(self._after_settling(each) if isinstance(each, ast.Name) else each for each in rest)]
        return node

    visit_Tuple = visit_List = _elements

    def _after_settling(self, node: ast.expr) -> ast.expr:
        pair = ast.Tuple([self._settle(), node], ast.Load())
        return ast.copy_location(ast.Subscript(pair, ast.Constant(1), ast.Load()), node)

    def _settle(self, drop: bool = False) -> ast.expr:
        base: ast.expr = ast.Name(_BASE, ast.Load()) if self.in_function else ast.Constant(0)
        return ast.Call(ast.Name(SETTLE, ast.Load()), [base, ast.Constant(drop)], [])


def _calls(node: ast.AST) -> bool:
    """Whether something is called that is not Python's own."""
    return any(
        isinstance(each, ast.Call) and not (isinstance(each.func, ast.Name) and hasattr(builtins, each.func.id))
        for each in ast.walk(node)
    )


def _callers(tree: ast.Module, functions: set[str]) -> set[str]:
    """Names that may stand for a function of the program's: its own, and what it is called where it is handed over."""
    handed = {arg.arg for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for arg in node.args.args}
    return functions | handed


def _is_about_changes(tree: ast.Module, functions: set[str]) -> bool:
    """Whether the tests show that they are about what calls make of their arguments."""
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body")]
    handed: Counter[str] = Counter()
    results: set[str] = set()
    for statement in statements:
        calls = [*_calls_of(statement, functions)]
        if isinstance(statement, ast.Expr) and statement.value in calls:
            return True
        handed.update({arg.id for call in calls for arg in call.args if isinstance(arg, ast.Name)})
        if calls and isinstance(statement, ast.Assign | ast.AnnAssign):
            results |= {name.id for name in ast.walk(statement) if isinstance(name, ast.Name) and name.id not in handed}
    if any(count > 1 for count in handed.values()):
        return True
    of_program = results | functions
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [_names(side) for side in (node.left, *node.comparators)]
            for number, side in enumerate(sides):
                others = set().union(*sides[:number], *sides[number + 1 :])
                if side & set(handed) and not others & of_program:
                    return True
        elif isinstance(node, ast.Assert) and not isinstance(node.test, ast.Compare):
            names = _names(node.test)
            if names & set(handed) and not names & of_program:
                return True
    return False


def _calls_of(node: ast.AST, functions: set[str]) -> Iterator[ast.Call]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id in functions:
            yield each


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
