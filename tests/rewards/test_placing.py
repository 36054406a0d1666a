"""Rewards that come in steps: where their numbers lie along a track, and that they add up to its score."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import episode, episode_lists, segment

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.models.tables import tabular
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.formula.per_step import shortfall
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.stage.placing import step_column
from guerdon.rewards.stage.score_stages import score
from guerdon.training.readings import fill_needs


def scored(reward, *episodes, models=None):
    play = Player(models or {}, {"policy": "policy"} if models else {}, None, Sampling(), 0, 1)
    return score(reward)(pack(list(episodes)), play)


def here(function):
    return gd.reward(function, isolate=False)


TWO_TURNS = (segment([0, 1, 2], text="first"), segment([3, 3], parent=0, text="second"))


def test_a_number_a_turn_lies_on_its_last_action():
    batch = scored(here(lambda turns: [len(turn) / 2 for turn in turns]), episode(*TWO_TURNS))
    assert batch["reward"].tolist() == [5.5]
    assert batch["reward_steps"].tolist() == [0.0, 0.0, 2.5, 0.0, 3.0]
    assert batch.cols["reward_steps"].level == "step"


def test_a_number_an_action_lies_on_it():
    batch = scored(here(lambda completion: [1, 2, 3, 4, 5.0]), episode(*TWO_TURNS))
    assert batch["reward_steps"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_turn_that_is_only_text_shares_the_place_before_it():
    turns = segment([0, 1]), segment([], parent=0, text="so"), segment([2], parent=1)
    assert scored(here(lambda turns: [1, 2, 4]), episode(*turns))["reward_steps"].tolist() == [0.0, 3.0, 4.0]
    turns = segment([], text="so"), segment([2, 1], parent=0)
    assert scored(here(lambda turns: [1, 2]), episode(*turns))["reward_steps"].tolist() == [1.0, 2.0]


def test_what_was_only_shown_is_no_turn():
    turns = segment([0, 1]), segment([], parent=0), segment([2], parent=1), segment([], parent=2)
    batch = scored(here(lambda turns: [4.0 ** (n + 1) for n in range(len(turns))]), episode(*turns))
    assert batch["reward_steps"].tolist() == [0.0, 4.0, 16.0]


def test_a_plain_number_and_steps_of_unknown_place_lie_on_the_last_action():
    def mixed(completion):
        return {"first": 4.0, "second": [1.0, 2.0, 3.0, 4.0]}.get(completion)

    episodes = [episode(segment([0, 1], text=text), attempt=n) for n, text in enumerate(("first", "second", "third"))]
    batch = scored(here(mixed), *episodes)
    assert batch["reward_steps"].tolist()[:4] == [0.0, 4.0, 0.0, 10.0]
    assert batch.cols["reward_steps"].reason.tolist() == [0] * 4 + [int(Reason.NOT_APPLICABLE)] * 2
    assert batch.cols["reward"].detail[1]["steps"] == [1.0, 2.0, 3.0, 4.0]


def test_a_number_a_line_lies_on_its_last_action_where_the_model_spells_text():
    model = tabular(vocab="ab\n", rows=8)
    model.start(0, {})
    said = "ab\nb\n\na"
    actions = [model.vocab.index(letter) for letter in said]
    view = "seen"
    first = segment(actions, text=said, view=view, context=model.encode(view))
    batch = scored(here(lambda completion: [1.0, 2.0, 4.0]), episode(first), models={"policy": model})
    places = {i: x for i, x in enumerate(batch["reward_steps"].tolist()) if x}
    assert sorted(places.values()) == [1.0, 2.0, 4.0] and max(places) == len(said) - 1
    assert batch["reward"].tolist() == [7.0]


class knows(Leaf):
    """Says where its steps end."""

    def __init__(self, ends):
        self.ends = ends

    async def score(self, samples):
        return [Outcome(Reason.VALUE, 3.0, {"ends": self.ends}, (1.0, 2.0)) for _ in samples.fields]


@pytest.mark.parametrize(
    "formula", [lambda leaf: leaf, lambda leaf: blend(a=leaf, b=leaf.weight(0.0)), lambda leaf: shortfall(leaf, 10.0)]
)
def test_a_reward_that_knows_where_its_steps_end_is_believed(formula):
    batch = scored(formula(knows([1, 4])), episode(segment([0, 1, 2, 3])))
    assert [i for i, x in enumerate(batch["reward_steps"].tolist()) if x] == [0, 3]
    batch = scored(formula(knows([1, 3])), episode(segment([0, 1, 2, 3])))  # the first action was put in its mouth
    assert [i for i, x in enumerate(batch["reward_steps"].tolist()) if x] == [1, 3]


def test_every_part_in_steps_has_its_column_and_failures_stay_missing():
    def picky(completion):
        return 1 / 0 if completion == "bad" else [1.0] * 2

    episodes = [episode(segment([0, 1], text=text), attempt=n) for n, text in enumerate(("good", "bad"))]
    batch = scored(blend(picky=here(picky), size=here(lambda completion: 10.0)), *episodes)
    assert batch["reward_steps"].tolist()[:2] == [1.0, 11.0] and "reward.size_steps" not in batch.cols
    assert batch.cols["reward_steps"].reason.tolist()[2:] == [int(Reason.FAILED)] * 2


def test_a_shared_trunk_has_the_mean_of_what_its_tracks_say():
    tree = episode(segment([0, 1]), segment([2], parent=0, text="a"), segment([3], parent=0, text="b"))
    batch = scored(here(lambda completion: [1.0, 5.0] if completion == "a" else [3.0, 7.0]), tree)
    assert batch["reward_steps"].tolist() == [0.0, 2.0, 5.0, 7.0]


def test_who_needs_steps_has_them_though_the_reward_came_without():
    batch = scored(here(lambda completion: 2.0), episode(segment([0, 1])))
    assert "reward_steps" not in batch.cols
    play = Player({}, {}, None, Sampling(), 0, 1)
    assert fill_needs(batch, ["reward_steps"], play)["reward_steps"].tolist() == [0.0, 2.0]


@given(episode_lists(continuous=False), st.integers(0, 3))
def test_steps_add_up_to_the_score(episodes, more):
    """Where no step is shared, whatever the shape; a track without actions has nowhere to put its score."""
    if not episodes:
        return
    batch = scored(here(lambda turns: [0.5 * (i + 1) for i in range(len(turns) + more)]), *episodes)
    play = Player({}, {}, None, Sampling(), 0, 1)
    steps = step_column(batch, batch.cols["reward"], play, "policy")
    own = batch.up((batch.shared[batch.seg] > 1).float(), "track") == 0
    some = batch.up(torch.ones(batch.S), "track") > 0
    chosen = own & some & ~batch.cols["reward"].missing
    assert torch.allclose(batch.up(steps.value, "track")[chosen], batch["reward"][chosen])
