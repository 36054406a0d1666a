"""The pages of docs/evidence: every recipe of the family is on its page, with the numbers of today's evidence."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from guerdon.loop.catalog import listings
from guerdon.store import evidence

ROOT = Path(__file__).parent.parent
FAMILIES = sorted({listing.family for listing in listings().values() if listing.family != "house"})


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        return importlib.import_module("document_families")


def test_the_pages_are_up_to_date(script):
    stale = [path.name for path, text in script.pages().items() if path.read_text() != text]
    assert stale == [], "pages are not what guerdon/evidence/*.json and the code say today: run `make pages`"


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


def test_numbers_come_from_the_files(script):
    found = evidence.read(evidence.SHIPPED, "sws")
    (claim,) = found["claims"]
    text = script.told(found)
    gap = claim["against"]["baseline"]
    assert f"{gap['mean']:+.4f}" in text and claim["verdict"].capitalize() in text and "guerdon prove sws" in text
    other = script.renewed("<!-- evidence: sws -->\nSTALE\n<!-- end -->\nkept", {"sws": found})
    assert "STALE" not in other and other.endswith("kept") and script.renewed(other, {"sws": found}) == other
