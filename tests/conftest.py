"""What every test has: modules in this folder (`strategies`) can be imported; hypothesis tries little and repeats itself in a
plain run, and in `make slow` tries much, drawn by a random seed that it prints; a test that compares with another library is
skipped where that is not installed; nothing waits for the disk, and Python seldom looks for garbage."""

import fcntl
import gc
import itertools
import os
import random
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import forks
import pytest
import refusals
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

import guerdon

SEED = "GUERDON_TEST_SEED"  # how whatever else draws at random in `make slow` is told it
always = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
settings.register_profile("quick", always, max_examples=12, derandomize=True)
settings.register_profile("thorough", always, max_examples=100, derandomize=False)
settings.load_profile("quick")  # pytest --hypothesis-profile thorough
gc.set_threshold(10_000, 20, 100)  # a search through all that is loaded here takes half a second


@pytest.fixture(scope="session", autouse=True)
def unhurried_disk() -> Iterator[None]:
    """No test cuts the power, and a process that is killed loses nothing that the system has: what it starts still syncs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def base_of_folders(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Messages are compared without the folders of tests."""
    refusals.base = str(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="session")
def made_once(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`made_once("name", make)`: a folder that `make(folder)` filled once for all processes of a run; nobody changes it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if request.config.getoption("--forks") else base

    def once(name: str, make: Callable[[Path], object]) -> Path:
        folder, done = shared / name, shared / f"{name}.done"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                folder.mkdir(exist_ok=True)
                make(folder)
                done.touch()
        return folder

    return once


pytest_addoption = forks.add_options


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """In the thorough profile every test draws by one seed: the one that was asked for, or a random one."""
    if config.getoption("--hypothesis-profile") == "thorough":
        asked = config.getoption("--hypothesis-seed") or os.environ.get(SEED)
        config.option.hypothesis_seed = os.environ[SEED] = asked or str(secrets.randbelow(2**32))
    forks.configure(config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """The first property that is tried has hypothesis look through all objects: here, while they are few, and before the
    processes are forked, which would each do it."""
    given(st.none())(lambda nothing: None)()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`sampled(12, "name")`: of the cases of a test that takes `name`, `make test` tries 12, drawn anew for every release, and
    `make slow` the others. `sampled(5)`: of the tests of a file it runs 5, with all their cases."""
    matrices = defaultdict[tuple[str, int], dict[str, list[pytest.Item]]](lambda: defaultdict(list))
    for item in items:
        test, params = item.nodeid.partition("[")[0], getattr(getattr(item, "callspec", None), "params", {})
        for mark in item.iter_markers("sampled") if not item.get_closest_marker("slow") else ():
            count, *of = mark.args
            if not of:
                matrices[test.partition("::")[0], count][test].append(item)
            elif of[0] in params:
                matrices[test, count][item.nodeid].append(item)
    for (name, count), cases in matrices.items():
        drawn = random.Random(f"{guerdon.__version__} {name}").sample([*cases], min(count, len(cases)))
        for item in itertools.chain.from_iterable(cases[each] for each in {*cases} - {*drawn}):
            item.add_marker(pytest.mark.slow)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Print the seed and how to repeat the run; here, since `-q` leaves out what pytest prints above."""
    seed, terminal = (
        session.config.getoption("--hypothesis-seed"),
        session.config.pluginmanager.getplugin("terminalreporter"),
    )
    if seed and terminal:
        terminal.write_line(f"examples are drawn by seed {seed}; to repeat: make slow SEED={seed}")
        terminal.write_line(f"one test: python -m pytest TEST --hypothesis-profile thorough --hypothesis-seed={seed}")


def pytest_runtest_setup(item: pytest.Item) -> None:
    lacking = [name for mark in item.iter_markers("peers") for name in mark.args if not installed(Requirement(name))]
    if lacking:
        pytest.skip(f"{' and '.join(lacking)} not installed: make peers")


def installed(wanted: Requirement) -> bool:
    try:
        return version(wanted.name) in wanted.specifier
    except PackageNotFoundError:
        return False
