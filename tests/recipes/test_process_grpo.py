"""Process supervision: where every line stands in its group, and what it answers for."""

from __future__ import annotations

import pytest
import torch
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.rewards.formula.per_step import step_zscores
from guerdon.training.build import RunRequest, build


def numbers_of(completion: str) -> list[float]:
    return [float(word) for word in completion.split()]


LINES = gd.reward(numbers_of, isolate=False)


def test_steps_stand_against_all_steps_of_the_group():
    """Steps 1 1 | 1 0 | 2: mean 1, squares 0 0 0 1 1, deviation sqrt(2/4); another group has no spread."""
    samples = [{"completion": words} for words in ("1 1", "1 0", "2", "5 5")]
    spread = 0.5**0.5
    scored = gd.score_samples(step_zscores(LINES, eps=0.0), samples, group=[0, 0, 0, 1])
    assert scored.whole == pytest.approx([0.0, -1 / spread, 1 / spread, 0.0])


def test_a_line_answers_for_itself_and_those_after_it():
    batch = example_tries([[0.0, 0.0]], steps=2, lines_steps=[1.0, -0.5, 0.25, -0.75])
    credit = gd.credit.reward_to_go("lines_steps", gives_to="to_go")
    assert credit(batch, ExamplePlay())["to_go"].tolist() == [0.5, -0.5, -0.5, -0.75]


def recipe(**settings):
    request = RunRequest(
        "process_grpo", task="chain:2", model="sprig-1.1", settings={"prompts": 2, "tries": 2, **settings}
    )
    return build(request).recipe


def advantages(recipe, batch, play):
    """What comes of tries by all stages of a recipe but its learners."""
    for stage in recipe.stages:
        batch = batch if isinstance(stage, gd.Learn) else stage(batch, play)
    return batch["advantage"]


@pytest.mark.slow
def test_without_its_lines_it_is_grpo():
    """The same advantages; with its lines they are others, though the tries that err are the same."""
    task, model = gd.tasks.load("equation:6"), gd.models.load("sprig-1.1")
    model.start(0, {})
    play = Player({"policy": model}, {"policy": "policy"}, single_turn(), gd.Sampling(max_tokens=96), 0, 1)
    batch = pack(play([gd.Ask(task.get("train", n), 4) for n in range(4)]))
    plain = build(RunRequest("grpo", task="equation:6", model="sprig-1.1")).recipe
    outcome, lines = (
        build(RunRequest("process_grpo", task="equation:6", model="sprig-1.1", settings=settings)).recipe
        for settings in ({"process": 0.0, "outcome": 1.0}, {})
    )
    of_plain, of_outcome, of_lines = (advantages(each, batch, play) for each in (plain, outcome, lines))
    assert float(of_plain.abs().max()) > 0.0 and torch.allclose(of_plain, of_outcome)
    assert not torch.allclose(of_plain, of_lines)


def test_lines_are_judged_by_the_checker_a_model_or_a_reward():
    assert "prm" not in recipe().models and "prm" in recipe(scorer="prm").models
    assert [exam.name for exam in recipe().exams] == ["", "steps"]


def test_rows_without_a_step_checker_want_a_judge(tmp_path):
    (tmp_path / "sums.csv").write_text("question,answer\n1+1,2\n2+2,4\n3+3,6\n4+4,8\n")
    wish = RunRequest("process_grpo", data={"path": str(tmp_path / "sums.csv")}, model="sprig-1.1")
    with refusal(UserError, "--set"):
        build(wish)
