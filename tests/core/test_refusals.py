"""What the author of a recipe gets wrong, each refused in one line that says how to mend it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from refusals import refusal

from guerdon.core.errors import RunStopped, UserError
from guerdon.core.part import part
from guerdon.core.recipe import Recipe, Study, recipe
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.models.tables import tabular
from guerdon.prove.arms import arms_of
from guerdon.recipes.curriculum.dump import dump
from guerdon.recipes.house.grpo import grpo
from guerdon.rewards.stage.score_stages import verified
from guerdon.tasks import load
from guerdon.tasks.families.tiny import successor
from guerdon.training.api import train
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe
from guerdon.training.record import Options


def made(**changes) -> Recipe:
    """A small GRPO, called as it stands: `grpo(task, model)` is a recipe."""
    recipe = grpo(successor(), tabular(length=1), prompts=2, tries=2, steps=1)
    assert isinstance(recipe, Recipe)
    return recipe.but(**changes)


def refused(recipe: Recipe, out: Path) -> str:
    with pytest.raises(UserError) as caught:
        train(recipe, out=out / "run", options=Options(eval_tasks=0))
    said = str(caught.value)
    assert "\n" not in said
    return said


# --- what is set after building -----------------------------------------------------------------------------------


def test_an_attribute_that_nobody_reads_is_refused():
    recipe = made()
    with refusal(UserError):
        recipe.curriculm = 3
    with refusal(UserError):
        recipe.stages.credit[0].group = "ask"
    recipe._mine = recipe.stages.credit[0]._note = 3  # what begins so belongs to whoever sets it


@part
class counted:
    """A part with a property, a class attribute, a method, and what a subclass adds."""

    size: int = 3
    unit = "steps"

    @property
    def twice(self) -> int:
        return 2 * self.size

    @twice.setter
    def twice(self, value: int) -> None:
        self.size = value // 2

    def say(self) -> str:
        return self.unit


@part
class counted_more(counted):
    """A part made on a part."""

    more: int = 4


def test_what_a_class_has_may_be_set():
    x = counted_more()
    x.size, x.more, x.unit = 5, 6, "tokens"
    x.twice = 8
    x.say = lambda: "said"
    assert (x.size, x.more, x.unit, x.say()) == (4, 6, "tokens", "said")
    with refusal(UserError, "counted_more"):
        x.mor = 1
    with refusal(UserError):
        counted().more = 1


def test_knobs_set_after_building_are_checked_before_a_run(tmp_path):
    recipe = made()
    recipe.stages.credit[0].by = "prompt"
    assert "centre.by must be one of 'task', 'ask'" in refused(recipe, tmp_path)
    assert not (tmp_path / "run").exists()  # nothing was begun
    recipe = made()
    recipe.stages.learners[0].loss.low = -5
    assert "clipped.low must be at least 0.0, not -5" in refused(recipe, tmp_path)
    recipe = made()
    recipe.prompts = 0
    assert "Recipe.prompts must be at least 1, not 0" in refused(recipe, tmp_path)


# --- calling a recipe ---------------------------------------------------------------------------------------------


def test_a_recipe_on_another_says_what_its_first_parameter_is_called():
    with pytest.raises(UserError) as caught:
        recipe("mine", on=grpo)(lambda made: made)
    assert str(caught.value) == (
        "recipe 'mine' is made on 'grpo', so its first parameter must be called base (what that one made), not made"
    )


OTHER_LOSS = '''
import guerdon as gd
from guerdon.recipes.house.grpo import grpo

claim = gd.Claim(says="as good", task="successor", model="tabular", settings="kl=0.04 lr=0.3")

@gd.recipe("imitates", on=grpo, claim=claim)
def imitates(base, *, rate: float = 0.1, lr: float = 0.2):
    """GRPO's batch, another loss."""
    return base.but(learn=gd.Learn("policy", gd.losses.sft(), opt=gd.adam(lr=lr)))
'''
UNUSED = "imitates does not use {} of grpo, the recipe it is made on: leave out {}"


@pytest.fixture
def imitates(tmp_path):
    (tmp_path / "mine.py").write_text(OTHER_LOSS)
    return f"{tmp_path / 'mine.py'}:imitates"


def test_a_knob_of_the_recipe_below_that_changes_nothing_is_refused(imitates, tmp_path):
    entry, small = find_recipe(imitates), {"prompts": 2, "tries": 2, "steps": 1}
    with pytest.raises(UserError) as caught:
        entry(successor(), tabular(length=1), kl=0.04, clip=0.7, **small)
    assert str(caught.value) == UNUSED.format("kl and clip", "kl=0.04 clip=0.7")
    common = {"task": "successor", "model": "tabular", "options": Options(eval_tasks=0)}
    with pytest.raises(UserError) as caught:
        train(imitates, out=tmp_path / "run", settings={"clip": "0.7", "lr": "0.3"}, text=True, **common)
    assert str(caught.value) == UNUSED.format("clip", "clip=0.7") and not (tmp_path / "run").exists()
    # what does something, and what is said at its default, is taken
    run = train(imitates, out=tmp_path / "run", **small, lr=0.3, rate=0.5, clip=0.2, kl=0, **common)
    assert run.status == "complete"
    with refusal(UserError):
        train(again=run.path, out=tmp_path / "again", trust=True, kl=0.04)


def test_settings_that_a_claim_gives_to_all_its_arms_may_do_nothing_in_one(imitates):
    (claim,) = find_recipe(imitates).claims
    arms = arms_of(imitates, claim, Options())
    assert arms["method"].hash != arms["baseline"].hash
    earlier = RunRequest(imitates, "successor", "tabular", settings={"clip": 0.7})  # a run.json from before may say so
    assert build(earlier).recipe.hash == build(replace(earlier, settings={})).recipe.hash


def test_every_knob_of_a_study_is_used():
    @recipe("looks", on=grpo)
    def looks(base):
        """A study: its body may ask for any of its settings."""
        return Study(lambda run, seed: {})

    assert looks(successor(), tabular(length=1), kl=0.04).settings["kl"] == 0.04


def test_a_recipe_is_called_with_its_task_and_model():
    model = tabular()
    a = grpo(successor(), model, prompts=3)
    assert a.hash == grpo.build({"task": successor(), "model": model}, {"prompts": 3}).hash
    assert dump(load("parity:1-3"), model).models["policy"] is model  # what it is made on takes the model


@pytest.mark.parametrize(
    ("args", "given", "says"),
    [
        (("countdown:2", tabular()), {}, "grpo(task='countdown:2') takes a task itself, not its name"),
        ((successor(), "sprig"), {}, "gd.train('grpo', model='sprig')"),
        ((successor(), tabular()), {"promts": 3}, "unknown knob of grpo 'promts': did you mean 'prompts'?"),
        ((successor(), tabular(), None, 3), {}, "grpo was given 4 values without a name: it takes task, model, reward"),
        ((successor(),), {"task": successor(), "model": tabular()}, "grpo was given task twice"),
        ((successor(),), {}, "recipe 'grpo' needs a model"),
    ],
)
def test_a_recipe_that_is_called_wrongly_says_how(args, given, says):
    with pytest.raises(UserError) as caught:
        grpo(*args, **given)
    assert says in str(caught.value)


# --- stages and losses --------------------------------------------------------------------------------------------


@part
class forgetful:
    """A stage that does not say what it reads."""

    gives = ()

    def __call__(self, batch, play):
        return batch


@part
class silent_stage:
    """A stage that does not say what it adds."""

    needs = ()

    def __call__(self, batch, play):
        return batch


@part
class boastful:
    """A stage that says it gives what it does not."""

    needs, gives = (), ("bonus",)

    def __call__(self, batch, play):
        return batch


@part
class lost:
    """A stage that forgets to return."""

    needs, gives = (), ()

    def __call__(self, batch, play):
        batch.put("x", "track", torch.ones(batch.K))


@part
class hollow:
    """A stage that gives NaN and no reason."""

    needs, gives = (), ("bonus",)

    def __call__(self, batch, play):
        return batch.put("bonus", "track", torch.full((batch.K,), float("nan")))


@part
class short:
    """A stage that gives too few."""

    needs, gives = (), ("bonus",)

    def __call__(self, batch, play):
        return batch.put("bonus", "track", torch.ones(1))


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (forgetful(), "stage forgetful has no `needs`: add `needs = (...)`, the columns that it reads (`needs = ()`: none)"),
        (silent_stage(), "stage silent_stage has no `gives`: add `gives = (...)`, the columns that it adds"),
        (boastful(), "stage boastful declares 'bonus' in `gives` and did not add it: call batch.put('bonus', ...)"),
        (lost(), "stage lost returned None, not a batch: end it with `return batch`"),
        (hollow(), "column 'bonus' has 4 NaN without a reason: say why with batch.put(..., because=COLUMN)"),
        (short(), "column 'bonus' has 1 values for 4 tracks"),
    ],
)  # fmt: skip
def test_a_stage_that_is_not_whole_is_refused(stage, says, tmp_path):
    said = refused(made(before={"centre": stage}), tmp_path)
    assert says in said
    assert "line" not in says or "test_refusals.py, line" in said


def test_a_column_without_reasons_names_its_place(tmp_path):
    said = refused(made(before={"centre": hollow()}), tmp_path)
    here = Path(__file__).read_text().splitlines()
    number = next(i for i, line in enumerate(here, 1) if 'float("nan")))' in line)
    assert f"test_refusals.py, line {number}: " in said


@part
class bare:
    """A loss that returns one value."""

    needs, wants = (), ("logp",)

    def __call__(self, batch, live):
        return -live["logp"].mean()


@part
class plain_metrics(bare):
    """A loss whose metrics are no tensors."""

    def __call__(self, batch, live):
        return -live["logp"].mean(), {"size": 3.0}


@part
class wantless:
    """A loss that does not say what it reads live."""

    needs = ("advantage",)


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        (bare(), "loss bare must return a loss and its metrics, both tensors: `return loss, {}`"),
        (plain_metrics(), "loss plain_metrics must return a loss and its metrics"),
        (wantless(), "loss wantless has no `wants`: add `wants = (...)`"),
    ],
)
def test_a_loss_that_is_not_whole_is_refused(loss, says, tmp_path):
    assert says in refused(made(clipped=loss), tmp_path)


# --- environments -------------------------------------------------------------------------------------------------

MAZE = '''
"""An environment with a bug."""
import json

import guerdon as gd


@gd.part
class maze:
    """A maze that breaks."""

    roles = ("policy",)

    async def play(self, ask, seats):
        await seats["policy"].act(ask.shown)
        return json.loads("nothing")
'''


def test_an_environments_own_bug_is_told_with_its_line(tmp_path, monkeypatch):
    from guerdon.core.user_file import load_file

    monkeypatch.chdir(tmp_path)
    Path("maze.py").write_text(MAZE)
    env = load_file("maze.py", "environment").maze()
    said = refused(made(env=env), tmp_path)
    assert "4 of 4 in 'episode' failed" in said
    assert "maze.py, line 16: JSONDecodeError: Expecting value" in said
    with pytest.raises(RunStopped):
        train(made(env=env), out=tmp_path / "again", options=Options(eval_tasks=0))


def test_stages_must_be_a_list():
    with refusal(UserError):
        Recipe({"policy": tabular()}, uniform(successor()), single_turn(), verified(successor()))
