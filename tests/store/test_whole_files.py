"""A file is whole or absent, and a full disk is one clear line that loses nothing."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess

import pytest
import torch
from refusals import refusal
from strategies import episode, segment

from guerdon.core.errors import RunStopped
from guerdon.core.pack import pack
from guerdon.runs.checkpoint import Checkpoint, list_checkpoints, load_checkpoint, save_checkpoint
from guerdon.runs.event_types import StepDone
from guerdon.runs.events import EventLog, latest, read_events
from guerdon.runs.rollout_files import read_batch, write_batch
from guerdon.runs.whole_files import atomic, write_json, write_readable_json


def test_a_file_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})
    with atomic(path) as scratch:
        scratch.write_text("new")
        assert path.read_text() == '{\n  "a": 1\n}\n'
    assert path.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_fault_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, 1)
    for fault in (KeyboardInterrupt, ValueError):
        with pytest.raises(fault), atomic(path) as scratch:
            scratch.write_text("half")
            raise fault
        assert path.read_text() == "1\n"
    write_json(path, 2)
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_lost_permission_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RunStopped) as caught:
        write_json(tmp_path / "file" / "a.json", 1)
    assert str(caught.value) == f"cannot write {tmp_path / 'file' / 'a.json'}: File exists"
    assert caught.value.exit_code == 1


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 256 kB, where the tests may make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = None
    if os.geteuid() == 0:
        command = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)]
        with contextlib.suppress(OSError):
            mounted = subprocess.run(command, capture_output=True, check=False)
    if mounted is None or mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def noise(size):
    return torch.randn(size, generator=torch.Generator().manual_seed(0))


def test_a_full_disk_keeps_the_checkpoints_that_are_there(small_disk):
    save_checkpoint(small_disk / "c", Checkpoint(1, {"w": noise(10_000)}, {"seen": 1}), 3)
    with refusal(RunStopped):
        save_checkpoint(small_disk / "c", Checkpoint(2, {"w": noise(100_000)}, {"seen": 2}), 3)
    assert [p.name for p in list_checkpoints(small_disk / "c")] == ["step-00000001"]
    warnings = []
    loaded = load_checkpoint(small_disk / "c", warnings.append)
    assert torch.equal(loaded.tensors["w"], noise(10_000))
    assert warnings == []
    assert not list((small_disk / "c").glob(".*")), "the half-written one is swept, which frees its space"


def test_a_full_disk_keeps_the_rollouts_that_are_there(small_disk):
    small = pack([episode(segment([0, 1]))])
    write_batch(small_disk / "a.parquet", small)
    actions = torch.randint(0, 2**60, (60_000,), generator=torch.Generator().manual_seed(0)).numpy()
    with refusal(RunStopped):
        write_batch(small_disk / "b.parquet", pack([episode(segment(actions))]))
    assert [p.name for p in small_disk.iterdir()] == ["a.parquet"]
    assert read_batch(small_disk / "a.parquet").same(small)


def test_a_full_disk_keeps_the_events_that_are_there(small_disk):
    log = EventLog(small_disk / "events.jsonl", 0)
    written = 0
    with refusal(RunStopped):
        for step in range(10_000):
            log.emit(StepDone(step, metrics={"reward/mean": 0.123456789}))
            written = step + 1
    log.file.close()
    assert 100 < written < 10_000
    assert [e.step for e in latest(read_events(small_disk / "events.jsonl"))] == list(range(written))


def test_readable_json_keeps_every_space_of_a_text(tmp_path):
    value = {"rows": [{"a": "two  \n\t spaces  ", "b": 1}, {"a": "[x   y", "b": "z   ]"}], "none": [], "deep": [[1, 2]]}
    write_readable_json(tmp_path / "a.json", value)
    text = (tmp_path / "a.json").read_text()
    assert json.loads(text) == value
    assert '  { "a": "two  \\n\\t spaces  ", "b": 1 },\n' in text, "what holds no other thing is a line"
