"""Seeds follow from places."""

from __future__ import annotations

import random

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from guerdon.core.seeds import Place, derive, generator, seed_globals

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
