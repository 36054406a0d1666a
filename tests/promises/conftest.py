"""What every promise's tests share: a count of how often each was tried.

A case counts as one try; a test that makes many says so by `tried(n)`. `make promises` runs all of them, the slow ones too, and
writes the counts to `tried.json`, from which docs/promises.md is made. Of each promise `make test` runs a few tests.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

COUNTS = Path(__file__).with_name("tried.json")
SAMPLED = 5  # tests of a promise in `make test`, drawn anew for every release
TRIES = pytest.StashKey[int]()
PASSED = pytest.StashKey[bool]()
HELD = pytest.StashKey[dict[str, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write how often each promise was tried to tried.json")


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(pytest.mark.sampled(SAMPLED))


@pytest.fixture
def tried(request: pytest.FixtureRequest) -> Iterator[Callable[[int], None]]:
    """Says how many tries a case was, where it was more than one: `tried(100)`, or once for each."""
    made = [0]

    def count(tries: int = 1) -> None:
        made[0] += tries

    yield count
    request.node.stash[TRIES] = made[0]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[HELD] = defaultdict(int)


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "call":
        item.stash[PASSED] = call.excinfo is None


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Counts tries of cases that held, 0 of those that were skipped; a run with a broken one records nothing."""
    name = f"{item.path.name}::{getattr(item, 'originalname', item.name)}"
    item.config.stash[HELD][name] += item.stash.get(TRIES, 1) if item.stash.get(PASSED, False) else 0


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Put the counts of the files that ran in place of their old ones; those of files that are gone go."""
    if not session.config.getoption("--record", default=False) or exitstatus:
        return
    held = session.config.stash[HELD]
    ran = {name.partition("::")[0] for name in held}
    there = {path.name for path in COUNTS.parent.glob("test_*.py")}
    before = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    kept = {name: tries for name, tries in before.items() if name.partition("::")[0] in there - ran}
    COUNTS.write_text(json.dumps(dict(sorted({**kept, **held}.items())), indent=1) + "\n")
