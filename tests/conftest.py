"""Shared by all tests: modules in this folder (`strategies`) can be imported, hypothesis repeats itself, what guerdon
remembers of its runs stays out of the home of whoever runs the tests, and signals are heard as in a terminal."""

import signal
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "guerdon", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("guerdon")


@pytest.fixture(scope="session", autouse=True)
def state_apart() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def signals_heard() -> None:
    """Whoever runs the tests in the background, or under nohup, has them and all that they start ignore signals."""
    for number, plain in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, plain)
