"""The command line on problems of one's own: what it declares them, a test file, a reward beside accuracy, checks in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import SMALL, Cli, command_line, refused

TRAIN = ("train", "grpo", "--data", "my.csv", "--steps", "1", *SMALL, "--out", "run")
SUMS = "Question,Result,level\n" + "".join(f"{n} + 1 =,{n + 1},{n % 2}\n" for n in range(8))
TOLD = pytest.mark.filterwarnings("default::guerdon.core.errors.InputNote")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    run = command_line(tmp_path, monkeypatch, capsys)
    Path("my.csv").write_text(SUMS)
    Path("own.py").write_text("def near(completion, answer, level):\n    return completion == answer\n")
    return run


@TOLD
def test_guesses_are_told_and_a_run_goes_on_from_its_folder(cli):
    said = cli(*TRAIN, "--answer", "Result", "--check", "own.py:near", "--kind", "level", "--system", "Be brief.")
    assert said.code == 0, said.err
    assert said.err.splitlines() == [
        "my.csv: 8 rows; prompt from `Question`, answer from `Result`; 1 held out",
        "my.csv: checked by your function own.py:near (--check own.py:near)",
        "the model has no place for a system message: it reads it as text before the prompt",
    ]
    kept = json.loads(Path("run/run.json").read_text())
    assert kept["plain"] and kept["data"]["check"] == "own.py:near" and "held_out" not in kept["data"]
    assert cli("train", "--resume", "run").code == 0
    refused(
        cli("train", "--resume", "run", "--check", "exact", "--data", "my.csv"),
        "run was started with --check own.py:near",
    )
    assert "1 held-out tasks" in cli("eval", "run", "--k", "2").out


def test_a_strangers_check_is_not_run(cli, monkeypatch, tmp_path):
    assert cli(*TRAIN, "--answer", "Result", "--check", "own.py:near").code == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    refused(cli("train", "--resume", "run"), "run names Python files (own.py) and was not made by you")
    refused(cli("eval", "run"), "run names Python files (own.py)")


def test_eval_on_a_test_file_with_a_reward(cli):
    few = ("--k", "2", "--max-tokens", "2", "--answer", "Result")
    said = cli("eval", "tabular", "--test", "my.csv", "--reward", "numeric", "--json", *few)
    numbers = json.loads(said.out)
    assert (
        numbers["tasks"] == 8 and numbers["reward"] == numbers["pass@1"] and numbers["reward_low"] <= numbers["reward"]
    )
    assert "reward " in cli("eval", "tabular", "--test", "my.csv", "--reward", "numeric", *few).out
    assert (
        "best_of@2" in cli("eval", "tabular", "--test", "my.csv", "--reward", "numeric", "--best-of", "2", *few[2:]).out
    )
    refused(cli("eval", "tabular", "--data", "my.csv", "--best-of", "2", *few), "--best-of N needs --reward")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("train", "grpo", "--task", "parity", "--check", "number"), "--check is for --data FILE: task families"),
        (("train", "grpo", "--test", "my.csv"), "--test needs --data FILE"),
        (
            ("train", "grpo", "--data", "my.csv"),
            "no column looks like the answer (columns: Question, Result, level): say which",
        ),
        (
            ("train", "grpo", "--data", "my.csv", "--test", "x", "--held-out", "0.5"),
            "--test FILE is all that is held out",
        ),
        (
            ("train", "grpo", "--data", "my.csv", "--answer", "Result", "--test", "my.csv"),
            "8 of the 8 rows of my.csv are also in my.csv, the test",
        ),
        (
            ("train", "grpo", "--data", "my.csv", "--answer", "Result", "--check", "none.py:f"),
            "there is no check file none.py",
        ),
    ],
)
def test_what_is_refused_says_what_to_type(cli, words, says):
    refused(cli(*words, "--model", "tabular"), says)
