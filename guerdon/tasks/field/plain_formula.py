r"""Formulas read and compared without a package: where Math-Verify cannot go, this carries training.

An expression is read from LaTeX or plain text and worked out at three places of its variables; two with the same values there
are equal. Also sets, tuples, intervals and their unions, equations by their right side.
Leaves out: inequalities, matrices, integrals, sums, number words, units other than what stands in \text. What it cannot read is
compared as text. Where it differs from Math-Verify: docs/field_tasks.md.
"""

from __future__ import annotations

import cmath
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from guerdon.core.seeds import derive
from guerdon.text.answers import final_number, marked

LONGEST = 2000  # characters of a formula; a model may write anything
DROPPED = re.compile(
    r"\\(?:left|right|displaystyle|limits|quad|qquad|big|Big|bigl|bigr)(?![a-zA-Z])|\\[,;:! ]|\^\\circ|\^\{\\circ\}|\$|~"
)
WORDED = re.compile(r"\\(?:text|mathrm|textbf|mathbf|operatorname|mbox)\s*\{([^{}]*)\}")
THOUSANDS = re.compile(r"(?<![0-9.])([0-9]{1,3}(?:,[0-9]{3})+)(?![0-9])")
TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+\.?[0-9]*|\.[0-9]+)|(?P<command>\\[a-zA-Z]+|\\[{}%|])|(?P<name>[a-zA-Z]+)|(?P<sign>.))",
    re.S,
)
FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "exp": cmath.exp, "ln": cmath.log, "log": cmath.log10,
    "arcsin": cmath.asin, "arccos": cmath.acos, "arctan": cmath.atan, "sqrt": cmath.sqrt, "abs": abs,
}  # fmt: skip
CONSTANTS = {"pi": math.pi, "e": math.e, "i": 1j, "infty": math.inf, "oo": math.inf}
SIGNS = {
    "cdot": "*",
    "times": "*",
    "div": "/",
    "cup": "∪",
    "lbrace": "\\{",
    "rbrace": "\\}",
    "dfrac": "frac",
    "tfrac": "frac",
}
PLAIN = {"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/", "π": "\\pi ", "∞": "\\infty ", "√": "\\sqrt "}
PLAIN |= {"²": "^2", "³": "^3", "**": "^"}
CLOSES = {"(": ")", "[": "]", "\\{": "\\}", "{": "}"}


class NoFormula(Exception):
    """No formula that this file knows."""


class Group(NamedTuple):
    """Several expressions in brackets: a set, a tuple, an interval; or a union of such."""

    brackets: str
    items: tuple[Any, ...]


def plainly_equal(completion: str, answer: str) -> float | None:
    r"""1 if the formula that a completion ends in equals the answer's, else 0; None without an answer.

    The formula is what the last \boxed holds, else what follows "####", "<answer>" or "Answer:", else the last between dollars,
    else the last number; or all of a short text.

    >>> plainly_equal(r"so it is $\boxed{\frac{2}{4}}$", "0.5"), plainly_equal("$(x+1)^2$", "x^2+2x+1")
    (1.0, 1.0)
    >>> plainly_equal("$x$", "x+1")
    0.0
    """
    wanted = _bare(answer)
    if not wanted:
        return None
    given = [text for text in candidates(completion) if text]
    return float(any(same(text, wanted) for text in given))


def candidates(completion: str) -> list[str]:
    """What may be the answer of a text: the marked place, else the last formula; else, where there is none, its last number."""
    boxed = marked(completion, r"\boxed")
    if boxed is not None:
        return [_bare(boxed)]
    after = marked(completion, ("####", "<answer>", "Answer:"))
    if after is not None:
        return [_bare(after.strip().splitlines()[0] if after.strip() else "")]
    dollars = re.findall(r"\$\$?([^$]+)\$\$?|\\\((.+?)\\\)|\\\[(.+?)\\\]", completion, re.S)
    if dollars:
        return [_bare("".join(dollars[-1]))]
    whole = completion.strip()
    texts = [_bare(whole)] if whole and "\n" not in whole and len(whole) <= 80 else []
    number = final_number(completion)
    return [*texts, *([str(number.value)] if number is not None else [])]


def _bare(text: str) -> str:
    """A formula without its dollars, its box and the full stop behind it."""
    inner = marked(text, r"\boxed")
    return (text if inner is None else inner).strip().strip("$").strip().rstrip(".").strip()[:LONGEST]


def same(given: str, right: str) -> bool:
    """Whether two formulas are equal; as text where one cannot be read."""
    if "".join(given.split()) == "".join(right.split()):
        return True
    return any(_reads_equal(a, b) for a in _with_percent(given) for b in _with_percent(right))


def _with_percent(text: str) -> list[str]:
    """Per cent may be a unit, or a hundredth: 50% is 50, and 0.5."""
    body = text.rstrip().removesuffix("%").removesuffix("\\").strip()
    return [body, f"({body})/100"] if text.rstrip().endswith("%") else [text]


def _reads_equal(given: str, right: str) -> bool:
    try:
        return _equal(read_formula(given), read_formula(right))
    except (NoFormula, RecursionError, OverflowError, ValueError, ZeroDivisionError):
        return False


def read_formula(text: str) -> Any:
    """A formula as an expression, or as a group of them; of an equation its right side."""
    for sign, other in PLAIN.items():
        text = text.replace(sign, other)
    text = THOUSANDS.sub(lambda match: match[1].replace(",", ""), text.replace("{,}", "").replace(",\\!", ""))
    without = WORDED.sub(" ", text)  # units
    text = DROPPED.sub(" ", without if without.strip() else WORDED.sub(r"\1", text))
    if text.count("=") == 1 and not re.search(r"[<>]|\\[gl]eq?", text):
        text = text.partition("=")[2]
    reader = FormulaReader(text)
    value = reader.listed()
    if reader.place < len(reader.tokens):
        raise NoFormula(text)
    return value


class FormulaReader:
    """A reader of one formula, token by token."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        self.place = 0
        for match in TOKEN.finditer(text.strip()):
            token = match["number"] or match["command"] or match["name"] or match["sign"]
            word = SIGNS.get(token.lstrip("\\"), token) if token.startswith("\\") else token
            self.tokens.append(f"\\{word}" if word == "frac" else word)

    def peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        if not token:
            raise NoFormula("ends early")
        self.place += 1
        return token

    def take(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.place += 1
        return True

    def listed(self) -> Any:
        """Expressions with commas between them, or unions of groups."""
        items = [self.union()]
        while self.take(","):
            items.append(self.union())
        return items[0] if len(items) == 1 else Group("", tuple(items))

    def union(self) -> Any:
        parts = [self.sum()]
        while self.take("∪"):
            parts.append(self.sum())
        return parts[0] if len(parts) == 1 else Group("∪", tuple(parts))

    def sum(self) -> Any:
        value = self.product()
        while self.peek() in ("+", "-"):
            sign = self.next()
            value = (sign, value, self.product())
        return value

    def product(self) -> Any:
        value = self.signed()
        while True:
            if self.peek() in ("*", "/"):
                value = (self.next(), value, self.signed())
            elif self.peek() and re.match(r"[0-9.a-zA-Z(\[|]|\\[a-zA-Z]", self.peek()) and self._goes_on():
                factor = self.power()
                mixed = isinstance(value, float) and isinstance(factor, tuple) and factor[0] == "/"
                mixed = mixed and all(isinstance(number, float) for number in factor[1:])
                value = ("+" if mixed else "*", value, factor)  # 5\frac{2}{3}
            else:
                return value

    def _goes_on(self) -> bool:
        """Whether what follows is a factor: a bar that opens one stands where no bar is open."""
        return self.peek() != "|" and self.peek() != "["

    def signed(self) -> Any:
        if self.take("-"):
            return ("-", 0.0, self.signed())
        return self.signed() if self.take("+") else self.power()

    def power(self) -> Any:
        value = self.atom()
        while self.take("!"):
            value = ("!", value)
        if self.take("^"):
            return ("^", value, self.braced_or_one())
        return value

    def braced_or_one(self) -> Any:
        if self.take("{"):
            value = self.sum()
            if not self.take("}"):
                raise NoFormula("brace")
            return value
        if self.take("-"):
            return ("-", 0.0, self.atom())
        token = self.peek()
        if re.fullmatch(r"[0-9]+", token) and len(token) > 1 and self.tokens[self.place - 1] == "\\frac":
            self.tokens[self.place : self.place + 1] = list(token)  # \frac12
        return self.atom()

    def atom(self) -> Any:
        token = self.next()
        if re.match(r"[0-9.]", token):
            return float(token) if token != "." else self._refuse(token)
        if token in CLOSES:
            return self.group(token)
        if token == "|":
            value = self.sum()
            return ("call", "abs", value) if self.take("|") else self._refuse(token)
        if token == "\\frac":
            top = self.fraction_part()
            return ("/", top, self.fraction_part())
        if token == "\\sqrt":
            return self.root()
        name = token.lstrip("\\")
        if name in FUNCTIONS:
            return ("call", name, self.power())
        if name in CONSTANTS:
            return CONSTANTS[name]
        if token.startswith("\\") or not name.isalpha():
            return self._refuse(token)
        product: Any = ("name", name[0])
        for letter in name[1:]:
            product = ("*", product, ("name", letter))
        return product

    def fraction_part(self) -> Any:
        if self.peek() == "{":
            return self.braced_or_one()
        token = self.peek()
        if re.fullmatch(r"[0-9]{2,}", token):
            self.tokens[self.place : self.place + 1] = [token[0], token[1:]]
        return self.atom()

    def root(self) -> Any:
        degree: Any = 2.0
        if self.take("["):
            degree = self.sum()
            if not self.take("]"):
                raise NoFormula("root")
        return ("^", self.braced_or_one(), ("/", 1.0, degree))

    def group(self, token: str) -> Any:
        inner = self.listed()
        closing = self.next()
        is_interval = token in "([" and closing in (")", "]") and isinstance(inner, Group) and not inner.brackets
        if closing != CLOSES[token] and not is_interval:
            return self._refuse(closing)
        if isinstance(inner, Group) and not inner.brackets:
            return Group(token + closing, inner.items)
        return Group(token + closing, (inner,)) if token == "\\{" else inner

    def _refuse(self, token: str) -> Any:
        raise NoFormula(token)


# --- comparing ----------------------------------------------------------------------------------------------------------


def _equal(given: Any, right: Any) -> bool:
    if isinstance(given, Group) != isinstance(right, Group):
        return False
    if not isinstance(given, Group):
        whole = any(isinstance(side, float) and side.is_integer() for side in (given, right))
        return all(_close(worked_out(given, place), worked_out(right, place), whole) for place in range(3))
    if len(given.items) != len(right.items) or {given.brackets, right.brackets} - {given.brackets, ""}:
        return False
    if right.brackets in ("\\{\\}", "∪", "") and given.brackets in ("\\{\\}", "∪", ""):
        return _same_members(list(given.items), right.items)
    return all(map(_equal, given.items, right.items))


def _same_members(given: list[Any], right: Sequence[Any]) -> bool:
    for item in right:
        place = next((n for n, other in enumerate(given) if _equal(other, item)), None)
        if place is None:
            return False
        del given[place]
    return True


def _close(given: complex, right: complex, whole: bool) -> bool:
    """Whether two numbers are one: to six places, but where one is a whole number as it stands."""
    if given == right:
        return True
    if not (cmath.isfinite(given) and cmath.isfinite(right)):
        return False
    return abs(given - right) <= max(1e-12 if whole else 5e-7, 1e-9 * abs(right))


def worked_out(value: Any, place: int) -> complex:
    """The number that an expression is, where its variables have the values of one of three places."""
    if isinstance(value, float | complex | int):
        return value
    if isinstance(value, Group):
        raise NoFormula("a group in an expression")
    kind, *inner = value
    if kind == "name":
        return 0.3 + derive("variable", inner[0], place) % 1000 / 700
    if kind == "call":
        return complex(FUNCTIONS[inner[0]](worked_out(inner[1], place)))
    numbers = [worked_out(each, place) for each in inner]
    if kind == "!":
        number = numbers[0].real if isinstance(numbers[0], complex) else numbers[0]
        if number != int(number) or not 0 <= number <= 100:
            raise NoFormula("factorial")
        return float(math.factorial(int(number)))
    left, right = numbers
    if kind == "^":
        return complex(left) ** right
    return {"+": left + right, "-": left - right, "*": left * right}[kind] if kind != "/" else left / right
