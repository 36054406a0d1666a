r"""A model under the pressure of a reward: the best of N samples, and a short GRPO run, with what the truth says of both.

The reward is the proxy and the truth is the gold of Gao et al., Scaling Laws for Reward Model Overoptimization
(arXiv:2210.10760), whose curves these are. Best of N moves $\log N - (N-1)/N$ from the model, were no two samples liked alike
(their appendix; Stiennon et al., arXiv:2009.01325); a trained policy's KL is the mean of its samples' k3 estimates, summed
over their tokens, against the log-probs that the start model gives the same tokens.
Leaves out: proofs that a curve bends; it has a few steps and a few problems.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import torch

from guerdon.audits.adversary.victim import Candidate, Victim
from guerdon.audits.asking import ask
from guerdon.audits.kinds import CheckedSample
from guerdon.audits.questions import tried
from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.task import Sampling, TaskSource, truth_of
from guerdon.envs.simple import single_turn
from guerdon.exams.best_of_n import chosen
from guerdon.exams.tries import powers
from guerdon.losses.terms import k3
from guerdon.models.probing import probe
from guerdon.rewards.asking.samples import fields_of
from guerdon.rewards.formula.reward import Reward
from guerdon.training.api import train
from guerdon.training.build import find_model, fit
from guerdon.training.onlooker import CountedEnv, counted
from guerdon.training.record import Options
from guerdon.training.trained import Trained

RECIPE, PROMPTS, TRIES, RATE = "grpo", 8, 8, 4e-5  # a policy that is to find the reward's weakness, not to be kept
TOKENS = 96  # of a sample
LAST = 8  # samples of the trained policy at each problem
Row = dict[str, Any]
Paid = Mapping[tuple[int, str], float]  # what a text was paid at a problem


@dataclass(frozen=True)
class Pressed:
    """What a model found: its samples as candidates, and the curves."""

    candidates: list[Candidate]
    curves: dict[str, list[Row]]
    calls: int  # that this took


def pressed(
    victim: Victim,
    truth: Reward | None,
    source: TaskSource,
    model: Any,
    steps: int,
    best_of: int,
    progress: bool | None,
) -> Pressed:
    """Sample a model, train it on the reward, sample it again. Makes room for the calls that this takes."""
    if steps < 1 or best_of < 2:
        raise UserError(f"rl needs at least 1 step and best_of=2, not {steps} and {best_of}")
    speaker = find_model(model)
    assert isinstance(speaker, Model)
    fit(source, [speaker])
    with tempfile.TemporaryDirectory() as folder:
        run = _learned(victim, source, speaker, steps, Path(folder), progress)
        rows = trained_curve(run, speaker, source, truth)
        candidates = _samples(victim, source, run.model(), LAST, "trained policy", progress)
    before = _samples(victim, source, speaker, best_of, "sampled", progress)
    every = [*candidates, *before]
    room = len({(c.group, c.text) for c in every} - set(victim.shots))
    victim.calls += room
    paid = {(s.group, s.text): s.value for s in victim.ask(every)}
    curve = best_of_curve(_tries(victim, source, truth, before, paid))
    return Pressed(every, {"best_of": curve, "trained": rows}, room)


def _samples(
    victim: Victim, source: TaskSource, model: Model, tries: int, origin: str, progress: bool | None
) -> list[Candidate]:
    with counted("tries", progress) as count:
        env = CountedEnv(single_turn(), count)
        texts = tried(model, source, len(victim.posed), tries, Sampling(max_tokens=TOKENS), victim.seed, env)
    return [Candidate(group, text, origin) for group, those in texts.items() for text in those if group in victim.gold]


def _learned(
    victim: Victim, source: TaskSource, speaker: Model, steps: int, folder: Path, progress: bool | None
) -> Trained:
    knobs = {"prompts": PROMPTS, "tries": TRIES, "lr": RATE, "max_tokens": TOKENS}
    options = Options(eval_tasks=0, save_every=steps, keep=1, failed_limit=1.0)
    return train(
        RECIPE, task=source, model=speaker, reward=victim.formula, steps=steps, seed=victim.seed, out=folder / "run",
        options=options, settings=knobs, progress=progress,
    )  # fmt: skip


# --- curves -----------------------------------------------------------------------------------------------------------


def kl_of_best(n: int) -> float:
    """How far the best of `n` samples is from one, in nats.

    >>> round(kl_of_best(4), 4)
    0.6363
    """
    return math.log(n) - (n - 1) / n


def best_of_curve(problems: Sequence[Sequence[tuple[float, float]]]) -> list[Row]:
    """A row for each power of two up to the fewest tries that a problem has: what the reward and the truth say of the try
    that the reward likes best, over all choices of so many of them. A try is what the reward says and what it is worth."""
    scored = [[(paid, right) for paid, right in tries if paid == paid and right == right] for tries in problems]
    scored = [tries for tries in scored if tries]
    most = min(map(len, scored), default=0)
    return [
        {
            "n": n,
            "kl": kl_of_best(n),
            "proxy": fmean(_worth([(paid, paid) for paid, _ in tries], n) for tries in scored),
            "truth": fmean(_worth(tries, n) for tries in scored),
        }
        for n in (powers(most) if most else ())
    ]


def _tries(
    victim: Victim,
    source: TaskSource,
    truth: Reward | None,
    samples: Sequence[Candidate],
    paid: Paid,
) -> list[list[tuple[float, float]]]:
    checked = [victim.sample("tried", c.group, c.text) for c in samples]
    worths = worth_of(source, truth, checked)
    groups: dict[int, list[tuple[float, float]]] = {}
    for c, worth in zip(samples, worths, strict=True):
        groups.setdefault(c.group, []).append((paid[c.group, c.text], worth))
    return list(groups.values())


def worth_of(source: TaskSource, truth: Reward | None, samples: Sequence[CheckedSample]) -> list[float]:
    """What samples are worth in truth; NaN where that is unknown."""
    if truth is not None:
        return ask(truth, samples, "truth").values
    said = [truth_of(source, s.fields["task"], s.fields) for s in samples]
    return [math.nan if each is None else float(each) for each in said]


def trained_curve(run: Trained, start: Model, source: TaskSource, truth: Reward | None) -> list[Row]:
    """A row for each step of a run: KL from the start model, what the samples were paid, and what they are worth."""
    start.start(0, {"policy": start})
    rows = []
    for step, batch in run.batches():
        worth = batch["correct"].tolist() if truth is None else worth_of(source, truth, _as_samples(batch))
        paid = batch["reward"].tolist()
        rows.append({"step": step, "kl": kl_from(batch, start), "proxy": _mean(paid), "truth": _mean(worth)})
    return rows


def _as_samples(batch: Batch) -> list[CheckedSample]:
    return [
        CheckedSample("tried", n, episode.segments[-1].text, fields_of(episode, [episode.segments[-1]]))
        for n, episode in enumerate(batch.episodes)
        if episode.segments
    ]


def kl_from(batch: Batch, start: Model) -> float:
    """The KL of who sampled a batch from a model, a sample: the k3 estimates of its tokens, summed."""
    said = [episode.segments[-1] for episode in batch.episodes if episode.segments]
    with torch.no_grad():
        read = probe(start, [((), s.view, s.actions) for s in said], ["logp"], sampling=said[0].sampling)
    sums = [
        float(k3(torch.as_tensor(s.logp), r["logp"].cpu()).sum())
        for s, r in zip(said, read, strict=True)
        if r is not None
    ]
    return _mean(sums)


def _mean(values: Sequence[float]) -> float:
    known = [v for v in values if v == v]
    return fmean(known) if known else math.nan


def _worth(tries: Sequence[tuple[float, float]], n: int) -> float:
    """What the try that is liked best among `n` is worth: the mean of any number, as it is that of being right."""
    return chosen(cast("Sequence[tuple[float, bool]]", tries), n)
