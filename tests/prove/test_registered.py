"""Registered claims: what was said first, and the pages and figures of every kind of claim."""

from __future__ import annotations

import dataclasses
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from planted import claim_of, play, prove_planted, write_recipes
from refusals import refusal

from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.evidence import proof_files
from guerdon.prove.proving import How, register_claims, trials_of
from guerdon.prove.register import claim_hash, registered
from guerdon.training.catalog import find_recipe

SWING = (0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015, -0.015)


def better(what: str, factor: float, seed: int) -> dict[str, Any]:
    """A world in which whatever is new is better, and shorter."""
    ours = what.startswith("mine")
    ahead = (0.1 if "idea=0" not in what else 0.02) * ours
    return {
        "pass@1": 0.6 - 0.1 * (factor != 1) + ahead + 0.5 * SWING[seed % 8] * ours,
        "length": 8.0 - 2.0 * ours + SWING[seed % 8],
    }


@pytest.fixture
def how(tmp_path: Path) -> How:
    return How(out=tmp_path / "evidence", runs=tmp_path / "runs", jobs=1)


# --- registering --------------------------------------------------------------------------------------------------


def test_a_claim_is_registered_before_it_is_run(tmp_path, how, monkeypatch):
    name = write_recipes(tmp_path / "mine.py", claim_of())
    batch = register_claims([name], how)
    assert batch is not None and batch["batch"] == 1 and [len(hashes) for hashes in batch["claims"].values()] == [1]
    assert register_claims([name], how) is None, "it is registered as it is"
    (proof,) = prove_planted(monkeypatch, [name], how, better)
    assert proof["claims"][0]["registered"] == {
        "batch": 1, "date": batch["date"], "hash": batch["claims"]["mine"][0], "edition": 3
    }  # fmt: skip
    page = (how.folder / "mine.md").read_text()
    assert f"Registered {batch['date']}, batch 1." in page and "not registered" not in page
    assert f"| 1 | {batch['date']} | 1 | 1 | 1 |" in (how.folder / "README.md").read_text()


@pytest.mark.parametrize(
    "change",
    [{"effect": 0.01}, {"says": "the idea is best"}, {"budget": 200}, {"settings": "prompts=2 tries=4 lr=0.1"}],
)
def test_a_claim_that_was_changed_afterwards_was_not_registered(tmp_path, how, monkeypatch, change):
    path = tmp_path / "mine.py"
    register_claims([write_recipes(path, claim_of())], how)
    name = write_recipes(path, claim_of(**change))
    (trial,) = trials_of(name, find_recipe(name), how)
    assert registered(how.folder, trial) is None
    if "settings" not in change:
        (proof,) = prove_planted(monkeypatch, [name], how, better)
        assert proof["claims"][0]["registered"] is None
        assert "**Not registered before it was run.**" in (how.folder / "mine.md").read_text()
    later = register_claims([name], how)
    assert later is not None and later["batch"] == 2, "the first stays, the second is another"
    assert len(proof_files.read_register(how.folder)) == 2


def test_what_decides_a_claims_numbers_is_in_its_hash(tmp_path, how):
    name = write_recipes(tmp_path / "mine.py", claim_of())
    (trial,) = trials_of(name, find_recipe(name), how)
    hashes = {claim_hash(trial)}
    for field in dataclasses.fields(trial.claim):
        value = getattr(trial.claim, field.name)
        other = {str: "x", tuple: (9,), bool: not value, float: 7.5, int: 7}[type(value)]
        hashes.add(
            claim_hash(dataclasses.replace(trial, claim=dataclasses.replace(trial.claim, **{field.name: other})))
        )
    assert len(hashes) == 1 + len(dataclasses.fields(trial.claim))
    other_arm = {**trial.arms, "method": trial.arms["baseline"]}
    assert claim_hash(dataclasses.replace(trial, arms=other_arm)) not in hashes


def test_a_damaged_register_is_not_written_over(tmp_path, how):
    name = write_recipes(tmp_path / "mine.py", claim_of())
    how.folder.mkdir(parents=True)
    (how.folder / proof_files.REGISTER).write_text('{"batches": [')
    with pytest.raises(Damaged, match=r"register\.json is damaged"):
        register_claims([name], how)
    assert (how.folder / proof_files.REGISTER).read_text() == '{"batches": ['


# --- pages --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_kind_of_claim_has_a_page_and_a_figure(tmp_path, how, monkeypatch):
    stated = (
        claim_of(baseline="rloo"),
        claim_of(kind="cheaper", metric="length", better="lower", effect=0.5, keeps="pass@1"),
        claim_of(kind="bound", bound=0.65, ablation=""),
        claim_of(kind="slope", along="tries=2,4,8", ablation=""),
        claim_of(kind="at least as good", metric="mean pass@1"),
        claim_of(kind="equal", says="the idea changes nothing"),
    )

    def world(what: str, factor: float, seed: int) -> dict[str, Any]:
        doublings = {"2": 1, "4": 2, "8": 3}.get(what.partition("tries=")[2], 0)
        slope = {"pass@1": 0.5 - 0.1 * (factor != 1) + 0.05 * doublings} if doublings else {}
        return {**better(what, factor, seed), **slope}

    name = write_recipes(tmp_path / "mine.py", *stated)
    register_claims([name], how)
    (proof,) = prove_planted(monkeypatch, [name], how, world)
    page = (how.folder / "mine.md").read_text()
    assert [c["word"] for c in proof["claims"]] == ["ahead"] * 6
    for i in range(len(stated)):
        ET.fromstring((how.folder / f"mine{f'-{i + 1}' if i else ''}.svg").read_text())
    assert (how.folder / "mine-5.svg").read_text().count('fill="none" stroke=') >= 16, "fresh seeds are hollow"
    slope = (how.folder / "mine-4.svg").read_text()
    assert all(f"method tries={n}" in slope for n in (2, 4, 8)) and "gain of a doubling" in slope
    assert "baseline" not in slope
    assert (
        "plain" in (how.folder / "mine.svg").read_text()
        and "pass@1: method minus" in (how.folder / "mine-2.svg").read_text()
    )
    for words in (
        "A claim to be *cheaper at pass@1 that is at least as good within 0.02*",
        "A claim to be *above 0.65*",
        "A claim to be *ahead with every doubling along tries=2,4,8*",
        "**Ahead**: 8 seeds and 8 fresh ones each show the method ahead.",
        "**Ahead**: 8 seeds and 8 fresh ones each show the method ahead, and pass@1 is kept.",
        "What it must keep, pass@1: +0.1",
        "Pass@1 +0.0500 (+0.0500 to +0.0500) over 8 + 8 fresh seeds",
        "% of what GRPO on the true reward gains; detectable 0.",
        "| plain | `grpo` | 8 |",
        "- to its ablation: +0.0800",
        "Confirmed by ablation.",
        "ended with the same weights",
        "- *updates* passed: the method makes 300 policy updates (required: 150 or more)",
        "| method | 0.1 | ",
        "Spread ratio",
    ):
        assert words in page, words
    assert "**ahead** |" in (how.folder / "README.md").read_text()


def test_a_page_says_what_speaks_against_it(tmp_path, how, monkeypatch):
    def world(what: str, factor: float, seed: int) -> dict[str, Any]:
        ahead = (0.0 if 1000 <= seed < 2000 else 0.1) * what.startswith("mine")
        return {"pass@1": 0.6 - 0.1 * (factor != 1) + ahead + 0.5 * SWING[seed % 8] * (what == "mine")}

    name = write_recipes(tmp_path / "mine.py", claim_of())
    (proof,) = prove_planted(monkeypatch, [name], how, world)
    page = (how.folder / "mine.md").read_text()
    assert "**Inconclusive**: the two samples of seeds do not confirm each other" in page
    assert "Not registered before it was run." in page and "8 first +0.1000, 8 fresh +0.0000" in page
    proof["claims"][0]["gates"][1] = {"gate": "updates", "open": False, "why": "the baseline makes 9 policy updates"}
    proof["claims"][0]["needs"] = ["a", "b"]
    proof["claims"][0]["equally"] = {
        "read": {"mean": -0.05, "low": -0.06, "high": -0.04, "method": 900.0, "baseline": 300.0},
        "updates": {"mean": 0.01, "low": -0.01, "high": 0.03, "method": 30.0, "baseline": 10.0},
    }
    proof_files.write(how.folder, proof)
    page = (how.folder / "mine.md").read_text()
    assert "**Unfinished: 2 runs are still needed.**" in page
    assert "at equal tokens read (the method had 900, the baseline 300): -0.0500 (-0.0600 to -0.0400)" in page
    assert "Gate failed: updates." in page and "- *updates* **failed**: the baseline makes 9" in page
    assert "The sign differs" in page and "That is less than the minimum effect." in page


def test_a_word_names_the_model_it_was_measured_with(tmp_path, how, monkeypatch):
    name = write_recipes(tmp_path / "mine.py", claim_of())
    (proof,) = prove_planted(monkeypatch, [name], how, better)
    proof["claims"][0]["claim"]["model"] = "sprig-1.1"
    proof_files.write(how.folder, proof)
    proof_files.write_index(how.folder)
    assert "**Ahead, on sprig-1.1**: 8 seeds" in (how.folder / "mine.md").read_text()
    assert "| **ahead, on sprig-1.1** |" in (how.folder / "README.md").read_text()


@pytest.mark.parametrize("edition", [1, 2])
def test_evidence_of_earlier_editions_does_not_count(tmp_path, edition):
    (tmp_path / "old.json").write_text(json.dumps({"format": edition, "recipe": "old", "claims": []}))
    with refusal(UserError):
        proof_files.read(tmp_path, "old")
    assert proof_files.read_all(tmp_path) == {}
    proof_files.write_index(tmp_path)
    assert "old" not in (tmp_path / "README.md").read_text()
    (tmp_path / "odd.json").write_text("[")
    with refusal(UserError):
        proof_files.read_all(tmp_path)


@pytest.mark.slow
def test_what_is_known_of_one_folder_serves_another(tmp_path, how, monkeypatch):
    """Evidence alone, without a run folder or a ledger, is enough to go on with."""
    name = write_recipes(tmp_path / "mine.py", claim_of())
    prove_planted(monkeypatch, [name], how, better)
    elsewhere = dataclasses.replace(how, runs=tmp_path / "elsewhere")
    known, (trial,) = elsewhere.known, trials_of(name, find_recipe(name), elsewhere)
    assert trial.wanted(known) == [] and play([trial], known, better) == []
    mean = trial.estimate(known, *trial.complete(known)).mean
    assert mean == pytest.approx(proof_files.read(how.folder, "mine")["claims"][0]["against"]["baseline"]["mean"])
    assert not (tmp_path / "elsewhere").exists()
