"""Reward models: their measures by hand, the recipes that train them, and what becomes of the product."""

from __future__ import annotations

import copy
import math
import re
from pathlib import Path

import pytest
import torch
from killing import killed_at
from safetensors.torch import load_file
from scheduling import mostly_slow
from small import small_lm

import guerdon as gd
from guerdon import models
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.model import weights_hash
from guerdon.core.pack import pack
from guerdon.core.seeds import derive
from guerdon.core.statistics import brier, calibration_error
from guerdon.curricula.demonstrations import contrasts
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.exams.scorers import first_error, first_error_scores, first_wrong, pair_accuracy
from guerdon.models.language_model import lm
from guerdon.models.tables import tabular
from guerdon.rewards.asking.function import ask_all
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.model.reward_models import outcome_model, process_model
from guerdon.rewards.stage.step_labels import checked_solutions, line_labels
from guerdon.tasks.families.chained_arithmetic import chain
from guerdon.tasks.families.tiny import parity
from guerdon.training.api import best_of
from guerdon.training.catalog import find_recipe
from guerdon.training.evaluate import evaluate

KEPT = gd.Options(save_every=1)
NAN = math.nan

# --- labels and exams -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scorer(tmp_path_factory):
    """A small model whose head has opinions."""
    folder = tmp_path_factory.mktemp("scorer")
    small_lm(folder)
    made = lm(source=str(folder), value=True)
    made.start(0, {})
    with torch.no_grad():
        made.net.value_head.weight.normal_(generator=torch.Generator().manual_seed(1))
    return made


def player(model, env=None, **names):
    return Player(
        {"policy": model, **names}, {"policy": "policy"}, env or side_by_side(), gd.Sampling(max_tokens=6), 0, 1
    )


def said(play, family, *texts, index=0):
    task = family.get("test", index)
    return pack(play([gd.Ask(task, note={"say": list(texts)})]))


def test_lines_are_labelled_up_to_the_first_error(scorer):
    family = chain(level=1)
    play = player(scorer)
    task = family.get("test", 0)  # two lines and the answer
    one, two = family.steps(task)
    texts = [
        f"{one}\n{two}\n= {task.answer}",  # right
        f"{one}\n\n{two}\n= 77",  # wrong in the answer, a blank line between
        f"{one}\n9+9=18\n= 18",  # wrong in the second line: the third has no label
        f"{one}\n{two}",  # ends without an answer: wrong where it ends
        "",
    ]
    batch = said(play, family, *texts)
    checked = {c.track: c for c in checked_solutions(batch, family, play)}
    assert [c.labels for c in checked.values()] == [[1, 1, 1], [1, 1, 0], [1, 0], [1, 0]]
    assert [len(c.ends) for c in checked.values()] == [3, 3, 3, 2]
    assert [c.wrong for c in checked.values()] == [None, 2, 1, 1] and all(c.whole for c in checked.values())
    labels = line_labels(family)(batch, play)["labels"]
    assert int((~labels.isnan()).sum()) == 3 + 3 + 2 + 2
    for c in checked.values():
        assert labels[c.ends[: len(c.labels)]].tolist() == c.labels
    first = checked[0]
    text = scorer.decode(batch.action[first.ends[0] + 1 : first.ends[1] + 1].tolist())
    assert text.strip() == two  # a line's label lies where the line ends


def test_a_solution_that_was_cut_short_is_not_blamed_for_what_it_could_not_say(scorer):
    family = chain(level=1)
    play = player(scorer)
    one, two = family.steps(family.get("test", 0))
    whole = said(play, family, f"{one}\n{two}").episodes[0]
    cut = pack([whole.but(segments=(whole.segments[0].but(end=End.CUT),))])
    (found,) = checked_solutions(cut, family, play)
    assert found.labels == [1, 1] and found.wrong is None and not found.whole
    failed = pack([whole.but(info={"error": "broke"})])
    assert checked_solutions(failed, family, play) == []
    assert line_labels(family)(failed, play)["labels"].isnan().all()


def sitting(play, asks, *, metric, tasks=4):
    """An exam as a run of those recipes has it."""
    return evaluate([Exam(asks, [metric], tasks=tasks)], play.models, play.seats, play.env, play.sampling)


def test_the_pair_exam_by_hand(scorer):
    family = chain(level=1)
    play = player(scorer, rm=scorer)
    play.seed = derive(0, "evaluate")
    asks = contrasts(family, wrong=2)
    batch = pack(play(asks.exam_asks(4, 1, play)))
    with torch.no_grad():
        final = scorer.read(batch, ["final"])["final"].double().tolist()
    chance = [1 / (1 + math.exp(final[3 * i + j] - final[3 * i])) for i in range(4) for j in (1, 2)]
    found = sitting(play, asks, metric=pair_accuracy("rm"))
    assert found["pair_accuracy"] == sum(p > 0.5 for p in chance) / 8
    assert found["pair_brier"] == pytest.approx(sum((1 - p) ** 2 for p in chance) / 8)
    sure = [max(p, 1 - p) for p in chance]
    assert found["pair_ece"] == pytest.approx(calibration_error(sure, [p > 0.5 for p in chance]))
    assert (found["pairs_examined"], found["task"]) == (8, "chain")
    none = sitting(play, contrasts(family, wrong=0), metric=pair_accuracy("rm"))
    assert none == {"task": "chain", "tries": 4, "pairs_examined": 0}


def test_the_step_exam_agrees_with_what_process_model_says(scorer):
    family = chain(level=1)
    play = player(scorer, prm=scorer)
    play.seed = derive(0, "evaluate")
    asks = contrasts(family, wrong=2)
    batch = pack(play(asks.exam_asks(4, 1, play)))
    (outcomes,) = ask_all([(process_model("prm", aggregate="steps"), Samples.of_batch(batch, play, "policy"))])
    checked = checked_solutions(batch, family, play)
    lines = [(p, y) for o, c in zip(outcomes, checked, strict=True) for p, y in zip(o.steps, c.labels, strict=False)]
    found = sitting(play, asks, metric=first_error("prm"))
    assert found["step_accuracy"] == pytest.approx(sum((p >= 0.5) == (y == 1) for p, y in lines) / len(lines))
    assert found["step_brier"] == pytest.approx(brier(*zip(*lines, strict=True)))
    want = first_error_scores([first_wrong(o.steps) for o in outcomes], [c.wrong for c in checked])
    assert {k: found[k] for k in want} == want and 0 < len(lines) == found["lines_examined"]
    with pytest.raises(UserError, match="no step checker"):
        evaluate([Exam(parity(), [first_error("prm")])], play.models, play.seats, single_turn(), play.sampling, tasks=1)


# --- recipes --------------------------------------------------------------------------------------------------------

RECIPES = {"reward_model": "rm", "process_reward_model": "prm"}
SMALL = {"prompts": 4, "wrong": 2, "tries": 1, "max_tokens": 6, "exam_tasks": 4}


def train(name, model, out, **more):
    return gd.train(name, task=chain(), model=model, out=out, seed=3, options=KEPT, **{"steps": 2, **SMALL, **more})


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(RECIPES, "process_reward_model"))
def test_a_recipe_runs_resumes_and_its_checkpoint_holds_the_head(name, tmp_path):
    model, scorer = small_lm(tmp_path / "lm"), RECIPES[name]
    whole = train(name, model, tmp_path / "whole", lr=1e-3)
    with killed_at(1):
        train(name, model, tmp_path / "broken", lr=1e-3)
    again = gd.train(whole.recipe, resume=tmp_path / "broken")
    assert again.weights == whole.weights
    assert again.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])
    assert again.evaluations == whole.evaluations and len(whole.evaluations) == 2
    held = load_file(sorted((whole.path / "checkpoints").iterdir())[-1] / "tensors.safetensors")
    assert held[f"model/{scorer}/value_head.weight"].abs().sum() > 0
    assert held["model/author/value_head.weight"].abs().sum() == 0  # who writes the tries stays as it was
    assert not model.value and "value_head" not in dict(model.net.named_modules())  # the caller's model too
    made = models.load(str(whole.path / "models" / scorer))
    made.start(0, {})
    assert weights_hash(made.net) == weights_hash(whole.model(scorer).net)
    assert not (whole.path / "models" / "author").exists()


@pytest.mark.slow
def test_a_fresh_head_is_at_chance_and_learns(tmp_path):
    run = train(
        "reward_model", small_lm(tmp_path / "lm", std=0.1), tmp_path / "run", steps=12, lr=3e-3, prompts=16, tries=0
    )
    (start, end), losses = run.evaluations, run.metrics["rm/loss"].to_pylist()
    known = {"pair_accuracy": 0.5, "pair_ece": 0.0, "pair_brier": 0.25, "pairs_examined": 8}
    assert {k: start[f"rm/{k}"] for k in known} == known
    assert losses[-1] < losses[0] - 0.05 and end["rm/pair_accuracy"] > 0.6
    run = train(
        "process_reward_model", small_lm(tmp_path / "lm2", std=0.1), tmp_path / "run2", steps=12, lr=3e-3, tries=0
    )
    (start, end), losses = run.evaluations, run.metrics["prm/loss"].to_pylist()
    assert start["prm/cleared_share"] == 1.0 and start["prm/first_error_f1"] == 0.0  # 1/2 is not below 1/2
    assert losses[-1] < losses[0] - 0.05 and "prm/step_ece" in end


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_slow(RECIPES, "reward_model"))
def test_an_exam_is_not_billed(name, tmp_path):
    model = small_lm(tmp_path / "lm")
    small, large = (train(name, model, tmp_path / str(n), exam_tasks=n) for n in (1, 8))
    assert small.spent.keys() == large.spent.keys() and small.weights == large.weights
    for unit in ("tokens", "samples"):
        assert small.spent[unit] == large.spent[unit] > 0


def test_a_model_without_a_head_is_refused():
    with pytest.raises(UserError, match="value head"):
        find_recipe("reward_model").build({"task": chain(), "model": tabular("01")}, {})
    with pytest.raises(UserError, match="step checker"):
        line_labels(tabular("01"))


# --- the product ----------------------------------------------------------------------------------------------------


def test_the_product_is_a_reward_and_chooses_among_tries(tmp_path):
    policy = small_lm(tmp_path / "lm")
    product = train("reward_model", policy, tmp_path / "rm", lr=1e-3).model("rm")
    step = train("process_reward_model", policy, tmp_path / "prm", lr=1e-3).model("prm")
    reward = outcome_model("rm") + process_model("prm")
    found = best_of(policy, reward, task=chain(), n=2, models={"rm": product, "prm": step}, tasks=3,
                    sampling=gd.Sampling(max_tokens=4))  # fmt: skip
    assert (found["tasks"], found["tries"], found["best_of_unscored"], found["best_of@2"]) == (3, 2, 0.0, 0.0)
    recipe = find_recipe("grpo").build(
        {"task": chain(), "model": policy, "reward": reward}, {"max_tokens": 4, "steps": 1}
    )
    recipe = recipe.but(models={**recipe.models, "rm": copy.deepcopy(product), "prm": step}, prompts=2)
    run = gd.train(recipe, out=tmp_path / "run", options=gd.Options(eval_tasks=0))
    assert run.complete and run.metrics.to_pylist()[0]["reward/failed"] == 0.0


def test_best_of_holds_a_choice_against_the_same_tries():
    table = tabular(vocab="0123456789= ", length=3)
    table.start(0, {})

    def constant(completion):
        return 1.0

    class digits:
        """Right with one chance in ten or so: the first action decides."""

        name = "digits"

        def size(self, split):
            return 20

        def get(self, split, index):
            return gd.Task(str(index), f"digit {index}", str(index % 10), family="digits")

        def check(self, task, completion):
            return float(completion[:1] == task.answer)

    def truth(task, completion):
        return float(completion[:1] == task.answer)

    best = best_of(table, gd.reward(truth, isolate=False), task=digits(), n=8)
    flat = best_of(table, gd.reward(constant, isolate=False), task=digits(), n=8)
    assert best["tasks"] == 20 and 0 < best["pass@1"] < best["pass@8"]
    assert best["best_of@8"] == best["pass@8"]  # who knows the truth finds a right one wherever there is one
    assert flat["best_of@8"] == pytest.approx(flat["pass@1"]) and flat["pass@1"] == best["pass@1"]
    with pytest.raises(UserError, match="best of what"):
        best_of(table, constant, task=None)


def test_what_the_page_shows_runs():
    page = Path(__file__).parent.parent.parent / "docs" / "reward_models.md"
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        if "runs/rm" not in code.replace('load("runs/rm/models/rm")', ""):  # what it takes is not there
            exec(compile(code, str(page), "exec"), {})
