"""However many runs start at once, each has a folder of its own and all that lies in it is of that run.

A folder is claimed, by making and locking it, before anything is written there, and scratch files are each writer's alone.
Where a run writes is settled when it starts, wherever code of the user's goes afterwards. Not promised: locks on file
systems that have none, or that numbers follow the order of starting.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest
from command_line import SMALL, Cli, command_line, refused
from starting import KNOBS, STARTS, TINY, start_together

import guerdon as gd
from guerdon.core.recipe import Claim
from guerdon.judges.local_models import local
from guerdon.prove.arms import make_arm
from guerdon.prove.jobs import RunJob, run_job
from guerdon.prove.proving import QUICK_OPTIONS, How
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.runs.whole_files import atomic

GOES = """
import os
import guerdon as gd

@gd.reward(isolate=False)
def goes(answer, completion):
    os.makedirs("elsewhere", exist_ok=True)
    os.chdir("elsewhere")
    return float(answer == completion)
"""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The weights that each seed comes to where nothing else runs."""
    place = tmp_path_factory.mktemp("alone")
    runs = [gd.train("grpo", **TINY, seed=seed, out=place / str(seed), settings=KNOBS) for seed in range(STARTS)]
    return [str(run.weights) for run in runs]


def whole(run: Run, seed: int, weights: str) -> None:
    """A folder whose run.json, events, checkpoint and rollouts are all of one run."""
    assert (run.config["seed"], run.weights, run.status, run.damage) == (seed, weights, "complete", [])
    assert [e["steps_done"] for e in run.evaluations] == [0, 2] and run.rollout_steps == [0, 1]
    assert run.folder.report.is_file() and not [w for w in run.warnings if "no group varied" not in w]
    assert not [p for p in run.path.rglob(".*") if p.name != ".lock"], "no scratch is left"


@pytest.mark.slow
def test_six_runs_without_a_name(tmp_path, alone, tried):
    """Six processes start the same command in one folder at the same moment: six folders, six runs."""
    found = start_together(tmp_path, [None] * STARTS)
    assert sorted(p.name for p in (tmp_path / "runs").iterdir()) == [f"grpo-parity-{i:03d}" for i in range(1, 7)]
    for seed, (name, weights, why) in enumerate(found):
        assert (why, weights) == ("", alone[seed])
        whole(Run(tmp_path / name), seed, alone[seed])
        tried()


@pytest.mark.slow
def test_six_runs_with_one_name(tmp_path, alone, tried):
    """Six processes start with the same --out at the same moment: one has it, five are told in a line."""
    found = start_together(tmp_path, ["mine"] * STARTS)
    (winner,) = [seed for seed, (name, _, _) in enumerate(found) if name]
    whole(Run(tmp_path / "mine"), winner, alone[winner])
    for seed, (_, _, why) in enumerate(found):
        said = (
            "mine is being written by another process",
            "mine holds another run (grpo); resume it with --resume mine",
        )
        assert seed == winner or (why.startswith(said) and "\n" not in why), why
        tried()


def test_a_claim_that_was_cut_short(cli):
    """A process killed between making its folder and writing its run.json, at both places where it can be."""
    for name, left in (("grpo-parity-001", ()), ("grpo-parity-002", (".run.json.0badcafe.tmp",))):
        Path("runs", name).mkdir(parents=True)
        for file in (".lock", *left):
            Path("runs", name, file).write_text("{")
    assert cli("list", "runs").out == "no runs in runs/\n"
    line = ("train", "grpo", "--task", "parity", "--steps", "1", *SMALL)
    assert cli(*line, "--json").json["run"] == "runs/grpo-parity-003"
    assert cli(*line, "--out", "runs/grpo-parity-002").code == 0
    assert not list(Path("runs/grpo-parity-002").glob(".*.tmp"))
    refused(cli(*line, "--out", "runs/grpo-parity-002"), "holds another run (grpo)")


def test_a_folder_that_is_not_ours_is_not_touched(cli):
    """--out names a folder with the user's own things in it."""
    Path("things").mkdir()
    Path("things/notes.txt").write_text("mine")
    refused(cli("train", "grpo", "--task", "parity", *SMALL, "--out", "things"), "things is not empty and not a run")
    assert [p.name for p in Path("things").iterdir()] == ["notes.txt"]


def test_two_writers_of_one_file(tmp_path, tried):
    """Eight threads replace one file 25 times each: every reading of it is one writer's, whole."""
    path, faults = tmp_path / "a.json", []

    def write(writer: int) -> None:
        try:
            for turn in range(25):
                with atomic(path) as scratch:
                    scratch.write_text(json.dumps([writer, turn] * 200))
                assert len(json.loads(path.read_text())) == 400
        except (gd.UserError, OSError, ValueError, AssertionError) as error:
            faults.append(error)

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert faults == [] and [p.name for p in tmp_path.iterdir()] == ["a.json"]
    tried(8 * 25)


def test_code_that_goes_elsewhere(cli, tmp_path):
    """A reward that changes the working folder at every call, in a run with a name and in one without."""
    Path("goes.py").write_text(GOES)
    line = (
        "train",
        "grpo",
        "--task",
        "parity",
        "--steps",
        "2",
        *SMALL,
        "--reward",
        "goes.py:goes",
        "--save-every",
        "1",
    )
    for out, name in ((("--out", "mine"), "mine"), ((), "runs/grpo-parity-001")):
        said = cli(*line, *out, "--json").json
        assert (said["run"], said["report"], said["status"]) == (name, f"{name}/report.html", "complete")
        assert not list((tmp_path / "elsewhere").rglob("run.json")) and not list(
            (tmp_path / "elsewhere").rglob("*.html")
        )
        os.chdir(tmp_path)
        run = Run(name)
        assert run.rollout_steps == [0, 1] and run.folder.report.is_file() and run.path == tmp_path / name


def test_a_recipe_that_goes_elsewhere(cli, tmp_path):
    """A recipe's file that changes the working folder while it is read."""
    Path("elsewhere").mkdir()
    Path("mine.py").write_text("import os\n" + Path("mine.py").read_text() + "\nos.chdir('elsewhere')\n")
    said = cli("train", "./mine.py:mine", "--task", "parity", "--model", "tabular", "--eval-tasks", "4", "--json").json
    assert said["run"] == "runs/mine-parity-001" and not list((tmp_path / "elsewhere").iterdir())
    os.chdir(tmp_path)
    assert Run(said["run"]).status == "complete"


def test_what_lies_beside_runs_stays_there_too(tmp_path, monkeypatch):
    """The file of a judge's answers, the runs and the evidence of a proof, named from the folder one is in."""
    monkeypatch.chdir(tmp_path)
    judge, how = local("sprig", cache="answers.sqlite"), How(Path("evidence"), Path("runs")).from_here()
    monkeypatch.chdir("/")
    assert (judge.cache, how.folder, how.runs) == (
        str(tmp_path / "answers.sqlite"),
        tmp_path / "evidence",
        tmp_path / "runs",
    )


def test_a_folder_that_is_gone(cli, tmp_path):
    """A command that starts in a folder somebody has removed."""
    (tmp_path / "gone").mkdir()
    os.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    refused(cli("train", "grpo", "--task", "parity", *SMALL), "the folder that this was started in is gone")
    os.chdir(tmp_path)


def test_a_run_of_a_proof_that_another_proof_makes(tmp_path):
    """Two proofs reach one run at once: the second is told, and touches nothing."""
    claim = Claim("x", task="parity", model="tabular", budget=16.0, unit="samples")
    arm = make_arm("grpo prompts=2 tries=4 steps=1 tabular.length=1", claim, QUICK_OPTIONS)
    job = RunJob(arm, 0, tmp_path / arm.key(0))
    with RunFolder(job.folder).lock():
        assert run_job(job) == f"{job.folder} is being written by another process"
        assert [p.name for p in job.folder.iterdir()] == [".lock"]
    assert run_job(job) == "" and Run(job.folder).status == "complete"
