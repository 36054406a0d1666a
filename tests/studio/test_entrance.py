"""Who is let into the studio, and what a browser may do with what it is given."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from guerdon.studio.entrance import POLICY
from guerdon.studio.library import Library
from guerdon.studio.studio_app import make_app

TOKEN = "right"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs without runs."""
    return tmp_path_factory.mktemp("runs")


@functools.cache
def app(folder: Path, token: str | None) -> FastAPI:
    return make_app(Library([folder]), token=token)


def client(folder: Path, token: str | None = TOKEN, host: str = "127.0.0.1:7380") -> TestClient:
    """Somebody new, who has no cookie yet."""
    return TestClient(app(folder, token), base_url=f"http://{host}", follow_redirects=False)


def test_nobody_comes_in_without_the_token(folder: Path) -> None:
    http = client(folder)
    for path in (
        "/",
        "/api/about",
        "/api/live",
        "/page/studio.js",
        "/run/x",
        "/?token=wrong",
        "/api/about?token=right2",
    ):
        assert http.get(path).status_code == 401, path
    assert "error" in http.get("/api/about").json()
    assert "guerdon view" in http.get("/").text


def test_the_token_in_the_address_becomes_a_cookie_and_leaves_the_address(folder: Path) -> None:
    http = client(folder)
    answer = http.get("/rollouts?run=a&token=right&step=3")
    assert (answer.status_code, answer.headers["location"]) == (303, "/rollouts?run=a&step=3")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert http.get("/api/about").status_code == 200  # the client keeps the cookie


@pytest.mark.parametrize("path", ["//elsewhere.example/", "/\\elsewhere.example/", "///elsewhere.example"])
def test_the_way_in_leads_nowhere_else(folder: Path, path: str) -> None:
    location = client(folder).request("GET", f"http://127.0.0.1:7380{path}?token=right").headers["location"]
    assert location.startswith("/") and location[1:2] not in ("/", "\\")


def test_programs_send_the_token_in_a_header(folder: Path) -> None:
    http = client(folder)
    assert http.get("/api/about", headers={"Authorization": "Bearer right"}).json()["places"] == [str(folder)]
    assert http.get("/api/about", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert http.get("/api/about", headers={"Authorization": "Basic right"}).status_code == 401
    assert http.get("/api/about", headers={"Cookie": "guerdon-studio-7380=räight".encode()}).status_code == 401


def test_another_name_of_this_machine_is_refused(folder: Path) -> None:
    """A page elsewhere may let its own name point here: its requests come with that name."""
    for host in (
        "evil.example",
        "evil.example:7380",
        "127.0.0.1.evil.example",
        "[::1",
        "",
        "[::1].evil",
        "[::1].evil:80",
        "[::1]evil",
        "localhost:80.evil",
        "[::1]:80:90",
    ):
        answer = client(folder).get("/api/about", headers={"Host": host, "Authorization": "Bearer right"})
        assert answer.status_code == 403, host
    for host in ("localhost:1", "[::1]:7380", "127.0.0.1"):
        answer = client(folder).get("/api/about", headers={"Host": host, "Authorization": "Bearer right"})
        assert answer.status_code == 200, host


def test_only_the_page_itself_may_change_something(folder: Path) -> None:
    http = client(folder)
    known = {"Authorization": "Bearer right", "Content-Type": "application/json"}
    for header in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "null"},
    ):
        assert http.post("/api/about", json={}, headers={**known, **header}).status_code == 403, header
    plain = http.post("/api/about", content="{}", headers={**known, "Content-Type": "text/plain"})
    assert plain.status_code == 415
    own = http.post(
        "/api/about", json={}, headers={**known, "Origin": "http://127.0.0.1:7380", "Sec-Fetch-Site": "same-origin"}
    )
    assert own.status_code == 405


def test_every_answer_says_what_a_browser_may_do(folder: Path) -> None:
    http = client(folder, token=None)
    for path in ("/", "/api/about", "/page/studio.js", "/page/nothing.js", "/api/nothing", "/run/x"):
        headers = http.get(path).headers
        assert headers["content-security-policy"] == POLICY, path
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] in ("no-store", "no-cache")
    assert "unsafe" not in POLICY and "http" not in POLICY and "default-src 'none'" in POLICY


def test_what_is_not_there_is_said_in_one_line(folder: Path) -> None:
    http = client(folder, token=None)
    answer = http.get("/api/no/such")
    assert (answer.status_code, answer.json()) == (404, {"error": "/api/no/such is nothing that can be asked for"})
    for path in ("/page/../app.py", "/page/%2e%2e/app.py", "/page/..%2f..%2f..%2fpyproject.toml"):
        answer = http.get(path)
        assert "make_app" not in answer.text and "[project]" not in answer.text, path
