"""Every published method's mechanism test: its numbers, its world, and that both tell mutants of it from it."""

from __future__ import annotations

import pytest
from harness import EXAMPLES, HERE, PUBLISHED, entry_of, row, row_file
from mutants import ROOT

BESIDE = [path.stem for folder in ("house", EXAMPLES.name) for path in (HERE / folder).glob("*.py")]
ROWS = [*sorted(PUBLISHED), *sorted(BESIDE)]


@pytest.mark.parametrize("name", ROWS)
def test_its_numbers_its_world_and_some_mutants(name):
    mechanism = row(name)
    mechanism.check_mutants(mechanism.sample())


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_all_mutants_are_told_from_it(name):
    row(name).check_all_mutants()


def test_every_published_method_has_one():
    assert [name for name in PUBLISHED if not row_file(name).is_file()] == []


@pytest.mark.parametrize("name", ROWS)
def test_its_source_names_its_paper(name):
    assert entry_of(name).paper in row(name).source


def test_the_page_shows_a_row_as_it_is():
    assert row_file("sec").read_text().strip() in (ROOT / "docs" / "mechanism_tests.md").read_text()
