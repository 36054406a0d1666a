"""Runs of other versions and of other code: read, refused by name, or gone on with a warning."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import TRAIN, Cli, command_line, refused

from guerdon.core.recipe import Study
from guerdon.display.report import write_report
from guerdon.runs.checksums import sealed
from guerdon.runs.event_types import Event, Warned
from guerdon.runs.folder import FORMAT, RunFolder
from guerdon.runs.run import Run
from guerdon.training.build import Built, RunRequest, config_of
from guerdon.training.record import Options
from guerdon.training.study import run_study

OLD = Path(__file__).parent / "run_of_0_1"  # the first of two steps of GRPO, as guerdon 0.1 left it


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    return command_line(tmp_path, monkeypatch, capsys)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copytree(OLD, tmp_path / "old"))


def change(run: Path, **values: Any) -> None:
    config = RunFolder(run).config_file
    config.write_text(json.dumps(sealed({**json.loads(config.read_text()), **values})))


def test_a_run_of_0_1_is_read(old: Path, cli: Cli) -> None:
    run = Run(old)
    assert run.config["format"] == 1 and (run.steps_done, run.status) == (2, "complete")
    assert run.metrics["step"].to_pylist() == [0, 1] and run.spent["samples"] == 16
    assert run.batch(0).K == 8 and run.rollouts.num_rows == 8
    assert "correct" in run.batch(0).cols and run.evaluations[-1]["steps_done"] == 2
    assert "grpo" in Path(write_report(old)).read_text()
    answer = cli("show", "old")
    assert answer.code == 0 and "guerdon 0.1.0" in answer.out


def test_a_run_of_0_1_is_not_gone_on_with(old: Path, cli: Cli) -> None:
    says = (
        "old was started with guerdon 0.1.0, in format 1 of run folders",
        f"can resume only format {FORMAT}: start a new run",
    )
    refused(cli("train", "--resume", "old"), *says)


def test_a_run_of_a_later_version_is_refused_by_name(old: Path, cli: Cli) -> None:
    change(old, format=FORMAT + 1, versions={"guerdon": "7.0"})
    for words in (("show", "old"), ("train", "--resume", "old")):
        refused(
            cli(*words), f"old was written by guerdon 7.0, in format {FORMAT + 1} of run folders", "upgrade guerdon"
        )
    assert "unreadable: " in cli("list", "runs", "--dir", ".").out


def begun(cli: Cli) -> dict[str, Any]:
    """A run that was interrupted, in `a`; its config."""
    Path("press-ctrl-c").touch()
    assert cli(*TRAIN, "--reward", "my.py:stops", "--out", "a").code == 130
    Path("press-ctrl-c").unlink()
    return RunFolder("a").read_config()


def test_a_resume_with_other_code_says_so(cli: Cli) -> None:
    config = begun(cli)
    assert config["format"] == FORMAT and len(config["code"]) == 16
    change(Path("a"), code="0" * 16)
    answer = cli("train", "--resume", "a")
    says = "resumed with other code than it began with, so the result may differ: "
    assert answer.code == 0 and f"warning: {says}code {'0' * 16} then, {config['code']} now" in answer.out
    assert [message for message in Run("a").warnings if message.startswith(says)]


def test_a_resume_with_the_same_code_says_nothing(cli: Cli) -> None:
    begun(cli)
    assert "other code" not in cli("train", "--resume", "a").out
    assert not [message for message in Run("a").warnings if message.startswith("resumed")]


def test_a_study_says_so_too(tmp_path: Path) -> None:
    heard: list[Event] = []
    folder, study = RunFolder(tmp_path / "a"), Study(lambda run, seed: {})
    folder.create(config_of(Built("study", study), RunRequest(study), 0, 0, Options()))
    run_study(study, folder, Options(), 0, [heard.append], ["resumed with other code"])
    warnings = [event.message for event in heard if isinstance(event, Warned)]
    assert warnings == ["resumed with other code"]
    assert '"resumed with other code"' in folder.events.read_text()
