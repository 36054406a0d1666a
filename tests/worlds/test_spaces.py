"""Spaces as numbers, by hand; and environments that cannot be had, each in a line."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from gymnasium import spaces
from own_gyms import Counting, Restless
from refusals import refusal

import guerdon as gd
from guerdon.worlds.gymnasium_world import open_world
from guerdon.worlds.spaces import actions_of, views_of


@pytest.mark.parametrize(
    ("space", "seen", "row"),
    [
        (spaces.Box(-1, 1, (2, 2), np.float32), [[0.5, 1], [0, -1]], [0.5, 1, 0, -1]),
        (spaces.Box(0, 255, (1, 2), np.uint8), [[255, 51]], [1, 0.2]),
        (spaces.Discrete(3), 2, [0, 0, 1]),
        (spaces.Discrete(3, start=5), 5, [1, 0, 0]),
        (spaces.MultiDiscrete([2, 3]), [1, 0], [0, 1, 1, 0, 0]),
        (spaces.MultiBinary(3), [1, 0, 1], [1, 0, 1]),
        (
            spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Box(0, 9, (1,), np.float32)}),
            {"a": [7], "b": 1},
            [7, 0, 1],
        ),
        (spaces.Tuple([spaces.Discrete(2), spaces.Discrete(2)]), (0, 1), [1, 0, 0, 1]),
    ],
)
def test_an_observation_becomes_a_row(space, seen, row):
    views = views_of(space, "mine")
    assert views.size == len(row)
    if isinstance(space, spaces.Dict):  # in the order in which the space has them
        row = [7, 0, 1] if next(iter(space.spaces)) == "a" else [0, 1, 7]
    assert views.row(np.asarray(seen, space.dtype) if isinstance(space, spaces.Box) else seen) == pytest.approx(row)


def test_a_row_becomes_an_action():
    one = actions_of(spaces.Discrete(3, start=4), "mine")
    assert (one.choices, one.moves, one.of(np.int64(2))) == ((3,), 0, 6)
    several = actions_of(spaces.MultiDiscrete([2, 3]), "mine")
    assert (several.choices, several.of(np.array([1, 2])).tolist()) == ((2, 3), [1, 2])
    moves = actions_of(spaces.Box(-1, 1, (1, 2), np.float32), "mine")
    assert (moves.choices, moves.moves, moves.of(np.array([3.0, -0.5])).tolist()) == ((), 2, [[1.0, -0.5]])


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: views_of(spaces.Text(5), "mine"), "mine shows a Text space, and an actor reads Box, Discrete"),
        (lambda: actions_of(spaces.Dict({"a": spaces.Discrete(2)}), "mine"), "mine takes actions of a Dict space"),
        (lambda: actions_of(spaces.Box(0, 9, (2,), np.int64), "mine"), "mine takes actions of whole numbers in a Box"),
        (lambda: open_world("CartPoole-v1"), "unknown environment 'CartPoole-v1': did you mean 'CartPole-v1'?"),
        (lambda: open_world("qqq"), "unknown environment 'qqq': name a Gymnasium id, FILE.py:NAME, or MODULE:ID"),
        (lambda: open_world("CartPole-v1", {"wings": 2}), "CartPole-v1 cannot be made: TypeError"),
        (lambda: open_world(dict), "dict is not a Gymnasium environment: dict has no `reset`"),
        (lambda: open_world(7), "an environment is a Gymnasium id, FILE.py:NAME or a function that makes one, not 7"),
        (lambda: gd.models.mlp(3), "an mlp has choices=(2,), one number or more, or moves=1"),
    ],
)
def test_what_cannot_be_had_is_one_line(make, told):
    with pytest.raises(gd.UserError) as refused:
        make()
    assert str(refused.value).startswith(told)
    assert "\n" not in str(refused.value)


def test_a_missing_extra_is_one_line(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **how):
        if name == "gymnasium":
            raise ImportError(name)
        return real(name, *rest, **how)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(gd.UserError) as refused:
        open_world("CartPole-v1")
    assert str(refused.value) == "gymnasium is not installed: pip install 'guerdon[control]'"


def test_a_function_in_a_file_makes_it(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from own_gyms import Counting\ndef make(length=2):\n    return Counting(length)\n"
    )
    world = open_world(f"{tmp_path / 'mine.py'}:make", {"length": 7})
    assert world.env.length == 7
    with refusal(gd.UserError):
        open_world(f"{tmp_path / 'mine.py'}:mak")


def test_an_episode_without_end_is_cut_at_the_limit():
    world = open_world(lambda: Counting(10**9), limit=3)
    world.reset(0)
    assert [world.step(0)[2:] for _ in range(3)] == [(False, False), (False, False), (False, True)]


def test_a_world_that_does_not_repeat_is_refused_when_it_is_brought_back():
    world, again = open_world(Counting, {"length": 9}), open_world(Counting, {"length": 9})
    world.reset(5)
    for action in (1, 0, 1):
        world.step(action)
    again.bring_back(world.kept())
    assert (again.view.tolist(), again.total) == (world.view.tolist(), 6.0)
    wild = open_world(Restless)
    wild.reset(5)
    with refusal(gd.UserError, "0"):
        open_world(Restless).bring_back(wild.kept())
