"""Queries read word by word: which tables and columns they name, and what stands in each of their clauses.

A small reader of our own, for rewards that look at thousands of queries a second, also where sqlglot is not installed. It knows
names from aliases, functions and words of the language, and agrees with sqlglot on what both can read.
Leaves out: whether a query is one (SQLite says that), trees and types (`sql_parts.py` has sqlglot for them).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|\d+(?:\.\d+)?|\.\d+|[A-Za-z_]\w*"""
    r"""|<>|<=|>=|!=|==|\|\||\S""",
    re.DOTALL,
)
CLAUSES = ("with", "select", "from", "where", "group", "having", "order", "limit")
BETWEEN = {"union", "intersect", "except"}  # words after which another query begins
WORDS = {
    *CLAUSES,
    *BETWEEN,
    *("join", "inner", "left", "right", "full", "outer", "cross", "natural", "on", "using", "as", "by", "asc", "desc"),
    *("and", "or", "not", "in", "is", "null", "like", "glob", "between", "exists", "distinct", "all", "case", "when"),
    *("then", "else", "end", "offset", "values", "collate", "escape", "recursive", "nulls", "first", "last", "over"),
    *("partition", "filter", "true", "false", "isnull", "notnull", "cast"),
}
ENDS = {"end", "null", "true", "false"}  # words that an alias may follow
JOINED = {"and", "or", ","}  # what stands between the items of a clause


class QueryWord(NamedTuple):
    """A word of a query. `clause` is the outermost one that it stands in, `depth` the brackets around it."""

    text: str
    kind: Literal["table", "column", "function", "word", "value", "sign"]
    clause: str
    depth: int


def sql_tokens(query: str) -> list[str] | None:
    """The tokens of a query, in lower case but for texts, without comments; None where a text never ends.

    >>> sql_tokens("SELECT Name FROM t WHERE city = 'New York' -- all of them")
    ['select', 'name', 'from', 't', 'where', 'city', '=', "'New York'"]
    """
    tokens = [token for token in TOKEN.findall(query) if not token.startswith(("--", "/*"))]
    if any(token in ("'", '"', "`", "[") for token in tokens):
        return None
    return [token if token[0] == "'" else _unquoted(token).lower() for token in tokens]


def _unquoted(token: str) -> str:
    return token[1:-1] if token[0] in '"`[' and len(token) > 1 else token


def read_query(query: str) -> list[QueryWord] | None:
    """The words of a query, without aliases, the tables before a dot, and AS; None for what is not a query: it begins
    otherwise, or a text or a bracket never ends.

    >>> [word.text for word in read_query("SELECT c.code AS k FROM flights c")]
    ['select', 'code', 'from', 'flights']
    """
    tokens = sql_tokens(query)
    if not tokens or tokens[0] not in ("select", "with"):
        return None
    reader = _Reader(tokens)
    for at in range(len(tokens)):
        reader.take(at)
    return reader.words if len(reader.clauses) == 1 and not reader.torn else None


class _Reader:
    """Goes through tokens once, and knows the clause of every bracket that is open."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tokens
        self.words: list[QueryWord] = []
        self.clauses = [""]  # of every open bracket
        self.names_ahead = [False]  # whether the bracket holds names alone: USING (id), WITH r(n)
        self.torn = False  # more brackets were closed than opened

    def take(self, at: int) -> None:
        token, before = self.tokens[at], self.tokens[at - 1] if at else ""
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else ""
        if token == "(":
            self.keep(token, "sign")
            self.names_ahead.append(before == "using" or (self.clauses[-1] == "with" and before != "as"))
            self.clauses.append(self.clauses[-1] if before not in ("as", "in", "exists", "from", "join") else "")
        elif token == ")":
            self.torn |= len(self.clauses) == 1
            self.clauses, self.names_ahead = self.clauses[:-1] or [""], self.names_ahead[:-1] or [False]
            self.keep(token, "sign")
        elif token in WORDS:
            self.word(token)
        elif token[0] == "'" or token[0].isdigit() or (token[0] == "." and len(token) > 1):
            self.keep(token, "value")
        elif token[0].isalpha() or token[0] == "_":
            self.name(token, before, after)
        elif token == "*" and before == ".":
            self.keep(token, "column")
        elif token != ".":
            self.keep(token, "sign")

    def word(self, token: str) -> None:
        if token in CLAUSES:
            self.clauses[-1] = token
        elif token in BETWEEN:
            self.clauses[-1] = ""
        if token != "as":
            self.keep(token, "word")

    def name(self, token: str, before: str, after: str) -> None:
        if after == "." or before == "collate" or self.names_ahead[-1]:
            return
        if after == "(" and self.clauses[-1] != "with":
            self.keep(token, "function")
        elif self.is_alias(before):
            return
        elif self.clauses[-1] == "from" and before in ("from", "join", ","):
            self.keep(token, "table")
        else:
            self.keep(token, "column")

    def is_alias(self, before: str) -> bool:
        """What follows AS, or a name, a value or a bracket without anything in between; and what WITH gives a name to."""
        if before == "as" or self.clauses[-1] == "with":
            return True
        ends = before == ")" or before[:1] == "'" or before[:1].isalnum() or before[:1] == "_"
        return ends and (before not in WORDS or before in ENDS)

    def keep(self, text: str, kind: Literal["table", "column", "function", "word", "value", "sign"]) -> None:
        depth = len(self.clauses) - 1
        self.words.append(QueryWord(text, kind, self.clauses[0], depth))


def schema_names(query: str) -> tuple[set[str], set[str]] | None:
    """The tables and the columns that a query names, anywhere in it; None for what is not a query.

    >>> tables, columns = schema_names("SELECT p.name FROM flights c JOIN airports p ON c.airport_id = p.id")
    >>> sorted(tables), sorted(columns)
    (['airports', 'flights'], ['airport_id', 'id', 'name'])
    """
    words = read_query(query)
    if words is None:
        return None
    tables, columns = ({word.text for word in words if word.kind == kind} for kind in ("table", "column"))
    return tables, columns


def clauses_of(query: str) -> dict[str, set[str]] | None:
    """What stands in the clauses of a query, item by item: between commas, and between AND and OR. Subqueries stay whole; an
    OR is an item too, so that it differs from AND.

    >>> clauses_of("SELECT p.name FROM airports p WHERE p.gates > 3")
    {'select': {'name'}, 'from': {'airports'}, 'where': {'gates > 3'}}
    """
    words = read_query(query)
    if words is None:
        return None
    items: dict[str, list[list[str]]] = {}
    for word in words:
        mine = items.setdefault(word.clause, [[]])
        if word.depth == 0 and word.text in JOINED:
            mine += [["or"], []] if word.text == "or" else [[]]
        elif word.depth > 0 or word.text not in (*CLAUSES, "by"):
            mine[-1].append(word.text)
    return {clause: said for clause, every in items.items() if (said := {" ".join(each) for each in every if each})}


def overlap(mine: set[str], theirs: set[str]) -> float:
    r"""Jaccard's $|A \cap B| / |A \cup B|$; 1 for two empty sets.

    >>> overlap({"a", "b"}, {"b", "c"})
    0.3333333333333333
    """
    union = mine | theirs
    return len(mine & theirs) / len(union) if union else 1.0
