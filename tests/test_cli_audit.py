"""`guerdon audit` on the command line: its exit code, its page, its files, on a terminal, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line import command_line

sys.path.append(str(Path(__file__).parent / "promises"))
from terminal import on_a_terminal

MINE = """
import guerdon as gd


@gd.reward(isolate=False)
def loose(completion, answer):
    return float(answer in completion)


def accuracy(completions, solution, **kwargs):
    return [float(c.strip().split()[-1:] == [s]) for c, s in zip(completions, solution)]
"""


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    (tmp_path / "audited.py").write_text(MINE)
    return command_line(tmp_path, monkeypatch, capsys)


def test_a_severe_finding_is_exit_code_1_and_the_report_is_written(cli, tmp_path):
    said = cli("audit", "audited.py:loose", "--task", "chain:2", "--problems", "4", "--out", "out")
    assert said.code == 1 and "SEVERE    substring match" in said.out and "written to out/audit.html" in said.out
    told = json.loads((tmp_path / "out" / "audit.json").read_text())
    assert told["findings"][0]["name"] == "substring match" and len(told["findings"][0]["examples"]) == 3
    assert "substring match" in (tmp_path / "out" / "audit.html").read_text()


def test_a_sound_reward_is_exit_code_0_and_json_is_the_report(cli):
    said = cli("audit", "audited.py:accuracy", "--task", "chain:2", "--problems", "4", "--json")
    told = json.loads(said.out)
    assert said.code == 0 and told["ok"] and told["task"] == "chain:2" and told["auc"]["auc"] == 1.0


def test_scores_have_a_verb_of_their_own(cli, tmp_path):
    rows = [{"chosen_score": 2.0, "rejected_score": 1.0}, {"chosen_score": 0.0, "rejected_score": 1.0}]
    (tmp_path / "scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = cli("audit", "scores", "scores.jsonl", "--protocol", "pairs", "--json")
    assert said.code == 0 and '"accuracy"' in said.out


def test_help_tells_both(cli):
    for words in (("audit",), ("audit", "--help")):
        said = cli(*words)
        assert said.code == 0 and "reward" in said.out and "scores" in said.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("audited.py:loose",), "audit needs a task: give --task NAME, --data FILE or --labels FILE"),
        (("audited.py:lose", "--task", "chain:1"), "unknown reward in audited.py 'lose'"),
        (("nowhere", "--task", "chain:1"), "unknown reward 'nowhere'"),
        (("scores", "none.jsonl", "--protocol", "pairs"), "none.jsonl"),
        (("scores", "none.jsonl", "--protocol", "nothing"), "unknown protocol 'nothing'"),
    ],
)
def test_what_it_refuses_in_one_line(cli, words, says):
    said = cli("audit", *words)
    assert said.code == 2 and says in said.err and len(said.err.strip().splitlines()) == 1


def test_on_a_terminal(cli, monkeypatch):
    code, screen = on_a_terminal(monkeypatch, "audit", "audited.py:loose", "--task", "chain:2", "--problems", "3")
    assert code == 1 and "substring match" in screen and "fix:" in screen
