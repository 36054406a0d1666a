"""Guerdon's GRPO as one arm of the benchmark: `python -m bench.guerdon_arm --config cpu --model DIR --steps 4`.

The recipe as it ships, in the loop of `guerdon.training.loop.steps` with a lap of the clock after each of its parts, events
and metrics written to a run folder as always. Left out, as in the other arm: evaluations, checkpoints, stored rollouts.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.arm import Job, parse
from bench.clock import Clock, Report, peak_bytes
from bench.configs import GRADIENT_CLIP, LEARNING_RATE, RATIO_CLIP, SEED
from bench.problems import Listed, digest, digit_share, texts
from guerdon import models
from guerdon.core.batch import Batch
from guerdon.core.model import Model
from guerdon.core.pack import pack
from guerdon.core.recipe import Recipe
from guerdon.core.seeds import seed_globals
from guerdon.engine.player import Player
from guerdon.recipes.house.grpo import grpo
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.training.host import undisturbed
from guerdon.training.loop import start
from guerdon.training.readings import fill_needs
from guerdon.training.record import Options, Recorder


def policy(job: Job) -> Model:
    model = models.load(job.model, dtype=job.config.dtype)
    model.weights.to(job.config.device)
    model.chat.ends = ()  # type: ignore[attr-defined]  # nothing ends a turn: every completion has the length asked for
    return model


def composed(job: Job) -> Recipe:
    config = job.config
    prompts = Listed(texts(config, config.prompts * (job.warmup + job.steps)))
    made = grpo.build(
        {"task": prompts, "model": policy(job), "reward": digit_share},
        {
            "prompts": config.prompts,
            "tries": config.tries,
            "lr": LEARNING_RATE,
            "clip": RATIO_CLIP,
            "kl": 0.0,
            "temperature": 1.0,
            "max_tokens": config.new_tokens,
            "learn.clip": GRADIENT_CLIP,
        },
    )
    assert isinstance(made, Recipe)
    return made


def timed_step(recipe: Recipe, play: Player, record: Recorder, clock: Clock, step: int) -> Batch:
    """One turn of `guerdon.training.loop.steps`. The last stage of the recipe is the learner."""
    record.begin(step)
    seed_globals(play.seed, step)
    asks = recipe.curriculum.draw(recipe.prompts, play)
    clock.lap("other")
    episodes = play.played(asks)
    clock.lap("generate")
    batch = record.check(pack(episodes))
    *scoring, learner = recipe.stages
    for stage in scoring:
        batch = record.check(stage(fill_needs(batch, stage.needs, play), play), stage)
    clock.lap("score")
    batch = learner(fill_needs(batch, learner.needs, play), play)
    clock.lap("learn")
    record.done(batch)
    clock.lap("other")
    clock.end_step()
    return batch


def run(job: Job) -> Report:
    total = job.warmup + job.steps
    recipe, play = start(composed(job), SEED, total)
    clock = Clock(job.config.device)
    tokens: list[int] = []
    rewards: list[float] = []
    prompts: list[list[int]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        EventLog(Path(folder) / "events.jsonl", 1) as log,
        undisturbed(recipe.models.values()),
    ):
        record = Recorder(RunFolder(folder), log, Options(rollouts_every=0), play)
        for step in range(total):
            clock.restart()
            batch = timed_step(recipe, play, record, clock, step)
            tokens.append(play.tokens)
            rewards.append(float(batch.cols["reward"].value.mean()))
            prompts += [episode.segments[0].context.tolist() for episode in batch.episodes]
    return Report(
        arm="guerdon",
        steps=clock.steps[job.warmup :],
        warmup=clock.steps[: job.warmup],
        tokens=job.checked_tokens(tokens),
        prompt_tokens=sum(map(len, prompts)) / len(prompts),
        prompts=digest(prompts),
        reward=rewards,
        peak_bytes=peak_bytes(job.config.device),
    )


if __name__ == "__main__":
    run(parse()).print()
