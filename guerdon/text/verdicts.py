r"""Finding a verdict in prose: yes or no, one of two, a whole number on a scale, a line of a solution.

A reply states its verdict after a label (`Verdict: yes`, `**Score:** 4/5`), on a line of its own; or, if no label has one, in a
sentence of a known form (`The answer is not correct.`). The last unambiguous statement counts. A reply without one has no
verdict: None, which is never a value. What stands in quotation marks is quoted and states nothing, unless it is the whole line.
Leaves out: judges, which are asked for a form and held to it (`judges/judging.py`), and answers (`answers.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Said = TypeVar("Said")

DECORATION = " \t*_`#>.\"'[]()"
YES, NO = "yes", "no"
NONE = "none"

_QUOTES = "\"'`“”‘’«»"
_AROUND = DECORATION + _QUOTES + "$"
_BOXED = re.compile(r"\\(?:boxed|text|mathbf)\s*\{|[{}]")
_WORDS = {
    **dict.fromkeys(("yes", "right", "correct", "true", "valid"), YES),
    **dict.fromkeys(("no", "wrong", "incorrect", "false", "invalid"), NO),
}
_VERDICTS = "|".join(_WORDS)
_ENDS = r"(?=\s*(?:[.!,;:)*]|$|\n|because\b|since\b|as\b|and\b))"
_OF_ANSWER = r"(?:(?:above|given|provided|proposed|final)\s+)?(?:to (?:the|this) (?:problem|question|task)\s+)?"
_IS_RIGHT = re.compile(
    r"\b(?:answer|solution|response|result|attempt|it|this|that)\s+" + _OF_ANSWER + r"(?:is|was|seems|appears|looks)"
    r"(?:\s+to be)?(?P<denied>n['’]t|\s+not)?(?:\s+\w+ly)?\s+(?P<word>" + _VERDICTS + ")" + _ENDS,
    re.IGNORECASE,
)
_OPENS = re.compile(r"\A[\W_]*(?P<word>yes|no)\b" + _ENDS, re.IGNORECASE)
_CLOSES = re.compile(
    r"\b(?:so|therefore|thus|hence|overall|finally)[\s,:]+(?:(?:my|the) answer is\s+)?(?P<word>yes|no)\b" + _ENDS,
    re.IGNORECASE,
)
_SIDE = r"(?:(?:[Aa]nswer|[Rr]esponse|[Oo]ption|[Ss]olution|[Cc]andidate)\s+)?\**\b(?P<side>[AB])\b\**"
_NTH = r"\b(?P<nth>[Ff]irst|[Ss]econd)\s+(?:answer|response|option|solution|candidate|one)"
_BETTER = r"(?:better|best|preferable|superior)\b"
_PREFERS = tuple(
    re.compile(form)
    for form in (
        rf"{_SIDE}\s+(?:is|seems|looks)(?P<denied>n['’]t|\s+not)?\s+(?:\w+ly\s+|the\s+|much\s+)*{_BETTER}",
        rf"{_NTH}\s+(?:is|seems|looks)(?P<denied>n['’]t|\s+not)?\s+(?:\w+ly\s+|the\s+|much\s+)*{_BETTER}",
        rf"\b(?:prefer|choose|pick|favou?r|go with)\s+{_SIDE}",
        rf"\b(?:prefer|choose|pick|favou?r|go with)\s+the\s+{_NTH}",
        rf"\b[Bb]etter\s+(?:answer|response|option|solution|one)\s+is\s+{_SIDE}",
        rf"\b[Bb]etter\s+(?:answer|response|option|solution|one)\s+is\s+the\s+{_NTH}",
    )
)
_RATED = re.compile(r"(?<![\w.,/-])(?P<number>[0-9]{1,4})\s*(?:/|out of|of)\s*(?P<top>[0-9]{1,4})(?![0-9]|[/.,][0-9])")
_NUMBER = re.compile(
    r"(?P<number>-?[0-9]{1,4})(?![0-9]|[.,][0-9])(?:\s*(?:/|out of|of)\s*(?P<top>[0-9]{1,4})(?![0-9]|[/.,][0-9]))?"
)
_RANGE = re.compile(r"[0-9]\s*(?:-|–|to|or|and)\s*\Z")
_RANGES_ON = re.compile(r"\s*(?:-|–|to|or)\s*[0-9]")
_LINE = re.compile(
    r"(?:line|step|number|no\.?|#)?\s*(?P<number>[0-9]{1,3})\b(?!\s*(?:or|and|-|–|,)\s*(?:line\s*)?[0-9])"
)
_NO_LINE = re.compile(r"(?:none|no(?:ne of them| (?:wrong )?line\w*)?|there is none|n/?a)\b")


def read_verdict(text: str, label: str = "verdict") -> str | None:
    """Whether a reply says yes or no.

    >>> [read_verdict(t) for t in ("**Verdict:** Yes.", "So the answer is not right.", "Verdict: yes or no", "Hm.")]
    ['yes', 'no', None, None]
    """
    return _last(text, label, _yes_or_no) or _last_of(_sentences(text))


def read_side(text: str, label: str = "better") -> str | None:
    """Which of two a reply prefers.

    >>> [read_side(t) for t in ("Better: B, by far", "I prefer answer A.", "Both are good.")]
    ['b', 'a', None]
    """
    return _last(text, label, _one_side) or _last_of(_preferences(text))


def read_number(text: str, low: int, high: int, label: str = "score") -> int | None:
    """The whole number from `low` to `high` that a reply says. `7/10` is one of a scale that ends at 10, and none of others.

    >>> [read_number(t, 1, 10) for t in ("Score: 7/10", "I would give it 8 out of 10.", "Score: 7.5", "7 or 8/10")]
    [7, 8, None, None]
    """
    said = _last(text, label, lambda rest: _on_scale(_NUMBER.match(rest), rest, low, high))
    return said if said is not None else _last_of(_rated(text, low, high))


def read_line(text: str, label: str = "first wrong line") -> int | str | None:
    """The number of a line, from 1, or `none`.

    >>> [read_line(t) for t in ("First wrong line: 3", "First wrong line: **none**", "Line 3 looks odd.")]
    [3, 'none', None]
    """
    said: int | str | None = _last(text, label, _line_or_none)
    return said


def read_order(text: str, size: int, label: str = "verdict") -> list[int] | None:
    """The order that a reply states of `size` things: each number from 1 once, the first stands first.

    >>> [read_order(t, 3) for t in ("So:\\n**Verdict:** 2 > 1 > 3.", "Verdict: 2 > 1", "2, then 1, then 3")]
    [[2, 1, 3], None, None]
    """
    return _last(text, label, lambda rest: _every_number(rest, size))


def read_after(text: str, label: str) -> str | None:
    """What a reply says after a label, to the end of the line.

    >>> read_after("4*5=20\\n**Problem:** chain 4 *5", "problem")
    'chain 4 *5'
    """
    return _last(text, label, lambda rest: rest or None)


# --- labels -------------------------------------------------------------------------------------------------------


def _last(text: str, label: str, read: Callable[[str], Said | None]) -> Said | None:
    """What `read` makes of what follows the label, where it last makes anything of it."""
    return next((said for rest in reversed([*_labelled(text, label)]) if (said := read(rest)) is not None), None)


def _labelled(text: str, label: str) -> Iterator[str]:
    """What follows a label to the end of its line; the next line, where the label stands alone. A word that is the
    whole reply needs no label."""
    lines = [line for line in text.splitlines() if line.strip(_AROUND)]
    if len(lines) == 1 and " " not in _plain(lines[0]):
        yield _plain(lines[0])
    named = re.compile(rf"(?:\b{label}\b[*_`]*\s*(?::|=|\bis\b:?)|^\s*=)", re.IGNORECASE)
    alone = re.compile(rf"(?:(?:my|the|final)\s+)*{label}", re.IGNORECASE)
    for place, line in enumerate(lines):
        bare = line.strip(_AROUND + ":-")
        if alone.fullmatch(bare) and place + 1 < len(lines):
            yield _plain(lines[place + 1])
        for match in named.finditer(line):
            before = line[: match.start()]
            if before.rstrip("*_ ")[-1:] in (*_QUOTES,) and before.strip(_AROUND):
                continue  # quoted
            rest = _plain(line[match.end() :])
            again = named.match(rest)  # `the verdict is "Verdict: yes"`
            yield _plain(rest[again.end() :]) if again is not None else rest


def _plain(text: str) -> str:
    return _BOXED.sub("", text).strip(_AROUND + "!,;:").strip()


# --- what they say ------------------------------------------------------------------------------------------------


def _yes_or_no(rest: str) -> str | None:
    word, after = _first_word(rest)
    denied = word == "not"
    if denied:
        word, after = _first_word(after)
    if word not in _WORDS:
        return _last_of(_sentences(rest))
    others = "|".join(other for other, means in _WORDS.items() if means != _WORDS[word])
    # "yes or no" states neither; "no, it is wrong" and "yes: the answer is right" do
    if re.match(rf"\W*(?:(?:or|and)\W+)?(?:{others})\b", after, re.IGNORECASE):
        return None
    if after[:1].isspace() and re.search(rf"\b(?:{others}|but|not)\b", after, re.IGNORECASE):
        return None
    return _turned(_WORDS[word]) if denied else _WORDS[word]


def _first_word(text: str) -> tuple[str, str]:
    match = re.match(r"\W*([A-Za-z]+)\b", text)
    return ("", text) if match is None else (match[1].lower(), text[match.end() :])


def _turned(word: str) -> str:
    return NO if word == YES else YES


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yes or no wherever a sentence of a known form says it."""
    for form in (_OPENS, _IS_RIGHT, _CLOSES):
        for match in form.finditer(text):
            word = _WORDS[match["word"].lower()]
            yield match.start(), _turned(word) if match.groupdict().get("denied") else word


def _one_side(rest: str) -> str | None:
    match = re.match(r"\W*(?:(?:answer|response|option|solution|candidate)\W+)?\W*([ab])\b", rest, re.IGNORECASE)
    if match is None:
        return _last_of(_preferences(rest))
    after = rest[match.end() :]
    other = "B" if match[1] in "aA" else "A"
    if re.match(rf"\W*(?:or|and)?\W*(?:answer\W+|option\W+)?\b{other}\b", after, re.IGNORECASE) or (
        after[:1].isspace() and re.search(rf"\b{other}\b", after) and not re.search(_BETTER, after)
    ):
        return None
    return match[1].lower()


def _preferences(text: str) -> Iterator[tuple[int, str]]:
    for form in _PREFERS:
        for match in form.finditer(text):
            named = match.groupdict()
            if not named.get("denied"):
                side = named.get("side") or ("A" if str(named["nth"]).lower() == "first" else "B")
                yield match.start(), side.lower()


def _on_scale(match: re.Match[str] | None, text: str, low: int, high: int) -> int | None:
    if match is None or _RANGE.search(text[: match.start()]) or _RANGES_ON.match(text[match.end() :]):
        return None
    top, value = match["top"], int(match["number"])
    return value if low <= value <= high and (top is None or int(top) == high) else None


def _rated(text: str, low: int, high: int) -> Iterator[tuple[int, int]]:
    for match in _RATED.finditer(text):
        value = _on_scale(match, text, low, high)
        if value is not None:
            yield match.start(), value


def _every_number(rest: str, size: int) -> list[int] | None:
    numbers = [part.strip(_AROUND) for part in rest.split(">")]
    return [int(each) for each in numbers] if sorted(numbers) == sorted(str(n + 1) for n in range(size)) else None


def _line_or_none(rest: str) -> Any:  # a number, a word, or None
    lower = rest.lower()
    if _NO_LINE.match(lower):
        return NONE
    match = _LINE.match(lower)
    return int(match["number"]) if match is not None and int(match["number"]) > 0 else None


def _last_of(stated: Iterator[tuple[int, Said]]) -> Said | None:
    """The statement that stands last."""
    return max(stated, key=lambda each: each[0], default=(0, None))[1]
