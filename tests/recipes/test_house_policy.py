"""The house recipes that learn a policy: what each is made of, that it runs, repeats itself and resumes, and which of
them are one another but for a knob."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path

import pytest
import torch
from killing import Killed
from refusals import refusal
from scheduling import mostly_slow
from small import small_lm
from watching import SMALL, TABLE, Watched, stages, train

import guerdon as gd
from guerdon import models
from guerdon.cli.main import main
from guerdon.cli.options import parse_settings
from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe
from guerdon.curricula.plain import APART
from guerdon.envs.simple import single_turn
from guerdon.losses.penalties import kl
from guerdon.models.tables import tabular
from guerdon.rewards.text.shape import length
from guerdon.tasks.families.countdown_search import countdown
from guerdon.tasks.families.tiny import parity
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe, listings
from guerdon.training.evaluate import evaluate

ON_A_TABLE = ["grpo", "dr_grpo", "gspo", "cispo", "rloo", "remax", "reinforce_pp", "dapo", "rft", "sft", "distill"]
NAMES = [*ON_A_TABLE, "ppo"]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """A table that has opinions."""
    folder = tmp_path_factory.mktemp("teacher")
    model = tabular("01", length=1, rows=256, spread=1.0)
    model.start(3, {})
    models.save(model, folder)
    return str(folder)


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lm")
    small_lm(folder)
    return str(folder)


@pytest.fixture
def wish(teacher, student):
    """What to train with each recipe: names alone, so that a run can be rebuilt from its run.json."""

    def made(name):
        own = {"teacher": teacher} if name == "distill" else {}
        if name == "ppo":  # no reward is earned here, so the KL to where it began is all there is to learn
            small = {"prompts": 2, "tries": 3, "lr": 3e-3, "max_tokens": 5, "kl": 0.1, "critic_lr": 3e-3}
            return {"task": "successor", "model": student, "settings": small}
        return {"task": "parity", "model": "tabular", "settings": {**TABLE, **SMALL, **own}}

    return made


def watch(name, wish, settings=None, steps=1, **more):
    chosen = {**wish, **more, "settings": {**wish["settings"], **(settings or {})}}
    return Watched(build(RunRequest(name, **chosen)).recipe, steps)


def built(name, **knobs) -> Recipe:
    return find_recipe(name).build({"task": parity(), "model": tabular()}, knobs)


# --- what they are made of ---------------------------------------------------------------------------------------

FORMULAS = {
    "grpo": ["verified()", "centre(reward='correct')", "Learn(loss=clipped())"],
    "dr_grpo": [
        "verified()",
        "centre(reward='correct', std=False)",
        "Learn(loss=clipped(mean='constant', constant=256))",
    ],
    "gspo": [
        "verified()",
        "centre(reward='correct')",
        "Learn(loss=clipped(low=0.0003, high=0.0004, ratio='track'), updates=4)",
    ],
    "cispo": ["verified()", "centre(reward='correct')", "Learn(loss=reweighted(), updates=4)"],
    "rloo": [
        "verified()",
        "centre(reward='correct', std=False, others=True)",
        "Learn(loss=clipped(mean='constant', constant=256))",
    ],
    "remax": [
        "verified()",
        "greedy_baseline(score=verified())",
        "Learn(loss=clipped(mean='constant', constant=256))",
    ],
    "reinforce_pp": [
        "verified()",
        "kl_cost(weight=0.01, per='step', reward='correct', gives_to='less_kl')",
        "reward_to_go(reward='less_kl')",
        "whiten(column='return')",
        "Learn(loss=clipped(mean='step'))",
    ],
    "rft": ["verified()", "Learn(loss=sft(), on=in_turn(filters=[at_least(), distinct()]))"],
    "sft": ["Learn(loss=sft())"],
}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_recipe_is_made_of_what_it_says(name):
    assert stages(built(name)) == FORMULAS[name]
    assert list(built(name).models) == (["policy", "reference"] if name == "reinforce_pp" else ["policy"])


def test_what_dapo_is_made_of():
    verified, score, again, credit, learn = built("dapo").stages
    assert str(score.reward) == "correct + overlong"
    assert (score.reward.terms["overlong"].limit, score.reward.terms["overlong"].margin) == (256, 51)
    assert again.scores == [verified, score]
    assert (again.keep, again.groups, again.rounds, again.by) == (learn.on.filters[0], 16, 10, "ask")
    assert repr(credit) == "centre(by='ask')"
    assert repr(learn.loss) == "clipped(high=0.28, mean='step')"
    assert repr(learn.on) == "in_turn(filters=[with_spread(column='correct', by='ask', most=16)])"
    assert learn.updates == 4
    left_out = built("dapo", overlong="leave_out")
    assert repr(left_out.stages[-1].on.filters[1]) == "finished()"
    assert repr(left_out.stages[-2]) == "centre(reward='correct', by='ask')"


def test_dapo_draws_from_the_curriculum_of_the_run_however_the_recipe_is_copied():
    for made in (built("dapo"), built("dapo").but(prompts=3)):
        assert made.stages[2].curriculum is made.curriculum
        assert made.stages[2].scores == made.stages[:2]


def test_what_ppo_is_made_of(student):
    made = find_recipe("ppo").build({"task": parity(), "model": models.load(student)}, {"kl": 0.05, "value_clip": 0.2})
    assert [repr(stage).replace("reward='correct', ", "") for stage in made.stages[1:4]] == [
        "kl_cost(per='step', gives_to='less_kl')",
        "gae(reward='less_kl')",
        "whiten()",
    ]
    policy, critic = made.stages[4:]
    assert (repr(policy.loss), policy.updates) == ("clipped(mean='step')", 4)
    assert (repr(critic.loss), critic.model, critic.updates) == ("value(clip=0.2, old='critic.value')", "critic", 4)
    assert made.models["critic"].value and not made.models["policy"].value
    made.check()


def test_ppo_says_that_a_table_has_no_critic():
    with refusal(UserError):
        built("ppo")


def test_the_baseline_variant_of_reinforce_pp():
    made = stages(built("reinforce_pp", baseline=True))
    assert made[1:3] == ["centre(reward='correct', std=False)", "whiten()"]
    assert "kl(weight=0.01, kind='k2', mean='step')" in made[3]


@pytest.mark.parametrize("name", ["grpo", "dr_grpo", "gspo", "cispo", "remax", "rloo", "reinforce_pp"])
def test_a_kl_brings_the_reference_and_none_leaves_it_out(name):
    assert "reference" in built(name, kl=0.1).models
    assert "reference" not in built(name, kl=0.0).models
    built(name, kl=0.1).check()


def test_the_kl_in_a_loss_is_averaged_as_the_loss_is():
    penalty = built("dr_grpo", kl=0.1).stages[-1].loss.terms[1]
    assert (penalty.weight, penalty.mean, penalty.constant) == (0.1, "constant", 256)


@pytest.mark.parametrize("name", [n for n in ON_A_TABLE if n not in ("sft", "distill")])
def test_a_reward_of_ones_own_is_what_is_learned_from(name):
    entry = find_recipe(name)
    made = entry.build({"task": parity(), "model": tabular(), "reward": length(3)}, {})
    made.check()
    assert made.stages[1].gives[0] == "reward"
    assert any("reward" in stage.needs for stage in made.stages[2:])


# --- the command line --------------------------------------------------------------------------------------------


def test_they_are_listed_with_their_papers():
    found = listings()
    for name in NAMES:
        assert found[name].family == "house"
        assert found[name].about
        assert found[name].paper.startswith("arXiv:") or name == "sft"
        text = inspect.getdoc(sys.modules[find_recipe(name).function.__module__])
        assert "Leaves out:" in text


@pytest.mark.slow
def test_the_command_line_shows_them(capsys):
    assert main(["list", "recipes", "--json"]) == 0
    assert {r["recipe"] for r in json.loads(capsys.readouterr().out)["recipes"]} >= set(NAMES)
    for name in NAMES:
        assert main(["show", name, "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["recipe"] == name
        assert (shown["parts"] is None) == (name in ("ppo", "distill"))


# --- running -----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(1, "name")
@pytest.mark.parametrize("name", mostly_slow(NAMES, "grpo", "rft", "distill"))
def test_runs_repeats_itself_and_resumes(name, tmp_path, monkeypatch, wish):
    whole = train(name, tmp_path / "whole", wish(name))
    assert whole.complete
    assert any(row["policy/grad_norm"] for row in whole.metrics.to_pylist())
    calls, update = [0], Learn.update

    def dies(self, rows, play):
        calls[0] += 1
        if play.step == 1 and calls[0] > 1:
            raise Killed
        return update(self, rows, play)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Learn, "update", dies)
        train(name, tmp_path / "broken", wish(name), every=1)
    resumed = gd.train(resume=tmp_path / "broken")
    assert resumed.weights == whole.weights
    assert resumed.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])
    assert resumed.batch(1).same(whole.batch(1))


@pytest.mark.slow
def test_a_table_learns_parity_by_each_of_them(wish):
    learned = {}
    for name in ON_A_TABLE:
        if name != "distill":  # its teacher does not describe parity
            run = watch(name, wish(name), {"prompts": 8}, steps=8)
            exams, seats = [gd.Exam(parity())], {"policy": "policy"}
            found = evaluate(exams, run.recipe.models, seats, single_turn(), gd.Sampling(), tasks=20, tries=8)
            learned[name] = found["pass@1"]
    assert all(right > 0.75 for right in learned.values()), learned


# --- which of them are one another -------------------------------------------------------------------------------


def test_dr_grpo_with_its_knobs_turned_back_is_grpo(wish):
    back = {"centre.std": True, "clipped.mean": "track", "clipped.constant": 1.0}
    made = watch("dr_grpo", wish("dr_grpo"), back, steps=2)
    assert torch.equal(made.weights, watch("grpo", wish("grpo"), steps=2).weights)
    assert not torch.equal(made.weights, watch("dr_grpo", wish("dr_grpo"), steps=2).weights)


def test_rloo_with_the_own_try_in_the_mean_is_dr_grpo(wish):
    made = watch("rloo", wish("rloo"), {"centre.others": False}, steps=2)
    assert torch.equal(made.weights, watch("dr_grpo", wish("dr_grpo"), steps=2).weights)


@pytest.mark.slow
def test_gspo_on_answers_of_one_step_is_grpo(wish):
    knobs = {"clipped.low": 0.2, "clipped.high": 0.2, "learn.updates": 4}
    made, plain = (watch(name, wish(name), knobs, steps=2) for name in ("gspo", "grpo"))
    torch.testing.assert_close(made.weights, plain.weights)
    knobs["tabular.length"] = 2
    made, plain = (watch(n, wish(n), knobs, task="successor:2", reward=ones, steps=2) for n in ("gspo", "grpo"))
    assert not torch.allclose(made.weights, plain.weights)


def test_the_first_update_of_cispo_is_that_of_grpo_over_steps(wish):
    made = watch("cispo", wish("cispo"), {"updates": 1})
    plain = watch("grpo", wish("grpo"), {"clipped.mean": "step"})
    torch.testing.assert_close(made.weights, plain.weights)


def test_reinforce_pp_on_answers_of_one_step_whitens_the_reward(wish):
    (batch,) = watch("reinforce_pp", wish("reinforce_pp"), {"kl": 0.0}).batches
    right = batch["correct"].double()
    torch.testing.assert_close(batch["advantage"].double(), (right - right.mean()) / right.std(), atol=1e-5, rtol=1e-5)


def test_dapo_without_its_changes_is_grpo_over_steps(wish):
    off = {"overlong": "neither", "rounds": 0, "updates": 1, "clipped.high": 0.2}
    made = watch("dapo", wish("dapo"), off)
    assert made.rows[0]["again/asked"] == 0
    plain = watch("grpo", wish("grpo"), {"clipped.mean": "step", "centre.by": "ask"})
    torch.testing.assert_close(
        made.weights, plain.weights
    )  # a first step of Adam is as large whatever it is divided by


def test_distilling_is_descending_the_sampled_reverse_kl(wish, teacher):
    made = watch("distill", wish("distill"))
    other = find_recipe("grpo").build({"task": parity(), "model": tabular("01", length=1, rows=256)}, {"prompts": 4})
    other.models["teacher"] = models.load(teacher)
    other.stages = [Learn("policy", kl(1.0, to="teacher", kind="k2", mean="step"), opt=adam(lr=0.3))]
    torch.testing.assert_close(made.weights, Watched(other, 1).weights)


# --- what belongs to one of them ---------------------------------------------------------------------------------


def ones(completion):
    """How many of the digits are ones."""
    return float(completion.count("1"))


def test_dapo_asks_until_enough_groups_disagree_and_counts_every_try(wish):
    run = watch("dapo", wish("dapo"), {"tries": 2}, steps=4)
    for batch, row in zip(run.batches, run.rows, strict=True):
        correct = batch["correct"].view(-1, 2)  # asks in order, two tries each
        assert row["episodes"] == batch.K == 2 * (4 + row["again/asked"])
        assert row["tokens"] == batch.S
        assert int((correct[:, 0] != correct[:, 1]).sum()) >= 4 - row["again/short"]
        assert row["again/rounds"] <= 10
    drawn = [episode.task.id for batch in run.batches for episode in batch.episodes[::2]]
    assert len(drawn) == 16 + sum(row["again/asked"] for row in run.rows) > 16
    begin = 2 * APART  # of a run with seed 2; nothing is drawn twice, nothing passed over
    assert drawn == [parity().get("train", begin + i).id for i in range(len(drawn))]


def test_dapo_learns_from_as_many_groups_as_it_wants_all_of_which_disagree(wish):
    run = watch("dapo", wish("dapo"), {"tries": 2})
    learn, (batch,) = run.recipe.stages[-1], run.batches
    rows = learn.rows(batch, run.play)
    assert rows.K == 8
    assert rows["correct"].view(4, 2).sum(1).tolist() == [1.0] * 4


def test_dapo_gives_up_after_its_rounds(wish):
    (row,) = watch("dapo", wish("dapo"), {"tabular.vocab": "23", "rounds": 3}).rows
    assert (row["again/asked"], row["again/rounds"], row["again/short"]) == (12, 3, 4)
    assert row["policy/skipped"] == 1.0


def test_dapo_takes_from_the_reward_of_answers_that_run_on(wish):
    long = {"tabular.length": 0, "max_tokens": 5, "margin": 0.4, "rounds": 0}
    (batch,) = watch("dapo", wish("dapo"), long).batches
    steps = batch.up(torch.ones(batch.S), "track")
    expected = torch.where(steps <= 3, 0.0, -(steps - 3) / 2)
    assert batch["reward.overlong"].tolist() == expected.tolist()
    assert batch["reward"].tolist() == (batch["correct"] + expected).tolist()


def test_the_greedy_tries_of_remax_are_paid_for(wish):
    run = watch("remax", wish("remax"))
    assert run.rows[0]["episodes"] == 4 * 8
    assert run.batches[0].K == 4 * 7


def test_rft_learns_from_right_answers_each_once(wish):
    run = watch("rft", wish("rft"))
    (row,), (batch,) = run.rows, run.batches
    right = int(batch["correct"].sum())
    solved = len({e.task.id for e, c in zip(batch.episodes, batch["correct"].tolist(), strict=True) if c})
    assert row["kept_share"] == right / batch.K
    assert row["repeated_share"] == pytest.approx(1 - solved / right)  # of one digit there is one right answer


def test_sft_recites_worked_solutions_and_is_examined_on_its_own_answers(tmp_path):
    source = countdown(level=1)
    made = find_recipe("sft").build(
        {"task": source, "model": models.load("sprig-1.1")}, {"prompts": 3, "max_tokens": 4}
    )
    run = gd.train(made, out=tmp_path / "a", seed=2, options=gd.Options(eval_tasks=2, eval_tries=1), steps=1)
    batch = run.batch(0)
    assert [e.segments[0].text for e in batch.episodes] == [source.solution(e.task) for e in batch.episodes]
    assert run.metrics["tokens"].to_pylist() == [batch.S]  # what was recited, and nothing of the exam
    assert run.evaluations[0]["pass@1"] == 0.0  # four tokens are too few: nothing was recited to it


def test_the_critic_of_ppo_begins_as_the_policy_and_learns_for_itself(wish):
    begun, run = (watch("ppo", wish("ppo"), steps=steps) for steps in (0, 1))
    policy, critic = (begun.recipe.models[name].weights.state_dict() for name in ("policy", "critic"))
    assert all(torch.equal(critic[name], weight) for name, weight in policy.items())
    assert {name for name in critic if name not in policy} == {"value_head.weight", "value_head.bias"}
    after = run.recipe.models["critic"].weights.state_dict()
    assert not torch.equal(after["value_head.weight"], critic["value_head.weight"])
    assert "critic/explained_variance" in run.rows[0]
    assert run.rows[0]["policy/grad_norm"] > 0


def test_distill_asks_for_a_teacher_it_can_read_with(student):
    with refusal(UserError, "--set"):
        built("distill")
    built_of_two = find_recipe("distill").build(
        {"task": parity(), "model": models.load("sprig-1.1")}, {"teacher": student}
    )
    with refusal(UserError):
        built_of_two.check()


def test_the_recipes_of_the_page_build_as_they_stand_there():
    page = (Path(__file__).parents[2] / "docs" / "house_recipes.md").read_text()
    running = page.partition("## Running them")[2].partition("\n## ")[0]
    shown = [
        (name, options) for name, options in re.findall(r"\| `([a-z_]+)((?: --set \S+)*)`", running) if name in NAMES
    ]
    assert {name for name, _ in shown} == set(NAMES)
    for name, options in shown:
        settings = parse_settings(options.split(" --set ")[1:])
        teacher = {"teacher": "sprig"} if name == "distill" else {}
        made = build(RunRequest(name, "countdown:2", "sprig", settings={**settings, **teacher}, text=True))
        assert isinstance(made.recipe, Recipe)
        assert f"| `{name}" in page.partition("## What to know about each")[2]


@pytest.mark.sampled(3, "name")
@pytest.mark.parametrize(
    "name", ["grpo", "copo", "dmpo", "expo", "nft", "noisy-rewards-rpr", "par", "poise", "prerl-dsrl"]
)
def test_a_penalty_to_the_start_stays_beside_the_loss_of_a_method(name):
    """`kl` is a knob of the recipe that these are made on: it is neither left out nor in the way."""
    made = build(RunRequest(name, "countdown:1", "sprig-1.1", settings={"kl": 0.25})).recipe
    (learner,) = made.stages.learners
    assert [term.weight for term in learner.loss.terms if isinstance(term, kl)] == [0.25]
