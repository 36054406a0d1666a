"""Arms of a study share a result only where all that decides it is in its key: proved together they come to what each comes to
alone."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from proofs import how, quiet

import guerdon as gd
from guerdon.core.decided import decided_by
from guerdon.core.recipe import Study
from guerdon.prove.arms import START_SEED
from guerdon.prove.proving import How, prove, trials_of
from guerdon.prove.rehearsing import PROBLEMS, STEPS, run_briefly
from guerdon.runs.event_types import Evaluated
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.training import evaluate, loop
from guerdon.training.build import Built, RunRequest, config_of
from guerdon.training.catalog import find_recipe, listings
from guerdon.training.evaluate import sit_all
from guerdon.training.record import Options
from guerdon.training.study import run_study

SMALL = {  # where a recipe has more: what is shared is the same, and made in seconds
    "answers": 4, "clients": 4, "each": 8, "exam_tasks": 8, "lessons": 64, "max_tokens": 16, "pairs": 30, "pool": 3,
    "problems": 8, "prompts": 4, "rounds": 2, "samples": 1000, "states": 8, "tasks": 8, "tries": 16, "updates": 20,
    "worlds": 6,
}  # fmt: skip


@functools.cache
def of_one_layer(name: str) -> str:
    """A shipped model with its first layer alone: what it says counts for nothing here."""
    model, folder = gd.models.load(name), Path(tempfile.mkdtemp()) / name
    net: Any = model.weights
    net.config, net.layers = dataclasses.replace(net.config, layers=1), net.layers[:1]
    gd.models.save(model, folder)
    return str(folder)


def came_to(arm: Any, path: Path, inner: Path | None, seed: int) -> Any:
    """A study's result, with runs of two steps; they lie in `inner` where they are shared."""
    asked = arm.request
    model = of_one_layer(asked.model) if asked.model and isinstance(asked.model, str) else asked.model
    task = re.sub(r"@\d+$", "@16", asked.task) if isinstance(asked.task, str) else asked.task
    arm = dataclasses.replace(arm, request=dataclasses.replace(asked, model=model, task=task))
    knobs = {**find_recipe(arm.request.recipe).knobs(), **arm.request.settings}
    small = {name: str(most) for name, most in SMALL.items() if float(knobs.get(name, 0)) > most}
    settings = {**arm.request.settings, **small}
    arm = dataclasses.replace(arm, request=dataclasses.replace(arm.request, settings=settings))
    for start in arm.starts.values():
        run_briefly(start, path / start.folder(START_SEED))
    built, folder = arm.begun(path).build(), RunFolder(path / "study")
    options = dataclasses.replace(arm.options, eval_tasks=PROBLEMS, eval_whole=PROBLEMS)
    folder.create(config_of(built, arm.request, seed, 0, options))
    return run_study(built.recipe, folder, options, seed, inner=inner, most=STEPS)


def is_same_together_and_alone(name: str, tmp_path: Path) -> list[Any]:
    """What each arm that is a study comes to: the same by itself and beside the others. One of several claims counts once."""
    trials = trials_of(name, find_recipe(name), How())
    arms = {arm.key(0): arm for trial in trials for arm in trial.arms.values() if arm.is_study}
    results = []
    for key, arm in arms.items():
        alone = came_to(arm, tmp_path / f"{key} alone", None, 0)
        assert came_to(arm, tmp_path / f"{key} shared", tmp_path / "inner", 0) == alone, arm.what
        results.append(alone)
    return results


@pytest.mark.slow
def test_preferences_of_one_arm_are_not_anothers(tmp_path):
    """The three arms of one claim once had one result, remembered by the number of pairs alone."""
    method, baseline, ablation = is_same_together_and_alone("regret-preference-model", tmp_path)
    assert method != baseline and method != ablation


def studies() -> list[str]:
    return [name for name, listing in listings().items() if listing.claims and "Study" in _returns(name)]


def _returns(name: str) -> str:
    return str(find_recipe(name).function.__annotations__.get("return", ""))


@pytest.mark.slow
@pytest.mark.parametrize("name", studies())
def test_every_study_comes_to_the_same_with_sharing_and_without(name, tmp_path):
    if "studies.digits" in Path(sys.modules[find_recipe(name).function.__module__].__file__ or "").read_text():
        pytest.importorskip("sklearn")
    if not is_same_together_and_alone(name, tmp_path):
        pytest.skip("it builds a study in other settings than its claims'")


MADE: list[float] = []  # by results that were made and not taken over


def body_with(values: Any) -> Any:
    def body(run: Any, seed: int) -> dict[str, Any]:
        def made() -> float:
            MADE.append(next(iter(values)))
            return MADE[-1]

        return {"made": run.remember("one key", made)}

    return body


def run_all(tmp_path: Path, *values: Any) -> list[float]:
    """What studies that differ in nothing but a value that they close over come to, one after the other in one place."""
    MADE.clear()
    told = []
    for i, value in enumerate(values):
        study, folder = Study(body_with(value)), RunFolder(tmp_path / str(i))
        folder.create(config_of(Built("study", study), RunRequest(study), 0, 0, Options()))
        told.append(run_study(study, folder, Options(), 0, inner=tmp_path / "inner")["made"])
    return told


def test_a_result_is_shared_by_all_that_decides_it_and_by_nothing_less(tmp_path):
    assert run_all(tmp_path, [1.0], [1.0], [2.0]) == [1.0, 1.0, 2.0]
    assert MADE == [1.0, 2.0]  # the second took the first's


def test_what_cannot_be_taken_apart_is_not_shared(tmp_path):
    assert run_all(tmp_path, iter([1.0]), iter([2.0])) == [1.0, 2.0] == MADE


ALIKE = '''
"""A method that is its baseline in everything but its name."""
from guerdon.core.recipe import Claim, Study, recipe


@recipe("alike", claim=Claim(says="it is better", baseline="alike idea=0", model="", metric="worth", budget=1, unit="samples"))
def alike(idea: int = 1) -> Study:
    """Its idea does nothing."""

    def body(run, seed):
        return {"worth": 0.5 + 0.01 * seed}

    return Study(body)
'''


@pytest.mark.slow
def test_arms_that_are_equal_in_every_seed_fail_a_gate(tmp_path):
    (tmp_path / "alike.py").write_text(ALIKE)
    (proof,) = prove([str(tmp_path / "alike.py")], how(tmp_path), quiet)
    (claim,) = proof["claims"]
    assert [gate["why"] for gate in claim["gates"] if not gate["open"]] == [
        "method and baseline have equal results in each of 8 seeds"
    ]
    assert claim["word"] == "no difference" and len(claim["against"]["baseline"]["differences"]) == 8
    assert claim["needs"] == []


# --- exams before the first step -----------------------------------------------------------------------------------


def examined(folder, starts, monkeypatch, tasks=8):
    """What three short trainings from the same weights are told of themselves by exams, and how often one was sat."""
    sat, told, sit = [], [], evaluate.sit
    monkeypatch.setattr(evaluate, "sit", lambda *given: sat.append(1) or sit(*given))
    for name, lr in (("grpo", 0.1), ("rloo", 0.1), ("grpo", 0.3)):
        task, model = gd.tasks.load("successor:1"), gd.models.load("tabular")
        recipe = find_recipe(name).build({"task": task, "model": model}, {"prompts": 4, "tries": 8, "lr": lr})
        run, options = RunFolder(folder / f"{name}-{lr}"), Options(eval_tasks=tasks)
        run.create(config_of(Built(name, recipe), RunRequest(recipe), 0, 2, options))
        assert loop.run_recipe(recipe, run, options, 0, 2, starts=starts)
        told.append([event.result for event in Run(run).events(Evaluated)])
    monkeypatch.setattr(evaluate, "sit", sit)
    return told, len(sat)


@pytest.mark.slow
def test_runs_from_the_same_weights_sit_the_exam_before_the_first_step_once(tmp_path, monkeypatch):
    apart, six = examined(tmp_path / "apart", None, monkeypatch)
    shared, four = examined(tmp_path / "shared", tmp_path / "starts", monkeypatch)
    assert shared == apart and (six, four) == (6, 4)
    (kept,) = (tmp_path / "starts").glob("*.json")
    kept.write_text(kept.read_text().replace("pass", "pss"))
    again, four = examined(tmp_path / "again", tmp_path / "starts", monkeypatch)
    assert again == apart and four == 4, "one that is damaged is sat again"
    assert examined(tmp_path / "other", tmp_path / "starts", monkeypatch, tasks=9)[1] == 4


def test_other_weights_problems_or_tries_are_another_exam(tmp_path):
    made = find_recipe("grpo").build({"task": gd.tasks.load("countdown:2"), "model": gd.models.load("sprig")}, {})
    recipe, _ = loop.start(made, 0, 2)

    def key(**how):
        given = (recipe.exams, recipe.models, recipe.seats, recipe.env, recipe.sampling)
        return decided_by(functools.partial(sit_all, *given, **{"tasks": 8, "tries": 2, "seed": 0, **how}))

    first = key()
    assert first == key() is not None
    assert len({first, key(tasks=9), key(tries=3), key(seed=1), key(drawn=0)}) == 5
    with torch.no_grad():
        next(recipe.models["policy"].weights.parameters()).mul_(1.5)
    assert key() not in (first, None)
