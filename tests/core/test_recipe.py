"""A recipe refuses what cannot work, and changes by name."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.part import part
from guerdon.core.recipe import Recipe
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.penalties import kl
from guerdon.losses.policy import clipped
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import verified
from guerdon.tasks.families.tiny import successor


def stages(loss=None):
    return [verified(successor()), centre("correct"), Learn("policy", loss or clipped())]


def build(**changes) -> Recipe:
    parts: dict[str, Any] = {
        "models": {"policy": tabular()},
        "curriculum": uniform(successor()),
        "env": single_turn(),
        "stages": stages(),
    }
    return Recipe(**{**parts, **changes})


def refusal(recipe):
    with pytest.raises(UserError) as caught:
        recipe.check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_sound_recipe_is_accepted():
    build().check()
    build(models={"policy": tabular(), "reference": snapshot("policy")}, stages=stages(clipped() + kl(0.1))).check()
    assert build().hash == build().hash


def test_a_column_that_nothing_gives_is_refused_with_what_there_is():
    said = refusal(build(stages=[centre("correct")]))
    assert "centre needs a column that nothing before it gives" in said
    assert "unknown column 'correct': there is policy.entropy, policy.logp" in said


def test_a_column_given_too_late_is_named():
    v, c, learn = stages()
    assert "verified gives it, but comes later" in refusal(build(stages=[c, v, learn]))


def test_a_column_spelled_almost_right_gets_its_nearest_match():
    assert "did you mean 'correct'?" in refusal(build(stages=[verified(successor()), centre("corect")]))


def test_a_reading_of_a_model_that_is_not_there_is_refused():
    assert "'reference.logp'" in refusal(build(stages=stages(clipped() + kl(0.1))))


def test_a_model_with_other_tokens_reads_nothing_that_another_wrote():
    """What `policy` calls 3, such a teacher calls 13."""

    def taught(**models):
        return build(models={"policy": tabular("abc"), **models}, stages=stages(clipped() + kl(0.1, to="teacher")))

    taught(teacher=tabular("abcd")).check()
    taught(teacher=snapshot("older"), older=tabular("abc")).check()
    said = refusal(taught(teacher=tabular("cab")))
    assert said == (
        "model 'teacher' cannot read what 'policy' wrote: their tokenizers differ; use a model with the same tokenizer"
    )
    assert "'teacher' cannot read" in refusal(taught(teacher=snapshot("older"), older=tabular("xabc")))
    other = taught(teacher=tabular("cab"))
    other.seats["opponent"] = "teacher"
    other.check()  # it reads what it acted itself


@part
class wants_value:
    """A loss for models with a value head."""

    needs = ()
    wants = ("value",)


def test_seats_models_and_readings_are_checked():
    assert "unknown model in seat 'policy' 'polisy': did you mean 'policy'?" in refusal(
        build(seats={"policy": "polisy"})
    )
    assert "unknown role without a seat 'solver'" in refusal(build(env=single_turn(role="solver")))
    assert "unknown model that 'reference' copies 'policie'" in refusal(
        build(models={"policy": tabular(), "reference": snapshot("policie")})
    )
    assert "unknown model to learn 'judge'" in refusal(build(stages=[Learn("judge", clipped())]))
    assert "unknown reading of 'policy' 'value'" in refusal(build(stages=[Learn("policy", wants_value())]))


def test_a_frozen_model_cannot_be_trained():
    models = {"policy": tabular(), "reference": snapshot("policy")}
    learn = Learn("reference", clipped())
    assert "'reference' is a snapshot and cannot be trained" in refusal(build(models=models, stages=[*stages(), learn]))


def test_but_changes_a_copy():
    old = build()
    new = old.but(prompts=3, centre=centre("correct", std=False), **{"clipped.low": 0.3, "tabular.rows": 64})
    assert (new.prompts, new.stages[1].std, new.stages[2].loss.low, new.models["policy"].rows) == (3, False, 0.3, 64)
    assert (old.prompts, old.stages[1].std, old.stages[2].loss.low, old.models["policy"].rows) == (16, True, 0.2, 16384)
    assert new.hash != old.hash
    assert old.but().hash == old.hash


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompts": 0}, "Recipe.prompts must be at least 1, not 0"),
        ({"prompts": 2.5}, "Recipe.prompts must be int, not 2.5"),
        ({"prompt": 2}, "unknown part 'prompt': did you mean 'prompts'?"),
        ({"center": centre()}, "unknown part 'center': did you mean 'centre'?"),
        ({"clipped.low": 2.0}, "clipped.low must be at most 1.0, not 2.0"),
        ({"clipped.lo": 0.1}, "unknown knob of clipped 'lo': did you mean 'low'?"),
    ],
)
def test_but_refuses_what_does_not_fit(change, message):
    with pytest.raises(UserError) as caught:
        build().but(**change)
    assert message in str(caught.value)
