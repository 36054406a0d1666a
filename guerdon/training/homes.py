"""A recipe for answers of one turn, played where its problems are at home.

Recipes are written for `single_turn`, whatever the task is; a task whose problems are played elsewhere (a game, a corpus, a
page) brings its environment along. Leaves out: recipes with an environment of their own, which keep it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from guerdon.core.episode import Episode
from guerdon.core.model import Model
from guerdon.core.part import walk
from guerdon.core.play import Env
from guerdon.core.recipe import Recipe
from guerdon.core.task import Ask, Sampling, Split, TaskSource
from guerdon.engine.player import Player
from guerdon.envs.default_envs import default_env, demonstrated
from guerdon.envs.simple import dataset_env, single_turn
from guerdon.models.scripted_model import scripted


def move_home(recipe: Recipe, source: Any) -> None:
    """Have a recipe's problems played at home, in training and in its exams. What was to be recited in one turn is shown there
    turn by turn. Roles that the home has and the recipe does not are the policy's: it plays against itself."""
    home = default_env(source)
    if home is None:
        return
    for holder in (recipe, *recipe.exams):
        if type(holder.env) is single_turn:
            holder.env = home
        elif isinstance(holder.env, single_turn | dataset_env):  # one that teacher-forces the solution
            holder.env = demonstrated(home)
    recipe.seats = {**{role: recipe.seats["policy"] for role in home.roles if "policy" in recipe.seats}, **recipe.seats}


def bring_home(recipe: Recipe) -> None:
    """Move a recipe that was made by calling its entry, `grpo(task, model)`, as `move_home` does one made by name. One whose
    environment was set since, or that draws other problems than those of that task, stays where it is."""
    source, env = recipe.called or (None, None)
    drawn = [member for _, member in walk(recipe.curriculum) if isinstance(member, TaskSource)]
    if env is recipe.env and (not drawn or any(member is source for member in drawn)):
        move_home(recipe, source)


def played_in(source: Any, env: Env | None) -> Env:
    """Where an exam's problems are played: the given environment, the default one, or one answer each."""
    return env or default_env(source) or single_turn()


def demonstration(source: Any, index: int = 0, split: Split = "test", env: Env | None = None) -> Episode:
    """An oracle's solution of a problem, in the source's default environment if it has one, or in `env`. To inspect, with
    `gd.transcript`.

    Args:
        source: where the problem comes from.
        index: which problem.
        split: "train" or "test".
        env: environment in place of the default one.

    >>> import guerdon as gd
    >>> print(gd.transcript(gd.demonstration(gd.tasks.load("chain:1"), split="train")))
    chain/chain 4 *4 *5
      │ chain 4 *4 *5
    policy:
      4*4=16
      16*5=80
      = 80
    """
    home, task = env or default_env(source), source.get(split, index)
    solve = getattr(source, "solution", None)
    if home is None and solve is not None:
        task = dataclasses.replace(task, answer=str(solve(task)))
    shown: Any = dataset_env() if home is None else demonstrated(home)
    models: dict[str, Model] = {role: scripted(silent) for role in shown.roles}
    for model in models.values():
        model.start(0, models)
    return Player(models, {role: role for role in models}, shown, Sampling(max_tokens=1 << 20), 0, 1)([Ask(task)])[0]


def silent(view: Any, past: Any, seed: int) -> str:
    """The script of a role that is teacher-forced."""
    return ""
