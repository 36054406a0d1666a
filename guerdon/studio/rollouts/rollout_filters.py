"""What people ask of rollouts, in the words of an address, made into conditions on the table.

A filter is a list of terms, all of which must hold. A term is a piece of SQL of ours, the values that are bound in it, and the
name of the column that it speaks of; a column's name is looked up in the table and is never part of a statement itself.

>>> [(term.sql, term.values) for term in words_of('carry "two three" -wait')]  # doctest: +NORMALIZE_WHITESPACE
[('contains(said, lower(?))', ('carry',)),
 ('contains(said, lower(?))', ('two three',)),
 ('NOT contains(said, lower(?))', ('wait',))]
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guerdon.core.episode import End
from guerdon.core.errors import UserError, unknown
from guerdon.runs.rollout_table import WORDS
from guerdon.studio.rollouts.rollout_index import PLAIN

MOST_TERMS = 24
LONGEST_TEXT = 1_000  # characters of what is searched for
LONGEST_PATTERN = 200
NUMBERS = [name for name, kind in PLAIN.items() if kind in ("BIGINT", "DOUBLE")]
REASONS = [word for word in WORDS.values() if word != "value"]
TOKEN = re.compile(r'(-?)(re:)?(?:"([^"]*)"?|(\S+))')
SAYS = "contains(said, lower(?))"
FITS = "(coalesce(regexp_matches(completion, ?, 'is'), false) OR coalesce(regexp_matches(prompt, ?, 'is'), false))"
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf)"
RANGE = re.compile(rf"(?P<low>{NUMBER})?\.\.(?P<high>{NUMBER})?|(?P<sign>>=|<=|>|<|=|)(?P<only>{NUMBER})")
LISTED = ("kind", "family", "role", "end", "ask", "episode")  # filters that are one of some words


@dataclass(frozen=True)
class RowTerm:
    """A condition. In its SQL `{number}` and `{reason}` are replaced by its column, `{reasons}` by a list of the reasons of
    all."""

    sql: str
    values: tuple[Any, ...] = ()
    column: str = ""
    reads_text: bool = False

    def on(self, columns: Mapping[str, int]) -> tuple[str, tuple[Any, ...]]:
        """SQL and values for a table whose columns of the batch have these numbers. It lets no row through where that column is
        not there."""
        if self.column in PLAIN:
            return self.sql.format(number=f'"{self.column}"', reason="NULL"), self.values
        if self.column:
            number = columns.get(self.column)
            return (
                ("false", ())
                if number is None
                else (self.sql.format(number=f"c{number}", reason=f"r{number}"), self.values)
            )
        if "{reasons}" in self.sql:
            return self.sql.format(reasons=", ".join(f"r{n}" for n in columns.values()) or "NULL"), self.values
        return self.sql, self.values


@dataclass(frozen=True)
class RolloutFilter:
    """What rows must be. `keys` are those of them that are meant, by run: (step, episode, segment), as labels name them."""

    terms: tuple[RowTerm, ...] = ()
    literal: tuple[str, ...] = ()  # what to mark in a text: words and phrases
    patterns: tuple[str, ...] = ()  # and regular expressions, which only DuckDB tries
    tried: tuple[str, ...] = ()  # all of them, also those that must not be there
    keys: Mapping[str, frozenset[tuple[int, str, int]]] | None = field(default=None, hash=False)
    without: bool = False  # those are left out, in place of all others

    @property
    def reads_texts(self) -> bool:
        return any(term.reads_text for term in self.terms)

    @property
    def columns(self) -> list[str]:
        """The columns that it speaks of."""
        return list(dict.fromkeys(term.column for term in self.terms if term.column))


def filter_of(asked: Mapping[str, Sequence[str]]) -> RolloutFilter:
    """What the words of an address ask for: `{"step": ["3..9"], "text": ['"two three" -wait'], "where": ["reward:>0.5"]}`."""
    terms: list[RowTerm] = []
    for name in LISTED:
        terms += _one_of(name, asked.get(name, ()))
    terms += [
        _within(name, value, f"{name}={value}") for name in ("step", "length", "level") for value in asked.get(name, ())
    ]
    terms += [_task(value) for value in asked.get("task", ())]
    terms += [_learned(value) for value in asked.get("learned", ())]
    terms += [_where(value) for value in asked.get("where", ())]
    terms += [_reason(value) for value in asked.get("reason", ())]
    said = [term for value in asked.get("text", ()) for term in words_of(value)]
    terms += said
    if len(terms) > MOST_TERMS:
        raise UserError(f"{len(terms)} conditions are too many: {MOST_TERMS} can be asked for at once")
    tokens = [token for value in asked.get("text", ()) for token in _tokens(value)]
    return RolloutFilter(
        tuple(terms),
        literal=tuple(word for has_not, is_pattern, word in tokens if not has_not and not is_pattern),
        patterns=tuple(word for has_not, is_pattern, word in tokens if not has_not and is_pattern),
        tried=tuple(word for _, is_pattern, word in tokens if is_pattern),
    )


def words_of(text: str) -> list[RowTerm]:
    """Words in the completion or the prompt, large or small letters: `word`, `"a phrase"`, `-not`, `re:PATTERN`."""
    terms = []
    for has_not, is_pattern, word in _tokens(text):
        sql, values = (FITS, (word, word)) if is_pattern else (SAYS, (word,))
        terms.append(RowTerm(f"NOT {sql}" if has_not else sql, values, reads_text=True))
    return terms


def _tokens(text: str) -> Iterable[tuple[bool, bool, str]]:
    if len(text) > LONGEST_TEXT:
        raise UserError(f"a text of {len(text)} characters is too long to search for: {LONGEST_TEXT} at most")
    for match in TOKEN.finditer(text):
        sign, pattern, phrase, word = match.groups()
        said = phrase if phrase is not None else word
        if phrase is None and word is None:
            continue
        if pattern and (not said or len(said) > LONGEST_PATTERN):
            raise UserError(
                f're: wants a pattern of 1 to {LONGEST_PATTERN} characters after it: re:nine|ten, re:"a b+"'
            )
        if said:
            yield bool(sign), bool(pattern), said


def _one_of(name: str, values: Sequence[str]) -> list[RowTerm]:
    if name == "end":
        for value in values:
            if value not in [end.value for end in End]:
                raise unknown("end", value, [end.value for end in End])
    return [RowTerm(f'"{name}" IN ({", ".join("?" * len(values))})', tuple(values))] if values else []


def _within(column: str, value: str, said: str) -> RowTerm:
    """A number, or a range of them: `3`, `3..9`, `3..`, `>=0.5`, `<1`; `none` and `any` for whether there is one."""
    value = value.strip()
    if value in ("none", "any"):
        return RowTerm(f"{{number}} IS {'' if value == 'none' else 'NOT '}NULL", (), column)
    match = RANGE.fullmatch(value)
    if match is None or (match["only"] is None and match["low"] is None and match["high"] is None):
        raise UserError(f"{said}: a number or a range of them was meant: 3, 3..9, 3.., ..9, >0.5, <=1, none, any")
    if match["only"] is not None:
        return RowTerm(f"{{number}} {match['sign'] or '='} ?", (_number(match["only"], column),), column)
    bounds = [
        (sign, _number(match[side], column))
        for side, sign in (("low", ">="), ("high", "<="))
        if match[side] is not None
    ]
    return RowTerm(
        " AND ".join(f"{{number}} {sign} ?" for sign, _ in bounds), tuple(bound for _, bound in bounds), column
    )


def _number(text: str, column: str) -> float | int:
    number = float(text)
    if PLAIN.get(column) == "BIGINT" and math.isfinite(number) and number == int(number) and abs(number) < 2**62:
        return int(number)
    return number


def _where(value: str) -> RowTerm:
    column, colon, bounds = value.rpartition(":")
    if not colon or not column:
        raise UserError(
            f"where={value}: a column and what it must be was meant: where=reward:0.5..1, where=advantage:>0"
        )
    if column in PLAIN and column not in NUMBERS:
        raise UserError(f"where={value}: {column} holds no numbers: ask for {column}=...")
    return _within(column, bounds, f"where={value}")


def _reason(value: str) -> RowTerm:
    """Numbers that are missing, and why: `failed` of any column, or `reward:failed` of one."""
    column, _, word = value.rpartition(":")
    if word not in REASONS:
        raise unknown("reason", word, REASONS)
    return RowTerm("{reason} = ?" if column else "list_contains([{reasons}], ?)", (word,), column)


def _task(value: str) -> RowTerm:
    """By its id, or by family and id as tasks are named."""
    return RowTerm("(task_id = ? OR family || '/' || task_id = ?)", (value, value))


def _learned(value: str) -> RowTerm:
    if value not in ("yes", "no"):
        raise UserError(f"learned={value}: yes for what was learned from, no for what a stage removed")
    return RowTerm(f"learned = {'true' if value == 'yes' else 'false'}")
