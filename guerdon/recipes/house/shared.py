"""What the house recipes have in common: how tries are made and scored, and which models a composition needs. No recipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe
from guerdon.core.task import Sampling
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.losses.penalties import kl as divergence
from guerdon.models.frozen_copy import snapshot
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.formula.reward import Reward, as_reward
from guerdon.rewards.stage.score_stages import checker, score, verified
from guerdon.rewards.text.message_checks import note_score
from guerdon.select.pairs import paired


def scored(task: Any, reward: Any) -> list[Any]:
    """The stages that score tries: the truth always, which is what accuracy is made of, and the reward where one is given.
    The last of them gives what is learned from."""
    return [verified(task), *([score(reward)] if reward is not None else [])]


def worth(source: Any, reward: Any) -> Reward:
    """What a try is worth, as a reward that others can be added to: the one given, or the task's own verdict."""
    return checker(source) if reward is None else as_reward(reward)


def chosen(reward: Any) -> Reward | None:
    """A reward that a knob names (FILE.py:NAME, one on the shelf, a trained one's folder), or as it is; None for ""."""
    return None if reward == "" else as_reward(find_reward(reward) if isinstance(reward, str) else reward)


def forbidden_words() -> Reward:
    """Of a note of `notes`, the share of forbidden words that it does not use."""
    return note_score({"facts": 0.0, "tone": 0.0, "length": 0.0, "words": 1.0})


def paid_by(base: Recipe, reward: Any) -> Recipe:
    """The recipe with another reward than the one it was given, where it was given any. The truth is scored as before."""
    (truth, *_), (credit,) = base.stages.scores, base.stages.credit
    credit.reward = "reward"
    base.stages = [truth, score(reward), credit, *base.stages.learners]
    return base


def ranked_by(base: Recipe, reward: Any) -> Recipe:
    """A recipe of pairs, as `online_dpo` is, with another reward than the one it was given. The truth is scored as before."""
    truth, (pairs,) = base.stages.scores[0], [stage for stage in base.stages if isinstance(stage, paired)]
    pairs.column = "reward"
    base.stages = [truth, score(reward), pairs, *base.stages.learners]
    return base


def paid(stages: Sequence[Any]) -> str:
    """The column of what is learned from: the first one that the last scoring stage gives."""
    return str(stages[-1].gives[0])


def learn(loss: Any, lr: float, kl: float = 0.0, updates: int = 1, on: Any = None) -> Learn:
    """The policy's learner. `kl` adds the k3 estimate of the divergence from the start model to the loss, averaged as the
    loss is."""
    if kl:
        loss = loss + divergence(kl, mean=loss.mean, constant=loss.constant)
    return Learn("policy", loss, on=on, opt=adam(lr=lr), updates=updates)


def loss_and_penalties(learner: Learn) -> tuple[Any, list[Any]]:
    """A learner's policy loss, and the terms that stand beside it where `kl` is not 0."""
    first, *others = getattr(learner.loss, "terms", [learner.loss])
    return first, others


def on_policy(
    task: Any,
    model: Model,
    stages: Sequence[Any],
    *,
    prompts: int,
    tries: int,
    temperature: float,
    max_tokens: int,
    steps: int,
) -> Recipe:
    """`tries` answers of one turn to each of `prompts` problems a step, and what is done with them. The start model is kept
    as `reference` where a stage reads it."""
    is_held = any("reference.logp" in stage.needs for stage in stages)
    return Recipe(
        models={"policy": model, "reference": snapshot("policy")} if is_held else {"policy": model},
        curriculum=uniform(task, tries=tries),
        env=single_turn(),
        stages=list(stages),
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
        exams=[Exam(task)],
        prompts=prompts,
        steps=steps,
    )
