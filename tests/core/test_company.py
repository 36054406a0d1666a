"""What a run computes does not depend on what others do with the GPU meanwhile: how large its passes are, and what they end in.

Others are played here by memory that runs out and by numbers of a GPU that is not there, so that it runs on any machine.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from small import small_lm
from strategies import episode, segment

from guerdon.core import learn
from guerdon.core.column import Column
from guerdon.core.errors import GpuFull
from guerdon.core.gradient_passes import held_by_others, steps_held
from guerdon.core.learn import Learn
from guerdon.core.model import weights_hash
from guerdon.core.optim import adam
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine import gpu_memory
from guerdon.engine.player import Player
from guerdon.losses.policy import clipped

GPU = torch.device("cuda")
TOTAL = 80 << 30


# --- how large a pass is -------------------------------------------------------------------------------------------


@pytest.fixture
def gpu_with(monkeypatch):
    """A GPU of 80 GB of which so much is free."""

    def made(free):
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(total_memory=TOTAL))
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, TOTAL))

    return made


def test_a_pass_is_sized_by_the_whole_gpu_whatever_others_hold_of_it(gpu_with):
    sizes = set()
    for free in (TOTAL, TOTAL // 2, 1 << 20):
        gpu_with(free)
        sizes.add(steps_held(1 << 20, GPU))
    assert sizes == {16384}  # a quarter of 80 GB is 20480 of a megabyte: the power of two below


def test_only_what_cannot_change_a_sample_is_sized_by_what_is_free(gpu_with):
    """How many rows are sampled at once: a row's numbers round in one way, alone or among thousands (docs/exactness.md)."""
    gpu_with(TOTAL)
    roomy = gpu_memory.cache_bytes(GPU)
    gpu_with(TOTAL // 4)
    assert gpu_memory.cache_bytes(GPU) == roomy // 4 == int(0.4 * TOTAL / 4)


# --- what it ends in -----------------------------------------------------------------------------------------------


def learned(folder, room):
    """Two updates of a small model whose memory holds so many steps at a time: the hash of the bits it ends in, and how often
    memory was full."""
    model, full = small_lm(folder), 0
    model.start(0, {})
    plain = model.read

    def read(batch, want):
        nonlocal full
        if room < batch.S:
            full += 1
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3.00 GiB")
        return plain(batch, want)

    model.read = read
    play = Player({"policy": model}, {"policy": "policy"}, None, Sampling(), 0, 10)
    learner = Learn("policy", clipped(), opt=adam(lr=1e-2))
    learner.start(play)
    actions = torch.randint(3, 300, (24, 12), generator=torch.Generator().manual_seed(1)).tolist()
    batch = pack([episode(segment(row, context=[5, 6, 7]), number=n) for n, row in enumerate(actions)])
    worth = Column.full("track", torch.randn(batch.K, generator=torch.Generator().manual_seed(2)))
    batch = batch.put("advantage", "step", batch.down(worth.value, "track"), because=worth)
    for _ in range(2):
        learner(batch, play)
    return weights_hash(model.weights), full


@pytest.mark.slow
@pytest.mark.parametrize("room", [10**9, 100])
def test_the_same_updates_in_the_same_company_end_in_the_same_bits(room, tmp_path):
    assert learned(tmp_path / "a", room) == learned(tmp_path / "b", room)


@pytest.mark.sampled(1, "room")
@pytest.mark.parametrize("room", [200, 20])
def test_where_others_hold_the_memory_nothing_is_learned_in_other_pieces(room, tmp_path, monkeypatch):
    monkeypatch.setattr(learn, "held_by_others", lambda device: 37 << 30)
    alone, never = learned(tmp_path / "alone", 10**9)
    assert never == 0 and learned(tmp_path / "beside", 10**9) == (alone, 0), "who fits is not kept from it"
    with pytest.raises(GpuFull) as told:
        learned(tmp_path / "pressed", room)
    assert str(told.value) == (
        "a micro-batch of 8192 does not fit beside the 37 GiB that other processes use on this GPU: wait for them, or choose a"
        " size that does (--set learn.micro=4096)"
    )


def test_what_others_hold_is_all_but_what_is_free_and_ones_own(gpu_with, monkeypatch):
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 20 << 30)
    gpu_with(50 << 30)
    assert held_by_others(GPU) == 10 << 30
    gpu_with(59 << 30)
    assert held_by_others(GPU) == 0 == held_by_others(torch.device("cpu")), "a program takes as much to begin with"
