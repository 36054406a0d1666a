"""A file that was damaged or doctored is refused or noticed: no wrong result, no traceback, no hang, and none of its code runs.

Bits, bytes, lines, JSON values and headers of every kind of file that is read are harmed, and a verb that reads it is run. Of
what carries a checksum (checkpoints, events, rollouts, run.json) another result must come with a warning that names the file.
What carries none (problems, templates, models of strangers) may say something else and be believed, as long as it is whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mutating import Case, campaign, table
from subjects import QUICK, SUBJECTS

SEED = int(os.environ.get("GUERDON_TEST_SEED", 15))  # `make slow` draws another every time and prints it
CASES = {
    "checkpoint": 160,
    "events": 180,
    "events of a run that goes on": 120,
    "run.json": 200,
    "rollouts": 180,
    "gguf": 180,
}
FEW = 110  # of every other kind


@pytest.fixture(scope="module")
def ledger(request: pytest.FixtureRequest) -> Iterator[list[Case]]:
    """Every case; their table is printed at the end."""
    cases: list[Case] = []
    yield cases
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line("\n" + table(cases))


def held(cases: list[Case]) -> None:
    faults = [case for case in cases if case.verdict == "FAULT"]
    told = [f"{c.subject} {c.number}: {c.words} after {c.harm}: {c.why}" for c in faults]
    assert not faults, f"{len(faults)} of {len(cases)} by seed {SEED}\n" + "\n".join(told)


@pytest.mark.slow
def test_a_few_of_a_run(tmp_path: Path, ledger: list[Case], tried: Callable[..., None]) -> None:
    """A harmed file of every kind in a run folder, and one of problems."""
    cases = campaign(tmp_path / "whole", tmp_path / "work", SEED, [(name, 0) for name in QUICK])
    ledger += cases
    tried(len(cases))
    held(cases)


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [QUICK, [name for name in SUBJECTS if name not in QUICK]], ids=["runs", "models"])
def test_harmed_files(tmp_path: Path, ledger: list[Case], tried: Callable[..., None], kinds: list[str]) -> None:
    """Two thousand harmed files: bits flipped, ranges cut, zeroed, doubled, swapped, spliced; JSON and headers changed."""
    pytest.importorskip("gguf")
    pytest.importorskip("transformers")
    chosen = [(name, n) for name in kinds for n in range(1 if name in QUICK else 2, 2 + CASES.get(name, FEW))]
    cases = campaign(tmp_path / "whole", tmp_path / "work", SEED, chosen)
    ledger += cases
    tried(len(cases))
    held(cases)
