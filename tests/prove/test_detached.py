"""Proofs in the background: how far they are, and which of them no longer run."""

from __future__ import annotations

import subprocess
import sys
import time

from guerdon.cli.main import main
from guerdon.prove import detached
from guerdon.prove.detached import FOLDER, ProofProgress, status


def test_how_far_a_proof_is(tmp_path):
    progress = ProofProgress(tmp_path, ["prove", "my recipe.py"])
    assert status(tmp_path) == []
    with progress.kept():
        progress.write(done=3, total=12, last="grpo seed 3")
        (told,) = status(tmp_path)
        assert told["state"] == "running" and told["line"].startswith(
            "guerdon prove 'my recipe.py': 3 of 12 runs, running"
        )
        assert "about 0 min for the runs wanted by now" in told["line"]
    (told,) = status(tmp_path)
    assert told["state"] == "ended" and "3 of 12 runs, ended after 0 min" in told["line"]


def test_a_proof_that_was_killed_is_not_taken_for_one_that_runs(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from guerdon.prove.detached import ProofProgress\n"
        "with ProofProgress(Path(sys.argv[1]), ['prove', 'x']).kept():\n    print('up', flush=True); time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    assert [told["state"] for told in status(tmp_path)] == ["running"]
    process.kill()
    process.wait()
    (told,) = status(tmp_path)
    assert told["state"] == "stopped" and "the same command continues" in told["line"]


def test_a_command_that_is_refused_is_no_proof_that_stopped(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["prove", "grpo", "--setting", "noisy"]) == 2
    assert "did you mean 'noisy_judge'" in capsys.readouterr().err
    assert status(tmp_path / "runs" / "prove") == []


def test_the_words_of_a_detached_proof_are_those_that_were_given(tmp_path, monkeypatch, capsys):
    heard = []
    monkeypatch.setattr(detached, "detach", lambda words, runs: heard.append(words) or tmp_path / "log")
    monkeypatch.chdir(tmp_path)
    assert main(["prove", "grpo", "--setting", "table", "--quick", "--jobs", "1", "--detach"]) == 0
    assert heard == [
        ["grpo", "--quick", "--setting", "table", "--jobs", "1", "--out", "evidence", "--runs", "runs/prove"]
    ]
    assert "guerdon prove --status --runs runs/prove" in capsys.readouterr().out
    assert main(["prove", "--status"]) == 0 and "no proof was run in runs/prove" in capsys.readouterr().out


def test_it_runs_in_a_session_of_its_own_and_writes_to_a_file(tmp_path):
    log = detached.detach(["--status", "--runs", str(tmp_path / "none")], tmp_path)
    until = time.monotonic() + 300
    while "no proof was run" not in log.read_text():
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)
    assert log.parent == tmp_path / FOLDER
