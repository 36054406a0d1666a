"""Tables: look something up, over several pages, sorted or filtered, and say it."""

from __future__ import annotations

import random
from typing import Any

from guerdon.envs.pages.form_sites import Made
from guerdon.envs.pages.page_words import Words, lure_answer, lures

SIZES = {1: 4, 2: 6, 3: 10, 4: 14, 5: 18, 6: 24, 7: 24, 8: 30}  # level: rows
REGIONS = ("north", "south", "east", "west")
COLUMNS = ("sales", "staff", "rent", "visits")
PER = 6


def table_site(draw: random.Random, words: Words, level: int) -> Made:
    """1 and 2: a cell of a table. 3: over several pages. 4 and 5: the name with the most or least, which sorting
    shows. 6: within a region. 7: a number that only a row's own page has, and distractors. 8: the difference of two
    such numbers."""
    columns = list(draw.sample(COLUMNS, 1 if level == 1 else 3))
    rows = _rows(draw, words, level, columns)
    hidden = columns.pop() if level >= 7 else ""
    lure, false = lure_answer(draw) if level >= 7 else ("", "")
    prompt, answer, sees = _question(draw, rows, columns, hidden, level)
    pages = {"home": _home(draw, columns, level)}
    if hidden:
        back = ["a", {"id": "to-home", "href": "home"}, "shops"]
        pages["shop"] = ["body", {"of": "rows"}, ["h1", "{name}"], back, _cell(hidden, "p", "{0} {{{0}}}"), ["p", lure]]
    goal = {"wanted": {}, "answer": answer, "todo": [{"see": id} for id in sees], "lures": [false] if false else []}
    return Made(f"{prompt} stop with the answer.", {"start": "home", "pages": pages, "data": {"rows": rows}}, goal)


def _rows(draw: random.Random, words: Words, level: int, columns: list[str]) -> list[dict[str, Any]]:
    count = SIZES[level]
    names = words.places if level <= 2 else [f"{place} {thing}" for place in words.places for thing in words.things[:6]]
    chosen = draw.sample(names, count)
    numbers = {column: draw.sample(range(100, 1000), count) for column in columns}
    return [
        {"id": str(n + 1), "name": name, "region": draw.choice(REGIONS)}
        | {column: numbers[column][n] for column in columns}
        for n, name in enumerate(chosen)
    ]


def _question(
    draw: random.Random, rows: list[dict[str, Any]], columns: list[str], hidden: str, level: int
) -> tuple[str, str, list[str]]:
    """What is asked, its answer and the cells to see for it."""
    row = draw.choice(rows)
    if level <= 3:
        column = draw.choice(columns)
        return f"what are the {column} of {row['name']}?", str(row[column]), [f"{column}:{row['id']}"]
    if level == 7:
        return f"what are the {hidden} of {row['name']}?", str(row[hidden]), [f"{hidden}:{row['id']}"]
    if level == 8:
        other = draw.choice([each for each in rows if each is not row])
        more, less = sorted((row, other), key=lambda each: -int(each[hidden]))
        ids = [f"{hidden}:{row['id']}", f"{hidden}:{other['id']}"]
        prompt = f"how much more {hidden} has {more['name']} than {less['name']}?"
        return prompt, str(more[hidden] - less[hidden]), ids
    column, most = draw.choice(columns), draw.random() < 0.5
    among = [each for each in rows if each["region"] == row["region"]] if level == 6 else rows
    ranked = sorted(among, key=lambda each: each[column], reverse=most)
    second = level == 5 and draw.random() < 0.5
    best = ranked[1 if second else 0]
    where = f"of all in the {row['region']}, " if level == 6 else ""
    rank = ("second " if second else "") + ("most" if most else "least")
    return f"{where}which has the {rank} {column}?", str(best["name"]), [f"name:{best['id']}"]


def _home(draw: random.Random, columns: list[str], level: int) -> list[Any]:
    shown = ["name", *(["region"] if level >= 6 else []), *columns]
    cells: list[Any] = [_cell(column, "td", "{{{0}}}") for column in shown]
    if level >= 7:
        cells[0] = ["td", {"id": "name:{id}"}, ["a", {"id": "open:{id}", "href": "shop?{id}"}, "{name}"]]
    heads: list[Any] = [["th", {"id": f"head-{column}"}, column] for column in shown]
    if level >= 4:
        heads = [["th", ["button", {"id": f"by-{c}", "on": {"click": [["sort", "rows", c]]}}, c]] for c in shown]
    per = {"per": PER} if level >= 3 else {}
    parts: list[Any] = [["table", ["tr", *heads], ["tbody", {"each": "rows", **per}, ["tr", *cells]]]]
    if level >= 6:
        options = [["option", {}, region] for region in ("any", *REGIONS)]
        changed = {"change": [["where", "rows", "region", "region"]]}
        parts.insert(0, ["p", ["select", {"id": "region", "label": "region", "on": changed}, *options]])
    if level >= 3:
        parts.append(["p", *(_turn(name, by) for name, by in (("previous", -1), ("next", 1)))])
    return ["body", ["h1", "shops"], *parts, *lures(draw, level)]


def _turn(name: str, by: int) -> list[Any]:
    return ["button", {"id": name, "on": {"click": [["turn", "rows", by, PER]]}}, name]


def _cell(column: str, tag: str, form: str) -> list[Any]:
    return [tag, {"id": f"{column}:{{id}}"}, form.format(column)]
