"""Writes docs/usable.md: which recipes train on which data of a user's own; `make pages` calls it."""

from __future__ import annotations

import argparse
from pathlib import Path

from guerdon.training.catalog import Listing, listings
from guerdon.training.usable import FORMS, OWN_DATA, usable

PAGE = Path(__file__).parent.parent / "docs" / "usable.md"
HEAD = """# Which method runs on your data

Every recipe declares what it needs of data, model and machine. It is checked before weights load and before a run folder exists; what is missing is one line:

```console
$ guerdon train verpo --data my.csv --model sprig
guerdon: verpo needs tests one by one, which my.csv does not have: --data FILE with a column "test_list" --check python, or --task functions:3
```

Which of them is for your problem: [methods](methods.md). `guerdon list recipes --usable` prints the table below, `guerdon show NAME` what a recipe needs in full. [Your own data](your_own_data.md) describes the columns, [tools](tools.md) and
[your own task](your_own_task.md) the last two forms. A test trains every cell (`tests/recipes/test_usable.py`). `python scripts/document_usable.py` writes this page.
"""
CELLS = """**yes**: trains, with sprig and with any chat model. *sprig*, *chat*: only with such a model: sprig calls one tool,
and some methods need Guerdon's own decoder. A model is asked to act in [roles](roles.md#the-wording-of-roles) in words that it knows. *set KNOB*: trains if you give `--set KNOB=...`. Empty: does not train on it, and says so.
"""
FIXED = """## Fixed worlds

These study something that their paper fixes: they take no problems of yours (`guerdon train NAME` runs them).
"""


def page() -> str:
    known = listings()
    forms = [[each.title, each.about, f"`{each.given}`"] for each in OWN_DATA]
    parts = [HEAD, _table(["form", "your data", "given by"], forms), CELLS]
    taking = {name: cells for name, cells in usable().items() if not known[name].needs.world}
    for family in dict.fromkeys(known[name].family for name in taking):
        rows = [_row(known[name], cells) for name, cells in taking.items() if known[name].family == family]
        parts += [f"## {family.capitalize()}\n", _table(["recipe", *FORMS, "needs"], rows)]
    fixed = [[f"`{name}`", each.about, each.needs.world or ""] for name, each in known.items() if each.needs.world]
    return "\n".join([*parts, FIXED, _table(["recipe", "what it is", "its world"], fixed)])


def _row(recipe: Listing, cells: dict[str, str]) -> list[str]:
    return [f"`{recipe.name}`", *(cells[form] for form in FORMS), cells["needs"]]


def _table(titles: list[str], rows: list[list[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page())
    print(f"wrote {PAGE.name}: {len(usable())} recipes")


if __name__ == "__main__":
    main()
