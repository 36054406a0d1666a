"""Questions about a small database in plain words, each with the query that answers it and queries that nearly do.

Leaves out: databases (`sql_databases.py`), comparing answers (`sql_results.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from guerdon.tasks.field.sql_databases import SqlColumn, SqlTable, quoted

AGGREGATES = {"AVG": "average", "SUM": "total", "MAX": "highest", "MIN": "lowest"}
World = Sequence[SqlTable]


@dataclass(frozen=True)
class SqlQuestion:
    """A question, the query that answers it, whether the order of rows is asked for, and wrong queries by their error."""

    words: str
    query: str
    ordered: bool
    wrong: tuple[tuple[str, str], ...]


def where_text(world: World, draw: random.Random) -> SqlQuestion:
    table = draw.choice(world)
    column = draw.choice(table.texts)
    value, other = draw.sample(list(column.values), 2)
    base = f"SELECT {table.label} FROM {table.name}"
    wrong = (
        ("condition forgotten", base),
        ("another value", f"{base} WHERE {column.name} = {quoted(other)}"),
        ("another column", f"SELECT id FROM {table.name} WHERE {column.name} = {quoted(value)}"),
        ("negated", f"{base} WHERE {column.name} <> {quoted(value)}"),
    )
    words = f"What is the {table.label} of every {table.one} whose {column.words} is {value}?"
    return SqlQuestion(words, f"{base} WHERE {column.name} = {quoted(value)}", False, wrong)


def counted(world: World, draw: random.Random) -> SqlQuestion:
    table = draw.choice(world)
    column, text = draw.choice(table.numbers), draw.choice(table.texts)
    bound, value = _bound(column, draw), draw.choice(list(text.values))
    base, first, second = (
        f"SELECT COUNT(*) FROM {table.name}",
        f"{column.name} > {bound}",
        f"{text.name} = {quoted(value)}",
    )
    wrong = (
        ("condition forgotten", f"{base} WHERE {first}"),
        ("or for and", f"{base} WHERE {first} OR {second}"),
        ("below for above", f"{base} WHERE {column.name} < {bound} AND {second}"),
        ("rows for their count", f"SELECT {table.label} FROM {table.name} WHERE {first} AND {second}"),
    )
    words = f"How many {table.many} have a {column.words} above {bound} and {value} as their {text.words}?"
    return SqlQuestion(words, f"{base} WHERE {first} AND {second}", False, wrong)


def aggregated(world: World, draw: random.Random) -> SqlQuestion:
    table = draw.choice(world)
    column, text = draw.choice(table.numbers), draw.choice(table.texts)
    function, value = draw.choice(list(AGGREGATES)), draw.choice(list(text.values))
    condition = f"WHERE {text.name} = {quoted(value)}"
    other = draw.choice([name for name in AGGREGATES if name != function])
    beside = draw.choice([c.name for c in table.numbers if c is not column] or ["id"])
    wrong = (
        ("condition forgotten", f"SELECT {function}({column.name}) FROM {table.name}"),
        ("another aggregate", f"SELECT {other}({column.name}) FROM {table.name} {condition}"),
        ("another column", f"SELECT {function}({beside}) FROM {table.name} {condition}"),
    )
    words = f"What is the {AGGREGATES[function]} {column.words} of {table.many} whose {text.words} is {value}?"
    return SqlQuestion(words, f"SELECT {function}({column.name}) FROM {table.name} {condition}", False, wrong)


def top_few(world: World, draw: random.Random) -> SqlQuestion:
    table = draw.choice(world)
    column, count = draw.choice(table.numbers), draw.randint(2, 5)
    way, back, said = draw.choice([("DESC", "ASC", "highest"), ("ASC", "DESC", "lowest")])
    base = f"SELECT {table.label}, {column.name} FROM {table.name} ORDER BY {column.name}"
    wrong = (
        ("wrong way round", f"{base} {back} LIMIT {count}"),
        ("one too many", f"{base} {way} LIMIT {count + 1}"),
        ("limit forgotten", f"{base} {way}"),
        ("unordered", f"SELECT {table.label}, {column.name} FROM {table.name} LIMIT {count}"),
    )
    words = f"Which {count} {table.many} have the {said} {column.words}?"
    words += f" Give their {table.label} and {column.words}, {said} first."
    return SqlQuestion(words, f"{base} {way} LIMIT {count}", True, wrong)


def joined(world: World, draw: random.Random) -> SqlQuestion:
    parent, child = world
    text, number = draw.choice(parent.texts), draw.choice(child.numbers)
    value, bound = draw.choice(list(text.values)), _bound(number, draw)
    tables = f"FROM {child.name} c JOIN {parent.name} p ON c.{child.key} = p.id"
    base, first, second = (
        f"SELECT c.{child.label}, p.{parent.label} {tables}",
        f"p.{text.name} = {quoted(value)}",
        f"c.{number.name} > {bound}",
    )
    wrong = (
        ("condition forgotten", f"{base} WHERE {first}"),
        ("or for and", f"{base} WHERE {first} OR {second}"),
        (
            "joined by the wrong key",
            f"{base.replace(f'c.{child.key} = p.id', 'c.id = p.id')} WHERE {first} AND {second}",
        ),
        (
            "not joined",
            f"SELECT c.{child.label}, p.{parent.label} FROM {child.name} c, {parent.name} p WHERE {first} AND {second}",
        ),
    )
    words = (
        f"For every {child.one} with a {number.words} above {bound} whose {parent.one} has {value} as {text.words}, give the"
        f" {child.label} of the {child.one} and the {parent.label} of the {parent.one}."
    )
    return SqlQuestion(words, f"{base} WHERE {first} AND {second}", False, wrong)


def grouped(world: World, draw: random.Random) -> SqlQuestion:
    parent, child = world
    text, number = draw.choice(parent.texts), draw.choice(child.numbers)
    function = draw.choice(list(AGGREGATES))
    other = draw.choice([name for name in AGGREGATES if name != function])
    tables = f"FROM {child.name} c JOIN {parent.name} p ON c.{child.key} = p.id"
    base = f"SELECT p.{text.name}, {function}(c.{number.name}) {tables}"
    wrong = (
        ("not grouped", base),
        ("grouped by another column", f"{base} GROUP BY p.id"),
        ("another aggregate", f"SELECT p.{text.name}, {other}(c.{number.name}) {tables} GROUP BY p.{text.name}"),
        ("counted", f"SELECT p.{text.name}, COUNT(*) {tables} GROUP BY p.{text.name}"),
    )
    words = (
        f"What is the {AGGREGATES[function]} {number.words} of {child.many} for each {text.words} of their {parent.many}?"
        f" Give the {text.words} and the number."
    )
    return SqlQuestion(words, f"{base} GROUP BY p.{text.name}", False, wrong)


def grouped_having(world: World, draw: random.Random) -> SqlQuestion:
    parent, child = world
    text, least = draw.choice(child.texts), draw.randint(2, 3)
    value = draw.choice(list(text.values))
    tables = f"FROM {parent.name} p JOIN {child.name} c ON c.{child.key} = p.id"
    base, condition = f"SELECT p.{parent.label}, COUNT(*) {tables}", f"WHERE c.{text.name} <> {quoted(value)}"
    group, order = "GROUP BY p.id", "ORDER BY COUNT(*) DESC, p." + parent.label
    wrong = (
        ("having forgotten", f"{base} {condition} {group} {order}"),
        ("one more than asked", f"{base} {condition} {group} HAVING COUNT(*) >= {least + 1} {order}"),
        ("condition forgotten", f"{base} {group} HAVING COUNT(*) >= {least} {order}"),
        ("wrong way round", f"{base} {condition} {group} HAVING COUNT(*) >= {least} {order.replace('DESC', 'ASC')}"),
    )
    words = (
        f"Which {parent.many} have at least {least} {child.many} whose {text.words} is not {value}? Give their {parent.label}"
        f" and how many such {child.many} they have, most first, and those with equally many by {parent.label}."
    )
    return SqlQuestion(words, f"{base} {condition} {group} HAVING COUNT(*) >= {least} {order}", True, wrong)


def nested(world: World, draw: random.Random) -> SqlQuestion:
    parent, child = world
    number, text = draw.choice(child.numbers), draw.choice(child.texts)
    value = draw.choice(list(text.values))
    base = f"SELECT p.{parent.label} FROM {parent.name} p WHERE"
    theirs = f"SELECT {child.key} FROM {child.name} WHERE {text.name} = {quoted(value)}"
    above = f"SELECT {child.key} FROM {child.name} WHERE {number.name} > (SELECT AVG({number.name}) FROM {child.name})"
    wrong = (
        ("first part forgotten", f"{base} p.id IN ({above})"),
        ("second part forgotten", f"{base} p.id NOT IN ({theirs})"),
        ("not forgotten", f"{base} p.id IN ({theirs}) AND p.id IN ({above})"),
        ("below for above", f"{base} p.id NOT IN ({theirs}) AND p.id IN ({above.replace(' > ', ' < ')})"),
    )
    words = (
        f"Give the {parent.label} of every {parent.one} that has no {child.one} with {value} as {text.words}, but has a"
        f" {child.one} whose {number.words} is above the average {number.words} of all {child.many}."
    )
    return SqlQuestion(words, f"{base} p.id NOT IN ({theirs}) AND p.id IN ({above})", False, wrong)


KINDS: tuple[Callable[[World, random.Random], SqlQuestion], ...] = (
    where_text,
    counted,
    aggregated,
    top_few,
    joined,
    grouped,
    grouped_having,
    nested,
)  # one for each level


def _bound(column: SqlColumn, draw: random.Random) -> int:
    """A number that some values are above and some below."""
    low, high = column.between
    return draw.randint(low + (high - low) // 4, low + 3 * (high - low) // 4)
