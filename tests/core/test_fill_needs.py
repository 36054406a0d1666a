"""`fill_needs`: columns are read once, only where they apply, and again when they have become stale."""

from __future__ import annotations

import pytest
import torch
from strategies import episode, segment

from guerdon.core.column import Column, Reason
from guerdon.core.learn import Learn
from guerdon.core.optim import sgd
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.losses.imitation import sft
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.training.readings import fill_needs


class counting(tabular):
    """A table that remembers what it was asked to read."""

    def read(self, batch, want):
        self.__dict__.setdefault("asked", []).append((batch.K, tuple(want)))
        return super().read(batch, want)


def run(seats):
    models = {
        "policy": counting(vocab="abcd", rows=64, spread=1.0),
        "judge": counting(vocab="abcd", rows=64, spread=2.0),
    }
    models["reference"] = snapshot("policy")
    for model in models.values():
        model.start(3, models)
    return Player(models, seats, None, Sampling(), 0, 1)


def two_roles():
    return pack(
        [
            episode(
                segment([0, 1]), segment([2], parent=0), segment([3], parent=0), segment([1, 1], "judge", parent=1)
            ),
            episode(segment([1]), attempt=1),
        ]
    )


SEATS = {"policy": "policy", "judge": "judge"}


def test_a_column_is_read_once():
    play = run(SEATS)
    batch = fill_needs(two_roles(), ["policy.logp", "policy.entropy"], play)
    assert play.models["policy"].asked == [(3, ("logp", "entropy"))]
    again = fill_needs(batch, ["policy.logp", "policy.entropy"], play)
    assert again is batch
    assert len(play.models["policy"].asked) == 1


def test_a_column_that_is_there_is_not_read():
    play = run(SEATS)
    batch = two_roles().with_cols({"policy.logp": Column.full("step", torch.zeros(7))})
    assert fill_needs(batch, ["policy.logp"], play)["policy.logp"].tolist() == [0.0] * 7
    assert "asked" not in play.models["policy"].__dict__


def test_a_column_is_of_the_tracks_of_the_models_seats():
    play = run(SEATS)
    batch = fill_needs(two_roles(), ["policy.logp", "judge.logp", "reference.logp"], play)
    na, value = Reason.NOT_APPLICABLE, Reason.VALUE
    assert batch.cols["policy.logp"].reason.tolist() == [value] * 4 + [na] * 2 + [value]
    assert batch.cols["judge.logp"].reason.tolist() == [na] * 4 + [value] * 2 + [na]
    assert batch.cols["reference.logp"].same(batch.cols["policy.logp"])
    assert play.models["judge"].asked == [(1, ("logp",))]


def test_a_model_without_a_seat_reads_everything():
    play = run({"policy": "policy"})
    assert not fill_needs(two_roles(), ["judge.logp"], play).cols["judge.logp"].missing.any()


def test_nothing_is_read_with_gradients():
    play = run(SEATS)
    assert not fill_needs(two_roles(), ["policy.logp"], play)["policy.logp"].requires_grad


def test_learning_makes_the_own_columns_stale_and_no_others():
    play = run(SEATS)
    learn = Learn("policy", sft(), opt=sgd(lr=1.0))
    learn.start(play)
    before = fill_needs(two_roles(), ["policy.logp", "reference.logp", "judge.logp"], play)
    after = learn(before, play)
    assert list(after.cols) == ["reference.logp", "judge.logp"]
    again = fill_needs(after, ["policy.logp", "reference.logp"], play)
    gap = (again["policy.logp"] - before["policy.logp"]).nan_to_num()
    assert gap.abs().max() > 1e-3
    assert again.cols["reference.logp"].same(before.cols["reference.logp"])


def test_a_batch_without_tracks_is_read_as_empty():
    play = run(SEATS)
    assert len(fill_needs(pack([episode(error="broke")]), ["policy.logp"], play)["policy.logp"]) == 0


def test_a_column_that_nobody_gives_is_a_bug_of_ours():
    with pytest.raises(AssertionError, match="no stage gave 'reward'"):
        fill_needs(two_roles(), ["reward"], run(SEATS))
