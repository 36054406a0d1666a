"""The examples of the documentation run, and the documentation shows them as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.core.user_file import load_file

ROOT = Path(__file__).parent.parent
DOUBLING = ROOT / "examples" / "doubling.py"
GAP = ROOT / "examples" / "gap.py"
YOUR_OWN_TASK = (ROOT / "docs" / "your_own_task.md").read_text()


def test_your_own_task_shows_the_example_as_it_is():
    assert DOUBLING.read_text().strip() in YOUR_OWN_TASK
    assert len(DOUBLING.read_text().splitlines()) <= 40


@pytest.mark.parametrize("level", [1, 3, 8])
def test_the_example_keeps_the_contract(level):
    found = gd.check_task(load_file(str(DOUBLING), "task").doubling(level=level))
    assert found["planted errors"] == 400 * level


@pytest.mark.parametrize("level", [1, 2, 8])
def test_two_orders_of_one_problem_are_on_one_side(level):
    family = load_file(str(GAP), "task").gap(level=level)
    assert gd.check_task(family)["near misses"] == 800
    for index in range(50):
        here, there = family.get("train", index), family.get("test", index)
        turned = [family.posed(*task.meta["numbers"][::-1]) for task in (here, there)]
        assert [family.holds_out(problem) for problem in turned] == [False, True]


def test_the_page_shows_how_two_orders_are_one_problem(capsys, monkeypatch):
    (shown,) = [b for b in re.findall(r"```python\n(.*?)```", YOUR_OWN_TASK, re.S) if "def canonical" in b]
    assert shown in GAP.read_text()
    ((code, printed),) = re.findall(r'\$ python -c "\n(from examples\.gap .*?)"\n(.*?)```', YOUR_OWN_TASK, re.S)
    monkeypatch.syspath_prepend(str(ROOT))
    exec(code, {})
    assert capsys.readouterr().out == printed


def test_the_example_trains(tmp_path):
    run = gd.train("grpo", task=f"{DOUBLING}:doubling:2", model="tabular", steps=2, max_tokens=8, out=tmp_path / "run")
    assert run.complete
    assert run.batch(0).episodes[0].task.prompt.startswith("doubling ")


def test_a_broken_promise_is_one_line():
    class careless(load_file(str(DOUBLING), "task").doubling):
        def check(self, task, completion):
            return 1.0

    with pytest.raises(gd.UserError, match="passes"):
        gd.check_task(careless(level=1))


@pytest.mark.slow
def test_the_recipe_with_an_adapter_below_its_reference_trains(tmp_path):
    (block,) = re.findall(r"```python\n(# gently\.py\n.*?)```", (ROOT / "docs" / "models.md").read_text(), re.S)
    (tmp_path / "gently.py").write_text(block)
    said = {"model": "sprig", "task": "countdown:2", "steps": 1, "prompts": 2, "options": gd.Options(eval_tasks=0)}
    run = gd.train(str(tmp_path / "gently.py"), **said, settings={"lm.lora": 4}, out=tmp_path / "run")
    assert run.complete and run.model().net.has_adapter
    with pytest.raises(gd.UserError, match=r"base\('policy'\) needs a model with an adapter"):
        gd.train(str(tmp_path / "gently.py"), **said, out=tmp_path / "other")
