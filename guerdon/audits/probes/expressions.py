"""Wrong answers to problems whose answer is an expression: numbers used twice, left out or made up, the result alone.

Leaves out: whether they are wrong, which the task says.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fractions import Fraction

from guerdon.rewards.check.gold_answers import Posed

EXPRESSION = re.compile(r"[-+*/() \d.]*\d\s*[-+*/]\s*[-+*/() \d.]*\d[) ]*")


def expression_probes(posed: Posed) -> Iterator[str]:
    """Other expressions than the one wanted, most of which come to the same."""
    yield from other_expressions(posed.own.core.strip(), posed.task.prompt)


def other_expressions(core: str, prompt: str) -> Iterator[str]:
    """The same of an expression and of what asked for it; nothing where it is none."""
    if not EXPRESSION.fullmatch(core):
        return
    value = value_of(core)
    numbers = list(dict.fromkeys(re.findall(r"\d+", core)))
    if value is None or len(numbers) < 2:
        return
    first, *others = numbers
    yield f"{value}" if value.denominator == 1 else f"{float(value)}"  # the result alone
    yield f"{core}+{first}-{first}"  # used twice
    yield f"({core})*{first}/{first}"
    yield f"({core})+0"  # made up
    yield f"({core})*1"
    nothing = "".join(f"+{other}-{other}" for other in others)
    if value.denominator == 1 and 0 <= value <= 300:
        ones = "+".join([f"{first}/{first}"] * int(value)) or f"{first}-{first}"
        yield ones + nothing
        yield f"{value}{nothing}+{first}-{first}"
        yield f"{value}" + "".join(f"+0*{number}" for number in numbers)
    yield "+".join(numbers)  # all numbers, another result
    yield "-".join(numbers)
    yield " ".join(numbers)
    yield "*".join(reversed(numbers))
    target = re.findall(r"\d+", prompt)
    yield from dict.fromkeys(target[-1:] + target[:1])
    yield f"{core}+1"
    yield core.replace("+", "-", 1) if "+" in core else core.replace("-", "+", 1)


def value_of(text: str) -> Fraction | None:
    """What an expression of whole numbers comes to; None where it is none, or comes to nothing.

    >>> value_of("(1+2)*3/4"), value_of("1/0")
    (Fraction(9, 4), None)
    """
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return None


def _value(node: ast.expr) -> Fraction:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return Fraction(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Add | ast.Sub):
            return left + right if isinstance(node.op, ast.Add) else left - right
        return left * right if isinstance(node.op, ast.Mult) else left / right
    raise ValueError("no expression of numbers")
