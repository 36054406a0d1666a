"""Writes docs/gallery.md: a trace of every environment, played by the oracle policy; `make pages` calls it."""

from __future__ import annotations

import argparse
from pathlib import Path

import guerdon as gd

PAGE = Path(__file__).parent.parent / "docs" / "gallery.md"
HEAD = """# A gallery of worlds

A held-out problem of every environment in the package, played by the oracle policy: the role's view is behind
a bar, its output below its name. `guerdon show NAME` shows any of them, at any level, and
[environments](environments.md) explains how to write your own. `python scripts/document_gallery.py` writes this page.
"""
WORLDS = {  # title: what is said of it, and names
    "Tools": ("Calls of typed functions ([tools](tools.md)).", ["calculator/chain:2"]),
    "Search": (
        "A corpus generated for the problem, searched by BM25 ([corpora](corpora.md)).",
        ["hops:3", "claims:3", "rewriting:2"],
    ),
    "People": ("A user who must be asked; a student; feedback; two roles ([people](people_and_games.md)).",
        ["asking:5", "tutored:3", "with_feedback:chain:3", "planned:chain:2"],
    ),
    "Games": ("For one and two players ([games](people_and_games.md)).", ["hunt:3", "nim:3", "spiel:tic_tac_toe"]),
    "Programs": (
        "A function with a wrong line, to be run, edited and submitted ([programs](people_and_games.md#programs-to-repair)).",
        ["repairs:3"],
    ),
    "Pages": (
        "Elements by their numbers, or a cursor on a screen ([pages](pages.md)).",
        ["forms:2", "menus:2", "shop:2", "tables:3", "inbox:2", "cursor:1"],
    ),
    "One answer": (
        "Single answers, checked by the field's own libraries ([tasks of the field](field_tasks.md)).",
        ["gym:leg_counting", "text_to_sql:2", "functions:3", "json_forms:2"],
    ),
    "Short texts": (
        "Messages, a tutor's replies, translations; worked solutions to complete ([messages](messages.md)).",
        ["notes:2", "tutoring:2", "translation:4", "cloze:trace:3", "shuffled:trace:3"],
    ),
}  # fmt: skip


def trace(name: str) -> str:
    return gd.transcript(gd.demonstration(gd.tasks.load(name)), 110)


def page() -> str:
    parts = [HEAD]
    for title, (about, names) in WORLDS.items():
        parts.append(f"## {title}\n\n{about}\n")
        parts += [f"### {name}\n\n```\n$ guerdon show {name}\n{trace(name)}\n```\n" for name in names]
    return "\n".join(parts)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page())
    print(f"wrote {PAGE.name}: {sum(len(names) for _, names in WORLDS.values())} traces")


if __name__ == "__main__":
    main()
