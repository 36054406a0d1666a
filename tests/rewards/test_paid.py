"""`paid`: what the environment paid, by track, by turn and by action; and what credit makes of it, in numbers done by hand."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from strategies import episode, episode_lists, expanded, naive_tracks, segment
from tolerances import rounding

from guerdon.core.column import Reason
from guerdon.core.episode import End
from guerdon.core.example import ExamplePlay
from guerdon.core.levels import gather_up
from guerdon.core.pack import pack
from guerdon.credit.advantage_estimation import gae
from guerdon.credit.group_relative import centre
from guerdon.credit.returns import reward_to_go
from guerdon.credit.track_steps import track_steps
from guerdon.credit.turns import turn_baseline
from guerdon.rewards.stage.placing import paid

NAN = float("nan")
VALUE, NONE, FAILED = Reason.VALUE, Reason.NOT_APPLICABLE, Reason.FAILED


def turns(*paid, attempt=0, **fields):
    """A try of one turn of two actions for each pay."""
    chain = [segment([0, 0], parent=i - 1, reward=r) for i, r in enumerate(paid)]
    return episode(*chain, attempt=attempt, **fields)


def columns(eps, **knobs):
    batch = paid(**knobs)(pack(eps), ExamplePlay())
    return batch, [batch.cols[n] for n in ("reward", "reward_turns", "reward_steps")]


def returns(batch, column="reward_steps", **knobs):
    return reward_to_go(column, **knobs)(batch, ExamplePlay())["return"].tolist()


def test_turns_paid_1_and_5_earn_6_and_5():
    batch, _ = columns([turns(1.0, 5.0)])
    assert returns(batch) == [6.0, 6.0, 5.0, 5.0]
    assert returns(batch, "reward_turns") == [6.0, 6.0, 5.0, 5.0]
    assert returns(batch, "reward") == [6.0] * 4  # the sum is paid at the end


@pytest.mark.parametrize("column", ["reward_steps", "reward_turns"])
def test_discounts_by_step_and_by_turn(column):
    batch, _ = columns([turns(1.0, 5.0)])
    assert returns(batch, column, gamma=0.5) == [0.5 + 5 / 8, 1 + 5 / 4, 2.5, 5.0]
    assert returns(batch, column, gamma=0.5, per="turn") == [3.5, 3.5, 5.0, 5.0]


def test_pay_by_the_action_and_for_the_turn_add_up():
    batch, (whole, by_turn, by_step) = columns(
        [episode(segment([0, 0], rewards=[1.0, 2.0], reward=10.0), segment([0, 0], parent=0, rewards=[0.0, 4.0]))]
    )
    assert by_step.value.tolist() == [1.0, 12.0, 0.0, 4.0]
    assert by_turn.value.tolist() == [13.0, 4.0]
    assert whole.value.tolist() == [17.0]
    assert returns(batch) == [17.0, 16.0, 4.0, 4.0]


def test_a_turn_that_was_not_paid_has_no_number_and_its_steps_got_nothing():
    batch, (whole, by_turn, by_step) = columns([turns(None, 3.0), turns(None, None, attempt=1)])
    assert whole.reason.tolist() == [VALUE, NONE]
    assert by_turn.reason.tolist() == [NONE, VALUE, NONE, NONE]
    assert by_step.reason.tolist() == [VALUE] * 4 + [NONE] * 4
    assert by_step.value[:4].tolist() == [0.0, 0.0, 0.0, 3.0]
    assert returns(batch)[:4] == returns(batch, "reward_turns")[:4] == [3.0] * 4
    assert returns(batch, gamma=0.5, per="turn")[:4] == returns(batch, "reward_turns", gamma=0.5, per="turn")[:4]


def test_pay_of_a_turn_without_actions_lies_on_the_action_before_it_or_else_the_first():
    before = episode(segment([], reward=2.0), segment([0, 0], parent=0, reward=1.0))
    after = episode(segment([0, 0], reward=1.0), segment([], parent=0, reward=2.0), attempt=1)
    batch, (whole, _, by_step) = columns([before, after, episode(segment([], reward=7.0), attempt=2)])
    assert by_step.value.tolist() == [2.0, 1.0, 0.0, 3.0]
    assert whole.value.tolist() == [3.0, 3.0, 7.0]
    assert returns(batch) == returns(batch, "reward_turns") == [3.0, 1.0, 3.0, 3.0]
    assert returns(batch, "reward_turns", gamma=0.5, per="turn") == [1.0, 1.0, 2.0, 2.0]  # a turn later


def test_a_trunks_step_has_the_mean_of_what_its_tracks_put_on_it():
    eps = [episode(segment([0, 0], reward=1.0), segment([], parent=0, reward=4.0), segment([0], parent=0, reward=2.0))]
    batch, (whole, by_turn, by_step) = columns(eps)
    assert whole.value.tolist() == [5.0, 3.0]
    assert by_turn.value.tolist() == [1.0, 4.0, 2.0]
    assert by_step.value.tolist() == [0.0, 1.0 + 4.0 / 2, 2.0]
    assert returns(batch, "reward_turns") == [4.0, 4.0, 2.0]  # (5 + 3) / 2


def test_failed_segments_fail_themselves_and_the_sums_they_are_in():
    broken = episode(segment([0], reward=1.0), segment([0], parent=0, reward=2.0, end=End.FAILED))
    batch, (whole, by_turn, by_step) = columns([broken, episode(segment([0], reward=1.0), attempt=1, error="broke")])
    assert whole.reason.tolist() == [FAILED, FAILED]
    assert by_turn.reason.tolist() == by_step.reason.tolist() == [VALUE, FAILED, FAILED]
    assert batch.cols["reward_turns"].value[0] == 1.0


def test_a_roles_whole_game_pay_for_players_without_memory():
    game = episode(
        segment([0], role="first", reward=1.0),
        segment([0], role="second", reward=-1.0),
        segment([0], role="first"),
        segment([0], role="second", reward=4.0),
        segment([0], role="third"),
    )
    _, (whole, by_turn, _) = columns([game], of="role")
    assert whole.value.tolist()[:4] == [1.0, 3.0, 1.0, 3.0]
    assert whole.reason.tolist() == [VALUE] * 4 + [NONE]
    assert by_turn.value.tolist()[:2] == [1.0, -1.0]
    _, (alone, _, _) = columns([game])
    assert alone.reason.tolist() == [VALUE, VALUE, NONE, VALUE, NONE]
    left = paid(of="role")(pack([game]).take(torch.tensor([True, False, False, True, False])), ExamplePlay())
    assert left["reward"].tolist() == [1.0, 3.0]  # turns that were filtered out were paid all the same


def test_a_failed_turn_fails_its_roles_whole_game():
    game = episode(segment([0], role="a", reward=1.0), segment([0], role="a", end=End.FAILED), segment([0], role="b"))
    _, (whole, _, _) = columns([game], of="role")
    assert whole.reason.tolist() == [FAILED, FAILED, NONE]


@given(episode_lists(continuous=False))
def test_the_steps_of_a_chain_and_its_turns_add_up_to_its_sum(eps):
    chains = expanded(eps)
    batch, (whole, by_turn, by_step) = columns(chains)
    for k, (e, path) in enumerate(naive_tracks(chains)):
        if whole.reason[k] != VALUE:
            continue
        assert by_turn.value[batch.episode == e].nansum() == pytest.approx(float(whole.value[k]), abs=1e-5)
        if sum(len(chains[e].segments[i].actions) for i in path):
            assert by_step.value[(batch.episode == e)[batch.seg]].sum() == pytest.approx(
                float(whole.value[k]), abs=1e-5
            )


@given(episode_lists(continuous=False))
def test_what_a_trees_steps_earn_is_the_mean_of_its_chains(eps):
    tree, _ = columns(eps)
    chains, _ = columns(expanded(eps))
    for column in ("reward_turns", "reward_steps"):
        apart = torch.tensor(returns(chains, column))
        want = gather_up(apart, track_steps(tree).step, tree.S, "mean")
        if not bool(tree.cols["reward_turns"].broken.any()):
            assert torch.allclose(torch.tensor(returns(tree, column)), want, atol=1e-5, equal_nan=True)


# --- what credit makes of it --------------------------------------------------------------------------------------


def test_a_baseline_for_each_turn():
    batch, _ = columns([turns(1.0, 5.0), turns(3.0, 1.0, attempt=1), turns(2.0, attempt=2)])
    batch = reward_to_go("reward_turns", per="turn")(batch, ExamplePlay())
    made = turn_baseline()(batch, ExamplePlay())["advantage"]
    # returns: 6 5 | 4 1 | 2 and nothing after
    assert made.tolist() == [3.0, 3.0, 4.5, 4.5, 0.0, 0.0, -1.5, -1.5, -3.0, -3.0]
    of_turns = turn_baseline("reward_turns")(batch, ExamplePlay())["advantage"]
    assert of_turns.tolist() == [-1.5, -1.5, 4.5, 4.5, 1.5, 1.5, -1.5, -1.5, 0.0, 0.0]


def test_turns_compared_with_the_same_turn_of_others():
    batch, _ = columns([turns(1.0, 5.0), turns(3.0, 1.0, attempt=1)])
    made = centre("reward_turns", by="turn", std=False)(batch, ExamplePlay())["advantage"]
    assert made.tolist() == [-1.0, -1.0, 2.0, 2.0, 1.0, 1.0, -2.0, -2.0]


def test_turns_compared_with_all_turns_of_the_other_tries():
    # 1 5 | 3 1 | 2: the others of the first try are 3 1 2, of the second 1 5 2, of the third 1 5 3 1
    batch, _ = columns([turns(1.0, 5.0), turns(3.0, 1.0, attempt=1), turns(2.0, attempt=2)])
    made = centre("reward_turns", std=False, others=True)(batch, ExamplePlay())["advantage"]
    want = [1 - 2, 5 - 2, 3 - 8 / 3, 1 - 8 / 3, 2 - 10 / 4]
    assert made.tolist() == pytest.approx([x for x in want for _ in range(2)], abs=rounding(5, 12.0))


def test_steps_compared_with_the_steps_of_the_other_tries():
    # 0 1 0 5 | 0 3: the others of the first try are 0 3, of the second 0 1 0 5
    batch, _ = columns([turns(1.0, 5.0), turns(3.0, attempt=1), turns(9.0, name="alone", number=1)])
    aside = ExamplePlay()
    made = centre("reward_steps", std=False, others=True)(batch, aside)["advantage"]
    assert made.tolist() == [-1.5, -0.5, -1.5, 3.5, -1.5, 1.5, 0.0, 0.0]
    assert aside.metrics["advantage/single_groups"] == 0.5


def test_missing_steps_are_in_no_mean_of_others():
    batch, _ = columns([turns(1.0, 5.0), turns(None, 3.0, attempt=1), turns(None, attempt=2)])
    made = centre("reward_turns", std=False, others=True)(batch, ExamplePlay()).cols["advantage"]
    assert made.value.tolist()[:4] == [-2.0, -2.0, 2.0, 2.0]
    assert made.value.tolist()[6:8] == [0.0, 0.0]  # 3 - (1 + 5) / 2
    assert made.reason.tolist() == [VALUE] * 4 + [NONE] * 2 + [VALUE] * 2 + [NONE] * 2


def test_generalised_advantages_of_turns():
    batch, _ = columns([turns(1.0, 5.0)])
    batch = batch.put("critic.value", "step", torch.tensor([4.0, 4.0, 3.0, 3.0]))
    batch = batch.put("critic.final", "track", torch.zeros(1))
    for column in ("reward_turns", "reward_steps"):
        made = gae(column, gamma=1.0, lam=0.0)(batch, ExamplePlay())["advantage"]
        assert made.tolist() == [0.0, 1.0 + 3.0 - 4.0, 0.0, 5.0 - 3.0]
