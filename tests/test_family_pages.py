"""The pages of docs/evidence: every recipe of the family is on its page, with the numbers of today's evidence."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from guerdon.loop.catalog import listings

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


CLAIM = {
    "claim": {"says": "it is better", "model": "sprig-1.1", "kind": "better", "effect": 0.02, "metric": "pass@1"},
    "verdict": "better",
    "alone": "better",
    "stands": "supported",
    "idea": "not by its idea",
    "registered": {"batch": 1, "date": "2026-11-16"},
    "needs": [],
    "gates": [],
    "replication": {"mean": 0.04, "low": 0.01, "high": 0.09, "inside": True},
    "against": {"baseline": {"mean": 0.05, "low": 0.03, "high": 0.07, "effect": 0.02, "differences": [0.05] * 8}},
    "arms": {"method": {"score": 0.65}},
}
CODE = {"units": {}, "files": {}, "sets": {}}
PROOF = {"recipe": "x", "paper": "arXiv:1", "command": "guerdon prove x", "code": CODE, "claims": [CLAIM]}


def test_numbers_come_from_the_files(script):
    text = script.told(PROOF)
    assert "**Better, on sprig-1.1**: by more than the effect that counts." in text
    assert "The claim is supported; **not by its idea**; replicated; registered 2026-11-16, batch 1." in text
    assert "Better by +0.0500 (+0.0300 to +0.0700) over 8 seeds, where 0.02 counts. Pass@1: method 0.6500." in text
    assert "Fresh seeds: +0.0400." in text and "`guerdon prove x` · " in text
    page = "<!-- evidence: x -->\nSTALE\n<!-- end -->\nkept"
    other = script.renewed(page, {"x": PROOF})
    assert "STALE" not in other and other.endswith("kept") and script.renewed(other, {"x": PROOF}) == other
    assert "Not proved yet by the rules of today: `guerdon prove x`." in script.renewed(page, {})


def test_verdicts_are_counted(script):
    worse = {**CLAIM, "verdict": "worse", "stands": "refuted"}
    table = script.counted({"x": PROOF, "y": {**PROOF, "claims": [worse, CLAIM]}})
    assert "| **better** | 2 | [x](#x), [y](#y) |" in table and "| **worse** | 1 | [y](#y) |" in table
    assert table.endswith("2 recipes, 3 claims: 2 supported, 1 refuted, 0 open.")
