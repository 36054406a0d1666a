"""A recipe for answers of one turn, played where its problems are at home.

Recipes are written for `single_turn`, whatever the task is; a task whose problems are played elsewhere (a game, a corpus, a
page) brings its environment along. Leaves out: recipes with an environment of their own, which keep it.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.play import Env
from guerdon.core.recipe import Recipe
from guerdon.envs.at_home import home_of
from guerdon.envs.simple import single_turn


def move_home(recipe: Recipe, source: Any) -> None:
    """Have a recipe's problems played at home, in training and in its exams. Roles that the home has and the recipe does not
    are the policy's: it plays against itself."""
    home = home_of(source)
    if home is None:
        return
    for holder in (recipe, *recipe.exams):
        if type(holder.env) is single_turn:
            holder.env = home
    recipe.seats = {**{role: recipe.seats["policy"] for role in home.roles if "policy" in recipe.seats}, **recipe.seats}


def played_in(source: Any, env: Env | None) -> Env:
    """Where an exam's problems are played: as told, at home, or with one answer each."""
    return env or home_of(source) or single_turn()
