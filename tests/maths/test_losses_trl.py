"""Our losses against TRL's own code, called on the same random numbers.

TRL's trainers are made without their constructors, and what would run a model is replaced by the numbers it would give.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import warnings
from collections import defaultdict
from types import SimpleNamespace

import pytest
import torch
from strategies import episode, segment

from guerdon.core.batch import Pairs
from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.losses.distillation import distilled
from guerdon.losses.pair import anchored, aot, better_nll, dpo, odds_ratio
from guerdon.losses.penalties import kl
from guerdon.losses.policy import clipped, masked, reweighted, truncated
from guerdon.losses.reward_modelling import bradley_terry
from guerdon.losses.unpaired import kto

pytestmark = [
    pytest.mark.peers("trl"),
    pytest.mark.filterwarnings("ignore"),
]
LENGTHS = [3, 1, 5, 2, 4, 4]
WIDTH = max(LENGTHS)
MASK = torch.tensor([[float(t < n) for t in range(WIDTH)] for n in LENGTHS])
NEAR = 1e-5


def trl(where, name):
    """One of TRL's classes. It may not be installed for training: the experimental ones ask for no more than this."""
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(importlib.import_module(f"trl.{where}"), name)


def bare(cls, **fields):
    """A trainer without what its constructor needs: a model, a tokenizer, data."""
    made = object.__new__(cls)
    same = SimpleNamespace(
        device=torch.device("cpu"),
        num_processes=1,
        gather=lambda x: x,
        gather_for_metrics=lambda x: x,
        reduce=lambda x, reduction: x,
    )
    standing = {"model": SimpleNamespace(training=False), "accelerator": same, "aux_loss_enabled": False}
    standing |= {"_metrics": {"train": defaultdict(list), "eval": defaultdict(list)}, "_total_train_tokens": 0}
    for key, value in {**standing, **fields}.items():
        object.__setattr__(made, key, value)
    return made


def draw(seed, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def grid(seed, at=-1.0, scale=0.4):
    """[B, T] numbers for every token, padding included."""
    return at + scale * draw(seed, len(LENGTHS), WIDTH)


def flat(x):
    return x[MASK.bool()]


def batch_of(logp=None, **cols):
    rows = logp if logp is not None else grid(0)
    eps = [episode(segment([0] * n, logp=rows[i, :n].numpy()), attempt=i) for i, n in enumerate(LENGTHS)]
    made = {n: Column.full("step" if x.dim() > 1 else "track", flat(x) if x.dim() > 1 else x) for n, x in cols.items()}
    return dataclasses.replace(pack(eps), logp=flat(rows)).with_cols(made)


# --- GRPO and its variants ------------------------------------------------------------------------------------------------


def grpo(loss_type, level="token", low=0.2, high=0.2, delta=None, beta=0.0, ratio=None, corrected=False):
    """TRL's loss and its gradient with respect to the log-probs."""
    logp = grid(1).requires_grad_()
    trainer = bare(
        trl("trainer.grpo_trainer", "GRPOTrainer"),
        loss_type=loss_type,
        importance_sampling_level=level,
        epsilon_low=low,
        epsilon_high=high,
        beta=beta,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm=ratio is not None,
        vllm_importance_sampling_correction=True,
        max_completion_length=WIDTH,
        current_gradient_accumulation_steps=1,
        _entropy_bonus_enabled=False,
        args=SimpleNamespace(delta=delta, use_bias_correction_kl=corrected, steps_per_generation=1),
        _get_per_token_logps_and_entropies=lambda *a, **k: (logp, torch.zeros_like(logp), None),
    )
    ones = torch.ones(len(LENGTHS), 1)
    inputs = {
        "prompt_ids": ones,
        "prompt_mask": ones,
        "completion_ids": MASK,
        "completion_mask": MASK,
        "advantages": draw(3, len(LENGTHS)),
        "old_per_token_logps": grid(0),
        "ref_per_token_logps": grid(2),
        "num_items_in_batch": MASK.sum(),
        "importance_sampling_ratio": ratio,
    }
    loss = trainer._compute_loss(None, inputs)
    loss.backward()
    return loss, flat(logp.grad)


def ours(loss, **cols):
    logp = flat(grid(1)).requires_grad_()
    advantage = draw(3, len(LENGTHS))[:, None].expand(-1, WIDTH)
    batch = batch_of(advantage=advantage, **{"reference.logp": grid(2)}, **cols)
    found, _ = loss(batch, {"logp": logp, "entropy": torch.zeros_like(logp)})
    found.backward()
    return found, logp.grad


def assert_same(mine, theirs):
    assert float(mine[0].detach()) == pytest.approx(float(theirs[0].detach()), rel=NEAR, abs=NEAR)
    torch.testing.assert_close(mine[1], theirs[1], rtol=NEAR, atol=NEAR)
    assert mine[1].abs().max() > 1e-3


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (clipped(), {"loss_type": "grpo"}),
        (clipped(low=0.1, high=0.3), {"loss_type": "grpo", "low": 0.1, "high": 0.3}),
        (clipped(mean="step"), {"loss_type": "bnpo"}),
        (clipped(mean="step", high=0.28), {"loss_type": "dapo", "high": 0.28}),
        (clipped(mean="constant", constant=float(WIDTH)), {"loss_type": "dr_grpo"}),
        (
            clipped(ratio="track", low=0.1, high=0.1),
            {"loss_type": "grpo", "level": "sequence", "low": 0.1, "high": 0.1},
        ),
        (clipped(ratio="track", mean="step"), {"loss_type": "dapo", "level": "sequence"}),
        (clipped(dual=1.5), {"loss_type": "grpo", "delta": 1.5}),
        (reweighted(high=0.3), {"loss_type": "cispo", "high": 1.3}),
        (reweighted(high=0.1, ratio="track"), {"loss_type": "cispo", "high": 1.1, "level": "sequence"}),
        (clipped() + kl(0.04), {"loss_type": "grpo", "beta": 0.04}),
        (clipped() + kl(0.3, corrected=True), {"loss_type": "grpo", "beta": 0.3, "corrected": True}),
        (clipped(mean="step") + kl(0.1, mean="step"), {"loss_type": "dapo", "beta": 0.1}),
    ],
    ids=str,
)
def test_policy_losses(mine, theirs):
    assert_same(ours(mine), grpo(**theirs))


@pytest.mark.parametrize("level", ["step", "track"])
@pytest.mark.parametrize("kind", [truncated, masked])
def test_the_samplers_correction_is_applied_as_theirs(kind, level):
    """TRL makes the ratio while it generates; here its rule is applied to our numbers, and its loss to the outcome."""
    drawn = grid(4, at=0.0) * 0.5 + grid(0)  # what was sampled with; grid(0) is what the learner read before the update
    gap = ((grid(0) - drawn) * MASK).sum(1, keepdim=True) if level == "track" else (grid(0) - drawn) * MASK
    ratio = torch.exp(gap)
    high, low = 1.2, 0.7
    theirs = ratio.clamp(max=high) if kind is truncated else ratio.masked_fill((ratio < low) | (ratio > high), 0.0)
    part = truncated(high, level=level) if kind is truncated else masked(low, high, level=level)
    logp = flat(grid(1)).requires_grad_()
    advantage = draw(3, len(LENGTHS))[:, None].expand(-1, WIDTH)
    batch = batch_of(drawn, advantage=advantage, **{"policy.logp": grid(0)})
    found, _ = clipped(old=part)(batch, {"logp": logp, "entropy": torch.zeros_like(logp)})
    found.backward()
    assert_same((found, logp.grad), grpo("grpo", ratio=theirs))


# --- preferences ------------------------------------------------------------------------------------------------------------


def paired(*, label=None, margin=None, **cols):
    """The first half against the second."""
    half = len(LENGTHS) // 2
    pairs = Pairs.of(torch.arange(half), torch.arange(half) + half, margin, label)
    return dataclasses.replace(batch_of(**cols), pairs=pairs).recount()


def trl_dpo(loss_type, beta, smoothing=0.0):
    logp = grid(1).requires_grad_()
    outputs = SimpleNamespace(
        log_probs=logp * MASK,
        entropy=torch.zeros_like(logp),
        mean_logits=torch.zeros_like(logp),
        is_top1=torch.zeros(logp.shape, dtype=torch.bool),
    )
    trainer = bare(
        trl("trainer.dpo_trainer", "DPOTrainer"),
        ld_alpha=None,
        precompute_ref_logps=True,
        f_divergence_type="reverse_kl",
        loss_types=[loss_type],
        loss_weights=[1.0],
        beta=beta,
        label_smoothing=smoothing,
        use_weighting=False,
        args=SimpleNamespace(discopop_tau=0.05),
    )
    shifted = torch.cat([torch.zeros(len(LENGTHS), 1), MASK], 1).long()
    reference = (grid(2) * MASK).sum(1).chunk(2)
    inputs = {"input_ids": shifted, "attention_mask": shifted, "completion_mask": shifted}
    inputs |= {"ref_chosen_logps": reference[0], "ref_rejected_logps": reference[1]}
    loss = trainer._compute_loss(lambda **k: outputs, inputs, False)
    loss.backward()
    return loss, flat(logp.grad)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (dpo(0.3), ("sigmoid", 0.3)),
        (dpo(0.3, per="step"), ("sigmoid_norm", 0.3)),
        (dpo(0.3, link="hinge"), ("hinge", 0.3)),
        (dpo(0.3, link="square", per="step"), ("ipo", 0.3)),
        (dpo(0.3, link="discopop"), ("discopop", 0.3)),
        (dpo(0.3, link="reverse", smoothing=0.1), ("exo_pair", 0.3, 0.1)),
        (dpo(0.3, flips=0.1), ("robust", 0.3, 0.1)),
        (anchored("apo_zero", beta=0.3), ("apo_zero", 0.3)),
        (anchored("apo_down", beta=0.3), ("apo_down", 0.3)),
        (anchored("nca", beta=0.3), ("nca_pair", 0.3)),
        (anchored("bco", beta=0.3), ("bco_pair", 0.3)),
        (anchored("sppo", beta=0.3), ("sppo_hard", 0.3)),
        (aot(0.3), ("aot", 0.3)),
        (aot(0.3, smoothing=0.1), ("aot", 0.3, 0.1)),
        (aot(0.3, "unpaired"), ("aot_unpaired", 0.3)),
        (aot(0.3, "unpaired", smoothing=0.1), ("aot_unpaired", 0.3, 0.1)),
    ],
    ids=str,
)
def test_losses_over_pairs(mine, theirs):
    logp = flat(grid(1)).requires_grad_()
    found, _ = mine(paired(**{"reference.logp": grid(2)}), {"logp": logp})
    found.backward()
    assert_same((found, logp.grad), trl_dpo(*theirs))


@pytest.mark.parametrize(
    ("mine", "loss_type", "beta"),
    [
        (dpo(0.3, to="") + better_nll(0.5), "sigmoid", 0.3),
        (dpo(0.3, to="", link="hinge") + better_nll(0.5), "hinge", 0.3),
        (dpo(0.3, to="", link="square", per="step") + better_nll(0.5), "ipo", 0.3),
    ],
    ids=str,
)
def test_cpo(mine, loss_type, beta):
    trainer = bare(
        trl("experimental.cpo.cpo_trainer", "CPOTrainer"),
        alpha=0.0,
        loss_type=loss_type,
        beta=beta,
        label_smoothing=0.0,
    )
    logp = grid(1).requires_grad_()
    whole = (logp * MASK).sum(1)
    means = whole / MASK.sum(1)
    given = (means if loss_type == "ipo" else whole).chunk(2)
    theirs = trainer.cpo_loss(*given)[0].mean() - 0.5 * means.chunk(2)[0].mean()  # each better one counts the same
    theirs.backward()
    found_at = flat(grid(1)).requires_grad_()
    found, _ = mine(paired(), {"logp": found_at})
    found.backward()
    assert_same((found, found_at.grad), (theirs, flat(logp.grad)))


@pytest.mark.parametrize(("smoothing", "alpha"), [(0.0, 0.0), (0.1, 0.0), (0.0, 0.25), (0.1, -0.5)])
def test_simpo_and_its_smoothing_and_alphapo(smoothing, alpha):
    trainer = bare(
        trl("experimental.cpo.cpo_trainer", "CPOTrainer"),
        alpha=alpha,
        loss_type="simpo",
        simpo_gamma=0.5,
        beta=2.0,
        label_smoothing=smoothing,
    )
    logp = grid(1).requires_grad_()
    means = ((logp * MASK).sum(1) / MASK.sum(1)).chunk(2)
    theirs = trainer.cpo_loss(*means)[0].mean()
    theirs.backward()
    mine = flat(grid(1)).requires_grad_()
    found, _ = dpo(2.0, to="", per="step", margin=0.5, smoothing=smoothing, curve=alpha)(paired(), {"logp": mine})
    found.backward()
    assert_same((found, mine.grad), (theirs, flat(logp.grad)))


def test_orpo():
    trainer = bare(trl("experimental.orpo.orpo_trainer", "ORPOTrainer"), beta=0.1)
    logp = (grid(1) - 0.5).requires_grad_()
    means = ((logp * MASK).sum(1) / MASK.sum(1)).chunk(2)
    theirs = -trainer.odds_ratio_loss(*means)[0].mean() - means[0].mean()  # the second: each better one counts the same
    theirs.backward()
    mine = flat(grid(1) - 0.5).requires_grad_()
    found, _ = (odds_ratio(0.1) + better_nll())(paired(), {"logp": mine})
    found.backward()
    assert_same((found, mine.grad), (theirs, flat(logp.grad)))


@pytest.mark.parametrize(("start", "loss_type"), [(0.0, "kto"), (0.6, "kto"), (0.0, "apo_zero_unpaired")])
def test_kto(start, loss_type):
    good = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0, 0.0]).double()
    logp = grid(1).requires_grad_()
    outputs = SimpleNamespace(log_probs=logp * MASK, entropy=torch.zeros_like(logp), mean_logits=torch.zeros_like(logp))
    trainer = bare(
        trl("trainer.kto_trainer", "KTOTrainer"),
        calculate_KL=True,
        precompute_ref_logps=True,
        loss_type=loss_type,
        beta=0.3,
        desirable_weight=1.2,
        undesirable_weight=0.8,
        _compute_kl_logps=lambda model, batch: torch.full((6,), start).double(),
    )
    shifted = torch.cat([torch.zeros(len(LENGTHS), 1), MASK], 1).long()
    inputs = {"input_ids": shifted, "attention_mask": shifted, "completion_mask": shifted, "label": good.bool()}
    inputs |= {"ref_logps": (grid(2) * MASK).sum(1), "ref_KL_logps": torch.zeros(6).double()}
    theirs = trainer._compute_loss(lambda **k: outputs, inputs, False)
    theirs.backward()
    mine = flat(grid(1)).requires_grad_()
    batch = batch_of(correct=good, z=torch.full((6,), start).double(), **{"reference.logp": grid(2)})
    found, _ = kto(0.3, good=1.2, bad=0.8, baseline="z" if loss_type == "kto" else "")(batch, {"logp": mine})
    found.backward()
    assert_same((found, mine.grad), (theirs, flat(logp.grad)))


@pytest.mark.parametrize("with_margin", [False, True])
@pytest.mark.parametrize("centre", [None, 0.05])
def test_reward_model(with_margin, centre):
    score, margin = draw(5, 6).requires_grad_(), draw(6, 3).abs()
    args = SimpleNamespace(center_rewards_coefficient=centre)
    trainer = bare(trl("trainer.reward_trainer", "RewardTrainer"), args=args)
    inputs = {"margin": margin} if with_margin else {}
    theirs = trainer.compute_loss(lambda **k: SimpleNamespace(logits=score[:, None]), inputs)
    theirs.backward()
    mine = draw(5, 6).requires_grad_()
    loss = bradley_terry(margin=float(with_margin), centre=centre or 0.0)
    found, metrics = loss(paired(margin=margin), {"final": mine})
    found.backward()
    assert_same((found, mine.grad), (theirs, score.grad))
    assert float(metrics["accuracy"]) == pytest.approx(trainer._metrics["eval"]["accuracy"][0])


# --- distillation -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mix", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("rest", ["drop", "renormalise"])
def test_distillation_from_every_token(mix, rest):
    vocabulary = 7
    logits = draw(7, len(LENGTHS), WIDTH, vocabulary).requires_grad_()
    teacher = draw(8, len(LENGTHS), WIDTH, vocabulary)
    labels = torch.where(MASK.bool(), 1, -100)
    theirs = trl("experimental.gkd.gkd_trainer", "GKDTrainer").generalized_jsd_loss(logits, teacher, labels, beta=mix)
    theirs.backward()
    mine = draw(7, len(LENGTHS), WIDTH, vocabulary).requires_grad_()
    token = torch.arange(vocabulary).double().expand(len(LENGTHS), WIDTH, -1)
    batch = batch_of().with_cols(
        {
            "teacher.top_token": Column.full("step", flat(token)),
            "teacher.top_logp": Column.full("step", flat(teacher.log_softmax(-1))),
        }
    )
    found, _ = distilled(mix=mix, rest=rest)(batch, {"logp_at": flat(mine.log_softmax(-1))})
    found.backward()
    assert_same((found, flat(mine.grad)), (theirs, flat(logits.grad)))
