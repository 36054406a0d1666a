"""Claims held to rows of one's own: `guerdon prove NAME --data FILE --check NAME`."""

from __future__ import annotations

import json

import pytest
from command_line import command_line
from refusals import refusal

from guerdon.core.errors import UserError
from guerdon.training.build import find_task, in_words, of_words


@pytest.mark.parametrize(
    "said",
    [
        {"path": "my.csv"},
        {"path": "a folder/my.csv", "check": "mine.py:right", "held_out": 0.25, "skip_bad": True},
        {"path": "it's.jsonl", "template": "{question} = ?", "prompt": "the question"},
    ],
)
def test_words_say_what_was_said(said):
    assert of_words(in_words(said)) == said


def test_a_task_in_words_is_the_rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"question": f"after {n}", "next": n + 1}) + "\n" for n in range(8)))
    source = find_task(in_words({"path": str(path), "answer": "next", "check": "contains", "held_out": 0.5}))
    task = source.get("train", 3)
    assert source.size("test") == 4 and source.check(task, "it is 4, of course") == 1.0
    with refusal(UserError):
        of_words("rows of my.csv number")


def test_two_sources_of_problems_are_refused(tmp_path, monkeypatch, capsys):
    cli = command_line(tmp_path, monkeypatch, capsys)
    said = cli("prove", "dump", "--task", "countdown:3", "--data", "my.csv")
    assert said.code == 2 and "--task and --data are both sources of problems" in said.err
