"""Rewards that models imply: PRIME's credit and models, by hand and against plain loops."""

from __future__ import annotations

import math
from statistics import fmean, stdev

import pytest
import torch
from small import small_lm
from watching import SMALL, TABLE, Watched

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.loop.build import RunRequest, build
from guerdon.models.frozen_copy import snapshot
from guerdon.models.without_adapter import base
from guerdon.recipes.process.prime.parts import only, return_over_others
from guerdon.recipes.process.second_models import begun, beside


@gd.part
class pairs_of_bits:
    """Prompts with a secret of two bits each."""

    name = "pairs of bits"

    def size(self, split):
        return 8

    def get(self, split, index):
        return gd.Task(str(index), f"secret {index}", f"{index % 4:02b}")

    def check(self, task, completion):
        return float(completion == task.answer)


def made(name, **knobs):
    settings = {**SMALL, **TABLE, "tabular.length": 2, **knobs}
    return build(RunRequest(name, pairs_of_bits(), "tabular", settings=settings)).recipe


# --- PRIME ---------------------------------------------------------------------------------------------------------


def returns_by_loops(rewards, groups):
    """The paper's sum over later tokens, less the mean over the other tries of their mean token; rewards try by try."""
    largest = max(abs(sum(each[t:])) for each in rewards for t in range(len(each)))
    rewards = [[r / largest for r in each] for each in rewards]
    answer = []
    for i, own in enumerate(rewards):
        others = [fmean(each) for j, each in enumerate(rewards) if groups[j] == groups[i] and j != i]
        answer += [[sum(r - fmean(others) for r in own[t:]) for t in range(len(own))]]
    return answer


def test_returns_of_token_rewards_are_the_papers_sums():
    torch.manual_seed(0)
    rewards = torch.randn(2 * 3 * 4, dtype=torch.float64)
    batch = example_tries([[0.0] * 3] * 2, steps=4).put("process_steps", "step", rewards)
    by_hand = returns_by_loops(rewards.reshape(6, 4).tolist(), [0, 0, 0, 1, 1, 1])
    computed = return_over_others()(batch, ExamplePlay())["process_return"].reshape(6, 4)
    torch.testing.assert_close(computed, torch.tensor(by_hand, dtype=torch.float64))


def test_a_try_without_token_rewards_is_in_no_mean_and_has_no_return():
    value = torch.tensor([1.0, 1.0, 5.0, math.nan, 2.0, 4.0])
    reason = torch.tensor([0, 0, 0, int(Reason.FAILED), 0, 0], dtype=torch.int8)
    batch = example_tries([[0.0] * 3], steps=2).with_cols({"process_steps": Column("step", value, reason)})
    computed = return_over_others(bounded=False)(batch, ExamplePlay()).cols["process_return"]
    assert computed.value[[0, 1, 4, 5]].tolist() == [-4.0, -2.0, 4.0, 3.0]  # 1 - 3 twice; 2 - 1 and 4 - 1
    assert computed.reason[3] == int(Reason.FAILED) and bool(computed.value[3].isnan())


def test_credit_for_some_tracks_leaves_the_others_on_record():
    batch = example_tries([[0.0, 1.0], [1.0, 1.0]], steps=2, advantage=[1.0] * 8)
    kept = only(gd.select.with_spread())(batch, ExamplePlay())
    assert kept.K == 4
    assert kept.cols["advantage"].reason.tolist() == [0] * 4 + [int(Reason.NOT_APPLICABLE)] * 4


@pytest.mark.parametrize("process", [1.0, 0.0])
def test_prime_learns_from_both_returns_of_the_problems_in_its_band(process):
    run = Watched(made("prime", process=process, prm_lr=0.3, tries=6), steps=2)
    batch, low, high = run.batches[-1], 0.2, 0.8
    correct, task = batch["correct"].tolist(), batch.task[batch.leaf].tolist()
    rates = {t: fmean(c for c, s in zip(correct, task, strict=True) if s == t) for t in task}
    tokens = batch["process_steps"].reshape(batch.K, -1).tolist()
    advantages = []
    for i, later in enumerate(returns_by_loops(tokens, task)):
        others = fmean(c for j, (c, s) in enumerate(zip(correct, task, strict=True)) if s == task[i] and j != i)
        kept = low <= rates[task[i]] <= high
        advantages += [correct[i] - others + process * g if kept else math.nan for g in later]
    valued = [a for a in advantages if a == a]
    assert 0 < len(valued) < len(advantages)
    by_hand = torch.tensor([(a - fmean(valued)) / stdev(valued) for a in advantages])
    torch.testing.assert_close(batch["advantage"], by_hand, rtol=1e-4, atol=1e-5, equal_nan=True)


def test_the_prm_of_prime_is_taught_before_it_is_read():
    run = Watched(made("prime", prm_lr=0.3), steps=1)
    batch, models = run.batches[0], run.recipe.models
    ratio = models["prm"].read(batch, ["logp"])["logp"] - models["reference"].read(batch, ["logp"])["logp"]
    torch.testing.assert_close(batch["process_steps"], 0.05 * ratio.detach(), rtol=1e-4, atol=1e-6)
    assert float(ratio.detach().abs().max()) > 0.1


def test_models_beside_each_other_share_what_their_adapters_leave_frozen(tmp_path):
    policy = small_lm(tmp_path)
    plain = beside(policy)
    assert next(plain.weights.parameters()) is not next(policy.weights.parameters())
    assert isinstance(begun("prm", policy), snapshot)
    policy.lora = 2
    models = {"policy": policy, "prm": beside(policy), "reference": begun("prm", policy)}
    assert isinstance(models["reference"], base)
    for model in models.values():
        model.start(0, models)
    own, other = (dict(models[name].weights.named_parameters()) for name in ("policy", "prm"))
    shared = [name for name in own if own[name] is other[name]]
    assert shared and not [name for name in own if ("adapter" in name) == (name in shared)]


def test_prime_refuses_nothing_that_grpo_takes_and_holds_three_models():
    recipe = made("prime", kl=0.1)
    assert list(recipe.models) == ["policy", "reference", "prm"]
    assert [term.mean for term in recipe.stages.learners[-1].loss.terms] == ["step", "step"]
