"""The pages of docs/evidence: every recipe of the family is on its page, with the numbers of today's evidence."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from guerdon.training.catalog import listings

ROOT = Path(__file__).parent.parent
FAMILIES = sorted({listing.family for listing in listings().values() if listing.family != "house"})


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        return importlib.import_module("document_families")


def test_the_pages_are_up_to_date(script):
    stale = [path.name for path, text in script.pages().items() if path.read_text() != text]
    assert stale == [], "pages are not what guerdon/evidence/verdicts.json and the code say today: run `make pages`"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_recipe_has_a_place_under_its_name(family):
    page = (ROOT / "docs" / "evidence" / f"{family}.md").read_text()
    places = re.findall(r"^### ([\w-]+)\n\n(?:(?!^#).*\n)*?<!-- evidence: ([\w-]+) -->", page, re.MULTILINE)
    assert sorted(places) == sorted((n, n) for n, listing in listings().items() if listing.family == family)


@pytest.mark.parametrize("family", FAMILIES)
def test_its_pictures_and_links_are_there(family):
    page = ROOT / "docs" / "evidence" / f"{family}.md"
    for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
        assert link.startswith("https://") or (page.parent / link).exists(), link


GAP = {"mean": 0.05, "low": 0.03, "high": 0.07, "sd": 0.02, "detectable": 0.015, "effect": 0.02}
CLAIM = {
    "tier": "registered",
    "claim": {
        "says": "it is better",
        "model": "sprig-1.1",
        "kind": "better",
        "effect": 0.02,
        "metric": "pass@1",
        "keeps": "",
    },
    "word": "ahead",
    "ablation": "not confirmed",
    "registered": {"batch": 1, "date": "2026-11-16"},
    "needs": [],
    "gain": 0.2,
    "gates": [{"gate": "updates", "open": False, "why": "the method makes 9 policy updates"}],
    "against": {"baseline": {**GAP, "differences": [0.05] * 16, "first": 8}},
    "arms": {"method": {"score": 0.65}},
}
CODE = {"units": {}, "files": {}, "sets": {}}
PROOF = {"recipe": "dump", "paper": "arXiv:1", "command": "guerdon prove dump", "code": CODE, "claims": [CLAIM]}


def test_every_method_has_one_frame_with_the_numbers_of_the_files(script):
    text = script.frame("dump", {"dump": PROOF})
    parts = (
        "**What it is.** ",
        "**Needs.** problems with answers and a model.",
        "**Mechanism.** Tested, by ",
        "**Screening.** Not",
    )
    assert all(part in text for part in parts)
    assert "*it is better*: **ahead, on sprig-1.1**; 8 seeds and 8 fresh ones each show the method ahead." in text
    assert "Pass@1 +0.0500 (+0.0300 to +0.0700) over 8 + 8 fresh seeds, +25 % of what GRPO" in text
    assert "Scores: method 0.6500. Gate failed: updates (the method makes 9 policy updates)." in text
    assert "Not confirmed by ablation; registered 2026-11-16, batch 1." in text and "`guerdon prove dump` · " in text
    page = "<!-- evidence: dump -->\nSTALE\n<!-- end -->\nkept"
    other = script.renewed(page, {"dump": PROOF})
    assert "STALE" not in other and other.endswith("kept") and script.renewed(other, {"dump": PROOF}) == other
    assert "registered, not run yet: `guerdon prove dump`." in script.renewed(page, {})


def test_a_screening_stands_in_the_frame(script):
    screening = {**CLAIM, "tier": "screening", "setting": "sparse"}
    text = script.frame("dump", {"dump+screening": {**PROOF, "screened": True, "claims": [screening]}})
    assert "**Screening.** `sparse`: pass@1 +0.0500" in text and "gate failed: updates" in text


def test_words_and_gates_are_counted(script):
    behind = {**CLAIM, "word": "behind", "gates": []}
    table = script.counted({"x": PROOF, "y": {**PROOF, "claims": [behind, CLAIM]}})
    assert "| **ahead** | 2 | [x](#x), [y](#y) |" in table and "| **behind** | 1 | [y](#y) |" in table
    assert "2 recipes, 3 registered claims. Every gate passed in 1; gates that failed: updates 2." in table
