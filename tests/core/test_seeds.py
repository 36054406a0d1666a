"""Seeds follow from places."""

from __future__ import annotations

import random
import traceback

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from guerdon.core import seeds
from guerdon.core.seeds import Place, derive, generator, seed_globals, seed_torch
from guerdon.workers.seeded_calls import Seeded, seeded

PATHS = st.lists(st.integers(-3, 1000) | st.sampled_from(["a", "learn", "1", ""]), max_size=4)


@given(PATHS, PATHS)
def test_two_places_have_two_seeds(a, b):
    assert (derive(*a) == derive(*b)) == (a == b)
    assert 0 <= derive(*a) < 2**63


def test_a_seed_is_the_same_in_every_process():
    assert derive(0, 1, "learn") == 3298904644002369767


def test_numbers_and_words_are_kept_apart():
    assert derive(1) != derive("1")
    assert derive(1, 2) != derive(12)


def test_generators_repeat_themselves():
    first, again, other = (torch.rand(3, generator=generator(*p)) for p in ((1, "a"), (1, "a"), (1, "b")))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_global_generators_are_seeded_too():
    drawn = []
    for _ in range(2):
        seed_globals(3, 4)
        drawn.append((random.random(), np.random.rand(), float(torch.rand(()))))
    assert drawn[0] == drawn[1]


@given(PATHS.filter(len), PATHS.filter(len))
def test_a_seed_below_a_place_is_that_of_the_whole_path(path, more):
    assert Place(*path).derive(*more) == derive(*path, *more)


def test_torch_draws_what_it_draws_after_its_own_seeding():
    for seed in (0, 7, 2**63 - 1):
        torch.manual_seed(seed)
        drawn = torch.rand(3)
        seed_torch(seed)
        assert torch.equal(torch.rand(3), drawn)


@pytest.mark.skipif(torch.accelerator.is_available(), reason="an accelerator's generators are seeded too")
@pytest.mark.parametrize("seeding", [seed_torch, seed_globals, lambda seed: Seeded(float)(**seeded([{}], [seed])[0])])
def test_without_an_accelerator_seeding_keeps_no_stack(seeding, monkeypatch):
    """torch keeps calls for devices that are not there, each with the stack of its caller."""
    queued, stacks = len(torch.cuda._queued_calls), []
    monkeypatch.setattr(traceback, "format_stack", lambda *given: stacks.append(given) or [])
    for seed in range(5):
        seeding(seed)
    assert (len(torch.cuda._queued_calls), stacks) == (queued, [])


@pytest.mark.parametrize("is_there", [True, False])
def test_devices_are_seeded_where_there_are_some(is_there, monkeypatch):
    everywhere = []
    monkeypatch.setattr(seeds, "_has_accelerator", lambda: is_there)
    monkeypatch.setattr(torch, "manual_seed", everywhere.append)
    seed_torch(5)
    assert everywhere == [5] * is_there
