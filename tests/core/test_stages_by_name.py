"""Stages are found by what they do and put in place by their names."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.part import describe, fingerprint, knob, part, walk
from guerdon.core.recipe import Recipe
from guerdon.core.stages import Stages
from guerdon.credit.baselines import whiten
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.policy import clipped
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.select.filters import until_enough, with_spread
from guerdon.tasks.families.tiny import successor


@part
class mine:
    """A stage of a user's, which says what it does."""

    size: int = knob(default=1, ge=1)
    shelf = "credit"
    needs, gives = ("advantage",), ("advantage",)

    def __call__(self, batch, play):
        return batch


@part(aliases=("nobodys",))
class plain:
    """A stage that is of no kind."""

    needs, gives = (), ()

    def __call__(self, batch, play):
        return batch


def right(answer, completion):
    return float(answer == completion)


def made(*more) -> Recipe:
    task = successor()
    stages = [verified(task), score(right), centre(), plain(), mine(), *more, Learn("policy", clipped())]
    return Recipe({"policy": tabular()}, uniform(task), single_turn(), stages)


def names(recipe):
    return [type(stage).__name__ for stage in recipe.stages]


def test_stages_are_found_by_what_they_do():
    recipe = made()
    assert [type(s).__name__ for s in recipe.stages.scores] == ["verified", "score"]
    assert [type(s).__name__ for s in recipe.stages.credit] == ["centre", "mine"]
    assert recipe.stages.learners == [recipe.stages[-1]]


def test_they_are_a_list_and_stay_one():
    recipe = made()
    for again in (copy.copy(recipe), copy.deepcopy(recipe), recipe.but()):
        assert type(again.stages) is Stages and names(again) == names(recipe)
    recipe.stages = [*recipe.stages.scores, *recipe.stages.learners]
    assert type(recipe.stages) is Stages and names(recipe) == ["verified", "score", "Learn"]
    assert isinstance(describe(recipe)["knobs"]["stages"], list)
    assert next(path for path, _ in walk(recipe) if path.startswith("stages")) == "stages.0"
    assert fingerprint(Stages([1, 2])) == fingerprint([1, 2])
    assert type(pickle.loads(pickle.dumps(Stages([1, 2])))) is Stages


def test_stages_are_put_by_name():
    old = made()
    new = old.but(
        before={"learn": whiten()},
        after={"centre": [plain(), plain()]},
        replace={"score": score(right, "liked"), "mine": []},
    )
    assert names(new) == ["verified", "score", "centre", "plain", "plain", "plain", "whiten", "Learn"]
    assert new.stages.scores[1].gives_to == "liked"
    assert names(old) == ["verified", "score", "centre", "plain", "mine", "Learn"]


def test_before_after_and_instead_of_the_same_stage():
    new = made().but(
        before={"centre": plain()}, after={"centre": plain()}, replace={"centre": [centre(std=False), whiten()]}
    )
    assert names(new)[2:6] == ["plain", "centre", "whiten", "plain"]


def test_repeats_have_numbers_and_aliases_count():
    recipe = made(mine(size=2))
    new = recipe.but(replace={"mine_2": mine(size=7)}, before={"nobodys": whiten()})
    assert [stage.size for stage in new.stages if isinstance(stage, mine)] == [1, 7]
    assert names(new)[3:5] == ["whiten", "plain"]


@pytest.mark.parametrize(
    ("places", "says"),
    [
        ({"before": {"lern": plain()}}, "unknown stage 'lern': did you mean 'learn'?"),
        ({"after": {"center": plain()}}, "unknown stage 'center': did you mean 'centre'?"),
        ({"replace": {"clipped": plain()}}, "unknown stage 'clipped'"),
    ],
)
def test_a_name_that_is_no_stages_is_refused(places, says):
    with pytest.raises(UserError) as caught:
        made().but(**places)
    assert says in str(caught.value)


def test_what_a_new_stage_shares_with_the_recipe_it_shares_with_the_copy():
    old = made()
    again = until_enough(old.curriculum, old.stages.scores, with_spread("reward"), groups=2)
    new = old.but(before={"centre": again})
    (put,) = (stage for stage in new.stages if isinstance(stage, until_enough))
    assert put.curriculum is new.curriculum is not old.curriculum
    assert put.scores[0] is new.stages.scores[0] is not old.stages.scores[0]


def test_a_copy_shares_the_weights():
    old = made()
    old.models["policy"].start(0, old.models)
    new = old.but(prompts=3, models={**old.models, "other": old.models["policy"]})
    assert new.models["policy"].net is new.models["other"].net is old.models["policy"].net
    assert isinstance(new.models["policy"].net, torch.nn.Module) and new.models["policy"] is not old.models["policy"]
