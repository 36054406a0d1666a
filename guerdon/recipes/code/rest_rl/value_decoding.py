"""The second stage of ReST-RL: a value model taught on what a tree search finds, and decoding by it; or by an outcome model.

Leaves out: the first stage (`recipe.py`).
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe
from guerdon.curricula.plain import uniform
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy, tokens_spent
from guerdon.losses.imitation import step_values, whole_value
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.code.rest_rl.parts import best_whole, tree_values
from guerdon.recipes.house.heads import with_head
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.rewards.text.programs import tests_passed
from guerdon.search.step_scorers import monte_carlo_scorer, value_scorer
from guerdon.search.uct import mcts

EXPLORE = 0.2  # the released constant
BRANCH = 3  # the released search samples 5
GROWN, DECODED = 6, 12  # simulations to learn from and to decode by; the released search has 100 of both
WHOLE = 6  # whole programs that cost about as many tokens as the search that decodes


def taught_values(base: Recipe, task: Any, model: Model, by: Literal["lines", "outcome"], lr: float) -> Recipe:
    """A model `vm` that says what a program will come to, after each of its lines or at its end, taught on tries of the model
    that it grows from; examined by what decoding with it solves."""
    base.models = {"vm": with_head(model), "author": snapshot("vm")}
    base.seats = {"policy": "author"}
    liked = value_scorer("vm", reduce_steps="last")
    scored = [verified(task), score(tests_passed(task))]
    if by == "lines":
        base.curriculum = uniform(task, tries=1)
        base.env = mcts(GROWN, BRANCH, monte_carlo_scorer(task, tries=1), EXPLORE)
        base.stages = [*scored, tree_values(), Learn("vm", step_values(), opt=adam(lr=lr))]
        decode: Any = mcts(DECODED, BRANCH, liked, EXPLORE, keep="chosen")
    else:
        base.stages = [*scored, Learn("vm", whole_value("reward"), opt=adam(lr=lr))]
        decode = best_whole(WHOLE, liked, keep="chosen")
    base.exams = [Exam(task, [accuracy(), tokens_spent()], env=decode)]
    return base
