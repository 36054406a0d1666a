"""What a knob does, in words: those that stand beside it in the source, and for knobs that most recipes have those of all."""

from __future__ import annotations

import ast
import functools
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Mapping
from typing import Any

ARGS = re.compile(
    r"(?m)^Args:\n((?:    .*\n?)+)\n*"
)  # a section of a docstring, which `inspect.cleandoc` has unindented
COMMON = {  # of recipes
    "prompts": "problems per step",
    "tries": "answers per problem",
    "steps": "training steps",
    "lr": "learning rate",
    "temperature": "sampling temperature: 0 is greedy",
    "max_tokens": "maximum tokens of an answer",
    "kl": "weight of the KL penalty to the reference model",
    "clip": "clip range of the probability ratio",
    "low": "lower clip range of the probability ratio",
    "high": "upper clip range of the probability ratio",
    "updates": "optimiser updates per batch",
    "beta": "strength of the KL constraint to the reference model",
    "exam_tasks": "number of held-out problems in an exam",
}


def recipe_knobs(functions: Iterable[Callable[..., Any]], names: Iterable[str]) -> dict[str, str]:
    """For each knob what it does; empty where that is not documented. `functions` are the recipe's own and those it is made
    on. A knob that has no comment and is not common is explained by the docstring sentence that names it."""
    beside: dict[str, str] = {}
    doc = ""
    for function in functions:
        beside = {**_comments(function), **beside}
        doc += f"{inspect.getdoc(function) or ''}\n\n{inspect.getdoc(inspect.getmodule(function)) or ''}\n\n"
    said = {name: _joined(COMMON.get(name, ""), beside.get(name, "")) for name in names}
    return {name: words or _sentence(doc, name) for name, words in said.items()}


def part_knobs(cls: type, names: Iterable[str]) -> dict[str, str]:
    """For each knob of a part its comment, its line under `Args:`, or the sentence of the docstring that first names it."""
    beside: dict[str, str] = {}
    for each in cls.__mro__:
        if each.__module__.startswith("guerdon") or each is cls:
            beside = {**_comments(each), **beside}
    doc = (inspect.getdoc(cls) or "").partition(">>>")[0]
    described = arguments(doc)
    return {name: beside.get(name) or described.get(name) or _sentence(doc, name) for name in names}


def arguments(doc: str) -> dict[str, str]:
    """The text for each argument in the `Args:` section of a clean docstring."""
    section = ARGS.search(doc)
    lines = textwrap.dedent(section[1]) if section else ""
    entries = re.findall(r"(?m)^(\w+(?:, \w+)*): (.*(?:\n +.*)*)", lines)
    return {name: " ".join(words.split()).removesuffix(".") for names, words in entries for name in names.split(", ")}


def without_arguments(doc: str) -> str:
    """A clean docstring without its `Args:` section, for pages that list the arguments themselves."""
    return ARGS.sub("", doc).rstrip()


def _sentence(doc: str, name: str) -> str:
    """The first of a docstring that names a knob, as `knob` or `knob=VALUE`."""
    sentences = re.split(r"(?<=[.:;])\s+", " ".join(doc.split()))
    return next((s.rstrip(":;.") for s in sentences if re.search(rf"`{name}[`=]", s)), "")


def lines(values: Mapping[str, str], words: Mapping[str, str], width: int) -> list[str]:
    """`knob = default` a line, what it does beside it, the words aligned and wrapped to a width."""
    heads = {name: f"  {name} = {value}" if value else f"  {name}, required" for name, value in values.items()}
    column = min(30, max((len(head) for head in heads.values()), default=0)) + 2
    result = []
    for name, head in heads.items():
        room = max(20, width - column)
        first, *more = textwrap.wrap(words.get(name, ""), room, break_long_words=False) or [""]
        if len(head) + 2 > column and first:
            result.append(head)
            head = ""
        result.append(f"{head:<{column}}{first}".rstrip())
        result += [" " * column + line for line in more]
    return result


def _joined(common: str, beside: str) -> str:
    return f"{common} ({beside})" if common and beside else common or beside


@functools.cache
def _comments(thing: Any) -> dict[str, str]:
    """By name of a parameter or a field: the comment at the end of its line, or on the lines above it."""
    try:
        source = textwrap.dedent(inspect.getsource(thing))
        node = ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError):  # written in a console, or in C
        return {}
    text = source.splitlines()
    comments = {
        token.start[0]: token.string.lstrip("# ").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    said_of: dict[str, str] = {}
    for name, first, last in _places(node):
        above: list[str] = []
        while (line := first - 1 - len(above)) in comments and text[line - 1].lstrip().startswith("#"):
            above.insert(0, comments[line])
        said = comments.get(last) or " ".join(above)
        if said and not said.startswith(("noqa", "type:", "fmt:")):
            said_of[name] = said
    return said_of


def _places(node: ast.stmt) -> list[tuple[str, int, int]]:
    """Every parameter of a function, or field of a class, with the first and last line it stands on, its default included."""
    if isinstance(node, ast.ClassDef):
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)]
        return [(each.target.id, each.lineno, each.end_lineno or each.lineno) for each in fields]  # type: ignore[union-attr]
    if not isinstance(node, ast.FunctionDef):
        return []
    plain = [*node.args.posonlyargs, *node.args.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(node.args.defaults))
    pairs = [*zip(plain, [*defaults, *node.args.defaults], strict=True)]
    pairs += zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return [(a.arg, a.lineno, (d.end_lineno if d is not None else a.end_lineno) or a.lineno) for a, d in pairs]
