"""Every loss of the shelf, and a batch that has what each of them needs. It needs no test tools, which a GPU box may lack."""

from __future__ import annotations

import dataclasses

import torch

from guerdon.core.batch import Pairs
from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.losses.critic import value
from guerdon.losses.distillation import distilled
from guerdon.losses.imitation import advantage_weighted, sft, step_values, weighed, whole_value
from guerdon.losses.pair import anchored, better_nll, dpo, list_ranking, odds_ratio
from guerdon.losses.penalties import entropy, kl
from guerdon.losses.policy import clipped, masked, reweighted, sampled, truncated
from guerdon.losses.reward_modelling import bradley_terry, discriminator, implicit_outcome, outcome, step_labels
from guerdon.losses.signs import by_sign
from guerdon.losses.terms import on
from guerdon.losses.unpaired import kto
from guerdon.recipes.curriculum.clpo.parts import eased_kl

TOP = 3

LOSSES = {
    "grpo": clipped(),
    "dapo": clipped(high=0.28, mean="step"),
    "dr_grpo": clipped(mean="constant", constant=7.0),
    "gspo": clipped(ratio="track"),
    "gspo, by step": clipped(ratio="track", mean="step"),
    "dual": clipped(dual=1.5),
    "bounded": clipped(old=sampled(bound=0.1)),
    "truncated": clipped(old=truncated(1.1)),
    "truncated, by track": clipped(old=truncated(1.1, level="track")),
    "masked": reweighted(old=masked(0.8, 1.2)),
    "masked, by track": clipped(ratio="track", old=masked(0.8, 1.2, level="track"), mean="constant"),
    "cispo": reweighted(high=0.2),
    "cispo, by track": reweighted(ratio="track", mean="track"),
    "bounds by step": clipped(low="tight", high="wide"),
    "bounds by turn": clipped(high="turn", mean="step"),
    "bounds by track": clipped(low="label", high="z", mean="constant"),
    "weights bounded by track": reweighted(high="z", low="tight"),
    "turns' advantages": clipped(advantage="turn"),
    "tracks' advantages": reweighted(advantage="z"),
    "awr, by track": advantage_weighted(advantage="z"),
    "weighed by step": weighed(clipped(), by="tight"),
    "weighed by turn": weighed(clipped(mean="step") + kl(0.1), by="turn"),
    "on rows of its own": on("policy", sft(), weight=0.5),
    "weighed by track": weighed(sft(mean="constant"), by="z"),
    "weighed by track, ratio too": weighed(clipped(ratio="track"), by="z"),
    "kto, weighed": weighed(kto(baseline="z"), by="z"),
    "outcome, weighed": weighed(outcome("label", kind="logistic"), by="z"),
    "by sign": by_sign(clipped(), positive=0.1),
    "kl": clipped() + kl(0.3) + kl(0.2, kind="k1") + kl(0.1, kind="k2") + entropy(0.1),
    "kl, corrected": kl(0.3, corrected=True),
    "kl, eased": eased_kl(0.3, column="label"),
    "value": value(),
    "value, clipped": value(clip=0.2, old="critic.value", mean="track"),
    "sft": sft(),
    "awr": advantage_weighted(most=2.0),
    "dpo": dpo(smoothing=0.1),
    "ipo": dpo(link="square", per="step"),
    "hinge": dpo(1.0, link="hinge"),
    "simpo": dpo(2.0, to="", per="step", margin=0.5, offset=0.3),
    "discopop": dpo(1.0, link="discopop"),
    "exo": dpo(1.0, link="reverse", smoothing=0.1),
    "robust": dpo(1.0, flips=0.2),
    **{form: anchored(form, beta=0.5) for form in ("apo_zero", "apo_down", "nca", "bco", "sppo")},
    "orpo": odds_ratio() + better_nll(),
    "lists": list_ranking(worth="z", adapt=0.0),
    "kto": kto(baseline="z"),
    "bradley_terry": bradley_terry(margin=0.5, centre=0.1, smoothing=0.1),
    "bradley_terry, scaled": bradley_terry(scaled=True),
    "outcome": outcome("label"),
    "outcome, logistic": outcome("label", kind="logistic"),
    "step labels": step_labels(good=0.5),
    "step values": step_values(),
    "outcome, degrees": whole_value("label", weight=0.5),
    "discriminator": discriminator("label"),
    "implicit outcome": implicit_outcome(0.5, target="label"),
    "forward": distilled(mix=0.0),
    "reverse": distilled(mix=1.0, rest="renormalise"),
    "jensen-shannon": distilled(mix=0.3, rest="drop", mean="track"),
}
STEP = {"reference.logp": -1.3, "policy.logp": -1.0, "advantage": 0.0, "return": 0.5, "critic.value": 0.4}
LIVE_STEP = {"logp": -1.0, "entropy": 1.0, "value": 0.5, "after": 0.0}


def draws(ep, size, seed, *tail):
    return torch.randn(size, *tail, generator=torch.Generator().manual_seed(1000 * seed + ep.attempt)).double()


def batch_of(eps):
    """The tries in any order, each with its own numbers; live readings stand among the columns as `live.*`."""
    batch = pack(eps)
    alone = [pack([ep]) for ep in eps]

    def col(level, seed, *tail, scale=0.3):
        return torch.cat([draws(ep, b.size(level), seed, *tail) * scale for ep, b in zip(eps, alone, strict=True)])

    step = {n: at + col("step", i) for i, (n, at) in enumerate(STEP.items())}
    step |= {f"live.{n}": at + col("step", 20 + i) for i, (n, at) in enumerate(LIVE_STEP.items())}
    step["labels"] = (col("step", 50) > 0).double() * 0.9
    step["teacher.top_token"] = torch.zeros(batch.S, TOP).double()
    step["teacher.top_logp"] = torch.log_softmax(col("step", 51, TOP + 1), 1)[:, :TOP]
    step["live.logp_at"] = torch.log_softmax(col("step", 52, TOP + 1), 1)[:, :TOP]
    step |= {"tight": col("step", 53).abs().clamp(max=0.9), "wide": col("step", 54).abs()}
    segment_ = {"turn": col("segment", 55).abs()}
    track = {"label": (col("track", 60) > 0).double(), "correct": (col("track", 61) > 0).double()}
    track |= {"z": 0.1 + col("track", 63).abs(), "live.final": col("track", 62)}
    levels = {"step": step, "segment": segment_, "track": track}
    cols = {n: Column.full(level, x) for level, named in levels.items() for n, x in named.items()}
    at = {ep.attempt: int(k) for k, ep in _first_track(batch, eps)}
    pairs = Pairs(
        torch.tensor([at[0], at[4], at[1], at[7]]),
        torch.tensor([at[1], at[5], at[2], at[6]]),
        torch.tensor([0.1, 0.5, 1.0, 0.0]).double(),
        torch.tensor([1.0, 0.7, 0.5, 1.0]).double(),
    )
    return dataclasses.replace(batch.with_cols(cols), pairs=pairs).recount()


def _first_track(batch, eps):
    home = batch.episode[batch.leaf]
    return [(int((home == e).nonzero()[0]), ep) for e, ep in enumerate(eps)]


def live_of(batch):
    return {n.removeprefix("live."): batch[n] for n in batch.cols if n.startswith("live.")}
