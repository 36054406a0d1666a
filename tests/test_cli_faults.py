"""Bad input and faults on the command line: one clear line, the right exit code, and nothing lost."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import REWARDS, SMALL, TRAIN, Cli, command_line, process_of, refused
from small import small_lm

from guerdon.core.column import Reason
from guerdon.runs.checkpoint import load_checkpoint
from guerdon.runs.event_types import ScoresMissing
from guerdon.runs.rollout_files import read_batch
from guerdon.runs.run import Run


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


# --- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(20, "words")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("trian", "grpo"), ("unknown verb 'trian'", "did you mean 'train'?")),
        (("train", "--stepz", "3"), ("unknown option '--stepz'", "did you mean '--steps'?")),
        ((*TRAIN, "--lr", "0.1"), ("unknown option '--lr'", "--set lr=")),
        ((*TRAIN, "--Learning_Rate", "0.1"), ("--set lr=",)),
        ((*TRAIN, "--num-train-epochs", "3"), ("--steps N", "--set learn.epochs=N")),
        ((*TRAIN, "--batch-size", "8"), ("--set prompts=N", "--set tries=N")),
        ((*TRAIN, "--reward-funcs", "my.py:right"), ("--reward FILE.py:NAME",)),
        (("eval", "tabular", "--lr", "1"), ("unknown option '--lr'",)),  # a verb without --set
        (("train",), ("train what? give a recipe",)),
        (("train", "grppo", "--task", "parity", *SMALL), ("unknown recipe 'grppo'", "did you mean 'grpo'?")),
        (("train", "./none.py", "--task", "parity", *SMALL), ("there is no recipe file ./none.py",)),
        (("train", "./mine.py", "--task", "parity", *SMALL), ("several recipes", "./mine.py:mine")),
        (("train", "./mine.py:mien", "--task", "parity", *SMALL), ("did you mean 'mine'?",)),
        (("train", "./my.py", "--task", "parity", *SMALL), ("defines no recipe",)),
        (("train", "grpo", "--task", "partiy", *SMALL), ("unknown task 'partiy'", "did you mean 'parity'?")),
        (("train", "grpo", "--task", "parity:9", *SMALL), ("parity.level must be at most 4, not 9",)),
        (("train", "grpo", "--task", "parity:x", *SMALL), ("must be a whole number, not 'x'",)),
        (("train", "grpo", *SMALL), ("recipe 'grpo' needs a task",)),
        (
            ("train", "grpo", "--data", "good.jsonl"),
            ("need a model of your choice: --model sprig", "--model HuggingFaceTB/SmolLM2-135M-Instruct"),
        ),
        (("train", "grpo", "--task", "parity", "--model", "tabluar"), ("did you mean 'tabular'?",)),
        (("train", "grpo", "--task", "parity", "--model", "."), ("holds no model",)),
        ((*TRAIN, "--set", "temprature=1"), ("unknown knob of grpo", "did you mean 'temperature'?")),
        ((*TRAIN, "--set", "adma.lr=1"), ("unknown part 'adma'", "did you mean 'adam'?")),
        ((*TRAIN, "--set", "adam.beta=1"), ("unknown knob of adam 'beta'", "did you mean 'beta")),
        ((*TRAIN, "--set", "tries=0"), ("uniform.tries must be at least 1, not 0",)),
        ((*TRAIN, "--set", "lr=fast"), ("grpo.lr must be float, or a schedule of it, linear(1e-3, 0), not 'fast'",)),
        ((*TRAIN, "--set", "adam.beta1=1.5"), ("adam.beta1 must be at most 1.0, not 1.5",)),
        ((*TRAIN, "--set", "tries"), ("--set takes KNOB=VALUE, not 'tries'",)),
        ((*TRAIN, "--steps", "-1"), ("--steps must be at least 0, not -1",)),
        ((*TRAIN, "--steps", "many"), ("invalid value for '--steps'",)),
        ((*TRAIN, "--save-every", "0"), ("invalid value for '--save-every'",)),
        ((*TRAIN, "--log", "tensorbord"), ("unknown logger 'tensorbord'", "did you mean 'tensorboard'?")),
        ((*TRAIN, "--prompt", "q"), ("--prompt needs --data FILE",)),
        ((*TRAIN, "--data", "rows.jsonl"), ("give one of them",)),
        ((*TRAIN, "--reward", "my.py"), ("is FILE.py:NAME, not 'my.py'",)),
        ((*TRAIN, "--reward", "none.py:right"), ("there is no reward file none.py",)),
        ((*TRAIN, "--reward", "my.py:rigth"), ("did you mean 'right'?",)),
        ((*TRAIN, "--resume", "a", "--out", "b"), ("remove --resume or --out",)),
        (("train", "--resume", "nowhere"), ("nowhere is not a run folder",)),
        (("train", "./mine.py:twice", "--task", "parity", "--model", "tabular", "--steps", "3"), ("is a study",)),
        (("eval",), ("missing argument",)),
        (("eval", "tabular"), ("no task: give --task NAME or --data FILE",)),
        (("eval", "tabluar", "--task", "parity"), ("did you mean 'tabular'?",)),
        (("eval", "tabular", "--task", "parity", "--k", "0"), ("invalid value for '--k'",)),
        (("list", "recipies"), ("did you mean 'recipes'?",)),
        (("show", "grop"), ("unknown recipe, part or reward 'grop'", "did you mean 'grpo'?")),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_exit_code_2(cli: Cli, words: tuple[str, ...], says: tuple[str, ...]) -> None:
    refused(cli(*words), *says)
    said = cli(*words, "--json")
    assert said.json["exit_code"] == said.code == 2 and all(s in said.json["error"] for s in says)
    assert not Path("runs").exists()


def test_names_ignore_case(cli: Cli) -> None:
    words = {"grpo": "GRPO", "parity": "Parity", "tabular": "Tabular"}
    said = cli(*(words.get(word, word) for word in TRAIN), "--out", "a", "--steps", "1", "--reward", "Verified_Not")
    refused(said, "unknown reward 'Verified_Not'")
    assert cli(*(words.get(word, word) for word in TRAIN), "--out", "a", "--steps", "1").code == 0
    assert cli(*TRAIN, "--out", "b", "--steps", "1").code == 0
    assert Run("a").config["recipe"] == "grpo" and Run("a").weights == Run("b").weights


@pytest.mark.parametrize(
    ("text", "says"),
    [("def right(:\n", "line 1: SyntaxError"), ("\nx = 1 / 0\n", "line 2: ZeroDivisionError: division by zero")],
)
def test_a_reward_file_that_does_not_load(cli: Cli, text: str, says: str) -> None:
    Path("bad.py").write_text(text)
    refused(cli(*TRAIN, "--reward", "bad.py:right"), "bad.py", says)


@pytest.mark.filterwarnings("default::guerdon.core.errors.Notice")
def test_rows_of_a_data_file(cli: Cli) -> None:
    rows = [json.dumps({"q": f"odd {n}?", "a": n % 2}) for n in range(20)]
    Path("rows.jsonl").write_text("\n".join([*rows[:3], "{oops", rows[4], '{"q": "odd 5?"}', *rows[6:]]) + "\n")
    words = (
        "train",
        "grpo",
        "--data",
        "rows.jsonl",
        "--prompt",
        "q",
        "--answer",
        "a",
        "--steps",
        "3",
        *SMALL,
        "--out",
        "a",
    )
    refused(cli(*words), "rows.jsonl, line 4: not JSON", "; line 6: no text in column 'a'", "--skip-bad")
    said = cli(*words, "--skip-bad")
    assert said.code == 0 and "skipped 2 bad rows (line 4: " in said.err and "line 6: " in said.err
    assert cli("eval", "a", "--k", "2", "--json").json["task"] == "rows"
    refused(cli("train", "--resume", "a", "--data", "rows.jsonl", "--prompt", "p"), "started with --prompt q, not p")
    refused(cli("train", "grpo", "--data", "none.jsonl", *SMALL), "cannot read --data none.jsonl")


def test_an_output_folder_that_holds_something_else(cli: Cli) -> None:
    before = cli(*TRAIN, "--out", "a", "--json").json
    refused(cli(*TRAIN, "--seed", "1", "--out", "a"), "a holds another run (grpo)", "--resume a")
    assert cli("show", "a", "--json").json["weights"] == before["weights"]
    Path("b").mkdir()
    Path("b/thesis.tex").touch()
    refused(cli(*TRAIN, "--out", "b"), "b is not empty and not a run")


# --- models in folders ------------------------------------------------------------------------------------------------


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


LM = ("train", "grpo", "--task", "parity", "--steps", "1", "--model")
FEW = ("--set", "prompts=1", "--set", "tries=2", "--set", "sampling.max_tokens=4", "--eval-tasks", "1", "--out", "a")


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda f: (f / "config.json").unlink(), "own holds no model: there is no model.json and no config.json in it"),
        (lambda f: (f / "config.json").write_text("{"), "own/config.json cannot be read"),
        (lambda f: rewrite(f / "config.json", architectures=[1]), "own/config.json does not say what kind of model"),
        (lambda f: rewrite(f / "config.json", rope_scaling="x"), "rope_scaling must be a dictionary, not 'x'"),
        (lambda f: rewrite(f / "config.json", num_hidden_layers=3), "has no tensor model.layers.2"),
        (lambda f: rewrite(f / "config.json", vocab_size=100), "the model only 100: they do not fit; take the tok"),
        (lambda f: (f / "tokenizer.json").unlink(), "there is no tokenizer.json in it; transformers makes it: Auto"),
        (lambda f: (f / "tokenizer.json").write_bytes(b"\xff"), "own/tokenizer.json cannot be read"),
        (lambda f: rewrite(f / "tokenizer_config.json", chat_template=[1]), "chat_template must be text, not list"),
        (lambda f: rewrite(f / "tokenizer_config.json", additional_special_tokens=3), "must be a list, not 3"),
        (lambda f: rewrite(f / "generation_config.json", eos_token_id=-1), "correct eos_token_id in generation_config"),
        (lambda f: (f / "model.safetensors").write_bytes(b"x"), "model.safetensors cannot be read, fetch it again"),
        (lambda f: (f / "model.json").write_text("[]"), "own/model.json cannot be read: it is not a dictionary"),
        (lambda f: rewrite(f / "config.json", max_position_embeddings=8), "no room in a context of 8: shorten it, or"),
    ],
)
def test_a_model_that_is_not_whole_or_does_not_fit(cli: Cli, harm: Callable[[Path], Any], says: str) -> None:
    small_lm(Path("own"))
    harm(Path("own"))
    refused(cli(*LM, "own", *FEW), says)


def test_a_model_that_is_not_there(cli: Cli) -> None:
    refused(
        cli(*LM, "./nowhere", *FEW),
        "./nowhere is not there: a model is a folder, a .gguf file, ORG/NAME on the hub, or one of",
    )
    refused(cli(*LM, "nowhere.gguf", *FEW), "nowhere.gguf is not there")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("own", "MambaForCausalLM is not among guerdon's own decoders, and transformers is not installed: pip"),
        ("some.gguf", "gguf is not installed: pip install 'guerdon[gguf]'"),
    ],
)
def test_a_model_that_needs_an_extra(cli: Cli, monkeypatch: pytest.MonkeyPatch, path: str, says: str) -> None:
    small_lm(Path("own"))
    rewrite(Path("own/config.json"), architectures=["MambaForCausalLM"])
    Path("some.gguf").touch()
    for name in ("transformers", "gguf"):
        monkeypatch.setitem(sys.modules, name, None)
    refused(cli(*LM, path, *FEW), says)


@pytest.mark.filterwarnings("default::guerdon.core.errors.Notice")
def test_notices_are_one_line(cli: Cli) -> None:
    small_lm(Path("own"), weights=False)
    said = cli(*LM, "own", *FEW)
    assert said.code == 0 and said.err == "warning: own holds no weights: the model starts from random ones\n"


# --- faults ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("default::guerdon.core.errors.InputNote")
def test_a_reward_that_always_raises_stops_the_run(cli: Cli) -> None:
    said = cli(*TRAIN, "--reward", "my.py:breaks_later", "--out", "a")
    assert said.code == 1 and "Traceback" not in said.err
    (line,) = said.err.splitlines()
    assert line.startswith("guerdon: step 5: 8 of 8 in 'reward' failed, more than 20%")
    assert "ZeroDivisionError: no such score" in line and "a/faults/step-00000005.parquet" in line
    faults = read_batch("a/faults/step-00000005.parquet").cols["reward"]
    assert all(int(r) == Reason.FAILED for r in faults.reason) and "no such score" in faults.detail[0]["error"]
    checkpoint = load_checkpoint(Path("a/checkpoints"), pytest.fail)
    assert checkpoint is not None and checkpoint.step == 4
    assert Run("a").status.startswith("stopped: step 5")
    so_far = cli("eval", "a", "--tasks", "4")
    assert so_far.code == 0 and "its policy after 4 steps is used, from its last checkpoint" in so_far.err
    error = cli(*TRAIN, "--reward", "my.py:broken", "--json")
    assert error.code == error.json["exit_code"] == 1 and "no such score" in error.json["error"]


def test_a_reward_that_raises_now_and_then_is_counted_and_kept(cli: Cli) -> None:
    said = cli(*TRAIN, "--reward", "my.py:breaks_sometimes", "--out", "a")
    assert said.code == 0 and "1 of 8 in 'reward' failed: ZeroDivisionError" in said.out
    run = Run("a")
    missing = run.events(ScoresMissing)
    assert sum(e.failed for e in missing) == 4 and all("no such score" in e.first for e in missing)
    column = run.batch(1).cols["reward"]  # the tenth call is the second of the second step
    assert column.reason.tolist() == [0, int(Reason.FAILED), 0, 0, 0, 0, 0, 0]
    assert "ZeroDivisionError: no such score" in column.detail[1]["error"]


def test_a_loss_that_is_not_finite_stops_and_names_the_batch(cli: Cli) -> None:
    words = ("--set", "kl=0.04", "--set", "lr=1000", "--set", "learn.epochs=2")  # the second epoch is beyond any ratio
    said = cli(*TRAIN, *words, "--out", "a", "--json")
    assert said.code == 1 and "guerdon: step 0: the loss of 'policy' is inf" in said.err
    path = said.json["error"].partition("the batch is in ")[2].rstrip(")")
    batch = read_batch(path)
    assert batch.K == 8 and "reference.logp" in batch.cols


@pytest.mark.filterwarnings("default::guerdon.core.errors.InputNote")
def test_ctrl_c_saves_and_resume_ends_with_the_same_weights(cli: Cli) -> None:
    whole = cli(*TRAIN, "--reward", "my.py:stops", "--json").json
    Path("press-ctrl-c").touch()
    said = cli(*TRAIN, "--reward", "my.py:stops", "--out", "a")
    assert said.code == 130 and said.err == ""
    assert said.out.splitlines()[-2:] == [
        "stopped: interrupted after 3 of 6 steps; resume with:",
        "  guerdon train --resume a",
    ]
    Path("press-ctrl-c").unlink()
    so_far = cli("eval", "a", "--tasks", "8", "--json")
    used = "its policy after 3 steps is used, from its last checkpoint"
    assert so_far.code == 0 and so_far.err == f"a is stopped: interrupted: {used}\n"
    shorter = cli(*TRAIN, "--reward", "my.py:stops", "--steps", "3", "--out", "three", "--json").json["run"]
    measured = cli("eval", shorter, "--tasks", "8", "--json").json
    assert {**so_far.json, "model": shorter} == measured
    for words, says in (
        (("--seed", "3"), "with --seed 0, not 3"),
        (("--steps", "9"), "with --steps 6, not 9"),
        (("--set", "prompts=3"), "with --set prompts 2, not 3"),
        (("--set", "lr=1"), "without --set lr"),
        (("--task", "successor"), "with --task parity, not successor"),
        (("--reward", "my.py:right"), "with --reward my.py:stops, not my.py:right"),
    ):
        refused(cli("train", "--resume", "a", *words), "a was started " + says, "leave it out to resume")
    refused(cli("train", "gspo", "--resume", "a"), "with recipe grpo, not gspo")
    again = ("train", "grpo", "--resume", "a", "--seed", "0", "--set", "prompts=2", "--steps", "6", "--save-every", "1")
    said = cli(*again, "--json")
    assert said.code == 0 and "resuming after step 3 of 6" in said.err
    assert said.json["weights"] == whole["weights"] and said.json["evaluations"] == whole["evaluations"]
    said = cli("train", "--resume", "a")
    assert said.code == 0 and said.out.startswith("a is already complete: nothing to do\n")


def test_a_second_ctrl_c_is_taken_at_once(cli: Cli) -> None:
    said = cli(*TRAIN, "--reward", "my.py:insists", "--out", "a", "--json")
    assert said.code == said.json["exit_code"] == 130
    assert said.json["error"].endswith("saved state is intact, resume with: guerdon train --resume a")
    checkpoint = load_checkpoint(Path("a/checkpoints"), pytest.fail)
    assert checkpoint is not None and checkpoint.step == 2


def test_a_changed_reward_is_not_resumed(cli: Cli) -> None:
    Path("press-ctrl-c").touch()
    assert cli(*TRAIN, "--reward", "my.py:stops", "--out", "a").code == 130
    Path("my.py").write_text(REWARDS.replace("count() == 20", "count() == 21"))
    refused(cli("train", "--resume", "a"), "another version of this recipe")


def test_a_damaged_checkpoint_gives_way_to_the_one_before(cli: Cli) -> None:
    whole = cli(*TRAIN, "--reward", "my.py:stops", "--json").json
    Path("press-ctrl-c").touch()
    cli(*TRAIN, "--reward", "my.py:stops", "--out", "a")
    Path("press-ctrl-c").unlink()
    newest = Path("a/checkpoints/step-00000003/tensors.safetensors")
    newest.write_bytes(newest.read_bytes()[:-4])
    said = cli("train", "--resume", "a")
    assert said.code == 0 and "warning: checkpoint step-00000003 is damaged" in said.out
    assert "resuming after step 2 of 6" in said.out and Run("a").weights == whole["weights"]


def test_a_study_runs_from_a_file(cli: Cli) -> None:
    words = ("train", "./mine.py:twice", "--task", "parity", "--model", "tabular", "--eval-tasks", "4", "--out", "a")
    said = cli(*words, "--json")
    assert said.code == 0 and "step 2/2" in said.err and "step 3/3" in said.err
    assert said.json["status"] == "complete" and json.loads(Path("a/result.json").read_text())["runs"] == 2
    assert "already complete" in cli("train", "--resume", "a").out
    refused(cli("eval", "a", "--task", "parity"), "a is a study")


WAITS = """
import time
from pathlib import Path

import guerdon as gd

calls = 0


@gd.reward(isolate=False)  # it counts its calls
def waits(answer, completion):
    global calls
    calls += 1
    if calls == 20:  # in the third step
        Path("here").touch()
        while not Path("go-on").exists():
            time.sleep(0.005)
    return float(answer == completion)
"""


@pytest.mark.slow
def test_sigint_in_the_middle_of_a_run(cli: Cli, tmp_path: Path) -> None:
    Path("waits.py").write_text(WAITS)
    line = (*TRAIN, "--reward", "waits.py:waits", "--save-every", "1000", "--rollouts-every", "0")
    process = process_of(tmp_path, *line, "--out", "a")
    assert process.stderr is not None
    patience = time.monotonic() + 600
    while not Path("here").exists():
        assert process.poll() is None and time.monotonic() < patience
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    told = process.stderr.readline() + process.stderr.readline()  # an empty line comes first
    assert told.strip() == b"stopping after this step; press Ctrl-C again to stop at once"
    Path("go-on").touch()
    out, err = process.communicate(timeout=600)
    assert process.returncode == 130 and err.strip() == b""
    assert out.decode().splitlines()[-1] == "  guerdon train --resume a"
    assert Run("a").steps_done == 3
    resumed = cli("train", "--resume", "a", "--json").json
    assert resumed["weights"] == cli(*line, "--out", "b", "--json").json["weights"]
