"""`guerdon check` on the command line: its exit code, its page, its JSON, and what it refuses."""

from __future__ import annotations

import json

import pytest
from command_line import command_line

MINE = """
import guerdon as gd


@gd.reward(isolate=False)
def loose(completion, answer):
    return float(answer in completion)


@gd.reward(isolate=False)
def last(completion, answer):
    return float(completion.strip().split("\\n")[-1].strip() in (answer, f"= {answer}"))
"""
ROWS = [{"question": f"{n}+{n}=", "result": str(2 * n)} for n in range(3, 9)]


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    (tmp_path / "checked.py").write_text(MINE)
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return command_line(tmp_path, monkeypatch, capsys)


def test_a_severe_finding_is_exit_code_1(cli):
    said = cli("check", "checked.py:loose", "--task", "chain:1", "--problems", "2")
    assert said.code == 1 and "SEVERE    substring match" in said.out and "wrongly scored" in said.out
    assert max(map(len, said.out.splitlines())) <= 88


def test_a_sound_reward_is_exit_code_0_and_json_is_the_report(cli):
    said = cli(
        "check", "checked.py:last", "--data", "sums.jsonl", "--prompt", "question", "--answer", "result",
        "--check", "exact", "--json",
    )  # fmt: skip
    report = json.loads(said.out)
    assert said.code == 0 and report["ok"] and report["findings"] == [] and report["task"] == "sums"
    assert {row["kind"]: row["level"] for row in report["kinds"] if not row["right"]}.keys() >= {"empty", "near-miss"}


def test_a_models_tries(cli):
    said = cli(
        "check", "exact", "--task", "successor", "--model", "tabular", "--problems", "2", "--tries", "3", "--json"
    )
    report = json.loads(said.out)
    assert report["tried"]["tries"] == 6 and report["tried"]["agree"] == 6 and report["tokens"] == "sprig"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("exact",), "check needs a task: give --task NAME, --data FILE or --labels FILE"),
        (("exakt", "--task", "chain"), "unknown reward 'exakt'"),
        (("checked.py:lost", "--task", "chain"), "unknown reward in checked.py 'lost'"),
        (("exact", "--task", "chains"), "unknown task 'chains'"),
        (("exact", "--task", "chain", "--prompt", "q"), "--prompt needs --data FILE"),
        (("exact", "--task", "chain", "--data", "sums.jsonl"), "two sources of problems"),
        (("exact", "--task", "chain", "--problems", "0"), "greater than or equal to 1"),
    ],
)
def test_what_it_refuses_in_a_line(cli, words, says):
    said = cli("check", *words)
    assert said.code == 2 and says in said.err and len(said.err.strip().splitlines()) == 1
