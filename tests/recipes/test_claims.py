"""What holds for every published method: where it stands, what it says of itself, and that its claim can be run."""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon.core.recipe import Claim
from guerdon.evidence import proof_files
from guerdon.prove.arms import ABLATION, BASELINE, METHOD, PLAIN, points_of
from guerdon.prove.claim_results import decided, estimate_in
from guerdon.prove.proving import How, trials_of
from guerdon.prove.register import registered
from guerdon.prove.trial import Trial
from guerdon.training import build
from guerdon.training.catalog import find_recipe, listings, part_modules

PAGES = Path(__file__).parent.parent.parent / "docs" / "evidence"
WAITING = {"fin-prm", "reasonflux-prm", "t-reg", "what-srms-reward"}  # registered and not yet run; their pages say so
# families with mechanism tests, and methods without a registered claim
BEGUN = {"allocation", "policy", "preference", "self_reward"}
UNFINISHED = set[str]()  # proofs that want more runs; their pages say so
PUBLISHED = {name: listing for name, listing in listings().items() if listing.family != "house"}
UNCLAIMED = {name for name, listing in PUBLISHED.items() if listing.family in BEGUN and not listing.claims}


@pytest.fixture(scope="module", autouse=True)
def read_once() -> Iterator[None]:
    """Some hundred arms are built and none is run: each has a copy of its model, which is read from its files once."""
    read = functools.cache(build.load)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "load", lambda model: copy.deepcopy(read(model)))
        yield


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_stands_where_its_name_says(name):
    _, _, *place = PUBLISHED[name].module.split(".")
    file = [PUBLISHED[name].family, name.replace("-", "_")]
    assert place in (file, [*file, "recipe"])


def test_a_folder_holds_a_recipe_and_parts_of_its_own():
    folders = {name.rpartition(".")[0] for name in part_modules()}
    with_a_recipe = {listing.module.removesuffix(".recipe") for listing in PUBLISHED.values()}
    assert folders and folders <= with_a_recipe


@pytest.mark.parametrize("name", PUBLISHED)
def test_it_says_what_it_follows_and_what_it_leaves_out(name):
    text = inspect.getdoc(importlib.import_module(PUBLISHED[name].module)) or ""
    assert "Paper" in text and "Leaves out" in text
    assert PUBLISHED[name].paper.startswith("arXiv:") and PUBLISHED[name].paper.removeprefix("arXiv:") in text
    assert bool(PUBLISHED[name].claims) == (name not in UNCLAIMED), (
        "its claim must be readable without running the file: Claim(says=...) in the decorator"
    )


@pytest.mark.sampled(6, "name")
@pytest.mark.parametrize("name", sorted(PUBLISHED.keys() - UNCLAIMED))
def test_its_claims_can_be_run_are_registered_and_are_those_of_its_evidence(name):
    """One test, for building the arms of all claims is what takes time."""
    entry = find_recipe(name)
    assert PUBLISHED[name].claims == tuple(claim.says for claim in entry.claims)
    trials, dates = trials_of(name, entry, How(out=proof_files.SHIPPED)), []
    for trial in trials:
        can_be_run(trial)
        dates.append(registered(proof_files.SHIPPED, trial))  # before it is run; one that changes is registered again
        assert dates[-1], f"a claim of {name} is not registered: guerdon prove --register"
    if name not in WAITING:
        proof = proof_files.read(proof_files.SHIPPED, name)
        assert not proof["quick"] and '"/' not in json.dumps(proof), "a path of the machine it was made on"
        page = (PAGES / f"{PUBLISHED[name].family}.md").read_text()
        shown, *_ = page.partition(f"<!-- evidence: {name} -->\n")[2].partition("<!-- end -->")
        for trial, dated, claim in zip(trials, dates, proof["claims"], strict=True):
            assert claim["registered"] == dated, f"the claim of {name} was changed afterwards"
            says_all(name, claim, trial, shown)
            is_of_the_recipe_as_it_is(proof, claim, trial, shown)


def can_be_run(trial: Trial) -> None:
    """Arms are built, which checks that they are whole, and differ: a method that is its own baseline proves nothing."""
    claim = trial.claim
    assert [role for role in trial.arms if role != PLAIN] == roles_of(claim)
    compared = [arm.hash for role, arm in trial.arms.items() if role != PLAIN]
    assert len(set(compared)) == len(compared)
    assert claim.effect > 0 and claim.budget > 0 and (not claim.keeps or claim.loss > 0)
    assert (claim.kind == "cheaper") == bool(claim.keeps) and (claim.kind == "slope") == bool(claim.along)


def says_all(name: str, claim: dict[str, Any], trial: Trial, shown: str) -> None:
    against = {role: estimate_in(found) for role, found in claim["against"].items()}
    kept = estimate_in(claim["quality"]) if "quality" in claim else None
    told = decided(trial.claim.kind, against["baseline"], kept, against.get("ablation"), is_claim=True)
    assert {key: claim[key] for key in told} == told, "the word does not follow from the differences"
    for role, found in claim["against"].items():
        again = {key: value for key, value in dataclasses.asdict(against[role]).items() if key != "differences"}
        assert again == pytest.approx({key: found[key] for key in again}), role
    gap, first = claim["against"]["baseline"], len(claim["arms"][next(iter(claim["arms"]))]["runs"])
    if trial.claim.kind not in ("bound", "slope"):
        ours, theirs = ([run["score"] for run in claim["arms"][role]["runs"]] for role in ("method", "baseline"))
        sign = 1.0 if trial.claim.better == "higher" else -1.0
        differences = [sign * (a - b) for a, b in zip(ours, theirs, strict=True)]
        assert gap["differences"][:first] == pytest.approx(differences, abs=1e-6), "they are not those of its runs"
    assert claim["needs"] == [] or (name in UNFINISHED and "unfinished" in shown), "a proof that is not finished"
    assert all(len(arm["runs"]) >= 8 for arm in claim["arms"].values())
    assert claim["registered"] is not None, f"{name} was proved before it was registered"


def is_of_the_recipe_as_it_is(proof: dict[str, Any], claim: dict[str, Any], trial: Trial, shown: str) -> None:
    """Or is shown as stale."""
    told = json.loads(json.dumps(trial.claim.told()))
    assert claim["claim"] == told, "the claim has changed: register it and prove it again"
    if proof_files.stale(proof):
        assert "*Stale*: " in shown, "run `make pages`"
        return
    for role, arm in claim["arms"].items():
        now = trial.arms[role].at_rate(arm["lr"] / (trial.arms[role].rate or 1.0)) if arm["lr"] else trial.arms[role]
        assert now.hash == arm["hash"], f"the {role} has changed: prove it again"


def roles_of(claim: Claim) -> list[str]:
    """The arms that a claim of its kind has, but for plain GRPO."""
    if claim.kind == "slope":
        return [f"{METHOD} {point}" for point in points_of(claim)]
    return [METHOD] if claim.kind == "bound" else [METHOD, BASELINE, *([ABLATION] if claim.ablation else [])]


def test_every_published_method_has_evidence_or_waits_for_it():
    registered = {name for name in proof_files.read_all(proof_files.SHIPPED) if not name.endswith("+screening")}
    assert registered == set(PUBLISHED) - WAITING - UNCLAIMED
    for name in WAITING:
        page = (PAGES / f"{PUBLISHED[name].family}.md").read_text()
        shown, *_ = page.partition(f"<!-- evidence: {name} -->\n")[2].partition("<!-- end -->")
        assert "registered, not run yet" in shown, "run `make pages`"


def test_arms_were_run_against_themselves():
    assert all(len(each["differences"]) >= 24 for each in proof_files.recorded_pairs(proof_files.SHIPPED))
