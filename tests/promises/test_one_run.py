"""A run folder holds one run: what is another run's is refused, and what is gone is said

Every run has an id. It stands in run.json, in the first line that each attempt writes to events.jsonl, in the manifest of each
checkpoint and trained model and in each file of rollouts. Pipes, devices and folders in the place of a file are refused at
once. Not promised: protection from forgers, who can write an id too, and files from before there were ids.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import REWARDS, TRAIN, Cli, command_line, refused

import guerdon as gd
from guerdon.cli.main import main
from guerdon.core.errors import UserError
from guerdon.core.manifest import OWNER, Damaged
from guerdon.core.recipe import Study
from guerdon.models import tabular
from guerdon.recipes.house.grpo import grpo
from guerdon.runs import whole_files
from guerdon.runs.checkpoint import list_checkpoints
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.runs.whole_files import disk_errors
from guerdon.tasks import load

Tried = Callable[..., None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of different seeds, interrupted after some steps, and the first as it is when nothing stops it."""
    place = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        Path("my.py").write_text(REWARDS)
        Path("press-ctrl-c").touch()
        for name, seed in (("a", "1"), ("b", "2")):
            main((*TRAIN, "--reward", "my.py:stops", "--seed", seed, "--out", name))
        Path("press-ctrl-c").unlink()
        main((*TRAIN, "--reward", "my.py:stops", "--seed", "1", "--out", "whole"))
    return place


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], made: Path) -> Cli:
    line = command_line(tmp_path, monkeypatch, capsys)
    for name in ("a", "b", "whole"):
        shutil.copytree(made / name, name)
    return line


def test_a_checkpoint_of_another_run(cli: Cli) -> None:
    """A checkpoint of the same recipe with another seed, copied in beside the run's own and as the only one."""
    theirs = list_checkpoints(Path("b/checkpoints"))[-1]
    shutil.copytree(theirs, "a/checkpoints/step-00000005")
    refused(cli("train", "--resume", "a"), "checkpoints/step-00000005 in ", "is of another run: take it out")
    shutil.rmtree("a/checkpoints")
    shutil.copytree("b/checkpoints", "a/checkpoints")
    refused(cli("train", "--resume", "a"), "is of another run")
    manifest = next(Path("a/checkpoints").iterdir()) / "manifest.json"
    manifest.write_text(json.dumps({k: v for k, v in json.loads(manifest.read_text()).items() if k != OWNER}))
    refused(cli("train", "--resume", "a"), "is of another run")


def test_a_run_json_of_another_run(cli: Cli) -> None:
    """run.json of the other seed, with the events, without them, and with the other's events."""
    shutil.copy("b/run.json", "a/run.json")
    refused(cli("train", "--resume", "a"), "run.json and events.jsonl in a are of different runs")
    assert "of different runs" in " ".join(Run("a").damage)
    shutil.copy("b/events.jsonl", "a/events.jsonl")
    refused(cli("train", "--resume", "a"), "is of another run")
    Path("a/events.jsonl").unlink()
    refused(cli("train", "--resume", "a"), "is of another run")


def test_events_of_another_run(cli: Cli) -> None:
    """events.jsonl of the other seed; and lines of it behind those of the run."""
    own = Path("a/events.jsonl").read_bytes()
    shutil.copy("b/events.jsonl", "a/events.jsonl")
    refused(cli("train", "--resume", "a"), "are of different runs")
    Path("a/events.jsonl").write_bytes(own + Path("b/events.jsonl").read_bytes())
    assert Run("a").damage, "their numbers come twice"


def test_rollouts_and_a_model_of_another_run(cli: Cli) -> None:
    """A step's rollouts and the trained model of another run, each whole as it is, and then those who read them."""
    shutil.copy(RunFolder("b").rollouts(0), RunFolder("a").rollouts(0))
    with pytest.raises(Damaged, match="is of another run"):
        Run("a").batch(0)
    with pytest.raises(Damaged, match="is of another run"):
        _ = Run("a").rollouts
    assert cli("train", "--resume", "b").code == 0
    shutil.rmtree("whole/models/policy")
    shutil.copytree("b/models/policy", "whole/models/policy")
    refused(cli("eval", "whole"), "whole/models/policy is the model of another run")


def _body(run: Any, seed: int) -> dict[str, Any]:
    """A study of one run, and of a value that it remembers by a key that says nothing of the seed."""
    inner = run.train(grpo.function(load("parity"), tabular(length=1), prompts=2, tries=4, steps=2))
    return {"weights": str(inner.weights), "kept": run.remember("key", lambda: {"seed": seed})["seed"]}


def test_what_a_study_has_of_another_seed(tmp_path: Path) -> None:
    """A run of the other study's in the place of its own, and what the other remembers: both whole as they are."""
    own, other = tmp_path / "own", tmp_path / "other"
    results = [gd.train(Study(_body), out=out, seed=seed).result for out, seed in ((own, 1), (other, 2))]
    assert [each["kept"] for each in results] == [1, 2] and results[0]["weights"] != results[1]["weights"]
    events = (own / "events.jsonl").read_bytes().splitlines(True)
    (own / "events.jsonl").write_bytes(b"".join(events[:-1]))  # killed before its last line
    (place,), (theirs,) = ([path for path in (out / "inner").iterdir() if path.is_dir()] for out in (own, other))
    place.rename(tmp_path / "aside")
    shutil.copytree(theirs, place)
    with pytest.raises(Damaged, match="is another run than its name says: take it out"):
        gd.train(Study(_body), resume=own)
    shutil.rmtree(place)
    (tmp_path / "aside").rename(place)
    (remembered,), (theirs,) = ([*(out / "inner").glob("remembered-*.json")] for out in (own, other))
    kept = remembered.read_bytes()
    shutil.copy(theirs, remembered)
    with pytest.raises(Damaged, match=r"remembered-\w+\.json in .* is of another run: take it out"):
        gd.train(Study(_body), resume=own)
    remembered.write_bytes(kept)
    assert gd.train(Study(_body), resume=own).result == results[0]


def test_a_run_from_before_there_were_ids_goes_on(cli: Cli) -> None:
    """Events, manifests and rollouts that say no id, in a run that has one: believed, and it ends in the same weights."""
    rows = [json.loads(line) for line in Path("a/events.jsonl").read_text().splitlines()]
    old = [{k: v for k, v in row.items() if k not in ("line", "sum", "run")} for row in rows]
    Path("a/events.jsonl").write_text("".join(json.dumps(row) + "\n" for row in old))
    for manifest in Path("a/checkpoints").glob("*/manifest.json"):
        manifest.write_text(json.dumps({k: v for k, v in json.loads(manifest.read_text()).items() if k != OWNER}))
    assert cli("train", "--resume", "a").code == 0
    assert Run("a").weights == Run("whole").weights


@pytest.mark.slow
def test_what_is_gone_is_said(cli: Cli) -> None:
    """events.jsonl, rollouts/, one file of it and checkpoints/ lost: each is named, and a resume ends in the same weights."""
    gone = {
        "events.jsonl": "events.jsonl is missing",
        "rollouts": "rollouts/ is missing, the first of step 0",
        "rollouts/step-00000001.parquet": "1 files in rollouts/ are missing, the first of step 1",
    }
    for what, says in gone.items():
        shutil.copytree("a", "again")
        path = Path("again", what)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        shown = cli("show", "again")
        assert says in Run("again").damage and says in shown.out + shown.err, what
        resumed = cli("train", "--resume", "again")
        assert resumed.code == 0 and f"warning: {says}" in resumed.out, resumed
        assert Run("again").weights == Run("whole").weights
        shutil.rmtree("again")
    shutil.rmtree("a/checkpoints")
    resumed = cli("train", "--resume", "a")
    assert resumed.code == 0 and "checkpoints/ has no checkpoint any more" in resumed.out
    assert Run("a").weights == Run("whole").weights


@pytest.mark.sampled(1, "kind")
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "link to itself"])
def test_odd_kinds_of_file(cli: Cli, kind: str, tried: Tried) -> None:
    """A pipe, a folder, /dev/zero and a link to itself in the place of each file that `show` and `--resume` read: one line, or
    passed over with one, and nobody waits."""
    checkpoint = list_checkpoints(Path("a/checkpoints"))[-1].name
    for what in (
        *("run.json", "events.jsonl", ".lock", "rollouts/step-00000000.parquet"),
        *(f"checkpoints/{checkpoint}/{name}" for name in ("manifest.json", "state.json", "tensors.safetensors")),
    ):
        shutil.copytree("a", "odd", symlinks=True)
        path = Path("odd", what)
        path.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to("/dev/zero" if kind == "device" else path.name)
        for words in (("show", "odd"), ("train", "--resume", "odd")):
            said = cli(*words)
            assert "Traceback" not in said.err and len(said.err.strip().splitlines()) <= 1, (what, words, said)
            tried()
        if what.startswith("rollouts"):
            with pytest.raises(UserError):
                Run("odd").batch(0)
        shutil.rmtree("odd")


def test_a_disk_that_is_full_before_there_is_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No room for run.json: it says to start again, which works, and not to resume what is not there."""

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    folder = RunFolder(tmp_path / "a")
    with monkeypatch.context() as patch:
        patch.setattr(whole_files, "sync", full)
        with pytest.raises(UserError, match="free some space, then start again"):
            folder.create({"recipe": "grpo"})
    assert not folder.exists()
    folder.create({"recipe": "grpo"})
    with pytest.raises(UserError, match="free some space, then resume"), disk_errors(folder.checkpoints / "step-1"):
        full(tmp_path)
