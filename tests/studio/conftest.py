"""The studio in a test: asked over HTTP without a socket, or opened in a real browser."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from bench_rewards import REWARDS
from fastapi.testclient import TestClient

import guerdon as gd
from guerdon.network.listening import listening, url_of
from guerdon.studio.library import Library
from guerdon.studio.studio_app import make_app

TOKEN = "a-token-for-tests"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PATIENCE = 120_000  # milliseconds until a page, on a machine that is busy, is taken to hang
SWITCHES = (  # what makes a browser quiet, and lets it run as root
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `runs` with a run of three steps, for tests that change nothing in it."""
    runs = tmp_path_factory.mktemp("studio") / "runs"
    gd.train("grpo", task="successor", model="tabular", steps=3, lr=0.3, out=str(runs / "first"), progress=False)
    return runs


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of rewards for the bench, the module's own."""
    file = tmp_path_factory.mktemp("bench") / "mine.py"
    file.write_text(REWARDS)
    return file


@pytest.fixture
def ask() -> Callable[[Path], TestClient]:
    """`ask(folder).get("/api/...")`: the application over a folder of runs, to whoever asks."""
    return lambda folder: TestClient(make_app(Library([folder]), token=None), base_url="http://127.0.0.1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever opens a page is marked so."""
    for item in items:
        if "browse" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")


class Opened:
    """A page of the studio in a browser. What the browser complains of is in `complaints`, and fails the test at its end but
    for what holds one of `expected`."""

    def __init__(self, context: Any, url: str) -> None:
        self.url, self.page = url, context.new_page()
        self.complaints: list[str] = []
        self.expected: tuple[str, ...] = ()
        self.page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((f"{self.url}/", "data:")):
            self.complaints.append(f"asked {request.url}")

    def go(self, path: str) -> Any:
        """Open a path of the studio; gives playwright's page."""
        mark = "&" if "?" in path else "?"
        self.page.goto(f"{self.url}{path}{mark}token={TOKEN}")
        return self.page

    def check(self) -> None:
        left = [each for each in self.complaints if not any(word in each for word in self.expected)]
        assert not left, left


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser of the module's own: while it is there, nothing else in this thread may run an event loop, so runs are made
    before it (in fixtures of the session)."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(SWITCHES))
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium: Any) -> Iterator[Callable[..., Opened]]:
    """`browse(folder)` serves a folder of runs and gives an `Opened` page; its words go to playwright's context:
    `viewport={"width": 420, "height": 800}`, `color_scheme="dark"`."""
    ends: list[Callable[[], None]] = []
    opened: list[Opened] = []

    def begin(folder: Path, **how: Any) -> Opened:
        bound = listening("127.0.0.1", 0)
        app = make_app(Library([folder]), token=TOKEN)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, log_level="error", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
        context.set_default_timeout(PATIENCE)
        opened.append(Opened(context, url_of(bound)))

        def end() -> None:
            context.close()
            app.state.watch.close()
            server.should_exit = True
            thread.join()
            bound.close()

        ends.append(end)
        return opened[-1]

    yield begin
    for end in reversed(ends):
        end()
    for each in opened:
        each.check()
