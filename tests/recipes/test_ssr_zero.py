"""SSR-Zero: a judge that is the policy and one that is a frozen copy of it are the same until the policy has learned."""

from __future__ import annotations

import pytest

import guerdon as gd


def weights(tmp_path, judged_by, steps):
    run = gd.train(
        "ssr-zero",
        task="chain:3",
        model="sprig",
        judged_by=judged_by,
        prompts=2,
        tries=4,
        max_tokens=48,
        lr=3e-4,
        steps=steps,
        seed=3,
        options=gd.Options(eval_tasks=0),
        out=str(tmp_path / f"{judged_by}-{steps}"),
    )
    return run.weights


@pytest.mark.slow
def test_a_frozen_judge_is_the_policy_for_one_step(tmp_path):
    assert weights(tmp_path, "policy", 1) == weights(tmp_path, "start", 1)
    assert weights(tmp_path, "policy", 4) != weights(tmp_path, "start", 4)
