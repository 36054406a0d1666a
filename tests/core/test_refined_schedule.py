"""The refined schedule by hand, against the law it comes from, and against scipy's median filter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from scipy.ndimage import median_filter as of_scipy

from guerdon.core.errors import UserError
from guerdon.core.optim import adam
from guerdon.core.schedule import at, linear
from guerdon.studies.schedules import median_filter, refined, refinement

NORMS = st.lists(st.floats(0.01, 100.0), min_size=2, max_size=40)


def values(schedule, steps):
    return [at(schedule, step, steps) for step in range(steps)]


def test_by_hand():
    """Norms 2, 1, 1, 2: squared weights 1/4, 1, 1, 1/4, sums of the later ones 9/4, 5/4, 1/4, 0."""
    products = [9 / 16, 5 / 4, 1 / 4, 0.0]
    assert values(refined(1.0, [2.0, 1.0, 1.0, 2.0], smooth=0.0), 4) == pytest.approx([p / 1.25 for p in products])


def test_by_hand_for_adam():
    """The same norms to the power -1: weights 1/2, 1, 1, 1/2, sums 5/2, 3/2, 1/2, 0."""
    found = values(refined(3.0, [2.0, 1.0, 1.0, 2.0], power=1, smooth=0.0), 4)
    assert found == pytest.approx([3 * p / 1.5 for p in [5 / 4, 3 / 2, 1 / 2, 0.0]])


def test_large_gradients_at_first_make_a_warm_up():
    found = values(refined(1.0, [10.0, 5.0, 1.0, 1.0, 1.0, 1.0], smooth=0.0), 6)
    assert found[0] < found[1] < found[2] == 1.0
    assert found[2:] == pytest.approx([1.0, 2 / 3, 1 / 3, 0.0])


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("steps", [2, 5, 30])
def test_equal_norms_are_linear_decay(power, steps):
    assert values(refined(0.3, [7.0] * steps, power=power), steps) == pytest.approx(values(linear(0.3, 0.0), steps))


def test_a_run_of_another_length_goes_along_the_same_curve():
    schedule = refined(1.0, [1.0] * 5 + [3.0] * 5)
    short, long = values(schedule, 4), values(schedule, 28)  # every ninth of the long run is one of the short
    assert long[::9] == pytest.approx(short)
    assert values(schedule, 1) == [0.0]


@given(NORMS, st.floats(0.01, 100.0), st.sampled_from([1, 2]))
def test_only_the_proportions_of_norms_count(norms, factor, power):
    times = refinement(tuple(n * factor for n in norms), power, 0.1)
    assert times == pytest.approx(refinement(tuple(norms), power, 0.1), abs=1e-9)


@given(NORMS)
def test_it_lies_between_0_and_1_touches_both_and_ends_at_0(norms):
    found = refinement(tuple(norms), 2, 0.1)
    assert min(found) >= 0.0
    assert max(found) == 1.0
    assert found[-1] == 0.0


@given(st.lists(st.floats(0.0, 10.0), min_size=4, max_size=40), st.sampled_from([1, 3, 5]))
def test_the_filter_is_scipys_with_the_padding_the_authors_describe(norms, width):
    pad = width // 2  # reflected after the end, as the first value before it
    padded = np.pad(norms, (0, pad), mode="reflect") if pad else np.array(norms)
    expected = of_scipy(padded, size=width, mode="nearest")[: len(norms)]
    assert median_filter(norms, width) == pytest.approx(list(expected))


def test_any_optimiser_takes_it():
    assert at(adam(lr=refined(0.5, [1.0, 1.0, 1.0])).lr, 1, 3) == 0.25


@pytest.mark.parametrize("norms", [[], [1.0, 0.0, 0.0], [1.0, float("nan")]])
def test_norms_that_are_none_are_refused(norms):
    with refusal(UserError):
        at(refined(1.0, norms, smooth=0.0), 0, 2)
