"""RLUF's model of rare reactions, trained: calibrated on users that it has not seen."""

from __future__ import annotations

import pytest
from small import small_lm

import guerdon as gd
from guerdon.recipes.policy.rluf import reaction_model, reactions


@pytest.mark.slow
def test_a_model_of_rare_reactions_is_calibrated_on_held_out_users(tmp_path):
    small_lm(tmp_path / "model")
    source = reactions(gd.tasks.notes(level=1, users=20), 1500)
    lesson = reaction_model(source, gd.models.load(str(tmp_path / "model")), lr=1e-2, steps=12)
    run = gd.train(lesson, out=str(tmp_path / "run"))
    last = run.evaluations[-1]
    assert last["love/confident"] == source.size("test") and last["love/ece"] < 0.05
