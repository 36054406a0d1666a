"""The multi-domain study: gains and transfer by hand, and the study over sets of domains."""

from __future__ import annotations

import json

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.models.tables import tabular
from guerdon.recipes.curriculum.multi_domain_rlvr_study import by_domain, domains_of, gains, split
from guerdon.runs.run import Run
from guerdon.tasks import load
from guerdon.training.catalog import find_recipe

NAME = "multi-domain-rlvr-study"


def test_a_domain_is_a_family():
    found = domains_of(load("countdown:1-2+chain:3+prefer/chain:2"))
    assert {name: len(sources) for name, sources in found.items()} == {"countdown": 2, "chain": 1, "prefer/chain": 1}


def test_a_domain_counts_once_however_many_kinds_it_has():
    assert by_domain({"a:1": 0.0, "a:2": 1.0, "b:7": 0.25, "a:3": 0.5}) == {"a": 0.5, "b": 0.25}


def test_a_gain_is_from_the_first_evaluation_to_the_end():
    kinds = [{"a:1": 0.1, "b:1": 0.5}, {"a:1": 0.9, "b:1": 0.9}, {"a:1": 0.4, "b:1": 0.25}]
    curve = [{"value": 0.0, "kinds": each, "point": ""} for each in kinds]
    assert gains(curve) == {"a": pytest.approx(0.3), "b": -0.25}
    late = [{**point, "point": name} for point, name in zip(curve, ("start", "late", "last"), strict=True)]
    assert gains(late) == {"a": pytest.approx(0.55), "b": pytest.approx(0.075)}  # the last two whole exams


def test_gains_split_into_what_was_trained_and_what_was_not():
    gained = {"a": 0.5, "b": 0.25, "c": -0.5}
    assert split(["a", "c"], gained) == {"own": 0.0, "transfer": 0.25}
    assert split(["a", "b", "c"], gained) == {"own": pytest.approx(0.25 / 3)}
    assert split([], gained) == {"transfer": pytest.approx(0.25 / 3)}


# --- the study ---------------------------------------------------------------------------------------------------


def study(out, together):
    """Two domains of digits on a table that has a row for every prompt."""
    model = tabular("0123456789", length=1, rows=64)
    wish = {"task": load("parity:1+successor:1"), "model": model}
    wish |= {"settings": {"prompts": 8, "tries": 8, "lr": 0.5, "together": together}, "budget": "1500"}
    return gd.train(NAME, out=out, seed=1, options=gd.Options(eval_tasks=40, eval_tries=4), **wish)


def result(run):
    return json.loads((run.path / "result.json").read_text())


def inner(run):
    return [Run(config.parent) for config in sorted(run.folder.inner.glob("*/run.json"))]


@pytest.mark.slow
def test_alone_each_domain_is_learned_and_helps_no_other_on_a_table(tmp_path):
    run = study(tmp_path / "run", 1)
    found = result(run)
    assert set(found["gains"]) == {"parity", "successor"}
    assert found["own"] == pytest.approx(
        (found["gains"]["parity"]["parity"] + found["gains"]["successor"]["successor"]) / 2
    )
    assert found["own"] > 0.1 > abs(found["transfer"])  # rows of their own: all that is learned is one domain's
    for each in inner(run):
        assert each.spent["tokens"] >= 1500 > each.spent["tokens"] - 64
        assert len({e.task.family for _, batch in each.batches() for e in batch.episodes}) == 1


@pytest.mark.slow
def test_together_there_is_one_run_over_all_and_nothing_to_transfer_to(tmp_path):
    run = study(tmp_path / "run", 2)
    found = result(run)
    assert list(found["gains"]) == ["parity+successor"] and "transfer" not in found
    (only,) = inner(run)
    families = [e.task.family for _, batch in only.batches() for e in batch.episodes]
    assert families.count("parity") == families.count("successor")


def test_of_nothing_nothing_comes(tmp_path):
    found = result(study(tmp_path / "run", 0))
    assert found["transfer"] == 0.0 and "own" not in found
    assert found["gains"] == {"": {"parity": 0.0, "successor": 0.0}}


def test_what_cannot_be_is_refused():
    for task, together in (("parity+successor", 3), ("countdown:1-3", 1)):
        with refusal(UserError):
            find_recipe(NAME).build({"task": load(task), "model": tabular()}, {"together": together})
