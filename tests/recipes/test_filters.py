"""Selections by hand: which tracks are kept, with failed scores, single tries, trees and two roles; and asking again."""

from __future__ import annotations

import pytest
import torch
from refusals import refusal
from strategies import episode, segment

from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.learn import Learn
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Task
from guerdon.losses.imitation import sft
from guerdon.losses.policy import clipped
from guerdon.select.filters import at_least, distinct, in_turn, until_enough, with_spread


def kept(batch, chosen):
    """The rewards that are left, missing ones as None."""
    value = chosen(batch, ExamplePlay())["reward"].tolist()
    return [None if v != v else v for v in value]


def said(words, role="policy", parent=-1):
    return segment(words, role, parent)


def test_at_least_keeps_what_is_good_enough_and_counts_it():
    play, batch = ExamplePlay(), example_tries([[0.0, 0.5, 1.0], [None], [2.0]])
    assert at_least("reward", 0.5)(batch, play)["reward"].tolist() == [0.5, 1.0, 2.0]
    assert play.metrics["kept_share"] == 3 / 5
    assert kept(batch, at_least("reward", 3.0)) == []
    assert at_least("reward")(example_tries([]), ExamplePlay()).K == 0


def test_denominators_are_those_of_what_is_kept():
    found = at_least("reward")(example_tries([[0.0, 1.0], [1.0]], steps=3), ExamplePlay())
    assert (found.count.tracks, found.count.steps) == (2, 6.0)


def test_with_spread_keeps_groups_that_disagree():
    batch = example_tries([[0.0, 1.0], [1.0, 1.0], [0.1, 0.1, 0.1], [1.0], [None, 2.0], [None, 2.0, 3.0], []])
    assert kept(batch, with_spread()) == [0.0, 1.0, None, 2.0, 3.0]
    assert kept(batch, with_spread(most=1)) == [0.0, 1.0]
    assert kept(example_tries([[1.0]]), with_spread()) == []


def test_two_roles_of_a_game_are_two_groups():
    games = [episode(said([0], "first"), said([0], "second"), attempt=n) for n in range(2)]
    batch = pack(games)
    value = torch.where(batch.role_K == 0, torch.tensor([0.0, 0.0, 1.0, 1.0]), 5.0)
    batch = batch.with_cols({"reward": Column.full("track", value)})
    found = with_spread()(batch, ExamplePlay())
    assert {found.roles[r] for r in found.role_K.tolist()} == {"first"}


def test_distinct_keeps_one_of_equal_tracks_of_a_group():
    words = [[1, 2], [1, 2], [1], [1, 2, 0], [1, 2]]
    batch = pack([episode(said(w), attempt=n) for n, w in enumerate(words)])
    play = ExamplePlay()
    assert distinct()(batch, play).length.tolist() == [2, 1, 3]
    assert play.metrics["repeated_share"] == pytest.approx(2 / 5)


def test_distinct_compares_whole_tracks_of_a_tree():
    tree = episode(said([7]), said([1], parent=0), said([2], parent=0), said([1], parent=0))
    found = distinct()(pack([tree]), ExamplePlay())
    assert found.K == 2
    assert found.weight.tolist() == [2.0, 1.0, 1.0]  # the trunk stands for the two that are left


def test_the_order_of_tries_does_not_matter():
    words, right = [[1, 2], [1], [1, 2], [3]], [1.0, 0.0, 1.0, 1.0]
    chosen = in_turn([with_spread(), at_least("reward"), distinct()])
    found = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1]):
        batch = pack([episode(said(words[i]), attempt=n) for n, i in enumerate(order)])
        batch = batch.with_cols({"reward": Column.full("track", torch.tensor([right[i] for i in order]))})
        left = chosen(batch, ExamplePlay())
        found.append(sorted(left.action[left.path_track[left.seg] == k].tolist() for k in range(left.K)))
    assert found == [[[1, 2], [3]]] * 3


def test_a_learner_sees_what_its_selection_needs():
    chosen = in_turn([with_spread("correct"), at_least("reward"), with_spread("correct")])
    assert chosen.needs == ("correct", "reward")
    assert Learn("policy", clipped(), on=chosen).needs == ("correct", "reward", "advantage")
    assert Learn("policy", sft(), on=chosen).needs == ("correct", "reward")


def test_what_cannot_be_selected_by_is_refused():
    batch = example_tries([[1.0]], steps=2, process=[1.0, 2.0])
    for chosen in (at_least("process"), with_spread("process")):
        with pytest.raises(UserError, match="per step"):
            chosen(batch, ExamplePlay())
    with refusal(UserError, "in_turn"):
        in_turn([])


# --- asking again ------------------------------------------------------------------------------------------------


class Drawn:
    """A curriculum of numbered tasks with two tries each."""

    def __init__(self):
        self.drawn = 0

    def draw(self, n, play):
        asks = [Ask(Task(str(self.drawn + i), ""), 2) for i in range(n)]
        self.drawn += n
        return asks


class ByTable:
    """Scores tries by a table: task to the values of its tries."""

    needs, gives = (), ("reward",)

    def __init__(self, values):
        self.values = values

    def __call__(self, batch, play):
        found = [self.values[int(e.task.id)][e.attempt] for e in batch.episodes]
        value = torch.tensor([float("nan") if v is None else v for v in found])
        reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
        return batch.with_cols({"reward": Column("track", value, reason)})


class Playing(ExamplePlay):
    """A `play` that numbers asks as a run does."""

    asked = 0

    def __call__(self, asks, env=None, seats=None):
        found = []
        for ask in asks:
            found += [
                episode(said([0, attempt])).but(ask=ask, number=self.asked, attempt=attempt) for attempt in range(ask.n)
            ]
            self.asked += 1
        return found


def ask_again(values, groups=2, rounds=10):
    play, source, scores = Playing(), Drawn(), ByTable(values)
    stage = until_enough(source, [scores], with_spread(by="ask"), groups=groups, rounds=rounds)
    first = scores(pack(play(source.draw(groups, play))), play)
    return stage(first, play), play.metrics


def test_no_more_is_asked_where_enough_disagree():
    batch, noted = ask_again([(0.0, 1.0), (1.0, 0.0), (9.0, 9.0)])
    assert batch["reward"].tolist() == [0.0, 1.0, 1.0, 0.0]
    assert noted == {"again/asked": 0, "again/rounds": 0, "again/short": 0}


def test_as_many_are_asked_as_are_missing_and_all_stay():
    batch, noted = ask_again([(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, None), (1.0, 0.0), (5.0, 5.0)])
    assert batch.K == 10
    assert torch.isnan(batch["reward"][7]) and batch.cols["reward"].reason[7] == Reason.FAILED
    assert noted == {"again/asked": 3, "again/rounds": 2, "again/short": 0}
    assert with_spread(by="ask", most=2)(batch, ExamplePlay())["reward"].tolist() == [0.0, 1.0, 1.0, 0.0]


def test_rounds_are_bounded():
    batch, noted = ask_again([(1.0, 1.0)] * 20, rounds=3)
    assert batch.K == 2 * (2 + 3 * 2)
    assert noted == {"again/asked": 6, "again/rounds": 3, "again/short": 2}


def test_a_score_that_needs_a_column_is_refused_when_it_is_built():
    with refusal(UserError, "until_enough", "with_spread"):
        until_enough(Drawn(), [with_spread()], with_spread())
