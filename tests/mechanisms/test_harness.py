"""The harness itself: mutants are made and undone, survivors are found and named, and rows that test nothing are refused."""

from __future__ import annotations

import harness
import pytest
import torch
from harness import SAMPLED, Endless, Mechanism, World, assert_near, time_limit
from mutants import another, mutants_of, put_in, targets_of

import guerdon as gd


def gain(rewards, weight, least):
    """A method: what is above the mean, weighed, where it is large enough."""
    mean = sum(rewards) / len(rewards)
    gaps = [(reward - mean) * weight for reward in rewards]
    return [gap if gap >= least else 0.0 for gap in gaps]


def reporting(play, x):
    """What is computed to be logged is no mechanism."""
    half = x / 2
    share, rest = half + 1, half - 1
    if share > 3:
        play.log(share=share, rest=rest)
    return x * 3


class Scaled:
    """A method with a base class's method, a property and state."""

    def __init__(self, by):
        self.by, self.seen = by, 0

    @property
    def twice(self):
        return self.by + self.by

    def __call__(self, values):
        self.seen += 1
        return [values[i] * self.twice for i in range(len(values))]

    def __repr__(self):
        return "Scaled" + "!"


class Shifted(Scaled):
    def __call__(self, values):
        return [each - 1 for each in super().__call__(values)]


def same(x):
    """Nothing to change but what makes no difference."""
    return abs(abs(x))


def nothing(x):
    return x


def endless(n):
    while n > 0:
        n = n - 1
    return n


@pytest.fixture(autouse=True)
def no_recipe(monkeypatch):
    monkeypatch.setattr(harness, "own_modules", lambda recipe: [])


def world(measure=lambda on=1.0: sum(gain([1.0, 3.0], on, 0.5)), off=None, moves=0.5):
    return World("the better of two is preferred", measure, {"on": 0.0} if off is None else off, moves)


def method(numbers, also=(gain,), **more):
    return Mechanism("toy", "by hand", numbers, more.pop("world", world()), also=also, **more)


def by_name(function):
    return {mutant.name: mutant for target in targets_of(function) for mutant in mutants_of(target)}


FULL = {
    "half a point": (lambda: gain([1.0, 2.0, 3.0, 4.0], 2.0, 1.0), [0.0, 0.0, 1.0, 3.0]),
    "at the bound and below": (lambda: gain([0.0, 1.0], 1.0, -0.5), [-0.5, 0.5]),
}


def test_mutants_are_those_a_wrong_implementation_would_be():
    made = {mutant.name: mutant.kind for mutant in by_name(gain).values()}
    assert made == {
        "gain: sum(rewards) / len(rewards) -> sum(rewards)": "weight left out",
        "gain: sum(rewards) -> mean(rewards)": "mean for sum",
        "gain: (reward - mean) * weight -> reward - mean": "weight left out",
        "gain: (reward - mean) * weight -> weight": "weight left out",
        "gain: reward - mean -> reward + mean": "sign flipped",
        "gain: reward - mean -> reward": "baseline left out",
        "gain: gap >= least -> gap < least": "comparison turned",
        "gain: gap >= least -> gap > least": "bound moved",
        "gain: 0.0 -> 1.0": "number raised",
    }


def test_what_is_only_reported_is_left_as_it_is():
    assert set(by_name(reporting)) == {
        "reporting: return x * 3 -> return -(x * 3)",
        "reporting: x * 3 -> x",
        "reporting: x * 3 -> 3",
        "reporting: 3 -> 4",
    }


def test_a_mutant_runs_in_the_functions_place_and_is_gone_after():
    alias = gain
    with put_in(by_name(gain)["gain: reward - mean -> reward"]):
        assert alias([1.0, 3.0], 1.0, 0.0) == [1.0, 3.0]
    assert alias([1.0, 3.0], 1.0, 0.0) == [0.0, 1.0]
    with pytest.raises(ZeroDivisionError), put_in(by_name(gain)["gain: 0.0 -> 1.0"]):
        gain([], 1.0, 0.0)
    assert gain([1.0, 3.0], 1.0, 1.5) == [0.0, 0.0]


def test_methods_properties_and_super_are_reached_and_reprs_are_not():
    names = set(by_name(Scaled))
    assert {"Scaled.twice: self.by + self.by -> self.by - self.by", "Scaled.__call__: self.seen += 1 -> pass"} <= names
    assert not any("__repr__" in name or "Shifted" in name for name in names)
    with put_in(by_name(Scaled)["Scaled.twice: self.by + self.by -> self.by"]):
        assert Scaled(3)([1, 2]) == [3, 6]
    with put_in(by_name(Shifted.__call__)["Shifted.__call__: each - 1 -> each"]):
        assert Shifted(1)([1, 2]) == [2, 4]
    index = next(mutant for name, mutant in by_name(Scaled).items() if mutant.kind == "index shuffled")
    with put_in(index):
        assert Scaled(1)([1, 2]) == [4, 2]


def test_a_method_whose_mutants_are_all_told_passes():
    whole = method(FULL)
    whole.check_numbers()
    whole.check_world()
    whole.check_all_mutants()


def test_a_planted_survivor_is_found_with_its_line():
    """No case has a gap at the bound, so that it may be moved."""
    blind = method({"one": (lambda: gain([1.0, 2.0, 3.0, 4.0], 2.0, 0.9), [0.0, 0.0, 1.0, 3.0])})
    with pytest.raises(AssertionError) as caught:
        blind.check_all_mutants()
    said = str(caught.value)
    assert "1 of 9 mutants survive" in said and "gain: gap >= least -> gap > least  [bound moved, " in said
    line = gain.__code__.co_firstlineno + 4
    assert f"tests/mechanisms/test_harness.py:{line}]" in said
    (alive,) = blind.survivors(blind.mutants)
    assert alive.kind == "bound moved"
    with pytest.raises(AssertionError, match="bound moved"):
        blind.check_mutants(blind.mutants)


def test_an_equivalent_mutant_must_be_named():
    numbers = {**FULL, "as it is": (lambda: [same(-2.0), same(3.0)], [2.0, 3.0])}
    survivors = {
        mutant.name for mutant in method(numbers, (gain, same)).survivors(method(numbers, (gain, same)).mutants)
    }
    assert survivors == {"same: abs(abs(x)) -> abs(x)", "same: abs(x) -> x"}
    method(numbers, (gain, same), equal=dict.fromkeys(survivors, "once is enough")).check_all_mutants()


def test_one_that_is_told_is_not_equal():
    wrong = {"gain: reward - mean -> reward": "it is the same, is it not?"}
    with pytest.raises(AssertionError, match="so not equal"):
        method(FULL, equal=wrong).check_all_mutants()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"also": (nothing,)}, "0 mutants"),
        ({"also": ()}, "0 mutants"),
        ({"equal": {"gain: a - b -> a": "no such"}}, "not there"),
        ({"without": {"lost": "no such"}}, "not there"),
        ({"equal": dict.fromkeys(list(by_name(gain))[:4], "all")}, "over a quarter"),
    ],
)
def test_rows_that_test_nothing_are_refused(change, says):
    with pytest.raises(AssertionError, match=says):
        _ = method(FULL, **change).mutants


def test_numbers_and_their_source_are_needed():
    for empty in (method({}), Mechanism("toy", "", FULL, world(), also=(gain,))):
        with pytest.raises(AssertionError, match="needs numbers"):
            empty.check_numbers()


def test_a_wrong_number_is_told_by_its_name():
    with pytest.raises(AssertionError, match="toy: half a point: "):
        method({"half a point": (lambda: gain([1.0, 3.0], 1.0, 0.0), [0.0, 2.0])}).check_numbers()


def test_a_world_that_moves_too_little_or_the_wrong_way_is_told():
    method(FULL, world=world(moves=1.0)).check_world()
    for moves in (1.1, -1.0):
        with pytest.raises(AssertionError, match="the better of two is preferred: moved by"):
            method(FULL, world=world(moves=moves)).check_world()


def test_a_world_that_tells_no_mutant_is_refused():
    deaf = world(measure=lambda on=1.0: on)
    with pytest.raises(AssertionError, match="its world tell no mutant"):
        method(FULL, world=deaf).check_all_mutants()


def test_the_method_itself_must_pass_before_its_mutants_count():
    with pytest.raises(AssertionError, match="half a point"):
        method({"half a point": (lambda: gain([1.0], 1.0, 0.0), [7.0])}).check_all_mutants()


def test_the_world_without_the_method_is_measured_without_a_mutant():
    """A mutant that moved both alike would be told from nothing."""
    mutant = by_name(gain)["gain: (reward - mean) * weight -> reward - mean"]
    with put_in(mutant):
        assert world().move() == 0.0
    assert world().move() == 1.0


def test_the_sample_is_the_same_every_time_and_has_many_kinds(monkeypatch):
    """A kind is there twice only where all others are there; another release draws other mutants."""
    one, two = method(FULL).sample(), method(FULL).sample()
    assert [mutant.name for mutant in one] == [mutant.name for mutant in two]
    kinds = {mutant.kind for mutant in method(FULL).mutants}
    assert len({mutant.kind for mutant in one}) == min(len(kinds), SAMPLED) and len(one) == SAMPLED
    drawn = set()
    for version in range(40):
        monkeypatch.setattr(gd, "__version__", f"9.{version}")
        drawn |= {mutant.kind for mutant in method(FULL).sample()}
    assert drawn == kinds


def test_what_runs_without_end_is_stopped():
    mutant = by_name(endless)["endless: n - 1 -> n + 1"]
    with pytest.raises(Endless), put_in(mutant), time_limit(0.05):
        endless(1)
    with time_limit(10.0):
        assert endless(5) == 0


def test_neighbours():
    assert another([1, 2, 3], 0) == 2 and another([1, 2, 3], -1) == 2 and another({"a": 1, "b": 2}, "b") == 1
    assert another([1, 2, 3], slice(None, 2)) == [2]
    assert another(torch.tensor([5, 6, 7]), torch.tensor([0, 2])).tolist() == [7, 5]
    for alone in (([1], 0), ({"a": 1}, "a")):
        with pytest.raises(IndexError):
            another(*alone)


def test_near():
    assert_near([torch.tensor([1.0, float("nan")])], [[1.0000001, float("nan")]], "")
    assert_near({"a": (1, None)}, {"a": [1, None]}, "")
    for here, there in (
        ([1.0], [1.001]),
        ([1.0], [1.0, 1.0]),
        (None, 0.0),
        ({"a": 1}, {"b": 1}),
        ("x", "y"),
        (True, 0),
    ):
        with pytest.raises(AssertionError):
            assert_near(here, there, "")
