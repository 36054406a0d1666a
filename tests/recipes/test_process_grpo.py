"""Process supervision: where every line stands in its group, and what it answers for."""

from __future__ import annotations

import pytest
import torch

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.loop.build import RunRequest, build
from guerdon.rewards.formula.per_step import step_standing


def numbers_of(completion: str) -> list[float]:
    return [float(word) for word in completion.split()]


LINES = gd.reward(numbers_of, isolate=False)


def test_steps_stand_against_all_steps_of_the_group():
    """Steps 1 1 | 1 0 | 2: mean 1, squares 0 0 0 1 1, deviation sqrt(2/4); another group has no spread."""
    samples = [{"completion": words} for words in ("1 1", "1 0", "2", "5 5")]
    spread = 0.5**0.5
    scored = gd.score_samples(step_standing(LINES, eps=0.0), samples, group=[0, 0, 0, 1])
    assert scored.whole == pytest.approx([0.0, -1 / spread, 1 / spread, 0.0])


def test_a_line_answers_for_itself_and_those_after_it():
    batch = example_tries([[0.0, 0.0]], steps=2, lines_steps=[1.0, -0.5, 0.25, -0.75])
    credit = gd.credit.reward_to_go("lines_steps", gives_to="to_go")
    assert credit(batch, ExamplePlay())["to_go"].tolist() == [0.5, -0.5, -0.5, -0.75]


def recipe(**settings):
    request = RunRequest("process_grpo", task="chain:2", model="sprig", settings={"prompts": 2, "tries": 2, **settings})
    return build(request).recipe


def test_without_its_lines_it_is_grpo(tmp_path):
    """The same advantages, so the same weights after a step."""
    how = {"task": "chain:8", "model": "sprig", "steps": 1, "options": gd.Options(eval_tasks=0)}
    knobs = {"prompts": 4, "tries": 4, "max_tokens": 96, "lr": 1e-4}
    plain = gd.train("grpo", out=tmp_path / "a", **how, **knobs)
    outcome = gd.train("process_grpo", out=tmp_path / "b", process=0.0, outcome=1.0, **how, **knobs)
    lines = gd.train("process_grpo", out=tmp_path / "c", **how, **knobs)
    weights = [run.model().net.state_dict() for run in (plain, outcome, lines)]
    assert all(torch.allclose(weights[0][n], weights[1][n], atol=1e-6) for n in weights[0])
    assert not all(torch.allclose(weights[0][n], weights[2][n], atol=1e-6) for n in weights[0])


def test_lines_are_judged_by_the_checker_a_model_or_a_reward():
    assert "prm" not in recipe().models and "prm" in recipe(scorer="prm").models
    assert [exam.name for exam in recipe().exams] == ["", "steps"]


def test_rows_without_a_step_checker_want_a_judge(tmp_path):
    (tmp_path / "sums.csv").write_text("question,answer\n1+1,2\n2+2,4\n3+3,6\n4+4,8\n")
    wish = RunRequest("process_grpo", data={"path": str(tmp_path / "sums.csv")}, model="sprig")
    with pytest.raises(UserError, match="scorer=runs/prm"):
        build(wish)
