"""Tools: Python functions with types, described to a model by JSON schemas, and arguments checked against these.

A tool's name is the function's, its description the first paragraph of the docstring, what it takes its type hints: str, int,
float, bool, list, dict, Literal, Optional and defaults; `Annotated[str, "which city"]` describes an argument. Other hints are
refused when the tool is made, with what to write instead.
Leaves out: how tools are run (`tool_calling.py`), and what hints do not say (lengths, patterns: a tool checks them itself).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from guerdon.core.errors import UserError

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")  # what OpenAI's interface takes for a function
PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}
FIX = "write str, int, float, bool, list[...], dict[str, ...], Literal[...] or one of these | None"


@dataclass(frozen=True)
class Tool:
    """A tool: what it is called, what it is for, what it takes, and what runs. Made by `gd.tool`; called, it is its function.

    Args:
        name: name that models use.
        description: what it is for.
        parameters: JSON schema of its arguments.
        function: what runs.

    >>> import guerdon as gd
    >>> @gd.tool
    ... def double(n: int) -> int:
    ...     "Twice a number."
    ...     return 2 * n
    >>> double(4), double.schema["function"]["description"]
    (8, 'Twice a number.')
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any]
    apart: bool = False  # whether it runs in a process of its own
    keeps_time: bool = False  # whether it ends by itself in time

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    @property
    def schema(self) -> dict[str, Any]:
        """In the form of OpenAI's interface."""
        told = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": told}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, holder: Any, owner: type | None = None) -> Tool:
        """A method that is a tool belongs to the object it is asked of."""
        return self if holder is None else self.of(functools.partial(self.function, holder))

    def of(self, function: Callable[..., Any]) -> Tool:
        return dataclasses.replace(self, function=function)

    def fault(self, arguments: Mapping[str, Any]) -> str:
        """What is wrong with some arguments, in words; "" where nothing is."""
        return fault_in(arguments, self.parameters)


@typing.overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@typing.overload
def tool(
    *, name: str = "", description: str = "", apart: bool = False, keeps_time: bool = False
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    apart: bool = False,
    keeps_time: bool = False,
) -> Any:
    """Make a function a tool that models may call: they are given its name, docstring and type hints.

    It may be `async`. One that could crash or never end is run `apart`, in a process of its own, which is ended when its time
    is up; others run in a thread, which continues in the background then. One that `keeps_time` is never stopped: it ends by
    itself. In a part with `open(seed, meta)`, methods are tools of an episode's own object (docs/tools.md).

    Args:
        function: the function.
        name: its own by default.
        description: the first paragraph of its docstring by default.
        apart: run each call in a process of its own.
        keeps_time: it ends by itself and is never stopped.

    >>> import guerdon as gd
    >>> @gd.tool
    ... def price(fruit: str, kilos: float = 1.0) -> float:
    ...     "What fruit costs, in euros."
    ...     return {"pears": 2.5, "plums": 4.0}[fruit] * kilos
    >>> price.fault({"fruit": "pears", "kilos": "two"})
    "kilos must be a number, not 'two'"
    """
    made = functools.partial(_made, name=name, description=description, apart=apart, keeps_time=keeps_time)
    return made if function is None else made(function)


def as_tool(given: Any) -> Tool:
    """A tool as it is, or of a function."""
    if isinstance(given, Tool):
        return given
    if not callable(given) or isinstance(given, type):
        raise UserError(f"a tool is a function with types, or a part with open(seed, meta), not {given!r}")
    return _made(given)


def tools_of(holder: Any) -> list[Tool]:
    """The tools among an object's methods, in their order."""
    names = dict.fromkeys(
        n for cls in reversed(type(holder).__mro__) for n, v in vars(cls).items() if isinstance(v, Tool)
    )
    return [getattr(holder, name) for name in names]


def _made(
    function: Callable[..., Any], name: str = "", description: str = "", apart: bool = False, keeps_time: bool = False
) -> Tool:
    name = name or getattr(function, "__name__", "")
    if not NAME.fullmatch(name):
        raise UserError(f"a tool's name is letters, digits, _ and -, not {name!r}: give one, gd.tool(name=...)")
    text = description or _first_paragraph(inspect.getdoc(function) or "")
    if not text:
        raise UserError(f"the tool {name} has no docstring: say in a line what it is for, models read it")
    return Tool(name, text, _parameters(function, name), function, apart, keeps_time)


def _first_paragraph(text: str) -> str:
    return " ".join(text.strip().split("\n\n")[0].split())


def _parameters(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:
        raise UserError(f"the types of the tool {name} cannot be read: {error}") from error
    taken = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    properties, required = {}, []
    for parameter in taken:
        where = f"{parameter.name} of the tool {name}"
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise UserError(f"{where}: models give arguments by name: write each of them, without * and /")
        if parameter.name not in hints:
            raise UserError(f"{where} has no type: {FIX}")
        schema = _schema(hints[parameter.name], where)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        else:
            schema |= {"default": _default(parameter.default, schema, where)}
        properties[parameter.name] = schema
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _default(value: Any, schema: Mapping[str, Any], where: str) -> Any:
    fault = fault_in(value, schema, "its default")
    if fault:
        raise UserError(f"{where}: {fault}")
    return value


def _schema(hint: Any, where: str) -> dict[str, Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if origin is Annotated:
        said = [each for each in inner[1:] if isinstance(each, str)]
        return {**_schema(inner[0], where), **({"description": said[0]} if said else {})}
    if origin is Literal:
        if all(type(each) in (str, int, bool, type(None)) for each in inner):
            return {"enum": list(inner)}
    elif origin in (Union, types.UnionType):
        return {"anyOf": [_schema(each, where) for each in inner]}
    elif hint is list or origin is list:
        return {"type": "array", **({"items": _schema(inner[0], where)} if inner else {})}
    elif hint is dict or (origin is dict and inner[0] is str):
        return {"type": "object", **({"additionalProperties": _schema(inner[1], where)} if inner else {})}
    shown = getattr(hint, "__name__", None) if isinstance(hint, type) else None
    raise UserError(f"{where} has the type {shown or hint}, which JSON does not have: {FIX}")


# --- arguments against a schema -------------------------------------------------------------------------------------------


def fault_in(value: Any, schema: Mapping[str, Any], where: str = "") -> str:
    """What is wrong with a JSON value, by a schema that `tool` makes; "" where nothing is. The same errors as JSON Schema's,
    in words that let a model correct its call."""
    if "anyOf" in schema:
        faults = [fault_in(value, each, where) for each in schema["anyOf"]]
        return "" if "" in faults else f"{where} must be {_words(schema)}, not {_shown(value)}"
    if "enum" in schema:
        fits = any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in schema["enum"])
        return "" if fits else f"{where} must be {_words(schema)}, not {_shown(value)}"
    kind = schema["type"]
    if not _is(value, kind):
        return f"{where or 'the arguments'} must be {WORDS[kind]}, not {_shown(value)}"
    if kind == "array" and "items" in schema:
        return _first(fault_in(each, schema["items"], f"{where}[{i}]") for i, each in enumerate(value))
    return _fault_in_object(value, schema, where) if kind == "object" else ""


def _fault_in_object(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> str:
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name in schema.get("required", ()):
        if name not in value:
            return f"{name} is missing: it must be {_words(known[name])}"
    for name, inner in value.items():
        at = f"{where}.{name}" if where else name
        if name not in known and more is False:
            return f"there is no argument {_shown(name)}: there is {', '.join(known) or 'none'}"
        held = known.get(name, more)
        fault = fault_in(inner, held, at) if isinstance(held, Mapping) else ""
        if fault:
            return fault
    return ""


def _first(faults: typing.Iterable[str]) -> str:
    return next(filter(None, faults), "")


def _is(value: Any, kind: str) -> bool:
    if kind in ("integer", "number"):
        return not isinstance(value, bool) and isinstance(value, int if kind == "integer" else int | float)
    held: Any = {"string": str, "boolean": bool, "null": type(None), "array": list, "object": dict}[kind]
    return isinstance(value, held)


def _words(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(each, ensure_ascii=False) for each in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_words(each) for each in schema["anyOf"])
    return WORDS[schema["type"]]


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def schemas(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [each.schema for each in tools]
