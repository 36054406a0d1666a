"""Docstrings as Markdown, and tables whose cells may hold anything."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator

from guerdon.cli.knob_words import arguments

SECTIONS = {"Example:": "", "Examples:": "", "References:": "**References**\n\n"}  # of a docstring, and their titles
KEPT = re.compile(r"(`[^`]*`|\$[^$]+\$)")  # what Markdown takes as it stands: code and formulas


def markdown(docstring: str) -> str:
    """A docstring's paragraphs, its arguments as a list, and its examples without prompts: what they print is a comment."""
    blocks = []
    for paragraph in docstring.split("\n\n"):
        head, _, rest = paragraph.partition("\n")
        if head == "Args:":
            entries = [f"- `{name}`: {linked(plain(words))}" for name, words in arguments(f"{paragraph}\n").items()]
            blocks.append("\n".join(["**Arguments**", "", *entries]))
            continue
        title = SECTIONS.get(head, "")
        text = inspect.cleandoc(rest) if head in SECTIONS else paragraph
        if text.lstrip().startswith(">>>"):
            blocks.append("```python\n" + "\n".join(example(text)) + "\n```")
        else:
            blocks.append(title + linked(plain(text)))
    return "\n\n".join(blocks)


def plain(text: str) -> str:
    """Prose in which `<think>` is a word and no tag of HTML."""
    pieces = KEPT.split(text)
    return "".join(piece if piece[:1] in "`$" else re.sub(r"<(?=[a-zA-Z/!])", "&lt;", piece) for piece in pieces)


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
    return plain(re.split(r"(?<=[.])\s+(?=[A-Z`$])", text)[0])


def table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(titles)
    return "\n".join([row(titles), "|" + " --- |" * len(titles), *map(row, rows)])


def row(cells: Iterable[str]) -> str:
    """A line of a table, in which a bar would begin a cell and a new line end the table."""
    return "| " + " | ".join(cell_text(cell) for cell in cells) + " |"


def cell_text(text: str) -> str:
    """Bars in formulas become their names, those in code may stand, others are escaped."""
    pieces = KEPT.split(" ".join(text.split("\n")))
    return "".join(_cell_piece(piece) for piece in pieces)


def _cell_piece(piece: str) -> str:
    if piece.startswith("`"):
        return piece
    if piece.startswith("$") and piece.endswith("$"):
        return piece.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
    return piece.replace("|", r"\|")
