"""The glossary is complete: the public classes of the core are in it, and what it names exists, in the code and in TRL."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from guerdon.training.catalog import find_recipe

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "glossary.md"
TRL_WORDS = json.loads((ROOT / "tests" / "trl_words.json").read_text())
WANTED = {  # words that a newcomer meets in the first hour, whatever becomes of the classes
    "task", "ask", "tries", "prompts", "episode", "segment", "track", "seat", "role", "stage", "part", "knob", "column",
    "reason", "credit", "learn", "exam", "sitting", "claim", "arm", "replay", "run config", "meter", "budget", "probe", "hint",
    "given", "cut", "muted", "kind", "level of a task", "level of a column", "step of a run", "step of a track", "max_tokens",
    "clip", "kl", "record",
}  # fmt: skip


class Entry(NamedTuple):
    word: str
    meaning: str
    code: list[str]
    trl: list[str]


def in_code(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def entries() -> list[Entry]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [Entry(row[0], row[1], in_code(row[2]), in_code(row[3])) for row in rows if row[0] not in ("word", "---")]


def core_classes() -> set[str]:
    paths = sorted((ROOT / "guerdon" / "core").glob("*.py"))
    trees = {path.stem: ast.parse(path.read_text()) for path in paths}
    return {
        f"guerdon.core.{stem}.{node.name}"
        for stem, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def exists(name: str) -> bool:
    """Whether a dotted name leads to something: a module, what it holds, a field of it; or to a knob of a recipe."""
    if not name.startswith("guerdon"):
        recipe, _, knob = name.partition(".")
        return knob in find_recipe(recipe).knobs()
    pieces = name.split(".")
    for cut in range(len(pieces), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(pieces[:cut]))
        except ModuleNotFoundError:
            continue
        return all((found := member(found, piece)) is not None for piece in pieces[cut:])
    return False


def member(holder: Any, name: str) -> Any:
    fields = {f.name for f in dataclasses.fields(holder)} if dataclasses.is_dataclass(holder) else set()
    noted = name in fields or name in getattr(holder, "__annotations__", {})
    return getattr(holder, name, name if noted else None)


def test_every_word_stands_once_with_one_sentence():
    words = [entry.word for entry in entries()]
    assert len(words) == len(set(words)) > 70
    for entry in entries():
        assert entry.meaning.endswith(".") and ". " not in entry.meaning, entry.word


def test_every_public_class_of_the_core_is_there():
    assert core_classes() - {name for entry in entries() for name in entry.code} == set()


def test_the_words_that_a_newcomer_meets_are_there():
    assert WANTED - {entry.word for entry in entries()} == set()


def test_what_it_names_in_the_code_exists():
    assert [name for entry in entries() for name in entry.code if not exists(name)] == []
    assert not exists("guerdon.core.task.Taks") and not exists("grpo.trials") and not exists("guerdon.core.tusk.Task")


def test_the_words_it_has_of_trl_are_trls():
    known = {word for group, words in TRL_WORDS.items() if group != "version" for word in words} | {"None"}
    assert [word for entry in entries() for word in entry.trl if word not in known] == []


def test_the_list_of_trls_words_is_trls_own():
    trl = pytest.importorskip("trl")
    assert trl.__version__ == TRL_WORDS["version"]
    fields = {f.name for f in dataclasses.fields(trl.GRPOConfig)}
    assert {*TRL_WORDS["GRPOConfig"], *TRL_WORDS["TrainingArguments"]} <= fields
