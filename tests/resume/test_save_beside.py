"""Checkpoints are written beside training: steps go on meanwhile, a full disk is told at the next one, and what is on disk is
whole. Weights below an adapter are hashed once, shared and never written."""

from __future__ import annotations

import errno
import json
import shutil
import threading
from pathlib import Path

import pytest
import torch
from everything import everything
from killing import killed_at
from refusals import refusal
from safetensors.torch import load_file
from small import small_lm
from test_resume_lora import OPTIONS, recipe

import guerdon as gd
from guerdon.core import tensor_hashes
from guerdon.core.errors import Notice, RunStopped, UserError
from guerdon.core.learn import Learn
from guerdon.core.manifest import OWNER, file_hash
from guerdon.core.model import weights_hash
from guerdon.models import huggingface, model_loading, text
from guerdon.models.language_model import lm
from guerdon.runs import checkpoint as checkpoints
from guerdon.runs.checkpoint import list_checkpoints, save_tensors, take
from guerdon.runs.event_types import Saved, StepDone, Stopped
from guerdon.runs.events import read_events
from guerdon.runs.folder import RunFolder
from guerdon.training import save_beside

WAIT = 120.0  # seconds until a test that hangs is taken to fail
EVERY = gd.Options(save_every=1, eval_tasks=0)

pytestmark = pytest.mark.sampled(9)


def train(out, steps=4, **more):
    return gd.train(everything.function(steps=steps), seed=5, out=out, options=EVERY, **more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The run of four steps that nothing held up or broke off."""
    return train(tmp_path_factory.mktemp("beside") / "whole")


def names(folder):
    return [path.name for path in list_checkpoints(folder / "checkpoints")]


# --- beside -----------------------------------------------------------------------------------------------------------


def test_steps_go_on_while_a_checkpoint_is_written(tmp_path, monkeypatch, whole):
    """The first checkpoint is held up until the second step has learned: it would wait for ever if that waited for it."""
    learned, plain, update = threading.Event(), checkpoints.save_tensors, Learn.update
    threads = []

    def slow(path, tensors):
        threads.append(threading.current_thread())
        assert learned.wait(WAIT), "the next step did not begin"
        return plain(path, tensors)

    def watched(self, rows, play):
        metrics = update(self, rows, play)
        if play.step == 1:
            learned.set()
        return metrics

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save_tensors", slow)
        patch.setattr(Learn, "update", watched)
        run = train(tmp_path / "slow")
    assert threading.main_thread() not in threads and len(threads) == 4
    assert run.weights == whole.weights
    said = [type(e).__name__ + str(e.step) for e in read_events(run.folder.events) if isinstance(e, Saved | StepDone)]
    assert said.index("StepDone1") < said.index("Saved0"), "it was told of after the step that went by meanwhile"


def test_what_is_written_is_the_run_as_it_was(tmp_path, monkeypatch, whole):
    """Nothing that a later step changes is in a checkpoint: it is the same, held up or not."""
    plain, update, learned = checkpoints.save_tensors, Learn.update, threading.Event()

    def slow(path, tensors):
        assert learned.wait(WAIT)
        learned.clear()
        return plain(path, tensors)

    def watched(self, rows, play):
        metrics = update(self, rows, play)
        learned.set()
        return metrics

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save_tensors", slow)
        patch.setattr(Learn, "update", watched)
        patch.setattr(save_beside.Saver, "tell", _released(save_beside.Saver.tell, learned))
        train(tmp_path / "slow")
    assert len(names(whole.path)) == 3
    for name in names(whole.path):
        ours, theirs = (run / "checkpoints" / name for run in (whole.path, tmp_path / "slow"))
        for file in (checkpoints.TENSORS, checkpoints.STATE):
            assert (ours / file).read_bytes() == (theirs / file).read_bytes()
        said = [json.loads((each / checkpoints.MANIFEST).read_text()) for each in (ours, theirs)]
        assert said[0].pop(OWNER) != said[1].pop(OWNER) and said[0] == said[1]


def _released(tell, learned):
    def call(self, wait=False):
        if wait:
            learned.set()
        tell(self, wait)

    return call


@pytest.mark.slow
def test_a_full_disk_is_told_at_the_next_step(tmp_path, monkeypatch):
    plain, update, refused = checkpoints.save_tensors, Learn.update, threading.Event()

    def full(path, tensors):
        if "00000002" in path.parent.name:
            plain(path, dict(list(tensors.items())[:1]))  # some of it fits
            refused.set()
            raise OSError(errno.ENOSPC, "No space left on device")
        return plain(path, tensors)

    def waits(self, rows, play):
        if play.step == 2:
            assert refused.wait(WAIT)
        return update(self, rows, play)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save_tensors", full)
        patch.setattr(Learn, "update", waits)
        told = r"disk full while writing .*step-00000002: free some space, then resume; nothing is lost"
        with pytest.raises(RunStopped, match=told):
            train(tmp_path / "run", steps=5)
    events = read_events(tmp_path / "run" / "events.jsonl")
    assert isinstance(events[-1], Stopped) and "disk full while writing" in events[-1].why
    assert max(e.step for e in events if isinstance(e, StepDone)) in (2, 3), "the step that was under way, or the next"
    assert names(tmp_path / "run") == ["step-00000001"]
    assert not list((tmp_path / "run" / "checkpoints").glob(".*")), "nothing half-written lies about"
    again = gd.train(everything.function(steps=5), resume=tmp_path / "run")
    assert again.weights == train(tmp_path / "whole", steps=5).weights


def test_a_full_disk_at_the_last_step_ends_the_run_too(tmp_path, monkeypatch):
    def full(path, tensors):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save_tensors", full)
        with refusal(RunStopped):
            train(tmp_path / "run", steps=1)
    assert names(tmp_path / "run") == [] and gd.Run(tmp_path / "run").status.startswith("stopped: disk full")
    assert gd.train(everything.function(steps=1), resume=tmp_path / "run").complete


@pytest.mark.slow
def test_a_break_waits_for_the_checkpoint_under_way(tmp_path, monkeypatch, whole):
    """Whoever takes the folder next finds it whole, and its event is told then."""
    plain, began = checkpoints.save_tensors, threading.Event()

    def slow(path, tensors):
        began.set()
        return plain(path, tensors)

    monkeypatch.setattr(checkpoints, "save_tensors", slow)
    monkeypatch.setattr(save_beside.Saver, "tell", lambda self, wait=False: None)
    with killed_at(1):
        train(tmp_path / "run")
    monkeypatch.undo()
    assert began.is_set() and names(tmp_path / "run") == ["step-00000001"]
    assert not [e for e in read_events(tmp_path / "run" / "events.jsonl") if isinstance(e, Saved)]
    again = gd.train(everything.function(steps=4), resume=tmp_path / "run")
    saved = {e.path: e.weights for e in again.events(Saved)}
    assert saved == {e.path: e.weights for e in whole.events(Saved)} and len(saved) == 4


def test_the_tensor_file_is_one_that_safetensors_reads(tmp_path):
    held = {
        "a/b": torch.randn(3, 5), "half": torch.randn(7).bfloat16(), "é": torch.arange(3), "none": torch.zeros(0, 4),
        "one": torch.tensor(2.5), "yes": torch.tensor([True, False]), "double": torch.randn(2).double(),
    }  # fmt: skip
    digest = save_tensors(tmp_path / "t.safetensors", held)
    assert digest == file_hash(tmp_path / "t.safetensors")
    again = load_file(tmp_path / "t.safetensors")
    assert again.keys() == held.keys()
    assert all(torch.equal(again[name], each) and again[name].dtype == each.dtype for name, each in held.items())


def test_a_copy_is_taken_into_the_memory_of_the_one_before():
    weights, room = {"w": torch.ones(4), "old": torch.ones(2)}, {}
    first = take(checkpoints.Checkpoint(1, weights, {}), room)
    place = first.tensors["w"].data_ptr()
    weights["w"].add_(1.0)
    assert first.tensors["w"].tolist() == [1.0] * 4, "it is a copy"
    second = take(checkpoints.Checkpoint(2, {"w": weights["w"]}, {}), room)
    assert second.tensors["w"].data_ptr() == place and second.tensors["w"].tolist() == [2.0] * 4
    assert set(room) == {"w"}


# --- what does not change -----------------------------------------------------------------------------------------------


def test_a_base_is_read_once_hashed_where_it_is_shared_and_never_written(tmp_path, monkeypatch):
    small_lm(tmp_path / "lm", hidden=64)
    base = {tuple(each.shape) for each in lm(str(tmp_path / "lm")).decoder.parameters()}
    hashed, read, places = set(), [], set()
    plain, opened, update = tensor_hashes.bytes_of, lm._open, Learn.update

    def bytes_of(tensor):
        if tensor.dtype is not torch.int64:  # sums are
            hashed.add(tuple(tensor.shape))
        return plain(tensor)

    def opens(self):
        read.append(self.source)
        opened(self)

    def watched(self, rows, play):
        places.add(play.models["policy"].decoder.embed.data_ptr())
        return update(self, rows, play)

    monkeypatch.setattr(tensor_hashes, "_known", {})
    monkeypatch.setattr(tensor_hashes, "bytes_of", bytes_of)
    monkeypatch.setattr(lm, "_open", opens)
    monkeypatch.setattr(Learn, "update", watched)
    model = gd.models.load(str(tmp_path / "lm"))
    settings = {"lm.lora": 2, "sampling.max_tokens": 4, "kl": 0.1}
    run = gd.train(
        "grpo", task="parity", model=model, reward=lambda completion: -float(len(completion)), prompts=1, tries=2, steps=3,
        out=tmp_path / "run", options=EVERY, settings=settings,
    )  # fmt: skip
    assert run.complete and read == [str(tmp_path / "lm")]
    assert hashed and not hashed & base, "all bytes of the adapter alone"
    assert places == {model.decoder.embed.data_ptr()}, "the run has no copy of it"
    for file in run.path.rglob("*.safetensors"):
        assert all(
            "adapter" in name or ".lora_" in name or name.startswith("optimiser/") for name in load_file(file)
        ), file
    assert not [file for file in run.path.rglob("*") if file.name in ("tokenizer.json", huggingface.WEIGHTS)]


def test_a_run_folder_is_four_times_the_adapter(tmp_path):
    """Its weights, two moments of each, and the trained model. What else lies there does not grow with the model."""
    small_lm(tmp_path / "lm", hidden=256, ff=640, layers=5)
    model = gd.models.load(str(tmp_path / "lm"), lora=64)
    how = {"prompts": 1, "tries": 2, "steps": 2, "settings": {"sampling.max_tokens": 4}}
    options = gd.Options(save_every=1, keep=1, eval_tasks=0)
    run = gd.train("grpo", task="parity", model=model, out=tmp_path / "run", options=options, **how)
    sizes = {path: path.stat().st_size for path in run.path.rglob("*") if path.is_file()}
    adapter = next(size for path, size in sizes.items() if path.name == "adapter_model.safetensors")
    assert adapter > 5e6
    assert sum(sizes.values()) / adapter <= 4.2


def broken(folder, out):
    """A run over the model in a folder, broken off after its first checkpoint."""
    with killed_at(3):
        gd.train(recipe(folder), seed=3, out=out, options=OPTIONS)
    return out


def test_a_base_that_changed_or_is_gone_is_refused_in_a_line(tmp_path, monkeypatch):
    words = {"task": "parity", "model": str(tmp_path / "lm"), "steps": 4, "prompts": 1, "tries": 2}
    settings = {"lm.lora": 2, "sampling.max_tokens": 4}
    small_lm(tmp_path / "lm")
    with killed_at(3):
        gd.train("grpo", out=tmp_path / "run", options=OPTIONS, settings=settings, **words)
    shutil.copytree(tmp_path / "lm", tmp_path / "kept")
    small_lm(tmp_path / "lm", seed=1)

    def refused(match):
        with pytest.raises(UserError, match=match) as caught:
            gd.train(resume=tmp_path / "run")
        assert "\n" not in str(caught.value)

    refused(r"run trains an adapter of the model in .*/lm, whose weights have changed: restore the ones")
    (tmp_path / "lm" / huggingface.WEIGHTS).unlink()
    with pytest.warns(Notice, match="holds no weights"):
        refused("whose weights have changed")
    shutil.rmtree(tmp_path / "lm")
    refused(r"run trains an adapter of the model in .*/lm, which is not there: put it back")
    shutil.move(tmp_path / "kept", tmp_path / "lm")
    again = gd.train(resume=tmp_path / "run")
    whole = gd.train("grpo", out=tmp_path / "whole", options=OPTIONS, settings=settings, **words)
    assert again.complete and again.weights == whole.weights
    small_lm(tmp_path / "lm", seed=1)
    with refusal(UserError) as said:
        gd.models.load(str(tmp_path / "run" / "models" / "policy"))
    assert "\n" not in str(said.value)
    shutil.rmtree(tmp_path / "lm")
    with refusal(UserError):
        gd.models.load(str(tmp_path / "run" / "models" / "policy"))


def test_a_checkpoint_over_other_weights_is_refused(tmp_path):
    """However the recipe came by them."""
    out = broken(tmp_path / "lm", tmp_path / "run")
    state = max(out.glob("checkpoints/*/state.json"))
    (state.parent / "manifest.json").unlink()
    said = json.loads(state.read_text())
    said["state"]["bases"]["policy"] = "0" * 16
    state.write_text(json.dumps(said))
    checkpoints.write_manifest(state.parent, checkpoints.MANIFEST, owner=RunFolder(out).run_id())
    with refusal(UserError):
        gd.train(recipe(tmp_path / "lm"), resume=out)


@gd.part
class shakes:
    """Writes to the frozen weights, as no part should, past the counters of torch."""

    needs, gives = (), ()

    def __call__(self, batch, play):
        play.models["policy"].decoder.embed.data.mul_(1.01)
        return batch


def shaken(folder):
    made = recipe(folder)
    made.stages = [*made.stages, shakes()]
    return made


@pytest.mark.slow
def test_frozen_weights_that_are_written_to_are_saved(tmp_path):
    whole = gd.train(shaken(tmp_path / "lm"), seed=3, out=tmp_path / "whole", options=OPTIONS)
    with killed_at(3):
        gd.train(shaken(tmp_path / "lm"), seed=3, out=tmp_path / "run", options=OPTIONS)
    held = load_file(max((tmp_path / "run").glob("checkpoints/*/tensors.safetensors")))
    assert "model/policy/embed" in held
    again = gd.train(shaken(tmp_path / "lm"), resume=tmp_path / "run")
    assert again.weights == whole.weights
    stored = gd.models.load(str(again.path / "models" / "policy"))
    assert Path(stored.source) == again.path / "models" / "policy" / "base"
    assert weights_hash(stored.net) == weights_hash(again.model().net)


@pytest.mark.slow
def test_weights_of_a_seed_below_an_adapter(tmp_path):
    """They lie in no file: a started recipe has them again, and the trained model brings them."""
    small_lm(tmp_path / "lm", weights=False)

    def made():
        fresh = recipe(tmp_path / "else")
        fresh.models["policy"] = lm(str(tmp_path / "lm"), lora=2)
        return fresh

    whole = gd.train(made(), seed=3, out=tmp_path / "whole", options=OPTIONS)
    with killed_at(3):
        gd.train(made(), seed=3, out=tmp_path / "run", options=OPTIONS)
    again = gd.train(made(), resume=tmp_path / "run")
    assert again.weights == whole.weights
    trained, stored = again.model(), gd.models.load(str(again.path / "models" / "policy"))
    assert weights_hash(trained.net) == weights_hash(stored.net)


@pytest.mark.slow
def test_a_copy_of_an_adapted_policy_shares_its_base(tmp_path):
    """A snapshot as reference, and a player ahead of the learner: neither has weights of its own below the adapter."""
    made = recipe(tmp_path / "lm")
    made.models["reference"] = gd.models.snapshot("policy", every=2)
    made.ahead = True
    whole = gd.train(made, seed=3, out=tmp_path / "whole", options=OPTIONS)
    held = load_file(max((tmp_path / "whole").glob("checkpoints/*/tensors.safetensors")))
    assert any(name.startswith("model/reference/") for name in held)
    assert all(".adapter." in name for name in held if name.startswith("model/"))
    with killed_at(3):
        gd.train(made, seed=3, out=tmp_path / "run", options=OPTIONS)
    assert gd.train(made, resume=tmp_path / "run").weights == whole.weights


@pytest.mark.parametrize(("trained", "loaded"), [("bfloat16", "float32"), ("float32", "bfloat16")])
def test_an_adapter_is_loaded_over_its_base_in_another_type(tmp_path, trained, loaded):
    """The weights are float32 in their files: in bfloat16 they are others, and still the same model."""
    small_lm(tmp_path / "lm")
    model = lm(str(tmp_path / "lm"), dtype=trained, lora=2)
    model.start(0, {})
    model_loading.save(model, tmp_path / "saved")
    again = gd.models.load(str(tmp_path / "saved"), dtype=loaded)
    assert str(again.decoder.dtype) == f"torch.{loaded}" and again.decoder.has_adapter


@pytest.mark.parametrize("stored", [torch.float32, torch.bfloat16])
def test_a_large_base_on_a_gpu_stays_in_the_type_it_is_stored_in(tmp_path, monkeypatch, stored):
    made = small_lm(tmp_path / "lm")
    huggingface.write(tmp_path / "lm", made.decoder.to(stored), made.tokenizer, made.chat.format)
    plain, adapted = lm(str(tmp_path / "lm")), lm(str(tmp_path / "lm"), lora=2)
    assert plain._dtype == adapted._dtype == torch.float32
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(text, "LARGE", 1000)
    assert plain._dtype == torch.bfloat16 and adapted._dtype == stored
    assert lm(str(tmp_path / "lm"), dtype="float32", lora=2)._dtype == torch.float32
    monkeypatch.setattr(text, "LARGE", 10**9)
    assert adapted._dtype == torch.float32


def test_a_shipped_base_is_known_by_its_name(tmp_path):
    model = gd.models.load("sprig-1", lora=2)
    model.start(0, {})
    model_loading.save(model, tmp_path / "saved")
    assert json.loads((tmp_path / "saved" / "model.json").read_text())["knobs"]["source"] == "sprig-1"
    assert gd.models.load(str(tmp_path / "saved")).identity() == model.identity()
