"""Chat templates as programs of strangers: run in jinja's sandbox as `transformers` runs them, and within bounds.

A template comes with a model and is not to be trusted.
The sandbox keeps it from the machine; what is here keeps it from taking for ever, or all memory:
loops, calls, filters, sums and outputs are paid for by what they make, before they make it,
out of a purse that no sane template empties.
So a render ends after the same work on every machine.
Nothing in a template is random, and its clock stands still (`template_clock.py`).
Leaves out: what is rendered, and what its output means (`chat.py`).
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from jinja2 import Environment, TemplateError, nodes, pass_context
from jinja2.ext import Extension
from jinja2.nodes import EvalContext
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from guerdon.core.errors import UserError
from guerdon.models.template_clock import told

PURSE = 30_000_000  # what a render may make, in characters
TURN, THING = 40, 40  # what a turn of a loop costs, whatever it makes, and a thing in a list
LONGEST = 1 << 18  # characters of a template; those of real models have up to 30,000
GLANCE = {  # filters and methods that look at the outermost thing alone
    "attr", "batch", "count", "d", "default", "first", "get", "items", "keys", "last", "length", "list", "map", "reject",
    "rejectattr", "reverse", "safe", "select", "selectattr", "slice", "values",
}  # fmt: skip
UNSAFE = ("translate", "expandtabs", "encode")  # methods of text: what they make is not known before
GONE = ("random", "urlize", "wordwrap", "xmlattr")  # filters: chance, and what no conversation needs
DIGITS = re.compile(r"\d{5,}")  # a width in a format


class TemplateRefused(TemplateError):
    """What a template itself refuses, by `raise_exception`: another conversation may please it."""


class TooMuch(TemplateError):
    def __init__(self) -> None:
        super().__init__("it never ends, or makes more text than a conversation can have")


class Bounded:
    """A template that is ready to be rendered."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise UserError(f"the model's chat template has {len(text)} characters: {LONGEST} are the most")
        self.world = _World()
        try:
            self.template = self.world.from_string(text)
        except (
            Exception
        ) as error:  # of a stranger's program: jinja's own errors, and Python's where it is nested too deeply
            raise UserError(f"the model's chat template cannot be read: {_line(error)}") from error

    def render(self, **given: Any) -> str:
        """What it writes. It raises a Refusal, or a UserError for whatever else it does."""
        self.world.left = PURSE
        try:
            return self.template.render(given)
        except TemplateRefused:
            raise
        except Exception as error:  # a stranger's program may raise anything
            raise UserError(f"the model's chat template does not work: {_line(error)}") from error


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    name = "" if isinstance(error, TemplateError) else type(error).__name__
    return ": ".join(filter(None, (name, lines[0][:200])))


class _Generation(Extension):
    """`{% generation %}` marks the assistant's words for training elsewhere; here it writes what stands in it."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _World(ImmutableSandboxedEnvironment):
    """A sandbox with a purse."""

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "%", "**"))
    left = PURSE

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            extensions=[_Generation, "jinja2.ext.loopcontrols"],
            optimized=False,  # nothing is run before it is rendered
            finalize=_written,
        )
        self.filters["tojson"] = _tojson
        self.filters = {name: self._paid(name, function) for name, function in self.filters.items() if name not in GONE}
        self.filters |= {PAY: self._turn, HOLD: self._held}
        del self.globals["lipsum"]  # chance too
        self.globals["raise_exception"] = _refuse
        self.globals["strftime_now"] = lambda pattern: told().strftime(pattern)

    def pay(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            raise TooMuch

    def size(self, *values: Any) -> int:
        """How much there is in some values, all that stands inside of them included; the purse is the most."""
        total, waiting = 0, list(values)
        while waiting:
            each = waiting.pop()
            total += THING
            if isinstance(each, str | bytes | range):
                total += len(each)
            elif isinstance(each, int):
                total += each.bit_length()
            elif isinstance(each, Mapping):
                waiting += [*each.keys(), *each.values()]
            elif isinstance(each, list | tuple | set):
                waiting += each
            elif isinstance(each, Namespace):
                waiting.append(object.__getattribute__(each, "_Namespace__attrs"))
            if total > self.left:
                raise TooMuch
        return total

    def glance(self, value: Any) -> int:
        """How much the outermost thing is."""
        return THING + (len(value) if isinstance(value, str) else THING * len(value) if isinstance(value, SIZED) else 0)

    def work(self, name: str, *values: Any) -> int:
        """What a filter or a method makes at most, of these values in this order. Numbers among them are widths and counts."""
        numbers = sum(abs(v) for v in values if isinstance(v, int))
        if name in GLANCE:
            return 10 * numbers + sum(map(self.glance, values))
        size = self.size(*values)
        texts = [v for v in values if isinstance(v, str)]
        if name == "replace" and len(values) > 2:
            return size + (self.size(values[0]) // max(1, len(str(values[1]))) + 1) * self.size(values[2])
        if name == "join":
            return size + sum(map(len, texts)) * max((len(v) for v in values if isinstance(v, SIZED)), default=0)
        if name in ("format", "format_map"):
            widths = [int(n[:18]) for text in texts for n in DIGITS.findall(text)]
            return size * (1 + sum(text.count("%") + text.count("{") for text in texts)) + sum(widths) + 10 * numbers
        return size * (1 + numbers) if name in ("indent", "tojson", "sum") else size + 10 * numbers

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template: nodes.Template = _Tolls().visit(super()._parse(source, name, filename))
        template.set_environment(self)
        return template

    def _turn(self, literal: int) -> str:
        """Paid at every turn of a loop and every call of a macro, for the text that stands in it too."""
        self.pay(TURN + max(0, literal))
        return ""

    def _held(self, value: Any) -> Any:
        """A list or a table that was just made."""
        self.pay(self.size(value))
        return value

    def _paid(self, name: str, filter: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(filter)  # jinja's marks, of filters that want the context, come along
        def paid(*values: Any, **named: Any) -> Any:
            values = tuple(_held_still(v) for v in values)
            plain = [v for v in (*values, *named.values()) if not isinstance(v, OURS)]
            self.pay(self.work(name, *plain))
            return filter(*values, **named)

        return paid

    def call(self, context: Context, called: Any, /, *values: Any, **named: Any) -> Any:
        values = tuple(_held_still(v) for v in values)
        method = getattr(called, "__wrapped__", called)  # jinja wraps `format`
        holder, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
        if isinstance(called, Macro):  # which pays for itself what it makes
            self.pay(2 * TURN + sum(map(self.glance, (*values, *named.values()))))
        else:
            self.pay(2 * TURN + self.work(name, holder, *values, *named.values()))
        return super().call(context, called, *values, **named)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * (abs(right) if operator == "**" else right.bit_length())
            self.pay(bits * bits if operator == "**" else bits)
        elif operator == "*" and isinstance(right, int):
            self.pay(self.size(left) * abs(right))
        elif operator == "*" and isinstance(left, int):
            self.pay(self.size(right) * abs(left))
        elif operator == "%" and isinstance(left, str):
            self.pay(self.work("format", left, *(right if isinstance(right, tuple) else (right,))))
        else:
            self.pay(self.glance(left) + self.glance(right))
        return super().call_binop(context, operator, left, right)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return super().is_safe_attribute(obj, attr, value) and not (isinstance(obj, str) and attr in UNSAFE)


PAY, HOLD = "a toll", "a held one"  # names of filters that no template has use for
OURS = (Context, Environment, EvalContext)  # what jinja itself hands to filters
SIZED = (str, bytes, range, list, tuple, set, Mapping)


class _Tolls(NodeTransformer):
    """Adds a cost limit where jinja has none: loops, macros, lists, and texts put together with `~`."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        return _with_toll(self.generic_visit(node), node.body)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:
        return _with_toll(self.generic_visit(node), node.body)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:
        return _with_toll(self.generic_visit(node), node.body)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return nodes.Filter(nodes.List(node.nodes, lineno=node.lineno), "join", [], [], None, None, lineno=node.lineno)

    def visit_List(self, node: nodes.List) -> nodes.Node:
        return _filtered(self.generic_visit(node), HOLD)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        return _filtered(self.generic_visit(node), HOLD)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(node, HOLD) if node.ctx == "load" else node


def _with_toll(node: Any, body: list[nodes.Node]) -> nodes.Node:
    literal = sum(len(text.data) for part in body for text in _all(part, nodes.TemplateData))
    toll = _filtered(nodes.Const(literal, lineno=node.lineno), PAY)
    body.insert(0, nodes.Output([toll], lineno=node.lineno))
    tolled: nodes.Node = node
    return tolled


def _all(node: nodes.Node, kind: type[nodes.TemplateData]) -> Iterable[nodes.TemplateData]:
    return [node] if isinstance(node, kind) else node.find_all(kind)


def _filtered(node: Any, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _held_still(value: Any) -> Any:
    """A list of what would come one by one, to see how much it is."""
    return list(itertools.islice(value, PURSE // TURN)) if isinstance(value, Iterator) else value


@pass_context  # which also keeps jinja from writing anything before the template is rendered
def _written(context: Context, value: Any) -> Any:
    world = context.environment
    assert isinstance(world, _World)
    if not isinstance(value, Undefined):
        world.pay(world.size(value))
    return value


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **more: Any) -> str:
    """Jinja's own would escape the characters of HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **more)


def _refuse(message: str) -> None:
    raise TemplateRefused(message)
