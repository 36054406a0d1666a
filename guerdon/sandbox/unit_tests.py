"""Unit tests that a program cannot forge: they run in another process, and only that process says what came of them.

The names that tests use and the program defines are proxies there: a call goes to the program's process as plain data, and
plain data or the name of an exception comes back. So whatever the program prints, patches or returns, no object of its own
is ever compared.
Runs inside a box. Leaves out: tests that need a class of the program's, or hand it a function of their own; they are told so.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib
import json
import linecache
import os
import sys
import traceback
import types
from typing import Any, NoReturn

from guerdon.sandbox.changed_arguments import BEGIN, SETTLE, ChangedArguments, with_statements_settled
from guerdon.sandbox.plain_data import (
    NotPlain,
    OversizedData,
    plain_form,
    plain_value,
    read_frame,
    send_frame,
    to_json,
    write_all,
)

FILE = "tests.py"
CANDIDATE = "__candidate__"  # what `check` is called with
GONE = 3  # how the tests' process ends where the program's is gone: what became of that is told by others
_FUNCTION = "function"  # marks a function of the program's among arguments
_MUTABLE = (list, dict, set)


# --- in the program's process -----------------------------------------------------------------------------------------


def serve_tests(namespace: dict[str, Any], hear: int, say: int) -> None:
    """Answer calls until nobody asks any more."""
    names: dict[str, list[str]] = {"functions": [], "classes": [], "modules": []}
    for name, value in list(namespace.items()):
        if isinstance(name, str) and not (name.startswith("__") and name.endswith("__")):
            if isinstance(value, type):
                names["classes"].append(name)
            elif callable(value):
                names["functions"].append(name)
            elif isinstance(value, types.ModuleType) and value.__name__ == name:
                names["modules"].append(name)
    send_frame(say, to_json(names))
    while True:
        try:
            request = json.loads(read_frame(hear))
        except EOFError:
            return
        send_frame(say, _answered(namespace, request))


def _handed(namespace: dict[str, Any], form: Any) -> Any:
    """An argument of a call: plain data, or a function of the program's own."""
    return namespace[form[1]] if isinstance(form, list) and form[0] == _FUNCTION else plain_value(form)


def _answered(namespace: dict[str, Any], request: dict[str, Any]) -> bytes:
    try:
        given = [_handed(namespace, form) for form in request["args"]]
        named = {name: _handed(namespace, form) for name, form in request["kwargs"].items()}
        value = namespace[request["name"]](*given, **named)
        reply: dict[str, Any] = {"value": plain_form(value), "changed": {}}
        for number, argument in enumerate(given):
            if type(argument) in _MUTABLE and (form := plain_form(argument)) != request["args"][number]:
                reply["changed"][str(number)] = form
        answer = to_json(reply)
    except NotPlain as error:
        answer = to_json({"raised": ["TypeError"], "error": f"gave back what tests can not compare: {error}"})
    except BaseException as error:  # noqa: BLE001  the program's
        line = ""
        with contextlib.suppress(BaseException):
            line = str(error)[:1000]
        answer = json.dumps({"raised": [kind.__name__ for kind in type(error).__mro__], "error": line}).encode()
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
    return answer


# --- in the tests' process --------------------------------------------------------------------------------------------


class _CannotTest(BaseException):
    """The tests want what can not be had from another process."""


class _TooMuch(BaseException):
    """What the tests hand over after the program has answered is more than may pass: it may be made of what it answered."""


class _NothingToTest(BaseException):
    """The program has not what the tests are for."""


class _ProgramLeft(BaseException):
    """The program wanted to end in the middle of a call."""


class _Link:
    """The way to the program's process."""

    def __init__(self, hear: int, say: int) -> None:
        self.hear, self.say = hear, say
        self.changed = ChangedArguments()
        self.has_answered = False
        self.raised: BaseException | None = None  # the last exception that was the program's
        self.raised_in = ""

    def call(self, name: str, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        try:
            forms = [self._form(part) for part in given]
            request = to_json({"name": name, "args": forms, "kwargs": {k: self._form(v) for k, v in named.items()}})
        except NotPlain as error:
            why = f"the tests give {name}() what can not be handed to another process: {error}"
            if isinstance(error.part, _Proxy | _Unreachable):
                raise _NothingToTest(why) from None  # it is for the program whether it has a function of this name
            raise (_TooMuch if self.has_answered and isinstance(error, OversizedData) else _CannotTest)(why) from None
        reply = self.heard(request)
        self.has_answered = True
        if "raised" in reply:
            raise self._exception(name, reply["raised"], str(reply.get("error", "")))
        try:
            for number, form in reply["changed"].items():
                self.changed.hold(_at(given, number), plain_value(form))
            return plain_value(reply["value"])
        except (NotPlain, KeyError, AttributeError, IndexError, ValueError, TypeError):
            raise self._exception(name, ["TypeError"], "gave back what is not plain data") from None

    def _form(self, part: Any) -> Any:
        """An argument as it is handed over; a function of the program's by its name."""
        return [_FUNCTION, part.__name__] if isinstance(part, _Proxy) else plain_form(self.changed.current(part))

    def heard(self, request: bytes | None) -> dict[str, Any]:
        try:
            if request is not None:
                send_frame(self.say, request)
            reply = json.loads(read_frame(self.hear))
        except (EOFError, OSError):
            os._exit(GONE)
        except (NotPlain, ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise _ProgramLeft("the program wrote something else where its answers go")
        return reply

    def _exception(self, name: str, kinds: Any, text: str) -> BaseException:
        kinds = [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []
        self.raised_in = name
        if "SystemExit" in kinds:
            return _ProgramLeft(f"{name}() raised SystemExit")
        for kind in (
            ["RuntimeError"] if "StopIteration" in kinds else kinds
        ):  # it would end a `map` of the tests in peace
            known = getattr(builtins, kind, None)
            if isinstance(known, type) and issubclass(known, Exception):
                with contextlib.suppress(TypeError):  # those of Unicode want more than a text
                    self.raised = known(text)
                    break
        else:
            self.raised = Exception(text)
        self.raised_kind, self.raised_text = kinds[0] if kinds else "Exception", text
        assert self.raised is not None
        return self.raised

    raised_kind = raised_text = ""


class _Proxy:
    """A function of the program's."""

    def __init__(self, link: _Link, name: str) -> None:
        self._link, self.__name__ = link, name

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self._link.call(self.__name__, given, named)

    def __repr__(self) -> str:
        return self.__name__


class _Unreachable:
    """A class of the program's, which tests can not have."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __call__(self, *given: Any, **named: Any) -> NoReturn:
        name = object.__getattribute__(self, "_name")
        raise _NothingToTest(f"the tests need the program's class {name}: only functions can be tested from outside")

    __getattr__ = __call__
    __instancecheck__ = __call__


def _candidate(entry: str, names: dict[str, Any], link: _Link) -> Any:
    """The function that is to be checked."""
    if entry in names.get("classes", ()):
        return _Unreachable(entry)
    if entry not in names.get("functions", ()):
        raise _NothingToTest(f"the program defines no function {entry}")
    return _Proxy(link, entry)


def _at(given: tuple[Any, ...], number: str) -> Any:
    """The argument of this number, as the program writes it, if it is one that can be changed."""
    argument = given[int(number)] if number.isdecimal() else None
    if type(argument) not in _MUTABLE:
        raise TypeError("nothing that can be changed")
    return argument


def take_tests(request: dict[str, Any], hear: int, say: int, report: int) -> NoReturn:
    """Run the tests, and say what came of them."""
    link = _Link(hear, say)
    try:
        names = link.heard(None)
        tree = ast.parse(request["source"], FILE)
        used = program_names(tree)
        namespace = _namespace(used, names, link)
        if request["entry"]:
            namespace[CANDIDATE] = _candidate(request["entry"], names, link)
        lines = request["source"].splitlines(keepends=True)
        linecache.cache[FILE] = (len(request["source"]), None, lines, FILE)
        exec(compile(with_statements_settled(tree, used | {CANDIDATE}), FILE, "exec", dont_inherit=True), namespace)
        sys.stdout.flush()
        said = {"end": "done"}
    except BaseException as error:  # noqa: BLE001  the tests', or the program's
        said = _verdict(error, link)
    write_all(report, to_json(said))
    os._exit(0)


def _namespace(used: set[str], names: dict[str, Any], link: _Link) -> dict[str, Any]:
    """What tests find: of the program's names those that are for it to define. Modules are the tests' own, and of the standard
    library."""
    namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
    namespace |= {SETTLE: link.changed.settle, BEGIN: link.changed.begin}
    for kind in ("functions", "classes", "modules"):
        listed = names.get(kind)
        for name in (
            used.intersection(name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()
        ):
            if kind != "modules":
                namespace[name] = _Proxy(link, name) if kind == "functions" else _Unreachable(name)
            elif name in sys.stdlib_module_names:
                with contextlib.suppress(ImportError):
                    namespace[name] = importlib.import_module(name)
    return namespace


def program_names(tree: ast.Module) -> set[str]:
    """The names that tests leave to the program, by the tests alone. Python's own are never among them, for a program with an
    `abs` of its own must not come between a test and the true one; unless nothing else is left: then it is what the asserts
    call."""
    nodes = list(ast.walk(tree))
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    names = used - _bound(nodes) - set(dir(builtins))
    if names:
        return names
    held = [node.test for node in nodes if isinstance(node, ast.Assert)]
    lefts = [test.left if isinstance(test, ast.Compare) else test for test in held]
    return {left.func.id for left in lefts if isinstance(left, ast.Call) and isinstance(left.func, ast.Name)} - _bound(
        nodes
    )


def _bound(nodes: list[ast.AST]) -> set[str]:
    """Names that the tests give a value to themselves."""
    names = {CANDIDATE}
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
    return names


def _verdict(error: BaseException, link: _Link) -> dict[str, Any]:
    text = ""
    with contextlib.suppress(BaseException):
        text = str(error)[:1000]
    place = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == FILE]
    line = (place[-1].line or "") if place else ""
    if isinstance(error, _CannotTest):
        return {"end": "raised", "kind": "broken", "error": text}
    if isinstance(error, _NothingToTest | _TooMuch):
        return {"end": "raised", "error": text}
    if isinstance(error, _ProgramLeft):
        return {"end": "left", "error": text}
    if error is link.raised:
        kind = "memory" if isinstance(error, MemoryError) else ""
        said = f"{link.raised_kind}: {link.raised_text}" if link.raised_text else link.raised_kind
        return {"end": "raised", "kind": kind, "error": f"{link.raised_in}() raised {said}, in: {line}"}
    if isinstance(error, AssertionError):
        return {"end": "raised", "kind": "assertion", "error": f"{line}{f': {text}' if text else ''}"}
    return {"end": "raised", "error": f"{type(error).__name__}: {text}, in: {line}"}
