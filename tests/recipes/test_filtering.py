"""Balanced online difficulty filtering: the band by hand, asking until it is full, the recipe, and the paper's bound."""

from __future__ import annotations

import pytest
import torch
from killing import killed_at
from refusals import refusal
from torch.distributions import Categorical, kl_divergence
from watching import SMALL, TABLE, Watched, stages, train

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.core.schedule import linear
from guerdon.core.task import Ask, Task
from guerdon.curricula.plain import APART
from guerdon.models.tables import tabular
from guerdon.select.filters import at_least, in_turn, until_enough, with_rate, with_spread
from guerdon.tasks.families.tiny import parity
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe

NAME = "balanced-online-difficulty-filtering"


def rates(groups, low, high, **knobs):
    """The rewards of the groups that are kept, and what was noted."""
    play = ExamplePlay()
    value = with_rate("reward", low, high, **knobs)(example_tries(groups), play)["reward"].tolist()
    return [None if v != v else v for v in value], play.metrics


def right(count, of):
    return [1.0] * count + [0.0] * (of - count)


# --- the band ----------------------------------------------------------------------------------------------------


def test_a_rate_at_an_edge_is_kept_and_one_beyond_it_is_not():
    for low, high, kept in [
        (0.2, 0.8, range(2, 9)),
        (0.3, 0.7, range(3, 8)),
        (0.7, 0.7, [7]),
        (0.21, 0.79, range(3, 8)),
    ]:
        found = [n for n in range(11) if rates([right(n, 10)], low, high)[0]]
        assert found == list(kept), (low, high)


@pytest.mark.parametrize("of", [3, 7, 8, 49])
def test_rates_that_no_binary_number_hits_are_still_at_their_edge(of):
    for n in range(of + 1):
        assert len(rates([right(n, of)], n / of, n / of)[0]) == of


def test_the_shares_that_are_too_hard_and_too_easy_are_noted():
    kept, noted = rates([right(n, 4) for n in (0, 0, 1, 2, 4)], 0.25, 0.75)
    assert kept == [*right(1, 4), *right(2, 4)]
    assert noted == {"rate/below": 2 / 5, "rate/above": 1 / 5}


def test_a_try_without_a_score_is_in_no_rate_and_goes_with_its_group():
    groups = [[1.0, 0.0, None, None], [1.0, None], [0.0, None, None], [None, None]]
    kept, noted = rates(groups, 0.5, 0.5)
    assert kept == [1.0, 0.0, None, None]
    assert noted == {"rate/below": 1 / 3, "rate/above": 1 / 3}  # the group without a score is neither


def test_a_single_try_is_kept_by_a_band_that_reaches_the_end():
    assert rates([[1.0], [0.0], [None]], 0.2, 0.8)[0] == []
    assert rates([[1.0], [0.0], [None]], 0.0, 0.8)[0] == [0.0]
    assert rates([[1.0], [0.0], [None]], 0.2, 1.0)[0] == [1.0]
    assert rates([[1.0], [0.0], [None]], 0.0, 1.0)[0] == [1.0, 0.0]  # not what nobody scored


def test_of_nothing_nothing_is_kept():
    assert rates([], 0.2, 0.8) == ([], {"rate/below": 0.0, "rate/above": 0.0})
    assert rates([[]], 0.0, 1.0, most=2)[0] == []


def test_the_first_groups_are_taken_in_the_order_they_were_asked():
    groups = [right(2, 2), right(1, 2), [0.0, 1.0], [1.0, 0.0, 0.0]]
    assert rates(groups, 0.3, 0.7, most=2)[0] == [1.0, 0.0, 0.0, 1.0]


def test_two_asks_of_one_task_have_a_rate_each_by_ask():
    batch = example_tries([[1.0, 1.0], [0.0, 0.0]])
    once = pack([e.but(ask=Ask(Task("same", ""))) for e in batch.episodes]).with_cols(batch.cols)
    assert with_rate("reward", by="task")(once, ExamplePlay()).K == 4
    assert with_rate("reward", by="ask")(once, ExamplePlay()).K == 0


def test_an_open_band_keeps_what_has_spread():
    groups = [right(n, 8) for n in range(9)]
    spread = with_spread("reward")(example_tries(groups), ExamplePlay())["reward"].tolist()
    assert rates(groups, 0.01, 0.99)[0] == spread


def test_the_band_may_move():
    batch, play = example_tries([right(1, 4), right(2, 4)]), ExamplePlay()
    play.steps = 3
    moving = with_rate("reward", low=linear(0.0, 0.5), high=1.0)
    kept = []
    for play.step in range(3):
        kept.append(moving(batch, play).K)
    assert kept == [8, 8, 4]  # from 0, from 1/4, from 1/2


def test_what_makes_no_band_is_refused():
    with refusal(UserError, "0.8", "0.2"):
        with_rate("reward", low=0.8, high=0.2)
    with refusal(UserError, "with_rate.high", "1.0", "75"):
        with_rate("reward", high=75)
    with refusal(UserError):
        with_rate("process")(example_tries([[1.0]], steps=2, process=[1.0, 2.0]), ExamplePlay())


# --- the recipe --------------------------------------------------------------------------------------------------


@pytest.fixture
def wish():
    return {"task": "parity", "model": "tabular", "settings": {**TABLE, **SMALL}}


def watch(wish, settings=None, steps=1):
    return Watched(
        build(RunRequest(NAME, wish["task"], wish["model"], settings={**wish["settings"], **(settings or {})})).recipe,
        steps,
    )


def test_what_it_is_made_of():
    made = find_recipe(NAME).build({"task": parity(), "model": tabular()}, {})
    assert made.stages[1].curriculum is made.curriculum
    assert made.stages[1].scores == made.stages[:1]
    assert made.stages[1].keep is made.stages[-1].on
    band = "with_rate(by='ask', most=16)"
    assert stages(made)[1].endswith(f"keep={band})")
    assert stages(made)[2:] == ["centre(reward='correct', by='ask')", f"Learn(loss=clipped(), on={band})"]
    assert (made.stages[1].keep.low, made.stages[1].keep.high) == (0.2, 0.8)
    made.check()


def test_with_a_kl_it_keeps_the_start_model():
    made = find_recipe(NAME).build({"task": parity(), "model": tabular()}, {"kl": 0.1})
    assert list(made.models) == ["policy", "reference"]


def test_it_asks_until_the_band_is_full_and_counts_every_try(wish):
    run = watch(wish, {"tries": 4, "low": 0.25, "high": 0.75}, steps=4)
    for batch, row in zip(run.batches, run.rows, strict=True):
        rate = batch["correct"].view(-1, 4).mean(1)  # asks in order, four tries each
        inside = (rate >= 0.25) & (rate <= 0.75)
        assert row["episodes"] == batch.K == 4 * (4 + row["again/asked"])
        assert row["tokens"] == batch.S
        assert int(inside.sum()) == 4 - row["again/short"]
        rows = run.recipe.stages[-1].rows(batch, run.play)
        assert 4 * int(inside.sum()) == rows.K
        assert rows.count.tracks == rows.K  # the batch that is learned from keeps its size
    drawn = [episode.task.id for batch in run.batches for episode in batch.episodes[::4]]
    assert len(drawn) == 16 + sum(row["again/asked"] for row in run.rows) > 16
    assert drawn == [parity().get("train", 2 * APART + i).id for i in range(len(drawn))]


def test_a_band_of_everything_that_asks_no_more_is_grpo(wish):
    made = watch(wish, {"low": 0.0, "high": 1.0, "with_rate.most": 0}, steps=2)
    assert [row["again/asked"] for row in made.rows] == [0, 0]
    plain = Watched(
        build(RunRequest("grpo", **{**wish, "settings": {**wish["settings"], "centre.by": "ask"}})).recipe, 2
    )
    assert torch.equal(made.weights, plain.weights)


def test_what_never_comes_into_the_band_is_given_up(wish):
    (row,) = watch(wish, {"tabular.vocab": "23", "rounds": 3}).rows
    assert (row["again/asked"], row["again/rounds"], row["again/short"]) == (12, 3, 4)
    assert (row["rate/below"], row["policy/skipped"]) == (1.0, 1.0)


def test_any_selection_may_say_what_is_enough(wish):
    made = build(RunRequest(NAME, **wish)).recipe
    chosen = in_turn([with_rate("correct", 0.2, 0.8, by="ask"), at_least("correct")])
    made.stages[1] = until_enough(made.curriculum, made.stages[:1], chosen, groups=2)
    assert made.stages[1].needs == ("correct",)
    run = Watched(made, 1)
    assert chosen(run.batches[0], ExamplePlay()).group("ask")[1] >= 2


@pytest.mark.slow
def test_a_run_that_was_broken_off_draws_what_it_would_have_drawn(tmp_path, wish):
    wish["settings"]["tries"] = 2  # so that many groups agree, and more is asked
    whole = train(NAME, tmp_path / "whole", wish)
    with killed_at(1):  # after it has drawn and asked again
        train(NAME, tmp_path / "broken", wish, every=1)
    resumed = gd.train(resume=tmp_path / "broken")
    assert resumed.weights == whole.weights
    assert resumed.batch(1).same(whole.batch(1))
    assert resumed.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])
    assert all(row["again/asked"] for row in whole.metrics.to_pylist())


# --- the paper's bound -------------------------------------------------------------------------------------------


def divergence(p, beta, arms=40):
    """KL(start, optimum) of a bandit with a share `p` of right arms, pulled unevenly: the optimum of the reward less beta
    times the KL to the start tilts every arm by exp(reward / beta)."""
    draw = torch.Generator().manual_seed(arms)
    right = torch.arange(arms) < arms // 2
    start = torch.rand(arms, generator=draw, dtype=torch.float64) + 0.1
    start = torch.where(right, p * start / start[right].sum(), (1 - p) * start / start[~right].sum())
    optimum = Categorical(logits=start.log() + right.double() / beta)
    return float(kl_divergence(Categorical(probs=start), optimum))


def bound(p, beta):
    return p * (1 - p) / (2 * beta**2)


def test_the_divergence_by_hand():
    """log(1 - p + p e^(1/beta)) - p / beta, however many arms there are."""
    for arms in (2, 7, 40):
        assert divergence(0.25, 1.0, arms) == pytest.approx(0.357374 - 0.25, abs=1e-5)  # log(0.75 + 0.25 e) - 0.25
        assert divergence(0.5, 1.0, arms) == pytest.approx(0.120115, abs=1e-5)  # log cosh(1/2)


@pytest.mark.parametrize("p", [0.05, 0.25, 0.5, 0.75, 0.95])
def test_for_a_strong_penalty_the_divergence_is_the_bound(p):
    assert divergence(p, 100.0) == pytest.approx(bound(p, 100.0), rel=5e-3)


def test_where_it_is_a_lower_bound_and_where_it_is_none():
    """It is the second term of a series whose third has the sign of 1 - 2p: a lower bound below 1/2 if the penalty is strong
    enough, an upper one from 1/2 on. Below some beta it fails everywhere: it grows with 1 / beta^2, the divergence with
    1 / beta."""
    strong, weak = (10.0, 3.0, 1.5), 0.02
    for p in (0.1, 0.25, 0.4):
        assert all(divergence(p, beta) > bound(p, beta) for beta in strong), p
        assert divergence(p, weak) < bound(p, weak)
    for p in (0.5, 0.6, 0.75, 0.9):
        assert all(divergence(p, beta) < bound(p, beta) for beta in (*strong, weak)), p


def test_the_divergence_is_largest_at_a_half_for_strong_penalties_alone():
    """Its derivative in p is 0 at beta - 1 / (e^(1/beta) - 1)."""
    grid = [n / 200 for n in range(1, 200)]
    for beta, best in [(50.0, 0.5), (1.0, 0.418), (0.1, 0.1)]:
        assert max(grid, key=lambda p: divergence(p, beta)) == pytest.approx(best, abs=6e-3)
