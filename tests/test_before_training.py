"""`train --dry-run` says what a run would do, by doing some of it, and writes nothing; `train --again` trains one once more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from command_line import SMALL, TRAIN, command_line, refused
from small import small_lm

import guerdon as gd
from guerdon.judges.endpoints import endpoint
from guerdon.runs.event_types import Evaluated, StepDone
from guerdon.training.catalog import find_recipe
from guerdon.training.loop import start
from guerdon.training.rehearsal import memory_here, memory_of

JUDGES = """
import guerdon as gd


def right(answer, completion):
    return float(answer == completion)


grader = gd.endpoint("http://127.0.0.1:9/v1", "large", prices=(1.0, 2.0), cache="answers.db")
judged = gd.judge(grader, question="Is it right?") + gd.reward(right).weight(0.5)
people = gd.human_feedback("queue")
"""
DRY = (*TRAIN, "--eval-every", "2", "--dry-run")


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run = command_line(tmp_path, monkeypatch, capsys)
    Path("judges.py").write_text(JUDGES)
    Path("queue").mkdir()
    return run


def files() -> set[str]:
    return {str(path) for path in Path().rglob("*") if "__pycache__" not in path.parts}


# --- the dry run ------------------------------------------------------------------------------------------------------


def test_a_dry_run_tells_what_the_run_then_does(cli):
    before = files()
    told = cli(*DRY, "--json").json
    assert files() == before and told["dry_run"] and told["out"] == "runs/grpo-parity-001"
    run = gd.Run(cli(*DRY[:-1], "--json").json["run"])
    assert run.folder.named == told["out"] and run.config["hash"] == told["config"]["hash"]
    done = run.events(StepDone)
    assert [m["counts"]["tokens"] for m in told["measured"]] == [e.tokens for e in done[:2]]
    assert [m["counts"]["updates"] for m in told["measured"]] == [e.updates for e in done[:2]]
    assert told["rollouts"] == done[0].episodes == 8 and told["asks"] == 2
    assert told["most_tokens"] == 8 * 256 and told["max_tokens"] == 256
    evaluated = run.events(Evaluated)
    assert told["exams"] == len(evaluated) == 4
    assert told["exam_tries"] == evaluated[0].result["tries"] * 4
    assert told["bound"] == "about" and told["seconds"] > 0
    shown = [e.task.prompt for e in run.batch(0).episodes]
    assert [p["text"] for p in told["prompts"]] == list(dict.fromkeys(shown))
    weights = 16384 * 10  # rows of the table, and what can be said
    assert told["memory"]["weights"] == told["memory"]["gradients"] == 4 * weights
    assert told["memory"]["optimiser"] == 8 * weights
    assert told["rewards"] == [{"column": "correct", "formula": "checked by parity", "terms": []}]


def test_what_people_read(cli):
    said = cli(*TRAIN, "--reward", "my.py:right", "--dry-run")
    assert said.code == 0, said.err
    for words in ("nothing is written", "8 a step (2 prompts), 48 in 6 steps", "at most 2,048 a step, 12,288 in 6 steps",
                  "reward = right; calls right(answer, completion), all arguments available",
                  "the second of two real steps, discarded"):  # fmt: skip
        assert words in said.out, said.out
    broken = cli(*TRAIN, "--reward", "my.py:broken", "--dry-run").out
    assert "8 of 8 scores of 'reward' (more than 20% of them stop a run): ZeroDivisionError: no such score" in broken
    assert (
        "a study decides at run time"
        in cli("train", "./mine.py:twice", "--task", "parity", "--model", "tabular", "--dry-run").out
    )


@pytest.mark.slow
def test_a_prompt_is_shown_with_its_special_tokens(cli):
    words = ("--model", "sprig", "--set", "prompts=1", "--set", "tries=2", "--set", "max_tokens=4", "--steps", "1")
    (prompt,) = cli("train", "grpo", "--task", "chain:2", *words, "--dry-run", "--json").json["prompts"]
    model = gd.models.load("sprig-1.1")
    inside = prompt["text"].removeprefix("<|user|>").removesuffix("<|assistant|>")
    assert len(inside) < len(prompt["text"]) and prompt["tokens"] == len(model.encode(inside))


def test_a_dry_run_is_refused_what_a_run_is(cli):
    refused(cli("train", "--resume", "a", "--dry-run"), "--dry-run is for a new run")
    Path("taken").mkdir()
    Path("taken/file").touch()
    refused(cli(*TRAIN, "--out", "taken", "--dry-run"), "taken is not empty and not a run")
    refused(cli(*TRAIN, "--reward", "my.py:nothing", "--dry-run"), "nothing")
    refused(cli("train", "--dry-run"), "train what?")


def test_no_judge_is_asked_and_questions_are_counted(cli, monkeypatch):
    async def fetch(*_: object) -> None:
        raise AssertionError("a dry run asked somebody")

    monkeypatch.setattr(endpoint, "fetch", fetch)
    before = files()
    told = cli(*TRAIN, "--reward", "judges.py:judged", "--dry-run", "--json").json
    (judge,) = told["judges"]
    assert judge["judge"] == "large" and judge["calls"] == 8
    assert judge["cost"] > 8 * 512 * 2.0 / 1e6  # 512 tokens out at the most, and those that go in
    assert told["bound"] == "at least" and "judges were not asked" in told["not_tried"]
    assert files() == before
    said = cli(*TRAIN, "--reward", "judges.py:judged", "--dry-run").out
    assert "large: 8 questions a step, 48 in 6 steps; at most 0.0" in said


def test_people_are_not_asked_either(cli):
    told = cli(*TRAIN, "--reward", "judges.py:people", "--dry-run", "--json").json
    assert told["bound"] == "at least" and "human_feedback asks others" in told["not_tried"]
    assert not list(Path("queue").iterdir())


def test_a_budget_ends_after_as_many_steps_as_it_lasts(cli):
    words = ("train", "grpo", "--task", "parity", "--budget", "80:samples", *SMALL)
    assert cli(*words, "--dry-run", "--json").json["steps"] == 10  # of 8 samples each


@pytest.mark.slow
def test_what_is_recited_is_not_called_sampled(cli):
    told = cli(
        "train", "sft", "--task", "chain:1", "--model", "sprig", "--set", "prompts=2", "--steps", "1", "--dry-run"
    )
    assert "demonstration, " in told.out and "demonstrations, not sampled" in told.out and "at most" in told.out


def test_memory_that_caches_would_give_up_counts_as_free(monkeypatch, tmp_path):
    """Linux keeps files in pages that are otherwise unused: few are free, and most are there to be had."""
    said = tmp_path / "meminfo"
    said.write_text(
        "MemTotal:       24600000 kB\nMemFree:          218112 kB\nMemAvailable:   16777216 kB\nBuffers: 1 kB\n"
    )
    monkeypatch.setattr("guerdon.training.rehearsal.MEMINFO", said, raising=False)
    assert memory_here({})["free"] == 16 * 2**30
    said.unlink()  # a system that does not say
    assert 0 < memory_here({})["free"] <= memory_here({})["total"]


def test_memory_on_a_gpu_is_held_against_the_gpus(monkeypatch):
    model = gd.models.tabular()
    model.start(0, {})
    monkeypatch.setattr(type(model), "device", property(lambda self: torch.device("cuda:0")))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (3, 5))
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 2)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "large")
    assert memory_here({"policy": model}) == {"device": "large", "total": 5, "free": 3, "peak": 2}


def test_memory_of_a_decoder_by_hand(tmp_path):
    """Two layers of width 32, 4 heads, 2 of keys, 48 wide inside; with an adapter, gradients and moments are its own alone."""
    recipe = grpo_of(small_lm(tmp_path / "lm"))
    copied, play = start(recipe, 0, 1)
    told = memory_of(copied, play, tokens_held=100, tokens_read=10)
    numbers = sum(p.numel() for p in copied.models["policy"].weights.parameters())
    assert told["weights"] == told["gradients"] == 4 * numbers and told["optimiser"] == 8 * numbers
    assert told["sampling"] == 100 * 4 * (2 * 2 * 2 * 8)  # keys and values of two layers, two heads of 8
    assert told["activations"] == 10 * 4 * 2 * (4 * 32 + 2 * (4 + 2) * 8 + 3 * 48)
    frozen, play = start(recipe.but(**{"lm.lora": 2}), 0, 1)
    adapted = memory_of(frozen, play, tokens_held=100, tokens_read=10)
    few = sum(p.numel() for p in frozen.models["policy"].weights.parameters() if p.requires_grad)
    assert adapted["gradients"] == 4 * few < told["gradients"] and adapted["optimiser"] == 8 * few


def grpo_of(model):
    return find_recipe("grpo")(gd.tasks.load("parity"), model)


# --- once more --------------------------------------------------------------------------------------------------------


def test_the_same_once_more_is_the_same(cli):
    first = cli(*TRAIN, "--reward", "my.py:right", "--seed", "3", "--out", "a", "--json").json
    said = cli("train", "--again", "a", "--out", "b")
    assert "rerun of a, nothing changed" in said.out
    second = gd.Run("b")
    assert second.weights == first["weights"] and second.config["hash"] == first["hash"]
    then = json.loads(Path("a/run.json").read_text())
    assert second.config["again"] == {"run": "a", "id": then["id"], "hash": then["hash"]}
    same = ("recipe", "wish", "data", "settings", "seed", "steps", "budget", "options", "text", "plain")
    assert {k: second.config[k] for k in same} == {k: then[k] for k in same}
    assert "again" not in then and "again      a\n" in cli("show", "b").out


@pytest.mark.slow
def test_what_is_said_now_takes_the_place_of_what_was_said_then(cli):
    cli(*TRAIN, "--out", "a")
    said = cli(
        "train", "--again", "a", "--set", "lr=0.5", "--task", "successor", "--seed", "7", "--steps", "2", "--keep", "1",
        "--out", "b",
    )  # fmt: skip
    changed = [" ".join(line.split()) for line in said.out.splitlines() if line.startswith("  --")]
    assert changed == [
        "--task parity -> successor", "--set lr none -> 0.5", "--steps 6 -> 2", "--seed 0 -> 7", "--keep 3 -> 1",
    ]  # fmt: skip
    config = gd.Run("b").config
    assert config["settings"] == {"tabular.length": "1", "prompts": "2", "tries": "4", "lr": "0.5"}
    assert (config["wish"]["task"], config["seed"], config["steps"]) == ("successor", 7, 2)
    assert config["options"] == {**gd.Run("a").config["options"], "keep": 1}


@pytest.mark.slow
def test_steps_take_the_place_of_a_budget_and_a_file_that_of_a_task(cli):
    rows = [{"prompt": f"{n}?", "answer": "1"} for n in range(20)]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    cli("train", "grpo", "--task", "parity", "--budget", "30:samples", *SMALL, "--out", "a")
    config = gd.train(again="a", steps=2, data={"path": "rows.jsonl"}, out="b").config
    assert (config["steps"], config["budget"], config["wish"]["task"]) == (2, None, None)
    longer = gd.train(again="a", out="c").config
    assert longer["budget"] == {"amount": 30.0, "unit": "samples"} and longer["steps"] == gd.Run("a").config["steps"]
    back = gd.train(again="b", task="parity", out="d").config
    assert back["data"] is None and back["wish"]["task"] == "parity"


@pytest.mark.slow
def test_in_python(cli):
    cli(*TRAIN, "--out", "a")
    run = gd.train(again="a", lr=0.5, out="b", steps=1)
    assert run.config["settings"]["lr"] == "0.5" and run.config["again"]["run"] == "a"
    gd.train("grpo", task="parity", model="tabular", steps=1, lr=0.25, options=gd.Options(eval_tasks=2), out="c")
    again = gd.train(again="c", prompts=2, out="d")
    assert again.config["settings"] == {"lr": 0.25, "prompts": 2} and again.config["options"]["eval_tasks"] == 2
    with pytest.raises(gd.UserError, match="cannot be joined"):
        gd.train(again="a", lr=gd.linear(0.1, 0.0))
    source = gd.tasks.load("parity")
    gd.train("grpo", task=source, model="tabular", steps=1, out="e")
    with pytest.raises(gd.UserError, match="from Python objects"):
        gd.train(again="e")


@pytest.mark.slow
def test_files_of_a_strangers_run_are_not_run_once_more(cli, monkeypatch):
    cli(*TRAIN, "--reward", "my.py:right", "--out", "a")
    assert cli("train", "--again", "a", "--steps", "1", "--out", "b").code == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(Path("elsewhere").absolute()))
    refused(cli("train", "--again", "a"), "names Python files (my.py) and was not made by you", "--trust")
    refused(cli("train", "--again", "a", "--dry-run"), "names Python files (my.py)")
    assert cli("train", "--again", "a", "--steps", "1", "--trust", "--out", "c").code == 0
    assert cli("train", "--again", "a", "--steps", "1", "--reward", "exact", "--out", "d").code == 0
    refused(cli("train", "--again", "a", "--resume", "b"), "--resume continues a run, --again reruns it")


@pytest.mark.slow
def test_another_recipe_once_more_keeps_the_model(cli):
    cli(*TRAIN, "--out", "a")
    said = cli("train", "rloo", "--again", "a", "--steps", "1", "--out", "b")
    assert said.code == 0 and gd.Run("b").config["wish"]["model"] == "tabular", said.err


# --- more steps of a finished run --------------------------------------------------------------------------------------


def checkpoint_bytes(run: str) -> bytes:
    return (Path(run) / "checkpoints" / "step-00000009" / "tensors.safetensors").read_bytes()


def test_more_steps_alone_extend_a_finished_run_to_the_bit(cli):
    """Adam, where the curriculum is, a schedule over a given number of steps: all of it is taken over."""
    knobs = (*TRAIN, "--set", "lr=linear(0.3, 0.1, over=4)", "--eval-tasks", "8")
    assert cli(*knobs, "--steps", "9", "--out", "whole").code == 0
    assert cli(*knobs, "--steps", "5", "--out", "a").code == 0
    said = cli("train", "--again", "a", "--steps", "9", "--save-every", "3", "--out", "b")
    assert said.code == 0 and "extends a: starts after its step 5" in said.out, said.err
    whole, longer = gd.Run("whole"), gd.Run("b")
    assert checkpoint_bytes("b") == checkpoint_bytes("whole") and longer.weights == whole.weights
    assert [e.step for e in longer.events(StepDone)] == [5, 6, 7, 8] and longer.damage == []
    assert [e.metrics for e in longer.events(StepDone)] == [e.metrics for e in whole.events(StepDone)[5:]]
    assert [e.step for e in longer.events(Evaluated)] == [4, 8]
    assert longer.events(Evaluated)[0].result == gd.Run("a").events(Evaluated)[-1].result
    assert longer.config["hash"] == whole.config["hash"]
    assert longer.config["again"] == {
        "run": "a",
        "id": gd.Run("a").config["id"],
        "hash": gd.Run("a").config["hash"],
        "step": 5,
    }


@pytest.mark.slow
def test_an_extended_run_is_resumed_and_extended_like_another(cli):
    whole = gd.train("grpo", task="parity", model="tabular", steps=6, lr=0.3, out="whole")
    gd.train("grpo", task="parity", model="tabular", steps=2, lr=0.3, out="a")
    longer = gd.train(again="a", steps=4, out="b")
    assert longer.complete and gd.train(again="b", steps=6, out="c").weights == whole.weights
    folder = gd.Run("c").folder
    lines = folder.events.read_text().splitlines(keepends=True)
    folder.events.write_text("".join(line for line in lines if '"ended"' not in line.lower()))
    for path in folder.checkpoints.glob("step-00000006"):
        path.rename("elsewhere")
    assert gd.train(resume="c").weights == whole.weights and gd.Run("c").damage == []


@pytest.mark.slow
def test_a_run_is_not_extended_where_the_weights_would_differ(cli):
    cli(*TRAIN, "--set", "lr=linear(0.3, 0.1)", "--out", "a")
    refused(
        cli("train", "--again", "a", "--steps", "9", "--out", "b"),
        "lr=linear(start=0.3, end=0.1) changes over the whole run, so 6 steps of it are not part of 9",
        "--again a --steps 9 --seed 0",
    )
    assert not Path("b").exists()
    assert "rerun of a, changed" in cli("train", "--again", "a", "--steps", "9", "--seed", "0", "--out", "c").out
    cli(*TRAIN, "--set", "ahead=true", "--out", "d")
    refused(cli("train", "--again", "d", "--steps", "9"), "d plays ahead")
    Path("mine.py").write_text(OF_LENGTH)
    made = cli("train", "./mine.py:late", "--task", "parity", "--model", "tabular", "--steps", "2", "--out", "e")
    assert made.code == 0, made.err
    refused(cli("train", "--again", "e", "--steps", "3"), "later_half", "changes over the whole run")


OF_LENGTH = """
import guerdon as gd
from guerdon.recipes.house.grpo import grpo


@gd.stage(gives="correct")
def later_half(correct, play):
    return correct * (play.step >= play.steps / 2)


@gd.recipe("late")
def late(task, model):
    made = grpo(task, model)
    made.stages.insert(1, later_half())
    return made
"""


@pytest.mark.slow
def test_other_changes_and_unfinished_runs_are_rerun_from_the_start(cli):
    cli(*TRAIN, "--out", "a")
    for more in (["--seed", "1"], ["--set", "lr=0.2"], ["--task", "successor"], ["--steps", "4"]):
        assert "rerun of a, changed" in cli("train", "--again", "a", "--steps", "7", *more, "--dry-run").out
    events = Path("a/events.jsonl")
    events.write_text("".join(events.read_text().splitlines(keepends=True)[:-1]))
    assert "rerun of a, changed" in cli("train", "--again", "a", "--steps", "7", "--dry-run").out
