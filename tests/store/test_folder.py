"""A run folder has one run and one writer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from refusals import refusal
from run_configs import config

from guerdon.core.errors import UserError
from guerdon.runs.folder import RunFolder, next_free


def test_a_folder_takes_one_run(tmp_path):
    folder = RunFolder(tmp_path / "run")
    assert not folder.exists()
    folder.create(config(recipe="grpo"))
    assert folder.exists()
    assert folder.read_config() == config(recipe="grpo")
    with refusal(UserError, "--resume"):
        RunFolder(tmp_path / "run").create(config(recipe="dpo"))
    assert folder.read_config() == config(recipe="grpo")


def test_a_folder_with_other_things_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with refusal(UserError):
        RunFolder(tmp_path).create({})
    with refusal(UserError):
        RunFolder(tmp_path / "notes.txt").create({})
    (tmp_path / "empty").mkdir()
    RunFolder(tmp_path / "empty").create({})
    assert RunFolder(tmp_path / "empty").exists()


@pytest.mark.parametrize("text", [None, "", "{", "\xff"])
def test_a_folder_without_a_readable_card_is_no_run(tmp_path, text):
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    with refusal(UserError):
        RunFolder(tmp_path).read_config()


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path):
    first, second = RunFolder(tmp_path), RunFolder(tmp_path)
    with first.lock():
        for _ in range(2):
            with pytest.raises(UserError, match="is being written by another process"), second.lock():
                raise AssertionError("two writers")
    with second.lock():
        assert (tmp_path / ".lock").exists()


HOLD = """
import sys, time
from guerdon.runs.folder import RunFolder
with RunFolder(sys.argv[1]).lock():
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_killed_writer_leaves_the_folder_free(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UserError, match="another process"), RunFolder(tmp_path).lock():
            raise AssertionError("two writers")
        holder.kill()
    with RunFolder(tmp_path).lock():
        assert holder.returncode != 0


def test_what_breaks_while_the_folder_is_held_is_not_about_the_lock(tmp_path):
    with pytest.raises(FileNotFoundError, match="a file of the user"), RunFolder(tmp_path).lock():
        raise FileNotFoundError("a file of the user")
    with RunFolder(tmp_path).lock():
        assert (tmp_path / ".lock").exists()


def test_the_next_free_name(tmp_path):
    (tmp_path / "runs" / "a-002").mkdir(parents=True)
    for name in ("a-001", "a-003"):
        with next_free(Path("runs"), "a", tmp_path) as folder:
            assert (folder.named, folder.path) == (f"runs/{name}", tmp_path / "runs" / name)
            with pytest.raises(UserError, match="is being written by another process"), RunFolder(folder.path).lock():
                raise AssertionError("two writers")


def test_who_holds_a_folder_may_ask_for_it_again(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with folder.claim():
        folder.create(config(recipe="grpo"))
        with folder.lock(), pytest.raises(UserError, match="another process"), RunFolder(folder.path).lock():
            raise AssertionError("two writers")
        folder.clear()
        assert not folder.exists()
    with RunFolder(folder.path).lock():
        assert [p.name for p in folder.path.iterdir()] == [".lock"]
