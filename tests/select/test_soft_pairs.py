"""Labels of pairs from the difference of their values, by hand."""

from __future__ import annotations

from math import exp

import pytest

from guerdon.core.example import ExamplePlay, example_tries
from guerdon.select.pairs import paired


def pairs(rows, **knobs):
    found = paired(**knobs)(example_tries(rows), ExamplePlay()).pairs
    return list(zip(found.better.tolist(), found.worse.tolist(), strict=True)), found.label.tolist()


def sigma(z):
    return 1 / (1 + exp(-z))


def test_a_label_is_the_sigmoid_of_the_scaled_difference():
    assert pairs([[1.0, 0.5, 0.0]], which="all", soft=2.0) == (
        [(0, 1), (0, 2), (1, 2)],
        pytest.approx([sigma(1.0), sigma(2.0), sigma(1.0)]),
    )
    assert pairs([[0.0, 3.0]], soft=1.0) == ([(1, 0)], pytest.approx([sigma(3.0)]))


def test_equal_ones_are_pairs_once_with_a_label_of_one_half():
    assert pairs([[1.0, 1.0, None], [0.0]], which="all", soft=1.0) == ([(0, 1)], [0.5])
    assert pairs([[1.0, 1.0]], which="all", soft=1.0, least=0.1) == ([], [])
    assert pairs([[1.0, 1.0]], soft=1.0) == ([], []), "the best and the worst of equals are one"


def test_without_it_labels_are_sure_and_equal_ones_make_no_pair():
    assert pairs([[1.0, 1.0, 0.0]], which="all") == ([(0, 2), (1, 2)], [1.0, 1.0])
