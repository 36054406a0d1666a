"""What every test has: modules in this folder (`strategies`) can be imported; hypothesis repeats itself, and tries little in a
plain run and much in `make slow`; a test that compares with another library is skipped where that is not installed; nothing
waits for the disk, and Python seldom looks for garbage among all that is loaded."""

import gc
import os
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import pytest
from hypothesis import HealthCheck, settings
from packaging.requirements import Requirement

always = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", always, max_examples=12)
settings.register_profile("thorough", always, max_examples=100)
settings.load_profile("quick")  # pytest --hypothesis-profile thorough
gc.set_threshold(10_000, 20, 100)  # a search through all that is loaded here takes half a second


@pytest.fixture(scope="session", autouse=True)
def unhurried_disk() -> Iterator[None]:
    """No test cuts the power, and a process that is killed loses nothing that the system has: what it starts still syncs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    lacking = [name for mark in item.iter_markers("peers") for name in mark.args if not installed(Requirement(name))]
    if lacking:
        pytest.skip(f"{' and '.join(lacking)} not installed: make peers")


def installed(wanted: Requirement) -> bool:
    try:
        return version(wanted.name) in wanted.specifier
    except PackageNotFoundError:
        return False
