"""The command line, as its users meet it: what each verb prints, and what it shows while it works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from command_line import SMALL, TRAIN, Cli, command_line, process_of
from rich.console import Console

import guerdon
from guerdon import sandbox
from guerdon.cli import doctor
from guerdon.cli import main as main_module
from guerdon.cli.output import Output
from guerdon.cli.progress import Watch, clock, short
from guerdon.core.errors import InputNote, Notice
from guerdon.core.model import weights_hash
from guerdon.runs.event_types import Ended, Evaluated, ScoresMissing, Started, StepDone, Warned
from guerdon.runs.run import Run
from guerdon.training.build import find_model


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


EXAMINED = """
import guerdon as gd
from guerdon.exams.rates import coverage
from guerdon.recipes.house.grpo import grpo


@gd.recipe("examined", on=grpo)
def examined(base, task):
    base.exams = [gd.Exam(task, [coverage()], name="wide", tries=4)]
    return base
"""

# --- what each verb does --------------------------------------------------------------------------------------------


def test_train_tells_people_how_it_went(cli: Cli) -> None:
    said = cli(*TRAIN, "--out", "a", "--eval-every", "3")
    assert said.code == 0 and said.err == ""
    lines = said.out.splitlines()
    assert lines[0].startswith("held-out accuracy before training: ")
    assert any(line.startswith("held-out accuracy after 3 steps: ") for line in lines)
    assert any(line.startswith("step 6/6  accuracy ") and "tokens/s" in line and "left" in line for line in lines)
    run = Run("a")
    ending = {name: value for name, _, value in (line.partition(" ") for line in lines)}
    assert ending["weights"].strip() == run.weights and ending["run"].strip() == "a"
    assert " -> " in ending["accuracy"] and ending["accuracy"].count("%") == 2


def test_train_and_show_tell_the_numbers_of_every_exam(cli: Cli) -> None:
    Path("examined.py").write_text(EXAMINED)
    said = cli("train", "./examined.py", "--task", "parity", *SMALL[:4], "--steps", "2", "--out", "a")
    assert said.code == 0, said.err
    lines, last = said.out.splitlines(), Run("a").evaluations[-1]
    wide = f"{last['wide/coverage']:.3f} ({last['wide/coverage_low']:.3f} to {last['wide/coverage_high']:.3f})"
    words = f"distinct_answers {last['wide/distinct_answers']:.3f}"
    assert f"held-out coverage after 2 steps: {wide}" in lines and f"held-out wide after 2 steps: {words}" in lines
    assert any(line.startswith("coverage  ") and line.endswith(f" -> {wide}  held-out parity") for line in lines)
    assert any(line.split(maxsplit=1) == ["wide", words] for line in lines)
    shown = cli("show", "a")
    assert shown.code == 0 and words in shown.out and wide in shown.out
    assert "accuracy" not in "".join(lines) + shown.out
    assert cli("list", "runs", "--dir", ".").code == 0
    recipe = cli("show", "./examined.py", "--task", "parity", "--model", "tabular")
    assert "exams       Exam(source=parity(), metrics=[coverage()], name='wide', tries=4)" in recipe.out


@pytest.mark.slow
def test_the_same_training_twice_has_the_same_weights(cli: Cli) -> None:
    first, second = cli(*TRAIN, "--json"), cli(*TRAIN, "--json")
    assert first.code == second.code == 0
    assert first.out.count("\n") == 1 and "held-out accuracy" in first.err
    one, two = first.json, second.json
    assert one["weights"] == two["weights"] == Run(one["run"]).weights
    assert (one["run"], two["run"]) == ("runs/grpo-parity-001", "runs/grpo-parity-002")
    assert one["status"] == "complete" and one["steps_done"] == 6 and one["resume"] is None
    assert [e["steps_done"] for e in one["evaluations"]] == [0, 6]
    assert one["report"] is None or Path(one["report"]).is_file()
    assert cli(*TRAIN, "--seed", "1", "--json").json["weights"] != one["weights"]


def test_train_learns(cli: Cli) -> None:
    found = cli("train", "grpo", "--task", "parity", *SMALL, "--set", "lr=0.5", "--steps", "40", "--json").json
    before, after = found["evaluations"]
    assert after["pass@1"] > before["pass@1_high"]


def test_options_say_how_a_run_is_kept(cli: Cli) -> None:
    assert cli(*TRAIN, "--out", "a", "--keep", "1", "--rollouts-every", "3", "--eval-tasks", "0").code == 0
    run = Run("a")
    assert run.rollout_steps == [0, 3] and run.evaluations == []
    assert len(list(run.folder.checkpoints.glob("step-*"))) == 1


def test_no_steps_is_a_run_too(cli: Cli) -> None:
    found = cli(*TRAIN, "--steps", "0", "--out", "a", "--json").json
    assert found["status"] == "complete" and found["steps_done"] == 0 and found["weights"]
    assert cli("train", "--resume", "a", "--json").json["was_complete"]


def test_eval_of_a_run_and_of_a_model(cli: Cli) -> None:
    cli(*TRAIN, "--out", "a")
    said = cli("eval", "a", "--k", "4", "--tasks", "5")
    assert (
        said.code == 0 and said.out.splitlines()[0] == "parity: 3 held-out tasks, 4 tries each"
    )  # of 5, two came twice
    assert [line.split()[0] for line in said.out.splitlines()[2:]] == ["pass@1", "pass@2", "pass@4"]
    found = cli("eval", "a", "--k", "4", "--tasks", "5", "--json").json
    assert found["pass@1_low"] <= found["pass@1"] <= found["pass@1_high"]
    assert found == cli("eval", "a", "--task", "parity", "--k", "4", "--tasks", "5", "--json").json
    greedy = cli("eval", "a/models/policy", "--task", "parity", "--greedy", "--max-tokens", "1", "--json").json
    assert greedy["tries"] == 1 and greedy["temperature"] == 0.0 and greedy["tasks"] == 10  # parity has ten prompts
    assert cli("eval", "tabular", "--task", "parity:2", "--tasks", "3", "--k", "2", "--json").json["tasks"] == 3


def test_a_run_is_a_model_in_python(cli: Cli) -> None:
    cli(*TRAIN, "--out", "a")
    trained = [guerdon.models.load("a"), guerdon.models.load("a/models/policy"), find_model("a")]
    assert len({weights_hash(each.net) for each in trained}) == 1
    whole = Path("a/models/policy/weights.safetensors")
    whole.write_bytes(whole.read_bytes()[:-1] + b"x")
    with pytest.raises(guerdon.UserError, match=r"policy is damaged \(weights.safetensors does not match its hash\)"):
        guerdon.models.load("a")
    Path("a/models/policy").rename("a/models/rm")
    with pytest.raises(guerdon.UserError, match=r"^a has no trained policy: load a/models/rm$"):
        guerdon.models.load("a")


@pytest.mark.slow
def test_a_finished_run_is_a_model_to_train_from(cli: Cli) -> None:
    first = cli(*TRAIN, "--out", "a", "--json").json
    next_words = ("train", "grpo", "--task", "parity", "--model", "a", "--steps", "2", "--eval-tasks", "4", "--json")
    assert cli(*next_words).json["weights"] != first["weights"]


def test_list_says_what_there_is(cli: Cli) -> None:
    said = cli("list")
    assert said.code == 0
    assert all(word in said.out for word in ("grpo", "countdown", "tabular", "guerdon list recipes"))
    assert "arXiv:2402.03300" in cli("list", "recipes").out
    found = cli("list", "--json").json
    assert set(found) == {"recipes", "settings", "tasks", "roles", "models", "rewards", "parts", "runs"}
    grpo = next(r for r in found["recipes"] if r["recipe"] == "grpo")
    assert grpo["family"] == "house" and grpo["paper"] and grpo["about"] and grpo["claim"] == []
    parts = {p["part"]: p for p in cli("list", "parts", "--json").json["parts"]}
    assert parts["adam"]["knobs"]["lr"] == "0.001" and parts["centre"]["folder"] == "credit"
    assert cli("list", "runs").out == "no runs in runs/\n"
    cli(*TRAIN)
    Path("runs/broken").mkdir()
    Path("runs/broken/run.json").write_text("{")
    broken, whole = cli("list", "runs", "--json").json["runs"]
    assert whole["status"] == "complete" and whole["steps"] == "6/6" and "unreadable" in broken["status"]


def test_show_lays_out_a_recipe(cli: Cli) -> None:
    said = cli("show", "grpo", "--set", "kl=0.1")
    assert said.code == 0
    for line in (
        "grpo  (house)  arXiv:2402.03300",
        "  steps = 100        training steps",
        "formula, with --task successor --model tabular",
        "  env         single_turn()",
        "              2. centre(reward='correct')    [correct -> advantage]",
        "  adam: lr=2e-05, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.0",
    ):
        assert line in said.out.splitlines(), line
    assert "reference = snapshot(of='policy')" in said.out
    found = cli("show", "./mine.py:mine", "--task", "parity", "--set", "tries=2", "--json").json
    assert found["recipe"] == "mine" and found["knobs"] == {"tries": 4} and found["required"] == ["task", "model"]
    assert found["needs"] == [] and found["world"] is None
    assert found["parts"]["knobs"]["curriculum"]["knobs"]["tries"] == 2
    assert found["shown_for"] == {"task": "parity", "model": "tabular"}


def test_show_tells_of_a_run(cli: Cli) -> None:
    cli(*TRAIN, "--out", "a")
    said = cli("show", "a")
    assert said.code == 0 and "complete, 6 of 6 steps" in said.out and "tabular.length=1" in said.out
    found = cli("show", "a", "--json").json
    assert found["weights"] == Run("a").weights and found["config"]["recipe"] == "grpo"


@pytest.mark.sampled(1, "given")
@pytest.mark.parametrize("given, kept", [({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active")])
def test_threads_wait_asleep_unless_the_user_says_otherwise(given: dict[str, str], kept: str) -> None:
    code = "import os, sys; from guerdon.cli.main import program; program(); assert 'torch' not in sys.modules"
    others = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    run = [sys.executable, "-c", f"{code}; print(os.environ['OMP_WAIT_POLICY'])", "--version"]
    said = subprocess.run(run, env={**others, **given}, capture_output=True, text=True, check=True)
    assert said.stdout.split()[-1] == kept


def test_doctor(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    held = sandbox.Guarantee("network", True, "no socket can be made")
    monkeypatch.setattr(sandbox, "guarantees", lambda isolation="full": (held,))  # tried in tests/sandbox
    said = cli("doctor")
    assert "ok    sandbox: full isolation: network; limits enforced by " in said.out
    assert said.code == 0 and said.out.splitlines()[-1] == "everything required works"
    found = cli("doctor", "--json").json
    checks = {c["name"]: c for c in found["checks"]}
    assert found["healthy"] and checks["training"]["ok"] and {"python", "torch", "disk", "cuda"} <= set(checks)
    monkeypatch.setattr(doctor, "_version", lambda library: "" if library in ("pyarrow", "wandb") else "1.0")
    said = cli("doctor", "--json")
    checks = {c["name"]: c for c in said.json["checks"]}
    assert said.code == 1 and not checks["libraries"]["ok"] and "training" not in checks
    assert checks["extra wandb"]["fix"] == "pip install 'guerdon[wandb]'" and not checks["extra wandb"]["required"]


def test_the_doctor_says_what_does_not_hold(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_training", lambda: doctor.Check("training", True, ""))
    held, lost = (
        sandbox.Guarantee("memory", True, "bounded"),
        sandbox.Guarantee("files", False, "not held: it went through"),
    )
    refused = sandbox.Guarantee("full", False, "this machine can not give isolation='full': no user namespaces")
    for full, words in (((held, lost), "files: not held: it went through; still guaranteed: memory"),
                        ((refused,), f"{refused.detail}; landlock would guarantee: memory")):  # fmt: skip
        monkeypatch.setattr(
            sandbox, "guarantees", lambda isolation="full", full=full: full if isolation == "full" else (held,)
        )
        said = cli("doctor")
        assert said.code == 0 and f"-     sandbox: {words}  (" in said.out and "everything required works" in said.out


def test_help_teaches_by_examples(cli: Cli) -> None:
    assert cli("--version").out == f"guerdon {guerdon.__version__}\n"
    assert cli().out == cli("--help").out and cli().code == 0
    for verb in ("train", "eval", "list", "show", "doctor"):
        said = cli(verb, "--help")
        assert said.code == 0 and f"  guerdon {verb}" in said.out and "\x1b" not in said.out


def test_help_and_lists_of_names_do_without_torch(tmp_path: Path) -> None:
    script = (
        "import sys; from guerdon.cli.main import main; main(['--help']); main(['train', '--help']);"
        "main(['list', 'recipes']); main(['list']); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    process = process_of(tmp_path, "list", "recipes")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait()


# --- progress -------------------------------------------------------------------------------------------------------


def test_live_progress_on_a_terminal() -> None:
    shown = live_progress(width=120)
    assert "step 4/4" in shown and "reward 0.250" in shown and "accuracy 50.0 %" in shown
    assert "30k tokens/s" in shown and "0:00 left" in shown


@pytest.mark.parametrize("width", [60, 80])
def test_live_progress_keeps_step_bar_and_time_left_on_a_narrow_terminal(width: int) -> None:
    last = [line for line in re.split(r"[\r\n]|\x1b\[[0-9?;]*[A-Za-z]", live_progress(width)) if line.strip()]
    whole = "".join(last[-8:])  # rich colours the pieces of a line
    assert "step 4/4" in whole and "━━━━" in whole and "0:00 left" in whole and "…" in whole
    assert "updates" not in whole  # cut from the end


def live_progress(width: int) -> str:
    """All that a terminal is written during four steps."""
    screen = StringIO()
    metrics = {"reward/mean": 0.25, "correct/mean": 0.5, "truth/mean": 0.5}
    with Watch(Console(file=screen, force_terminal=True, width=width)) as watch:
        watch(Started(0, steps=4))
        for step in range(4):
            watch(StepDone(step, metrics=metrics, tokens=30_000, read=90_000, updates=4, seconds=1.0))
    return screen.getvalue()


def test_plain_progress_is_brief_and_keeps_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    screen = StringIO()
    lost = ScoresMissing(0, column="reward", failed=1, of=8, first="Traceback ...\nZeroDivisionError: no such score\n")
    rates = {"pass@1": 0.5, "pass@1_low": 0.25, "pass@1_high": 0.75, "missing": 0.1}
    with Watch(Console(file=screen, width=200)) as watch:
        watch(Started(0, steps=1000))
        watch(Warned(0, message="mind the gap"))
        for step in range(1000):
            now[0] += 1.0
            watch(lost)
            watch(StepDone(step, metrics={"reward/mean": 0.25}, tokens=10, seconds=1.0))
        watch(Evaluated(999, result=rates))
    lines = screen.getvalue().splitlines()
    assert lines[:2] == [
        "warning: mind the gap",
        "warning: step 0: 1 of 8 in 'reward' failed: ZeroDivisionError: no such score",
    ]
    assert lines[2] == "step 50/1000  reward 0.250  10 tokens/s  15:50 left"
    assert len(lines) == 2 + 20 + 2
    assert lines[-2].startswith("held-out accuracy after 1000 steps: 50.0 % (25.0 to 75.0); 10.0 % of the tries")
    assert lines[-1].startswith("warning: 1000 scores in 'reward' failed in total")


def test_progress_is_about_what_the_exam_is_about() -> None:
    screen = StringIO()
    lost = ScoresMissing(0, column="reward", failed=1, of=8, first="ZeroDivisionError: no such score")
    with Watch(Console(file=screen, width=200)) as watch:
        watch(Started(0, steps=1))
        watch(Evaluated(-1, result={"rm/task": "trace", "rm/pair_accuracy": 0.5, "rm/pair_ece": 0.25}))
        watch(lost)
        watch(lost)
        watch(StepDone(0, metrics={"rm/accuracy": 0.7, "correct/mean": 0.25}, tokens=10, seconds=1.0))
        watch(Ended(0))  # a run that ended has warned of all that failed
    assert screen.getvalue().splitlines() == [
        "held-out pair accuracy before training: 50.0 %",
        "held-out rm before training: pair_ece 0.250",
        "warning: step 0: 1 of 8 in 'reward' failed: ZeroDivisionError: no such score",
        "step 1/1  pair accuracy 70.0 %  10 tokens/s  0:00 left",
    ]


def test_numbers_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert [short(n) for n in (12.4, 30_000, 2_500_000)] == ["12", "30k", "2.5M"]
    assert [clock(s) for s in (5, 65, 3725)] == ["0:05", "1:05", "1:02:05"]
    Output(as_json=True).finish({"rate": float("nan"), "nested": [{"low": float("inf")}]})
    assert json.loads(capsys.readouterr().out) == {"rate": None, "nested": [{"low": None}]}
    Output(as_json=False).say("[bold]not markup[/bold]")
    assert capsys.readouterr().out == "[bold]not markup[/bold]\n"


def test_a_notice_is_printed_once_in_a_command(capsys):
    show = main_module._noticed(lambda *args: print("other"))
    for message, kind in (
        ("3 rows", InputNote),
        ("3 rows", InputNote),
        ("3 rows", Notice),
        ("old", UserWarning),
        ("old", UserWarning),
    ):
        show(message, kind, "file.py", 1)
    said = capsys.readouterr()
    assert said.err.splitlines() == ["3 rows", "warning: 3 rows"] and said.out.splitlines() == ["other", "other"]
