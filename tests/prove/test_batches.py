"""Registered claims: what was said first, what a batch makes of a word, and that nothing that comes later changes a verdict."""

from __future__ import annotations

import dataclasses
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import claim_of, play, prove_planted, write_recipes

from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.loop.catalog import find_recipe
from guerdon.loop.proof.claim_results import settle
from guerdon.loop.proof.proving import How, register_claims, settle_all, trials_of
from guerdon.loop.proof.register import claim_hash, registered
from guerdon.store import evidence

SWING = (0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015, -0.015)


def better(what: str, factor: float, seed: int) -> dict[str, Any]:
    """A world in which whatever is new is better, and shorter."""
    ours = what.startswith("mine")
    ahead = (0.1 if "idea=0" not in what else 0.02) * ours
    return {"pass@1": 0.6 + ahead + 0.5 * SWING[seed % 8] * ours, "length": 8.0 - 2.0 * ours + SWING[seed % 8]}


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
        "batch": 1, "date": batch["date"], "hash": batch["claims"]["mine"][0]
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
    assert len(evidence.read_register(how.folder)) == 2


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
    (how.folder / evidence.REGISTER).write_text('{"batches": [')
    with pytest.raises(Damaged, match=r"register\.json is damaged"):
        register_claims([name], how)
    assert (how.folder / evidence.REGISTER).read_text() == '{"batches": ['


# --- batches ------------------------------------------------------------------------------------------------------


def claims(*p: float) -> list[dict[str, Any]]:
    return [{"alone": "better" if each <= 0.05 else "not known", "p": each} for each in p]


def test_of_many_claims_some_come_out_by_chance():
    mine = claims(0.03, *[0.9] * 30)
    settle(mine)
    assert {claim["verdict"] for claim in mine} == {"not known"}
    alone = claims(0.03)
    settle(alone)
    assert alone[0]["verdict"] == "better"
    waits = claims(0.03)
    settle(waits, waiting=30)
    assert waits[0]["verdict"] == "not known", "those without evidence yet count as well"


def test_what_cannot_be_tried_counts_in_its_batch_and_keeps_its_word():
    mine = [*claims(0.04), {"alone": "not testable here", "p": 0.001}]
    settle(mine)
    assert [claim["verdict"] for claim in mine] == ["not known", "not testable here"]


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6),
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6),
    st.data(),
)
def test_another_recipe_in_the_batch_never_takes_a_word_away(first, more, data):
    """Those that were registered are counted from the start, so that evidence for them changes nothing to the worse."""
    before = claims(*first)
    settle(before, waiting=len(more))
    after = claims(*first, *more)
    settle(after)
    for old, new in zip(before, after, strict=False):
        assert old["verdict"] in (new["verdict"], "not known")


def test_a_recipe_that_is_added_later_changes_no_verdict(tmp_path, how, monkeypatch):
    name = write_recipes(tmp_path / "mine.py", claim_of())
    register_claims([name], how)
    (proof,) = prove_planted(monkeypatch, [name], how, better)
    first = json.dumps(evidence.read(how.folder, "mine"))
    for i in range(6):
        claim = {**proof["claims"][0], "alone": "not known", "p": 0.9, "registered": None}
        evidence.write(how.folder, {**proof, "recipe": f"other{i}", "claims": [claim]})
    settle_all(how.folder)
    assert json.dumps(evidence.read(how.folder, "mine")) == first
    doubtful = json.loads(first)
    doubtful["claims"][0] |= {"p": 0.03, "registered": None}
    evidence.write(how.folder, doubtful)
    settle_all(how.folder)
    (among,) = evidence.read(how.folder, "mine")["claims"]
    assert (among["alone"], among["verdict"], among["stands"]) == ("better", "not known", "open")
    assert "no discovery among the claims" in (how.folder / "mine.md").read_text()


@pytest.mark.parametrize(
    ("lost", "verdict", "stands", "says"),
    [
        (0.0, "better", "supported", "cheaper by more than the effect that counts"),
        (0.1, "better", "refuted", "cheaper by more than the effect that counts"),
        (0.02, "not known", "open", "it is *better* at length, but whether it keeps pass@1 is open"),
    ],
)
def test_a_cheaper_claim_beside_others(tmp_path, how, monkeypatch, lost, verdict, stands, says):
    """Its p-value is of both things that are said of it."""
    claim = claim_of(kind="cheaper", metric="length", better="lower", effect=0.5, keeps="pass@1", ablation="")

    def world(what: str, factor: float, seed: int) -> dict[str, Any]:
        ours = what == "mine"
        return {"length": 8.0 - (2.0 + SWING[seed % 8]) * ours, "pass@1": 0.7 + (SWING[seed % 8] - lost) * ours}

    name = write_recipes(tmp_path / "mine.py", claim)
    (proof,) = prove_planted(monkeypatch, [name], how, world)
    (told,) = proof["claims"]
    assert (told["alone"], told["verdict"], told["stands"]) == ("better", verdict, stands)
    assert f": {says}." in (how.folder / "mine.md").read_text()


# --- pages --------------------------------------------------------------------------------------------------------


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
        return {**better(what, factor, seed), **({"pass@1": 0.5 + 0.05 * doublings} if doublings else {})}

    name = write_recipes(tmp_path / "mine.py", *stated)
    register_claims([name], how)
    (proof,) = prove_planted(monkeypatch, [name], how, world)
    page = (how.folder / "mine.md").read_text()
    assert [c["verdict"] for c in proof["claims"]] == ["better"] * 6
    assert [c["stands"] for c in proof["claims"]] == ["supported"] * 5 + ["refuted"]
    for i in range(len(stated)):
        picture = (how.folder / f"mine{f'-{i + 1}' if i else ''}.svg").read_text()
        ET.fromstring(picture)
        assert picture.count("fresh") == 1
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
        "A claim to be *better with every doubling along tries=2,4,8*",
        "**Better**: cheaper by more than the effect that counts. The claim is supported; **not by its idea**; replicated.",
        "What it must keep, pass@1: better by +0.1",
        "A doubling gains +0.0500",
        "The score is beyond the bound by +0.05",
        "| plain | `grpo` | 8 |",
        "The claim is refuted",
        "**Replicated**: 8 fresh seeds came to",
        "came to the same weights",
        "| method | 0.1 | ",
    ):
        assert words in page, words
    told = (how.folder / "README.md").read_text()
    assert "## Fresh seeds" in told and "| **better** |" in told and "yes |" in told


def test_a_page_says_what_speaks_against_it(tmp_path, how, monkeypatch):
    def world(what: str, factor: float, seed: int) -> dict[str, Any]:
        is_fresh = 1000 <= seed < 1008
        ahead = (0.02 if is_fresh else 0.1) * what.startswith("mine")
        return {"pass@1": 0.6 + ahead + 0.5 * SWING[seed % 8] * (what == "mine")}

    name = write_recipes(tmp_path / "mine.py", claim_of())
    (proof,) = prove_planted(monkeypatch, [name], how, world)
    page = (how.folder / "mine.md").read_text()
    assert "**not by its idea**; **not replicated**. **Not registered before it was run.**" in page
    assert "**Not replicated**: 8 fresh seeds came to +0.0200" in page
    proof["claims"][0]["needs"] = ["a", "b"]
    proof["claims"][0]["equally"] = {
        "read": {"mean": -0.05, "low": -0.06, "high": -0.04, "method": 900.0, "baseline": 300.0},
        "updates": {"mean": 0.01, "low": -0.01, "high": 0.03, "method": 30.0, "baseline": 10.0},
    }
    evidence.write(how.folder, proof)
    page = (how.folder / "mine.md").read_text()
    assert "**Unfinished: 2 runs are still wanted.**" in page
    assert "at equal tokens read (the method had 900, the baseline 300): worse by +0.0500 (+0.0400 to +0.0600)" in page
    assert "The sign is another" in page and "That is no longer an effect that counts." in page


def test_a_verdict_on_the_small_model_says_so(tmp_path, how, monkeypatch):
    name = write_recipes(tmp_path / "mine.py", claim_of())
    (proof,) = prove_planted(monkeypatch, [name], how, better)
    proof["claims"][0]["claim"]["model"] = "sprig-1.1"
    evidence.write(how.folder, proof)
    evidence.write_index(how.folder)
    assert "**Better, on sprig-1.1**: by more" in (how.folder / "mine.md").read_text()
    assert "| **better, on sprig-1.1** |" in (how.folder / "README.md").read_text()


def test_evidence_of_the_first_edition_is_told_apart(tmp_path):
    (tmp_path / "old.json").write_text(json.dumps({"format": 1, "recipe": "old", "claims": []}))
    with pytest.raises(UserError, match=r"old\.json is of the first edition, .*: guerdon prove old$"):
        evidence.read(tmp_path, "old")
    assert evidence.read_all(tmp_path) == {}
    evidence.write_index(tmp_path)
    assert "old" not in (tmp_path / "README.md").read_text()
    (tmp_path / "odd.json").write_text("[")
    with pytest.raises(UserError, match="there is no evidence in"):
        evidence.read_all(tmp_path)


def test_what_is_known_of_one_folder_serves_another(tmp_path, how, monkeypatch):
    """Evidence alone, without a run folder or a ledger, is enough to go on with."""
    name = write_recipes(tmp_path / "mine.py", claim_of())
    prove_planted(monkeypatch, [name], how, better)
    elsewhere = dataclasses.replace(how, runs=tmp_path / "elsewhere")
    known, (trial,) = elsewhere.known, trials_of(name, find_recipe(name), elsewhere)
    assert trial.wanted(known) == [] and play([trial], known, better) == []
    mean = trial.comparison(known).mean
    assert mean == pytest.approx(evidence.read(how.folder, "mine")["claims"][0]["against"]["baseline"]["mean"])
    assert not (tmp_path / "elsewhere").exists()
