"""The study of distances between rewards: what it draws, what it measures, and that it runs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

import guerdon as gd
from guerdon.audits.distances.mdp import random_mdp
from guerdon.audits.distances.metrics import epic, starc
from guerdon.core.statistics import ranks
from guerdon.recipes.audit.starc import correlation, lost_by, other_reward, random_reward, told_regret

SMALL = (6, 3, 0.9)


def test_correlations_are_scipys():
    draw = np.random.default_rng(0)
    one, other = draw.integers(0, 5, 40).astype(float), draw.standard_normal(40)
    assert correlation(one, other) == pytest.approx(pearsonr(one, other).statistic)
    assert correlation(ranks(one), ranks(other)) == pytest.approx(spearmanr(one, other).statistic)
    assert correlation(one, 0 * other) == 0.0


def test_what_is_gone_towards():
    draw = np.random.default_rng(0)
    mdp = random_mdp(*SMALL, draw, keep=0.5)
    one = draw.standard_normal(mdp.transitions.shape)
    for kind, far in (("shaped", 0.0), ("scaled", 0.0), ("negated", 1.0)):
        other = other_reward(kind, mdp, one, draw)
        assert starc(mdp, one, other) == pytest.approx(far, abs=1e-6)
        assert epic(mdp, one, other) == pytest.approx(far, abs=1e-6)
        assert [lost_by(mdp, one, other, how) for how in ("followed", "both", "worst")] == pytest.approx(
            [far] * 3, abs=1e-6
        )
    rewards = [random_reward(mdp, draw) for _ in range(50)]
    sparse = sum(float(np.median(np.abs(r))) == 0 for r in rewards)
    assert 0 < sparse < 20  # a tenth: a fifth is, and half of those is shaped


def test_the_study_runs_and_its_seed_decides(tmp_path):
    settings = {"pairs": 6, "steps": 3, "states": 6, "actions": 3}
    first = gd.train("starc", out=tmp_path / "first", seed=5000, settings=settings).result
    again = gd.train("starc", out=tmp_path / "again", seed=5000, settings=settings).result
    epics = gd.train("starc", out=tmp_path / "epic", seed=5000, settings={**settings, "distance": "epic"}).result
    assert first == again and first["pairs"] == 18 == epics["pairs"]
    assert first["mean_regret"] == epics["mean_regret"] and first["correlation"] != epics["correlation"]


def test_near_rewards_are_counted_and_the_costliest_told():
    told = told_regret("starc", "followed", "mixed", SMALL, 8, 2, np.random.default_rng(0))
    assert told["near"] >= 8 and 0 <= told["costliest_near"] < 0.2  # shaped and scaled ones are near, and cost nothing
