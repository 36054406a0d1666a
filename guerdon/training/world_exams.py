"""A policy's exam in an environment of Gymnasium's kind: whole episodes from held-out seeds.

Leaves out: problems in text (`api.evaluate`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.exam_result import ExamResult
from guerdon.core.model import Model
from guerdon.core.task import Sampling
from guerdon.exams.episode_statistics import episode_returns
from guerdon.exams.exam import Exam
from guerdon.models.standin import behind
from guerdon.runs.folder import RunFolder
from guerdon.training import api
from guerdon.training.catalog import find_recipe
from guerdon.training.trust import check_trust
from guerdon.worlds.lock_step import gym
from guerdon.worlds.sources import episodes

AT_ONCE = 8  # worlds side by side; changes no episode


def evaluate_in_world(
    model: Any,
    env: Any,
    reward: Any = None,
    *,
    tasks: int = 100,
    limit: int = 0,
    sampling: Sampling | None = None,
    seed: int = 0,
    trust: bool = False,
) -> ExamResult:
    """What a policy earns in `tasks` episodes from held-out seeds, at its likeliest actions unless `sampling` says so."""
    place, actor = gym(env, at_once=AT_ONCE, limit=limit, reward=reward), api.policy_of(model, trust)
    refuse_other_rows(model if isinstance(model, str) else "the model", actor, place)
    how = sampling or Sampling(temperature=0.0)
    exam = Exam(episodes(env), [episode_returns()], env=place, sampling=how, tasks=tasks, tries=1)
    return api.evaluate(actor, exam=exam, seed=seed, progress=False)


def refuse_other_rows(said: str, model: Model, place: gym) -> None:
    """Refuse a model that reads other rows than an environment shows, or acts otherwise than it takes."""
    actor: Any = behind(model)
    world = place.opened()
    if not hasattr(actor, "act_rows"):
        raise UserError(
            f"{said} is no actor of an environment: name a run of a recipe for control, such as ppo_control"
        )
    mine = (actor.row, tuple(actor.choices), actor.moves)
    if mine != (world.views.size, tuple(world.actions.choices), world.actions.moves):
        raise UserError(
            f"{said} reads {mine[0]} numbers and gives {_acts(actor)}; {place.name} shows {world.views.size} and takes"
            f" {_acts(world.actions)}"
        )


def _acts(actions: Any) -> str:
    return f"{actions.moves} numbers" if actions.moves else f"choices of {', '.join(map(str, actions.choices))}"


def own_world(model: Any, trust: bool = False) -> Mapping[str, Any] | None:
    """The environment and the reward that a run was trained in; None for what was not."""
    folder = RunFolder(model) if isinstance(model, str) else None
    if folder is None or not folder.exists():
        return None
    config = folder.read_config()
    settings = config["settings"] or {}
    if not config["plain"] or config["kind"] == "study" or (".py" in config["recipe"] and "env" not in settings):
        return None  # a recipe in a file is read for no less
    check_trust(model, config, trust, ["recipe", "env", "reward"] if ".py" in config["recipe"] else ["env", "reward"])
    knobs = find_recipe(config["recipe"]).knobs()
    if "env" not in knobs:
        return None
    return {"env": settings.get("env", knobs["env"]), "reward": config["wish"]["reward"]}
