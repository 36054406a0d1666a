"""Docstrings as Markdown, and tables whose cells may hold anything."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator

MATHS = re.compile(r"\$[^$\n]+\$")


def markdown(docstring: str) -> str:
    """A docstring's paragraphs, and its examples without prompts: what they print becomes a comment."""
    blocks = []
    for paragraph in docstring.split("\n\n"):
        if paragraph.lstrip().startswith(">>>"):
            blocks.append("```python\n" + "\n".join(example(paragraph)) + "\n```")
        else:
            blocks.append(linked(paragraph))
    return "\n\n".join(blocks)


def example(paragraph: str) -> Iterator[str]:
    for line in inspect.cleandoc(paragraph).splitlines():
        if line in (">>>", "..."):
            yield ""
        else:
            yield line[4:] if line.startswith((">>> ", "... ")) else f"# {line}"


def linked(text: str) -> str:
    """Papers as links."""
    return re.sub(r"(?<!\[)arXiv:(\d{4}\.\d{4,5})", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)


def first_sentence(docstring: str) -> str:
    """What something is, without its paper: that is on its page."""
    text = " ".join(line.strip() for line in docstring.split("\n\n")[0].splitlines())
    text = re.sub(r"\s*\([^()]*(?:arXiv:|https?:)[^()]*\)", "", text)
    return re.split(r"(?<=[.])\s+(?=[A-Z`$])", text)[0]


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(titles)
    return "\n".join([row(titles), "|" + " --- |" * len(titles), *map(row, rows)])


def row(cells: Iterable[str]) -> str:
    """A line of a table, in which a bar would begin a cell and a new line end the table."""
    return "| " + " | ".join(cell_text(cell) for cell in cells) + " |"


def cell_text(text: str) -> str:
    """Bars in formulas become their names, others are escaped."""
    text = " ".join(text.split("\n"))
    kept = MATHS.findall(text)
    pieces = [piece.replace("|", r"\|") for piece in MATHS.split(text)]
    named = [formula.replace(r"\|", r"\Vert ").replace("|", r"\vert ") for formula in kept]
    return "".join(piece + formula for piece, formula in zip(pieces, [*named, ""], strict=True))
