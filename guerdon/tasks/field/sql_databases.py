"""Small databases with realistic rows: four worlds of two tables, joined by a foreign key.

Leaves out: what is asked of them (`sql_questions.py`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass


def _words(text: str) -> list[str]:
    return text.split()


PEOPLE = _words(
    "Ada Bruno Chen Dora Emil Farah Goran Hana Ivo Jana Karim Lena Marco Nadia Omar Petra Quentin Rosa Sven Tala"
)
SURNAMES = [
    "Adler",
    "Brandt",
    "Costa",
    "Dietrich",
    "Evans",
    "Fischer",
    "Greco",
    "Hoffmann",
    "Ivanov",
    "Jensen",
    "Kovacs",
    "Lang",
    "Moreau",
    "Novak",
    "Okafor",
]
CITIES = _words("Lisbon Oslo Prague Vienna Dublin Geneva Krakow Athens")
COUNTRIES = _words("Portugal Norway Austria Ireland Poland Greece Chile Japan")
THINGS = _words("Lamp Desk Chair Kettle Bottle Tent Rope Stove Jacket Boots Radio Camera Speaker Mug Shelf Clock")
MAKES = _words("Oak Steel Travel Classic Mini Pro Garden Winter City Nordic")
TOPICS = _words("Algebra Optics Ethics Genetics Poetry Statistics Ecology Logic Painting Acoustics Geology Rhetoric")
NOUNS = _words("Harbour Orchard Winter Mirror Signal Garden Compass Lantern River Archive Violin Bridge")


@dataclass(frozen=True)
class SqlColumn:
    """A column: its name, what it is called, and what its values are drawn from: words, or whole numbers between two."""

    name: str
    words: str
    values: Sequence[str] = ()
    between: tuple[int, int] = (0, 0)

    @property
    def is_number(self) -> bool:
        return not self.values

    def draw(self, draw: random.Random) -> str | int:
        return draw.randint(*self.between) if self.is_number else draw.choice(list(self.values))


@dataclass(frozen=True)
class SqlTable:
    """A table: what its rows are called, one and many; the column that names a row, made of two words; other columns; and what
    it refers to."""

    name: str
    one: str
    many: str
    label: str
    firsts: Sequence[str]
    seconds: Sequence[str]
    columns: tuple[SqlColumn, ...]
    parent: str = ""  # the table that a row belongs to
    rows: int = 12

    @property
    def key(self) -> str:
        return f"{self.parent_one}_id" if self.parent else ""

    parent_one: str = ""

    @property
    def numbers(self) -> list[SqlColumn]:
        return [column for column in self.columns if column.is_number]

    @property
    def texts(self) -> list[SqlColumn]:
        return [column for column in self.columns if not column.is_number]

    def created(self) -> str:
        lines = ["id INTEGER PRIMARY KEY", f"{self.label} TEXT"]
        lines += [f"{column.name} {'INTEGER' if column.is_number else 'TEXT'}" for column in self.columns]
        lines += [f"{self.key} INTEGER REFERENCES {self.parent}(id)"] if self.parent else []
        return f"CREATE TABLE {self.name} ({', '.join(lines)});"


def _c(name: str, words: str, *values: str) -> SqlColumn:
    return SqlColumn(name, words, values)


def _n(name: str, words: str, low: int, high: int) -> SqlColumn:
    return SqlColumn(name, words, between=(low, high))


WORLDS: tuple[tuple[SqlTable, ...], ...] = (
    (
        SqlTable(
            "customers",
            "customer",
            "customers",
            "name",
            PEOPLE,
            SURNAMES,
            (_c("city", "city", *CITIES), _n("age", "age", 18, 80)),
        ),
        SqlTable(
            "orders",
            "order",
            "orders",
            "product",
            MAKES,
            THINGS,
            (
                _n("price", "price", 5, 400),
                _n("quantity", "quantity", 1, 9),
                _c("status", "status", "open", "sent", "returned"),
            ),
            "customers",
            24,
            "customer",
        ),
    ),
    (
        SqlTable(
            "authors",
            "author",
            "authors",
            "name",
            PEOPLE,
            SURNAMES,
            (_c("country", "country", *COUNTRIES), _n("born", "year of birth", 1900, 1999)),
        ),
        SqlTable(
            "books",
            "book",
            "books",
            "title",
            ["The Last", "A Quiet", "Beyond the", "Under the", "Letters from the", "The Broken"],
            NOUNS,
            (
                _n("pages", "number of pages", 80, 900),
                _n("year", "year", 1950, 2024),
                _c("genre", "genre", "novel", "poetry", "history", "crime"),
            ),
            "authors",
            24,
            "author",
        ),
    ),
    (
        SqlTable(
            "teachers",
            "teacher",
            "teachers",
            "name",
            PEOPLE,
            SURNAMES,
            (
                _c("department", "department", "Science", "Arts", "Languages", "Sports"),
                _n("salary", "salary", 2500, 6900),
            ),
        ),
        SqlTable(
            "courses",
            "course",
            "courses",
            "title",
            ["Introduction to", "Advanced", "Applied", "Topics in"],
            TOPICS,
            (
                _n("credits", "number of credits", 1, 12),
                _n("seats", "number of seats", 10, 200),
                _c("term", "term", "spring", "summer", "autumn"),
            ),
            "teachers",
            24,
            "teacher",
        ),
    ),
    (
        SqlTable(
            "airports",
            "airport",
            "airports",
            "name",
            CITIES,
            ["North", "South", "Central", "International"],
            (_c("country", "country", *COUNTRIES), _n("gates", "number of gates", 4, 90)),
        ),
        SqlTable(
            "flights",
            "flight",
            "flights",
            "code",
            ["LX", "OS", "TP", "EI", "SK"],
            [str(number) for number in range(100, 999, 13)],
            (
                _n("distance", "distance", 150, 9000),
                _n("delay", "delay", 0, 180),
                _c("carrier", "carrier", "Alpina", "Borealis", "Celeste"),
            ),
            "airports",
            24,
            "airport",
        ),
    ),
)


def filled(world: Sequence[SqlTable], draw: random.Random) -> str:
    """A script that makes the tables of a world and fills them. Names are unique, and so are numbers as far as they go."""
    lines, counts = [], {}
    for table in world:
        lines.append(table.created())
        count = counts[table.name] = table.rows + draw.randint(-2, 4)
        names = draw.sample([f"{first} {second}" for first in table.firsts for second in table.seconds], count)
        for number, name in enumerate(names, 1):
            values: list[str | int] = [number, name, *(column.draw(draw) for column in table.columns)]
            values += [draw.randint(1, counts[table.parent])] if table.parent else []
            lines.append(f"INSERT INTO {table.name} VALUES ({', '.join(map(quoted, values))});")
    return "\n".join(lines)


def quoted(value: str | int) -> str:
    """A value as SQL writes it."""
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def schema(world: Sequence[SqlTable]) -> str:
    return "\n".join(table.created() for table in world)
