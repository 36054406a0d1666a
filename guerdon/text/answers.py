r"""Finding an answer in text: what stands after a mark, numbers, a JSON value; and text as it is compared.

Plain functions that never fail and take time linear in the text, for all code that compares answers: the checks of tasks
and the rewards of the same names read a text by these alone. Voting counts the answers that `vote` gives.
Leaves out: algebra, number words, decimal commas, units (`5 km` is 5) and vulgar fractions such as ½.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

Span = tuple[int, int]  # the first character of a part of a text, and the first after it
NOTHING = object()  # no JSON value was found; None is JSON's null
MARKS = ("####", r"\boxed", "Answer:")  # what a final answer usually follows
EVERY_MARK = (*MARKS, "\n= ")  # the last is how generated families write an answer

# --- marks --------------------------------------------------------------------------------------------------------


def marked(text: str, marks: str | Sequence[str]) -> str | None:
    r"""What follows the last place of the first of `marks` that occurs, in any case; None when none does.

    A brace after the mark (`\boxed{..}`) or a mark that is a tag (`<answer>`) ends where it is closed, others at the end.

    >>> marked("so <answer>4</answer> it is", "<answer>"), marked(r"\boxed{\frac{1}{2}} is it", ("####", r"\boxed"))
    ('4', '\\frac{1}{2}')
    """
    span = marked_span(text, marks)
    return None if span is None else text[slice(*span)]


def marked_span(text: str, marks: str | Sequence[str]) -> Span | None:
    """Where in a text it stands.

    >>> marked_span("so <answer> 4 </answer>", "<answer>"), marked_span("= 4", EVERY_MARK)
    ((12, 13), (2, 3))
    """
    place = mark_place(text, marks)
    return None if place is None else _closed(text, *place)


def mark_place(text: str, marks: str | Sequence[str]) -> Span | None:
    """The last place of the first of `marks` that occurs, in any case. One that begins with a line break is also found at the
    start of the text.

    >>> mark_place("4</think>5", ("####", "</think>")), mark_place("= 4", "\\n= "), mark_place("4", "####")
    ((1, 9), (0, 2), None)
    """
    for mark in (marks,) if isinstance(marks, str) else marks:
        pattern = rf"(?:\A|\n){re.escape(mark[1:])}" if mark.startswith("\n") else re.escape(mark)
        last = deque(re.finditer(pattern, text, re.IGNORECASE), maxlen=1)
        if last:
            return last[0].span()
    return None


def _closed(text: str, at: int, start: int) -> Span:
    """What a mark from `at` to `start` encloses, or all that follows it; without space around it."""
    mark, end = text[at:start], len(text)
    if mark.startswith("<") and mark.endswith(">"):
        closed = re.search(re.escape(f"</{mark[1:]}"), text[start:], re.IGNORECASE)
        end = end if closed is None else start + closed.start()
    else:
        brace = re.match(r"\s*\{", text[start:])
        if brace is not None:
            start += brace.end()
            end = _brace_end(text, start)
    return _stripped(text, start, end)


def _brace_end(text: str, start: int) -> int:
    depth = 1
    for brace in re.finditer(r"[{}]", text[start:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return start + brace.start()
    return len(text)


def _stripped(text: str, start: int, end: int) -> Span:
    inner = text[start:end]
    start += len(inner) - len(inner.lstrip())
    return start, start + len(inner.strip())


def normal(text: str, casefold: bool, spaces: bool) -> str:
    """Text as it is compared: without space around it, perhaps in one case, perhaps with single spaces."""
    text = " ".join(text.split()) if spaces else text.strip()
    return text.casefold() if casefold else text


# --- numbers ------------------------------------------------------------------------------------------------------

LONGEST = 400  # digits of a number: text is a model's to write, and exact arithmetic on a million digits takes minutes
MINUS = "-−–﹣－"
GROUP = r"(?:,\\!|\{,\}|\\,|[,'’_\u00a0\u2009\u202f])"  # between thousands
WHOLE = rf"(?>[0-9]{{1,3}}(?:{GROUP}[0-9]{{3}})+(?![0-9])|[0-9]+)"
PLAIN = rf"(?>{WHOLE}(?:\.[0-9]+)?|\.[0-9]+)"
POWER = rf"\s?\^\s?(?:\{{\s?[{MINUS}+]?[0-9]+\s?\}}|[{MINUS}+]?[0-9]+)"
TIMES_TEN = r"\s?(?:[×x*·]|\\times|\\cdot)\s?10(?=\s?\^)"
MONEY = r"(?:\\?[$€£¥₹])?"
NUMBER = re.compile(
    rf"""
    (?: (?<![0-9A-Za-z_^)\]}}]) (?<!\^\{{) (?P<sign>[{MINUS}+]) {MONEY}   # a minus after a name or number is an operator
      | (?<![0-9A-Za-z_^]) (?<!\^\{{) (?<!\^[{MINUS}+]) (?<!\^\{{[{MINUS}+]) (?<![0-9]\.)  # no exponent, index, x1, CO2
      | (?=\\[dt]?frac) )
    (?: (?P<mixed>{WHOLE})? \s? \\[dt]?frac \s? (?:
            \{{\s?(?P<top>[{MINUS}]?{PLAIN})\s?\}} \s? \{{\s?(?P<bottom>[{MINUS}]?{PLAIN})\s?\}}
          | (?P<over>[0-9])\s?(?P<under>[0-9]) )
      | (?P<units>[0-9]+)[ ](?P<part>[0-9]+)/(?P<of>[0-9]+)
      | (?P<base>{PLAIN}) (?: [eE](?P<e>[{MINUS}+]?[0-9]+) | (?P<ten>{TIMES_TEN})? (?P<power>{POWER}) )?
        (?: \s?/\s?{MONEY}(?P<per>{PLAIN}) )? )
    (?P<percent> \s?\\?% )?
    """,
    re.VERBOSE,
)


class ParsedNumber(NamedTuple):
    value: Fraction
    percent: bool = False


def number(text: str, last: bool = False) -> ParsedNumber | None:
    r"""The first or the last number of a text; None when it has none, or one without a value (1/0, a million digits).

    >>> [str(number(t).value) for t in ("−1,080.50", "1 1/2", r"\frac{3}{4}", "6.02e23", "x1 = $5 per cm^2")]
    ['-2161/2', '3/2', '3/4', '602000000000000000000000', '5']
    """
    match = _number_in(text, last)
    return None if match is None else _read(match)


def _number_in(text: str, last: bool) -> re.Match[str] | None:
    matches = deque(NUMBER.finditer(text), maxlen=1) if last else [m for m in (NUMBER.search(text),) if m]
    return matches[0] if matches else None


def final_number(text: str, marks: Sequence[str] = MARKS, fallback: bool = True) -> ParsedNumber | None:
    """The number that a text gives as its answer: the first after the last place of the first of `marks` that occurs; without
    one the last in the text, unless `fallback` is off.

    >>> [str(final_number(t).value) for t in ("2 and 2 are 4", "#### 72 clips, or 6 dozen")], final_number("2", fallback=False)
    (['4', '72'], None)
    """
    number = _final_number(text, marks, fallback)
    return None if number is None else number[0]


def _final_number(text: str, marks: Sequence[str], fallback: bool) -> tuple[ParsedNumber, Span] | None:
    span = marked_span(text, marks)
    if span is None and not fallback:
        return None
    start, end = span or (0, len(text))
    match = _number_in(text[start:end], last=span is None)
    value = None if match is None else _read(match)
    return (
        None if match is None or value is None else (value, _stripped(text, start + match.start(), start + match.end()))
    )


def is_number(text: str) -> bool:
    """Whether a text is a number and nothing else.

    >>> [is_number(text) for text in ("-1,080.50", " 3/4 ", "$5", "5 km", "1 or 2", "")]
    [True, True, True, False, False, False]
    """
    match = NUMBER.fullmatch(text.strip().removeprefix("$"))
    return match is not None and _read(match) is not None


def _read(match: re.Match[str]) -> ParsedNumber | None:
    if match.end() - match.start() > LONGEST:
        return None
    given = match.groupdict()
    try:
        value = _magnitude(given)
    except (ZeroDivisionError, OverflowError):
        return None
    return ParsedNumber(-value if given["sign"] and given["sign"] in MINUS else value, given["percent"] is not None)


def _magnitude(given: dict[str, str | None]) -> Fraction:
    for whole, top, bottom in (("mixed", "top", "bottom"), ("mixed", "over", "under"), ("units", "part", "of")):
        if given[top] is not None:
            return _plain(given[whole] or "0") + _plain(given[top] or "") / _plain(given[bottom] or "")
    value = _plain(given["base"] or "")
    power = given["e"] or given["power"]
    if power is not None:
        grown = Fraction(10) if given["e"] or given["ten"] else value
        scale = _raised(grown, int(_ascii(re.sub(r"[\s^{}]", "", power))))
        value = value * scale if given["e"] or given["ten"] else scale
    return value / _plain(given["per"]) if given["per"] else value


def _raised(base: Fraction, power: int) -> Fraction:
    if abs(power) * max(len(str(base.numerator)), len(str(base.denominator))) > 5 * LONGEST:
        raise OverflowError
    return base**power


def _plain(text: str) -> Fraction:
    return Fraction(_ascii(re.sub(rf"[^{MINUS}0-9.]", "", text)))


def _ascii(text: str) -> str:
    return text.translate(dict.fromkeys(map(ord, MINUS), "-"))


# --- JSON ---------------------------------------------------------------------------------------------------------

TRIES = 100  # places where a JSON value may begin: each can cost a pass over the text


def find_json(text: str) -> Any:
    """The text itself if it is JSON, else the first fenced block that is, else the first object or array; or NOTHING.

    >>> find_json('Here: {"a": [1, 2]} and {"b": 3}'), find_json("none") is NOTHING
    ({'a': [1, 2]}, True)
    """
    fenced = (re.sub(r"^\w*\s*\n", "", block) for block in text.split("```")[1::2][:TRIES])
    for block in (text, *fenced):
        value = whole_json(block)
        if value is not NOTHING:
            return value
    for number, start in enumerate(re.finditer(r"[{\[]", text)):
        if number == TRIES:
            break
        try:
            return DECODER.raw_decode(text, start.start())[0]
        except (ValueError, RecursionError):
            continue
    return NOTHING


def whole_json(text: str) -> Any:
    """The value a text is, or NOTHING. NaN and infinities, which Python's parser accepts, are not JSON."""
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):
        return NOTHING


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


# --- votes -----------------------------------------------------------------------------------------------------------


def vote(text: str, answer: str, marks: Sequence[str], fallback: bool) -> Hashable | None:
    """The answer that a text gives, for counting: the number, or the text (in any case, any space as one), that follows the
    last place of the first of `marks` that occurs; without one the last number, or the whole text, unless `fallback` is off.

    >>> vote("so 4, Answer: five", "text", ("Answer:",), True), str(vote("so 4", "number", ("Answer:",), True))
    ('five', '4')
    """
    given = answer_in(text, answer, marks, fallback)
    return None if given is None else given.value


class FoundAnswer(NamedTuple):
    """An answer as it is compared, and where in the text it stands."""

    value: Hashable
    span: Span


def answer_in(text: str, answer: str, marks: Sequence[str], fallback: bool) -> FoundAnswer | None:
    """The answer that `vote` counts, and where it stands: the one reader of answers of rewards, exams and votes.

    >>> answer_in("7\\n= 4 of 7", "number", EVERY_MARK, True).span, answer_in("so 4", "text", MARKS, False)
    ((4, 5), None)
    """
    if answer == "number":
        number = _final_number(text, marks, fallback)
        return None if number is None else FoundAnswer(number[0].value, number[1])
    span = marked_span(text, marks) or (_stripped(text, 0, len(text)) if fallback else None)
    if span is None or span[0] == span[1]:
        return None
    return FoundAnswer(normal(text[slice(*span)], casefold=True, spaces=True), span)
