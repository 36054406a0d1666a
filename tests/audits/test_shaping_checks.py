"""Shaping terms: which are potential differences, which keep what is best, and pay that depends on the way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from refusals import refusal

from guerdon.audits.distances.mdp import FiniteMDP, random_mdp, redistributed, shaped
from guerdon.audits.distances.shaping import PaidPath, check_paths, check_shaping, check_shaping_samples
from guerdon.core.errors import UserError

# three cells in a row, left and right; the last ends the episode: it leads to itself
ROW = FiniteMDP(
    np.array([[[1, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, 1]], [[0, 0, 1], [0, 0, 1]]]), gamma=0.5, start=np.eye(3)[0]
)
GOAL = np.zeros((3, 2, 3))
GOAL[1, 1, 2] = 1.0


def test_a_potential_difference_is_found_with_its_potential():
    report = check_shaping(ROW, shaped(ROW, 0 * GOAL, np.array([1.0, 4.0, -2.0])), GOAL)
    assert report.is_potential and report.keeps and report.keeps_any and report.changed == ()
    assert list(report.potential.values()) == pytest.approx([1.0, 4.0, -2.0])
    assert report.residual < 1e-12 and "from -2 to 4" in str(report)


def test_a_bonus_for_each_step_right_is_none_and_turns_the_best_round():
    """3 for each step from the first to the second cell: going to and fro for ever is worth 3 / (1 - 1/4) = 4 > 1/2."""
    bonus = np.zeros((3, 2, 3))
    bonus[0, 1, 1] = 3.0
    report = check_shaping(ROW, bonus, GOAL)
    assert not report.is_potential and report.keeps is False and report.keeps_any is False
    (state,) = report.changed
    assert (state.state, state.before, state.after) == (1, (1,), (0,))
    assert state.loses == pytest.approx(1.0)
    assert "in state 1 action 1 was best and now action 0 is; following it loses 1 of 1" in str(report)


def test_a_term_that_is_no_potential_may_keep_what_is_best_for_one_reward():
    bonus = np.zeros((3, 2, 3))
    bonus[1, 1, 2] = 5.0
    report = check_shaping(ROW, bonus, GOAL)
    assert not report.is_potential and report.keeps and not report.keeps_any
    assert "the same actions are best" in str(report)
    assert check_shaping(ROW, bonus).keeps is None


def test_pay_for_the_end_of_an_episode_is_no_potential_difference():
    """phi of 2 at the end, but nothing paid while the episode is over: what lasts there would have to pay (gamma - 1) * 2."""
    term = shaped(ROW, 0 * GOAL, np.array([0.0, 0.0, 2.0]))
    term[2] = 0.0
    assert not check_shaping(ROW, term).is_potential
    steps = [(0, 1, 1), (1, 1, 2), (0, 0, 0), (1, 0, 0)]
    assert not check_shaping_samples(steps, [term[s, a, t] for s, a, t in steps], 0.5, ends=[2]).is_potential
    assert check_shaping_samples(steps, [term[s, a, t] for s, a, t in steps], 0.5).is_potential


def test_what_cancels_on_average_keeps_every_rank_in_this_mdp():
    draw = np.random.default_rng(0)
    mdp = random_mdp(6, 3, 0.9, draw, keep=0.5)
    term = redistributed(
        mdp, shaped(mdp, np.zeros((6, 3, 6)), draw.standard_normal(6)), draw.standard_normal((6, 3, 6))
    )
    for _ in range(5):
        report = check_shaping(mdp, term, draw.standard_normal((6, 3, 6)))
        assert not report.is_potential and report.keeps_any and report.keeps
    assert not check_shaping(mdp, draw.standard_normal((6, 3, 6))).keeps_any


def test_states_that_are_never_reached_do_not_count():
    apart = FiniteMDP(np.array([[[1, 0], [1, 0]], [[1, 0], [0, 1]]]), gamma=0.9, start=np.array([1.0, 0.0]))
    term = np.zeros((2, 2, 2))
    term[1, 1, 1] = 7.0
    assert check_shaping(apart, term, np.zeros((2, 2, 2))).keeps


def test_functions_are_judged_by_transitions_that_were_seen():
    def closer(state, action, after):
        return abs(state - 5) - 0.9 * abs(after - 5)

    steps = [(s, a, s + a) for s in range(10) for a in (-1, 0, 1)]
    report = check_shaping_samples(steps, closer, 0.9)
    assert (
        report.is_potential and report.potential[5] == pytest.approx(0.0) and report.potential[0] == pytest.approx(-5)
    )
    moving = check_shaping_samples(steps, lambda s, a, t: 0.1 * abs(a), 0.9)
    assert not moving.is_potential and moving.residual > 0.01
    few = check_shaping_samples([("a", 0, "b"), ("b", 0, "c")], [1.0, 7.0], 1.0)
    assert few.is_potential and "any term would have been explained" in str(few)
    with pytest.raises(UserError, match="one for each"):
        check_shaping_samples(steps, [1.0], 0.9)


# --- along episodes -----------------------------------------------------------------------------------------------


def test_sums_that_telescope():
    """What is paid is how many of three parts are solved by now, less how many were."""
    solved = {"": 0, "a": 1, "b": 1, "ab": 2, "abc": 3}
    ways = [["", "a", "ab", "abc"], ["", "b", "ab", "abc"], ["", "a", "", "b", "ab"]]
    report = check_paths([(way, [solved[t] - solved[s] for s, t in pairwise(way)]) for way in ways])
    assert report.telescopes and report.compared > 3 and "do not depend on the way" in str(report)


def test_two_ways_to_one_end_that_sum_to_different_amounts():
    report = check_paths([PaidPath("sae", [0.5, 0.5], "one"), PaidPath("sbe", [0.5, 0.7], "other")])
    (ways,) = report.ways
    assert (ways.start, ways.end, ways.names) == ("s", "e", ("other", "one")) and not report.telescopes
    assert ways.sums == pytest.approx((1.2, 1.0)) and report.loop is None
    assert "From 's' to 'e' one way sums to 1.2 (s, b, e) and another to 1 (s, a, e)." in str(report)


def test_a_loop_over_several_episodes_is_named():
    """No episode goes round, but together they show that one could: a to b pays, and so does b to a."""
    report = check_paths([("abx", [0.4, 0.0]), ("ybaz", [0.0, -0.1, 0.0])])
    assert report.loop is not None and set(report.loop.states) == {"a", "b"}
    assert report.loop.pay == pytest.approx(0.3) and "pays 0.3 each time" in str(report)


def test_a_loop_that_costs_is_no_loop_that_pays_but_depends_on_the_way():
    report = check_paths([("aba", [0.1, -0.3])])
    assert report.loop is None and not report.telescopes and report.ways[0].sums == pytest.approx((0.0, -0.2))


def test_the_same_step_paid_differently():
    report = check_paths([("ab", [1.0]), ("ab", [0.5])])
    assert report.uneven == ((("a", "b"), (0.5, 1.0)),) and "paid 0.5 here and 1 there" in str(report)


def test_nothing_is_known_of_a_single_way():
    assert "nothing can be said" in str(check_paths([("abc", [1.0, 2.0])]))
    with refusal(UserError):
        PaidPath("ab", [1.0, 2.0])
    with refusal(UserError):
        check_paths([])


def test_loops_are_those_that_networkx_finds():
    nx = pytest.importorskip("networkx")
    draw = np.random.default_rng(0)
    for _ in range(60):
        edges = {
            (int(a), int(b)): float(w)
            for a, b, w in zip(*draw.integers(7, size=(2, 12)), draw.normal(-0.6, 1, 12), strict=True)
        }
        graph = nx.DiGraph()
        graph.add_weighted_edges_from((a, b, -w) for (a, b), w in edges.items())
        loop = check_paths([PaidPath(step, [pay]) for step, pay in edges.items()]).loop
        assert (loop is not None) == nx.negative_edge_cycle(graph)
        if loop is not None:
            steps = list(zip(loop.states, (*loop.states[1:], loop.states[0]), strict=True))
            assert loop.pay == pytest.approx(sum(edges[step] for step in steps)) and loop.pay > 0
