"""Pairs built by hand, and the house recipes that learn from preferences: they run, repeat themselves and resume."""

from __future__ import annotations

import itertools

import pytest
import torch
from killing import killed_at
from scheduling import mostly_slow
from small import small_lm
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.curricula.demonstrations import contrasts
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import verified
from guerdon.select.pairs import paired
from guerdon.tasks.families.chained_arithmetic import chain
from guerdon.training.catalog import find_recipe

KEPT = gd.Options(save_every=1, eval_tasks=2, eval_tries=1)
SMALL = {"prompts": 3, "max_tokens": 8}


def built(batch, **knobs):
    """[(better, worse, margin)] and what was logged."""
    play = ExamplePlay()
    found = paired(**knobs)(batch, play).pairs
    assert found.label.tolist() == [1.0] * len(found)
    return list(zip(found.better.tolist(), found.worse.tolist(), found.margin.tolist(), strict=True)), play.metrics


# --- pairs ----------------------------------------------------------------------------------------------------------


def test_the_best_against_the_worst_of_each_group_by_hand():
    pairs, noted = built(example_tries([[1.0, 4.0, 2.0], [0.5, 0.25]]))
    assert pairs == [(1, 0, 3.0), (3, 4, 0.25)]
    assert noted == {"pairs": 2.0, "unpaired_share": 0.0, "alone_share": 0.0}


def test_all_ordered_pairs_and_those_by_a_margin():
    batch = example_tries([[1.0, 4.0, 2.0], [0.5, 0.25]])
    every, _ = built(batch, which="all")
    assert sorted(every) == [(1, 0, 3.0), (1, 2, 2.0), (2, 0, 1.0), (3, 4, 0.25)]
    wide, noted = built(batch, which="all", least=2.0)
    assert sorted(wide) == [(1, 0, 3.0), (1, 2, 2.0)]
    assert noted["unpaired_share"] == 0.5
    assert built(batch, least=3.5)[0] == []


def test_equal_tries_make_no_pair_and_of_several_best_the_first_asked_for_is_taken():
    pairs, noted = built(example_tries([[1.0, 1.0], [0.0, 1.0, 1.0, 0.0], [2.0]]))
    assert pairs == [(3, 2, 1.0)]
    assert noted == {"pairs": 1.0, "unpaired_share": pytest.approx(2 / 3), "alone_share": pytest.approx(1 / 3)}
    assert sorted(built(example_tries([[0.0, 1.0, 1.0]]), which="all")[0]) == [(1, 0, 1.0), (2, 0, 1.0)]


def test_tries_without_a_value_are_in_no_pair():
    pairs, noted = built(example_tries([[None, 1.0, 0.0], [None, 1.0], [None, None]]), which="all")
    assert pairs == [(1, 2, 1.0)]
    assert noted["alone_share"] == pytest.approx(2 / 3)
    made = paired()(example_tries([[None, None]]), ExamplePlay())
    assert len(made.pairs) == 0 and made.count.pairs == 0 and not bool(made.paired_K.any())
    assert len(paired()(example_tries([]), ExamplePlay()).pairs) == 0


def test_the_order_of_tracks_changes_nothing():
    rewards = [[1.0, 1.0, 0.0, 0.0], [0.0, 2.0]]
    eps = list(example_tries(rewards).episodes)
    value = [r for group in rewards for r in group]
    for which in ("extremes", "all"):
        seen = set()
        for order in itertools.islice(itertools.permutations(range(6)), 0, 720, 37):
            shuffled = pack([eps[i] for i in order])
            column = Column.full("track", torch.tensor([value[i] for i in order]))
            found = paired(which=which)(shuffled.with_cols({"reward": column}), ExamplePlay()).pairs
            ends = zip(found.better.tolist(), found.worse.tolist(), strict=True)
            seen.add(frozenset((eps[order[i]].key, eps[order[j]].key) for i, j in ends))
        assert len(seen) == 1


def test_roles_are_never_paired_and_groups_can_be_asks_or_episodes():
    two = episode(segment(role="policy"), segment(role="second"))
    batch = pack([two]).with_cols({"reward": Column.full("track", torch.tensor([1.0, 0.0]))})
    assert built(batch)[0] == []
    side = [episode(segment([0]), segment([1]), number=n) for n in range(2)]
    batch = pack(side).with_cols({"reward": Column.full("track", torch.tensor([1.0, 0.0, 3.0, 2.0]))})
    assert built(batch, by="episode")[0] == [(0, 1, 1.0), (2, 3, 1.0)]
    assert built(batch, by="task")[0] == [(2, 1, 3.0)]


def test_a_column_of_steps_is_refused():
    batch = example_tries([[1.0, 0.0]], steps=2)
    steps = Column("step", torch.zeros(4), torch.full((4,), int(Reason.VALUE), dtype=torch.int8))
    with pytest.raises(UserError, match="per step"):
        paired("along")(batch.with_cols({"along": steps}), ExamplePlay())


# --- contrasts and their environment --------------------------------------------------------------------------------


def test_a_contrast_is_a_right_solution_and_wrong_ones_of_the_same_problem(tmp_path):
    task = chain(level=2)
    asks = contrasts(task, wrong=2)
    ask = asks.ask("test", 5, seed=1)
    right, *wrong = ask.note["say"]
    assert task.check(ask.task, right) == 1.0 and len(wrong) == 2 == len(set(wrong))
    assert all(task.check(ask.task, text) == 0.0 for text in wrong)
    assert asks.ask("test", 5, seed=1) == ask
    assert len(contrasts(task, wrong=9).ask("train", 0, 0).note["say"]) == 4  # there are three near-misses
    model = small_lm(tmp_path)
    model.start(0, {})
    play = Player({"policy": model}, {"policy": "policy"}, side_by_side(tries=2), gd.Sampling(max_tokens=4), 0, 1)
    batch = verified(task)(pack(play([ask])), play)
    assert batch.K == 5 and batch["correct"].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert batch.logp[batch.seg < 3].isnan().all() and not batch.logp[batch.seg >= 3].isnan().any()
    assert play.calls == 2
    assert asks.exam_asks(2, 4, play) == [asks.ask("test", i, play.seed) for i in range(2)]


def test_what_has_no_near_misses_is_refused():
    with pytest.raises(UserError, match="near-misses"):
        find_recipe("dpo").build({"task": tabular, "model": tabular("01")}, {})


# --- recipes --------------------------------------------------------------------------------------------------------


def longest(completion):
    """Something that differs between tries."""
    return float(len(completion))


def train(name, model, out, **more):
    reward = {"reward": gd.reward(longest, isolate=False)} if name == "online_dpo" else {}
    return gd.train(name, task=chain(), model=model, out=out, steps=2, seed=3, options=KEPT, **SMALL, **reward, **more)


NOTED = {"dpo": "policy/margin", "online_dpo": "policy/margin", "kto": "policy/good_gain"}


@pytest.mark.parametrize("name", mostly_slow(NOTED, "online_dpo"))
def test_a_recipe_runs_repeats_itself_and_resumes(name, tmp_path):
    model = small_lm(tmp_path / "lm")
    whole = train(name, model, tmp_path / "whole", lr=1e-3)
    rows = whole.metrics.to_pylist()
    assert whole.complete and len(whole.evaluations) == 2
    assert rows[0][NOTED[name]] == pytest.approx(0.0, abs=1e-4)  # the policy is its reference before the first update
    assert rows[1][NOTED[name]] != 0.0
    assert all(r["policy/grad_norm"] > 0 for r in rows)
    with killed_at(1):
        train(name, model, tmp_path / "broken", lr=1e-3)
    again = gd.train(whole.recipe, resume=tmp_path / "broken")
    assert again.weights == whole.weights
    assert again.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])


@pytest.mark.slow
def test_preferences_are_learned(tmp_path):
    model = small_lm(tmp_path / "lm", std=0.1)
    run = gd.train(
        "dpo", task=chain(), model=model, out=tmp_path / "run", steps=12, lr=3e-3, prompts=16,
        options=gd.Options(eval_tasks=0, rollouts_every=0),
    )  # fmt: skip
    rows = run.metrics.to_pylist()
    assert rows[-1]["policy/loss"] < rows[0]["policy/loss"] - 0.01
    assert rows[-1]["policy/accuracy"] > 0.6
    assert rows[0]["pairs"] == 16.0


def test_a_step_without_a_pair_is_skipped(tmp_path):
    model = small_lm(tmp_path / "lm")
    run = gd.train("online_dpo", task=chain(), model=model, out=tmp_path / "run", steps=1, options=KEPT, **SMALL)
    (row,) = run.metrics.to_pylist()  # a random model is never right: all its tries are equal
    assert row["pairs"] == 0.0 and row["unpaired_share"] == 1.0 and row["policy/skipped"] == 1.0
