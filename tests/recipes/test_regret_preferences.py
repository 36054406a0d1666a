"""Preferences by regret: values against an independent computation, both statistics by hand, and what each can identify."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import guerdon as gd
from guerdon.recipes.process.regret_preference_model.parts import (
    RewardReader,
    partial_return,
    preferences,
    random_segments,
    regret,
    told,
)
from guerdon.studies.grid_worlds import FEATURES, MOVES, Worlds, random_worlds
from guerdon.training.catalog import find_recipe

LEFT, RIGHT = 2, 3
STEP, GOAL = FEATURES.index("step"), FEATURES.index("goal")


def corridor(*weights: float, gamma: float = 0.9) -> Worlds:
    """Three cells in a row, the last a goal: up and down stay where they are."""
    goes = torch.tensor([[[0, 0, 0, 1], [1, 1, 0, 2], [2, 2, 2, 2]]])
    features = torch.zeros(1, 3, len(MOVES), len(FEATURES), dtype=torch.float64)
    features[0, :2, :, STEP] = 1.0
    features[0, 1, RIGHT] = torch.eye(len(FEATURES))[GOAL]
    reward = torch.tensor([[*weights, 0.0, 0.0, 0.0]], dtype=torch.float64)
    return Worlds(goes, features, reward, torch.tensor([[True, True, False]]), gamma)


def pair(*paths: tuple[list[int], list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    cells, moves = zip(*paths, strict=True)
    return torch.tensor([[cells]]), torch.tensor([[moves]])


def best_values(worlds: Worlds, weights: torch.Tensor) -> torch.Tensor:
    return worlds.values(worlds.best(weights), weights)


def test_values_regret_and_return_by_hand():
    """From the middle the goal is worth 10, from the left -1 + 0.9 * 10 = 8. Left and right again is paid -1.9 and has lost
    10 + 1.9 - 0.81 * 10 = 3.8; right and right is paid 8 and has lost nothing."""
    world = corridor(-1.0, 10.0)
    values = best_values(world, world.reward)
    assert values[0].tolist() == pytest.approx([8.0, 10.0, 0.0])
    segments = told(world, *pair(([1, 0, 1], [LEFT, RIGHT]), ([0, 1, 2], [RIGHT, RIGHT])))
    assert partial_return(segments, world.reward)[0, 0].tolist() == pytest.approx([-1.9, 8.0])
    assert regret(segments, world.reward, values, 0.9)[0, 0].tolist() == pytest.approx([3.8, 0.0])


def test_equal_returns_are_told_apart_by_where_they_start_and_end():
    """The paper's two cases: steps of -1 towards the goal and away from it are paid alike."""
    world = corridor(-1.0, 10.0)
    segments = told(world, *pair(([0, 1], [RIGHT]), ([1, 0], [LEFT])))
    assert preferences(world, segments, "partial_return", 0.0).tolist() == [[0.5]]
    assert preferences(world, segments, "regret", 0.0).tolist() == [[1.0]]


def test_regret_is_what_every_move_gave_away():
    worlds = random_worlds(6, 1)
    values = best_values(worlds, worlds.reward)
    segments = random_segments(worlds, 20, 3, torch.ones(6, dtype=torch.bool), 1)
    given = values[..., None] - worlds.q_values(values, worlds.reward)
    world = torch.arange(6).view(6, 1, 1, 1)
    moves = given[world, segments.cells, segments.moves] * worlds.gamma ** torch.arange(3.0, dtype=torch.float64)
    assert regret(segments, worlds.reward, values, worlds.gamma) == pytest.approx(moves.sum(-1), abs=1e-8)
    assert float(given.min()) > -1e-8


@pytest.mark.slow
def test_values_are_those_of_value_iteration_in_numpy():
    worlds = random_worlds(4, 2)
    values = best_values(worlds, worlds.reward).numpy()
    for m in range(4):
        goes, paid = worlds.goes[m].numpy(), (worlds.features[m] @ worlds.reward[m]).numpy()
        v = np.zeros(len(goes))
        for _ in range(12_000):
            v = (paid + 0.999 * v[goes]).max(1)
        assert values[m] == pytest.approx(v, abs=1e-2)
        even = np.linalg.solve(
            np.eye(len(goes)) - 0.999 * np.stack([np.bincount(row, minlength=len(goes)) / 4 for row in goes]),
            paid.mean(1),
        )
        own = worlds.values(worlds.even(), worlds.reward)[m].numpy()
        assert own == pytest.approx(even, abs=1e-6)


def test_a_constant_is_seen_by_regret_alone():
    """Every move that does not follow an end is one step or one end, so adding to those weights adds a constant. With 3 a step
    in the place of -1 it pays to walk for ever; segments of one length are preferred by partial return as before."""
    world, shifted = corridor(-1.0, 10.0), corridor(3.0, 14.0)  # 4 more each; walking is worth 3 / (1 - 0.9) = 30 then
    assert world.best(world.reward)[0, 1].argmax() == RIGHT != shifted.best(shifted.reward)[0, 1].argmax()
    segments = random_segments(world, 50, 2, torch.tensor([False]), 0)
    assert bool(world.open.gather(1, segments.cells.flatten(1)).all())
    same = [preferences(w, segments, "partial_return", 0.0) for w in (world, shifted)]
    other = [preferences(w, segments, "regret", 0.0) for w in (world, shifted)]
    assert torch.equal(*same) and not torch.equal(*other)


def test_scaled_returns_are_1_at_best_and_0_at_random():
    worlds = random_worlds(5, 3)
    assert worlds.scaled(worlds.tied(worlds.reward)).tolist() == pytest.approx([1.0] * 5)
    assert worlds.scaled(worlds.even()).tolist() == pytest.approx([0.0] * 5)
    assert worlds.scaled(worlds.tied(3.0 * worlds.reward)).tolist() == pytest.approx([1.0] * 5)


def test_noise_prefers_with_the_chance_it_says():
    world = corridor(-1.0, 10.0)
    cells, moves = pair(([0, 1], [RIGHT]), ([1, 0], [LEFT]))  # the second gives away 10 - (-1 + 0.9 * 8) = 3.8
    many = told(world, cells.expand(1, 4000, 2, 2), moves.expand(1, 4000, 2, 1))
    share = float(preferences(world, many, "regret", 2.0, 0).mean())
    assert share == pytest.approx(1 / (1 + np.exp(-3.8 / 2.0)), abs=0.03)


def test_the_soft_maximum_over_policies_is_the_best_value_once_the_best_policy_is_known():
    worlds = random_worlds(3, 4)
    reader = RewardReader(worlds, "regret", lr=0.1, updates=1, policies=1)
    segments = random_segments(worlds, 2, 3, torch.zeros(3, dtype=torch.bool), 4)
    reader.read(segments, preferences(worlds, segments, "regret", 0.0), 4)
    assert len(reader.successors) == 2
    assert bool((reader.values(worlds.reward) <= best_values(worlds, worlds.reward) + 1e-6).all())
    reader.successors.append(worlds.successors(worlds.best(worlds.reward)))
    assert reader.values(worlds.reward) == pytest.approx(best_values(worlds, worlds.reward), abs=1e-3)


@pytest.mark.slow
def test_a_regret_learner_finds_the_way_where_the_other_cannot():
    """In a corridor segments of two moves that never go past the end say nothing of the constant by partial return."""
    world = corridor(-1.0, 1.0)
    segments = random_segments(world, 60, 2, torch.tensor([False]), 0)
    ends = {}
    for by in ("regret", "partial_return"):
        weights = RewardReader(world, by, 0.1, 100).read(segments, preferences(world, segments, by, 0.0), 0)
        ends[by] = world.best(weights)[0, :2].argmax(1).tolist() == [RIGHT, RIGHT]
        assert float(weights[0, GOAL]) > float(weights[0, STEP]), "both see that the goal is better than a step"
    assert ends["regret"]


def test_the_study_gives_what_its_claim_compares_and_the_same_for_the_same_seed(tmp_path):
    entry = find_recipe("regret-preference-model")
    small = {"worlds": 4, "pairs": 10, "updates": 5}
    results = []
    for i in range(2):
        gd.train(entry.build({}, small), out=tmp_path / str(i), seed=3)
        results.append(json.loads((tmp_path / str(i) / "result.json").read_text()))
    assert results[0] == results[1]
    (claim,) = entry.claims
    assert 0.0 <= results[0][claim.metric] <= 1.0 and [p["spent"] for p in results[0]["curve"]] == [1, 3, 10]
    for words in (claim.baseline, claim.ablation):
        arm, *knobs = words.split()
        assert arm == entry.name and entry.build({}, dict(word.split("=") for word in knobs), text=True)
