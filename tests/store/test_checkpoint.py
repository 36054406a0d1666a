"""Checkpoints: whole or absent, the newest whole one is used, everything in them comes back."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from guerdon.core.errors import UserError
from guerdon.runs.checkpoint import (
    Checkpoint,
    lift,
    list_checkpoints,
    load_checkpoint,
    optimiser_tensors,
    put_back,
    restore_optimiser,
    save_checkpoint,
)  # fmt: skip
from guerdon.runs.folder import RunFolder

FILES = ["tensors.safetensors", "state.json", "manifest.json"]


def checkpoint(step):
    tensors = {"model/w": torch.full((3,), float(step)), "model/t": torch.arange(6.0).reshape(2, 3).t()}
    state = {"seen": step, "deep": {"list": [1, 2.5, None, True, "é"], "tensor": torch.ones(2) * step}}
    return Checkpoint(step, tensors, state)


def same(a, b):
    return (
        a.step == b.step
        and set(a.tensors) == set(b.tensors)
        and all(torch.equal(a.tensors[k], b.tensors[k]) for k in a.tensors)
        and a.state["seen"] == b.state["seen"]
        and a.state["deep"]["list"] == b.state["deep"]["list"]
        and torch.equal(a.state["deep"]["tensor"], b.state["deep"]["tensor"])
    )


def refuse(message):
    raise AssertionError(f"warned without need: {message}")


def saved(folder, *steps, keep=9):
    for step in steps:
        save_checkpoint(folder, checkpoint(step), keep)
    return folder


def test_a_checkpoint_comes_back(tmp_path):
    saved(tmp_path / "c", 1, 2)
    assert same(load_checkpoint(tmp_path / "c", refuse), checkpoint(2))


def test_no_checkpoint_is_no_fault(tmp_path):
    assert load_checkpoint(tmp_path / "c", refuse) is None


def test_the_last_few_are_kept(tmp_path):
    saved(tmp_path, 1, 2, 3, 10, keep=2)
    assert [p.name for p in list_checkpoints(tmp_path)] == ["step-00000003", "step-00000010"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "truncated", "empty", "flipped"])
def test_a_damaged_one_is_passed_over_with_a_warning(tmp_path, name, damage):
    saved(tmp_path, 1, 2)
    path = tmp_path / "step-00000002" / name
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        middle = len(data) // 2
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        path.write_bytes({"truncated": data[:middle], "empty": b"", "flipped": flipped}[damage])
    warnings = []
    assert same(load_checkpoint(tmp_path, warnings.append), checkpoint(1))
    assert len(warnings) == 1
    assert "step-00000002 is damaged" in warnings[0]


@pytest.mark.parametrize("manifest", ["{}", "[]", "0", "null", '{"state.json": "x"}'])
def test_a_manifest_that_vouches_for_nothing_is_not_believed(tmp_path, manifest):
    saved(tmp_path, 1, 2)
    (tmp_path / "step-00000002" / "manifest.json").write_text(manifest)
    warnings = []
    assert same(load_checkpoint(tmp_path, warnings.append), checkpoint(1))
    assert len(warnings) == 1


@given(name=st.sampled_from(FILES), place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_one_flipped_bit_is_never_believed(tmp_path_factory, name, place, bit):
    folder = saved(tmp_path_factory.mktemp("c"), 1, 2)
    path = folder / "step-00000002" / name
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 1 << bit
    path.write_bytes(bytes(data))
    warnings = []
    loaded = load_checkpoint(folder, warnings.append)
    assert same(loaded, checkpoint(1 if warnings else 2))
    assert warnings or name == "manifest.json"


def test_when_every_one_is_damaged_the_run_cannot_go_on(tmp_path):
    saved(tmp_path, 1, 2)
    for path in tmp_path.glob("step-*/state.json"):
        path.unlink()
    warnings = []
    with refusal(UserError):
        load_checkpoint(tmp_path, warnings.append)
    assert len(warnings) == 2


def test_what_a_kill_left_half_written_is_not_seen_and_is_swept(tmp_path):
    folder = RunFolder(tmp_path)
    saved(folder.checkpoints, 1)
    scratch = folder.checkpoints / ".step-00000002.0123abcd.tmp"
    scratch.mkdir()
    (scratch / "tensors.safetensors").write_bytes(b"half")
    assert same(load_checkpoint(folder.checkpoints, refuse), checkpoint(1))
    with folder.lock():
        assert not scratch.exists()
        saved(folder.checkpoints, 2)
    assert same(load_checkpoint(folder.checkpoints, refuse), checkpoint(2))


def test_a_crash_before_the_rename_changes_nothing(tmp_path, monkeypatch):
    saved(tmp_path, 1)
    with monkeypatch.context() as patch:

        def crash(*_):
            raise KeyboardInterrupt

        patch.setattr("pathlib.Path.replace", crash)
        with pytest.raises(KeyboardInterrupt):
            saved(tmp_path, 2)
    assert [p.name for p in list_checkpoints(tmp_path)] == ["step-00000001"]
    assert same(load_checkpoint(tmp_path, refuse), checkpoint(1))
    saved(tmp_path, 2)
    assert same(load_checkpoint(tmp_path, refuse), checkpoint(2))


def test_a_damaged_one_is_written_again(tmp_path):
    saved(tmp_path, 1, 2)
    (tmp_path / "step-00000002" / "state.json").unlink()
    saved(tmp_path, 2)
    assert same(load_checkpoint(tmp_path, refuse), checkpoint(2))


def test_a_half_removed_old_one_is_only_a_damaged_one(tmp_path):
    saved(tmp_path, 1, 2)
    (tmp_path / "step-00000001" / "manifest.json").unlink()
    assert same(load_checkpoint(tmp_path, refuse), checkpoint(2))
    shutil.rmtree(tmp_path / "step-00000002")
    with pytest.raises(UserError):
        load_checkpoint(tmp_path, lambda message: None)


# --- states -------------------------------------------------------------------------------------------------------

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
STATES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(STATES)
def test_any_plain_state_comes_back(state):
    plain, lifted = lift(state)
    assert lifted == {}
    assert put_back(json.loads(json.dumps(plain)), {}) == state


def test_tensors_of_a_state_never_get_into_each_others_place():
    state = {"a/b": torch.zeros(1), "a": {"b": torch.ones(1), "c": [torch.ones(2), torch.zeros(2)]}}
    plain, lifted = lift(state)
    state_again = put_back(json.loads(json.dumps(plain)), lifted)
    assert (float(state_again["a/b"]), float(state_again["a"]["b"])) == (0.0, 1.0)
    assert [t.sum() for t in state_again["a"]["c"]] == [2.0, 0.0]


@pytest.mark.parametrize("bad", [(1, 2), {1, 2}, object(), {1: "a"}, [{"x": (1,)}], {"f": len}, b"bytes"])
def test_what_would_not_come_back_the_same_is_refused(bad, tmp_path):
    with pytest.raises(UserError, match="state "):
        save_checkpoint(tmp_path, Checkpoint(1, {}, {"part": bad}), 2)
    assert list_checkpoints(tmp_path) == []


@pytest.mark.parametrize(
    "build",
    [
        lambda p: torch.optim.AdamW(p, lr=0.1),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.SGD(p, lr=0.1),
    ],
)
def test_an_optimiser_goes_on_as_if_never_stopped(build, tmp_path):
    def weights():
        return [torch.nn.Parameter(torch.linspace(-1, 1, 5)), torch.nn.Parameter(torch.ones(2, 2))]

    def walk(params, optimiser, steps):
        for n in steps:
            for p in params:
                p.grad = torch.sin(p.detach() * (n + 1))
            optimiser.step()

    unbroken = weights()
    walk(unbroken, build(unbroken), range(6))
    first = weights()
    optimiser = build(first)
    walk(first, optimiser, range(3))
    tensors = {**optimiser_tensors("optimiser/stages.1", optimiser), "optimiser/stages.10/0/step": torch.tensor(99.0)}
    tensors |= {f"model/{i}": p.detach() for i, p in enumerate(first)}
    save_checkpoint(tmp_path, Checkpoint(3, tensors, {}), 1)
    loaded = load_checkpoint(tmp_path, refuse)
    second = [torch.nn.Parameter(loaded.tensors[f"model/{i}"]) for i in range(2)]
    again = build(second)
    restore_optimiser("optimiser/stages.1", again, loaded.tensors)
    walk(second, again, range(3, 6))
    assert all(torch.equal(a, b) for a, b in zip(unbroken, second, strict=True))
