"""What holds for every published method: where it stands, what it says of itself, and that its claim can be run."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
from pathlib import Path

import pytest

from guerdon.core.recipe import Recipe
from guerdon.loop.catalog import find_recipe, listings, part_modules
from guerdon.loop.proof.arms import ABLATION, BASELINE, METHOD, arms_of
from guerdon.loop.proof.proving import OPTIONS
from guerdon.store import evidence

PAGES = Path(__file__).parent.parent.parent / "docs" / "evidence"
TWO_ARMS = {  # recipes with a claim that has no ablation: how many arms each of their claims has
    "curricula-in-federated-learning": [3, 2],
    "curriculum-grpo": [3, 2],
    "dr-saf": [3, 2],
    "hbpo": [3, 2],
    "multi-domain-rlvr-study": [2, 3],
    "nemotron-crossthink": [3, 2],
    "simplerl-zoo": [2, 2],
}
PUBLISHED = {name: listing for name, listing in listings().items() if listing.family != "house"}


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
    assert PUBLISHED[name].claims, (
        "its claim must be readable without running the file: Claim(says=...) in the decorator"
    )


@pytest.mark.parametrize("name", PUBLISHED)
def test_its_claims_can_be_run(name):
    """Arms are built, are whole, and differ: a method that is its own baseline proves nothing."""
    claims = find_recipe(name).claims
    assert PUBLISHED[name].claims == tuple(claim.says for claim in claims)
    for claim in claims:
        recipes = {role: arm.build().recipe for role, arm in arms_of(name, claim, OPTIONS).items()}
        for recipe in recipes.values():
            if isinstance(recipe, Recipe):
                recipe.check()
        assert list(recipes) == [METHOD, BASELINE, ABLATION][: 3 if claim.ablation else 2]
        assert len({recipe.hash for recipe in recipes.values()}) == len(recipes)
        assert claim.effect > 0 and claim.budget > 0


def test_claims_have_the_arms_they_had():
    """Three with an ablation, two without."""
    arms = {name: [3 if claim.ablation else 2 for claim in find_recipe(name).claims] for name in PUBLISHED}
    assert {name: counts for name, counts in arms.items() if set(counts) != {3}} == TWO_ARMS


def test_every_published_method_has_evidence():
    assert set(evidence.read_all(evidence.SHIPPED)) == set(PUBLISHED)


@pytest.mark.parametrize("name", PUBLISHED)
def test_evidence_says_all_and_is_of_the_recipe_as_it_is_or_is_shown_as_stale(name):
    found = evidence.read(evidence.SHIPPED, name)
    assert not found["quick"] and '"/' not in json.dumps(found), "a path of the machine it was made on"
    page = (PAGES / f"{PUBLISHED[name].family}.md").read_text()
    shown, *_ = page.partition(f"<!-- evidence: {name} -->\n")[2].partition("<!-- end -->")
    for claim, said in zip(found["claims"], find_recipe(name).claims, strict=True):
        assert claim["verdict"] in ("holds", "reversed", "no difference", "inconclusive") and claim["how"]
        assert all(len(arm["runs"]) >= 8 for arm in claim["arms"].values())
        if evidence.stale(found):
            assert "*Stale*: " in shown, "run `make pages`"
            continue
        now = json.loads(json.dumps(dataclasses.asdict(said)))
        assert claim["claim"] == {key: now[key] for key in claim["claim"]}, "the claim has changed: prove it again"
        for role, arm in arms_of(name, said, OPTIONS).items():
            kept = claim["arms"][role]
            assert (arm.hash, arm.source) == (kept["hash"], kept["source"]), f"the {role} has changed: prove it again"


def test_the_machine_is_calibrated():
    null = evidence.read_null(evidence.SHIPPED)
    assert null is not None and len(null["differences"]) >= 40
    assert null["wrong"] <= 0.10
