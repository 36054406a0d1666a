"""The examples of the documentation run, and the documentation shows them as they are."""

from __future__ import annotations

import re
from math import exp, log
from pathlib import Path

import pytest
import torch

import guerdon as gd
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.user_file import load_file

ROOT = Path(__file__).parent.parent
DOUBLING = ROOT / "examples" / "doubling.py"
GAP = ROOT / "examples" / "gap.py"
YOUR_OWN_TASK = (ROOT / "docs" / "your_own_task.md").read_text()


def test_your_own_task_shows_the_example_as_it_is():
    assert DOUBLING.read_text().strip() in YOUR_OWN_TASK
    assert len(DOUBLING.read_text().splitlines()) <= 40


@pytest.mark.sampled(1, "level")
@pytest.mark.parametrize("level", [1, 3, 8])
def test_the_example_keeps_the_contract(level):
    found = gd.check_task(load_file(str(DOUBLING), "task").doubling(level=level))
    assert found["planted errors"] == 400 * level


@pytest.mark.sampled(1, "level")
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


def example(name: str):
    return load_file(str(ROOT / "examples" / f"{name}.py"), "recipe")


@pytest.mark.sampled(1, "name")
@pytest.mark.parametrize("name", ["nft", "copo", "spo"])
def test_a_published_method_from_public_names_trains_and_is_short(name, tmp_path):
    path = ROOT / "examples" / f"{name}.py"
    run = gd.train(
        str(path), task="parity:2", model="tabular", steps=2, prompts=4, tries=4, lr=0.1, out=tmp_path / "run"
    )
    assert run.complete and len(path.read_text().splitlines()) <= 80


@pytest.mark.sampled(1, "name")
@pytest.mark.parametrize(
    "name, told",
    [
        ("co_reward", {"task": "countdown:2", "model": "sprig", "prompts": 2, "tries": 2, "max_tokens": 32}),
        ("crome", {"task": "chain:1", "model": "sprig", "prompts": 2, "tries": 0, "max_tokens": 32}),
        ("spiral", {"task": "nim:3", "model": "tabular", "prompts": 4, "tries": 2}),
    ],
)
def test_a_method_of_another_family_trains_and_is_short(name, told, tmp_path):
    path, options = ROOT / "examples" / f"{name}.py", gd.Options(eval_tasks=0)
    run = gd.train(str(path), **told, steps=1, options=options, out=tmp_path / "run")
    assert run.complete and len(path.read_text().splitlines()) <= 80
    test = ROOT / "tests" / "mechanisms" / "examples" / path.name
    assert len(test.read_text().splitlines()) <= 60


def test_the_page_shows_nft_as_it_is():
    assert (ROOT / "examples" / "nft.py").read_text().strip() in (ROOT / "docs" / "parts_from_functions.md").read_text()


def test_nft_has_the_gradient_of_dr_grpo_where_the_policy_has_not_moved():
    """-w log R pulls a right answer by 1 - r, and the negative policy pushes a wrong one by r: the centred reward."""
    batch = example_tries([[1.0, 1.0, 1.0, 0.0], [0.0, 1.0]])
    batch = example("nft").group_rate(correct="reward")(batch, ExamplePlay())
    logp = torch.zeros(6, requires_grad=True)
    loss = example("nft").negative_aware(correct="reward", mean="constant", constant=1.0)
    loss(batch, {"logp": logp})[0].backward()
    centred = batch["reward"] - batch.mean_by("reward")
    torch.testing.assert_close(logp.grad, -centred / 6)


def test_nft_learns_from_a_wrong_answer_less_than_its_bound_as_at_the_bound():
    module, batch = example("nft"), example_tries([[1.0, 0.0]], rate=[0.5, 0.5])
    for least, expected in ((0.0, -log(0.75)), (1.0, -log(1.0))):  # (1 - 0.5 * 1.25) / 0.5 = 0.75
        logp = torch.tensor([0.0, log(1.25)], requires_grad=True)
        loss, _ = module.negative_aware(correct="reward", least=least, weight="odds", constant=1.0)(
            batch, {"logp": logp}
        )
        loss.backward()
        assert float(loss.detach()) == pytest.approx(expected / 2)
        assert float(logp.grad[1]) == pytest.approx(
            1.25 / (0.75 if least == 0 else 1.0) / 2
        )  # R / bounded, over 2 tracks


def test_copo_teaches_from_groups_that_are_all_alike():
    """One problem all right, one all wrong: nothing within, and +-0.707 across (two problems, the sample's deviation)."""
    batch = example_tries([[1.0, 1.0], [0.0, 0.0]])
    batch = example("copo").answer_entropy(correct="reward")(batch, ExamplePlay())
    assert batch["answer_entropy"].tolist() == [0.0] * 4  # all texts are empty
    given = example("copo").local_and_global(correct="reward", gamma=2.0, rho=0.5)(batch, ExamplePlay())["advantage"]
    overall = (1 - 1 / (1 + exp(1.0))) * 0.5**0.5
    torch.testing.assert_close(given, torch.tensor([overall, overall, -overall, -overall]))


def test_spo_pays_the_share_of_others_that_an_answer_is_preferred_to():
    reward = example("spo").preferred(example("spo").by_rules)
    tries = [{"prompt": "p", "completion": text} for text in ("0", "1", "1", "00")]
    assert gd.score_samples(reward, tries).whole == pytest.approx([2 / 3, 0.5, 0.5, 1 / 3])
