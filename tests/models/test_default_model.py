"""A run that names no model: a task is learned by the one that comes with the package, and the run says so."""

from __future__ import annotations

import json

import pytest
from command_line import command_line, refused

import guerdon as gd
from guerdon.core.errors import Notice, UserError
from guerdon.training.default_model import DEFAULT, about_unsolved, default_model

NOTHING = ("--steps", "0", "--eval-tasks", "0")


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    return command_line(tmp_path, monkeypatch, capsys)


def test_the_newest_sprig(cli, tmp_path):
    done = cli("train", "grpo", "--task", "countdown", *NOTHING, "--out", "run")
    assert done.code == 0 and done.out.startswith(f"model {DEFAULT}, which comes with the package\n")
    config = json.loads((tmp_path / "run" / "run.json").read_text())
    assert config["wish"]["model"] == DEFAULT == "sprig-2"  # a version: another sprig would not be gone on with
    assert cli("train", "--resume", "run").code == 0
    named = gd.train("grpo", task="countdown", model="sprig", steps=0, out="named", options=gd.Options(eval_tasks=0))
    assert named.config["hash"] == config["hash"]
    assert DEFAULT not in cli("train", "grpo", "--task", "parity", "--model", "tabular", *NOTHING).out


def test_in_python(tmp_path):
    with pytest.warns(Notice, match=rf"^model {DEFAULT}, which comes with the package$"):
        run = gd.train("grpo", task="parity", steps=0, out=tmp_path / "run", options=gd.Options(eval_tasks=0))
    assert run.config["wish"]["model"] == DEFAULT


def test_problems_of_the_users_own_need_a_model_that_is_named(cli, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "2+2", "answer": "4"}\n' * 4)
    words = ("need a model of your choice: --model sprig", "or --model HuggingFaceTB/SmolLM2-135M-Instruct")
    refused(cli("train", "grpo", "--data", "rows.jsonl"), *words)
    with pytest.raises(UserError, match="--model sprig"):
        gd.train("grpo", task=gd.tasks.rows("rows.jsonl"), steps=0)


def test_nothing_is_chosen_for_what_needs_none(cli):
    refused(cli("train", "grpo"), "recipe 'grpo' needs a task: --task NAME")

    @gd.recipe("without")
    def without(task):
        """Brings its own model."""

    @gd.recipe("may")
    def may(task, model=None):
        """Does without one."""

    assert default_model(without, "parity", None) is None and default_model(may, "parity", None) is None


def test_a_first_exam_without_a_solved_problem_says_what_to_do(cli, tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"prompt": "Who wrote Emma?", "answer": "Jane Austen"}\n' * 8)
    run = ("--data", "rows.jsonl", "--held-out", "0.5", "--set", "max_tokens=4", "--steps", "0", "--eval-tries", "1")
    said = cli("train", "grpo", *run, "--model", "Sprig", "--out", "run").out
    (line,) = [line for line in said.splitlines() if "none of" in line]
    assert line.startswith(
        "warning: none of 4 held-out problems is solved, and sprig knows the tasks of the package alone:"
    )
    assert "guerdon models get smollm2, then --model smollm2" in line and "guerdon train sft" in line
    assert gd.Run(tmp_path / "run").warnings == [line.removeprefix("warning: ")]
    other = cli("train", "grpo", *run, "--model", "tabular").out
    assert "none of 4 held-out problems is solved, and wrong tries alone teach nothing: teach on" in other
    assert "none of" not in cli("train", "sft", *run, "--model", "tabular").out, "it is being taught"


def test_what_solves_some_problems_or_has_none_of_the_users_own_is_left_alone():
    config = {"data": {"path": "my.csv"}, "wish": {"model": "sprig-1"}}
    assert about_unsolved(config, {"pass@1": 0.0, "tasks": 64}, True).startswith("none of 64")
    assert about_unsolved(config, {"pass@1": 0.02, "tasks": 64}, True).startswith("almost none of 64")
    assert about_unsolved(config, {"pass@1": 0.03, "tasks": 64}, True) == ""
    assert about_unsolved({**config, "data": None}, {"pass@1": 0.0, "tasks": 64}, True) == ""
    assert about_unsolved(config, {"error": 0.0}, True) == "", "an exam of another kind"
