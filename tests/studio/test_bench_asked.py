"""The bench over HTTP: a reward in a process of its own that breaks in every way and harms nobody; its file edited; whom it
trusts."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import guerdon.studio.bench.bench_routes as bench_routes
from guerdon.studio.library import Library, id_of
from guerdon.studio.studio_app import make_app


@pytest.fixture(scope="module")
def client(small_run: Path) -> Iterator[TestClient]:
    """One application, and so one template, for all tests of the module."""
    yield TestClient(make_app(Library([small_run]), token=None), base_url="http://127.0.0.1")


def score(client: TestClient, reward: Any, *texts: str, **more: Any) -> Any:
    body = {"reward": str(reward), "rows": [{"completion": text} for text in texts], "fields": {"answer": "4"}, **more}
    return client.post("/api/bench/score", json=body)


@pytest.mark.slow
def test_every_way_to_break_is_told_beside_the_others(client: TestClient, mine: Path) -> None:
    about = client.post("/api/bench/open", json={"reward": f"{mine}:all_of_them"}).json()
    assert len(about["tree"]["parts"]) == 9 and about["changed"] == []
    answered = score(client, f"{mine}:all_of_them", "4")
    (row,) = answered.json()["rows"]
    told = {name: (each["value"], each["reason"]) for name, each in row.items() if name}
    assert told == {
        "raises": (None, "failed"),
        "hangs": (None, "timed out"),
        "leaves": (None, "failed"),
        "leaves_here": (None, "failed"),
        "nothing": (None, "not applicable"),
        "nan": (None, "failed"),
        "inf": (None, "failed"),
        "words": (None, "failed"),
        "prints": (1.0, ""),
    }
    assert row["raises"]["error"].endswith("ValueError: no such thing as 4") and "mine.py" in row["raises"]["trace"]
    assert row[""]["reason"] == "timed out", "what is made of them broke as they did"


@pytest.mark.slow
def test_a_part_that_does_not_count_breaks_nothing(client: TestClient, mine: Path) -> None:
    (row,) = score(client, f"{mine}:broken", "4").json()["rows"]
    assert row[""]["value"] == 1.5 and row["bad"]["reason"] == "failed" and row["fine"]["why"] == "it has reasons"


def test_one_that_ends_its_process_or_never_answers_is_told_and_forgotten(
    client: TestClient, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = score(client, f"{mine}:dies", "4")
    assert gone.status_code == 422 and "ended: it crashed, or left by os._exit" in gone.json()["error"]
    monkeypatch.setattr(bench_routes, "SECONDS", 0.5)
    hung = score(client, f"{mine}:never", "4")
    assert hung.status_code == 422 and hung.json()["error"].endswith(
        "mine.py:never took longer than 0.5 s and was stopped"
    )
    monkeypatch.undo()
    assert score(client, f"{mine}:right", "4").json()["rows"][0][""]["value"] == 1.0, "the others go on"


def test_an_edited_file_is_read_anew(client: TestClient, tmp_path: Path) -> None:
    file = tmp_path / "edited.py"
    body = {"reward": f"{file}:mine"}
    for turn, (number, changed) in enumerate([(1, []), (1, []), (2, ["edited.py"])]):
        if turn != 1:
            file.write_text(f"def mine(completion):\n    return {number}.0  # {'x' * turn}\n")
        said = score(client, f"{file}:mine", "4").json()
        assert (said["rows"][0][""]["value"], said["changed"]) == (float(number), changed)
    mark = client.post("/api/bench/mark", json=body).json()["mark"]
    assert mark == said["mark"]
    file.write_text("def mine(completion:\n")
    assert client.post("/api/bench/mark", json=body).json()["mark"] != mark
    broken = score(client, f"{file}:mine", "4")
    assert broken.status_code == 422 and "edited.py, line 1: SyntaxError" in broken.json()["error"]
    file.write_text("import os\nos._exit(0)\n")
    assert "ended: it crashed" in score(client, f"{file}:mine", "4").json()["error"]
    file.write_text("import sys\nsys.exit('no')\n")
    assert "edited.py, line 2: SystemExit" in score(client, f"{file}:mine", "4").json()["error"]
    file.write_text("def mine(completion):\n    return 3.0\n")
    assert score(client, f"{file}:mine", "4").json()["rows"][0][""]["value"] == 3.0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "which reward? give FILE.py:NAME"),
        ({"reward": "exakt"}, "unknown reward 'exakt'"),
        ({"reward": "nowhere.py:mine"}, "there is no reward file nowhere.py"),
        ({"reward": "length"}, "needs its limit"),
    ],
)
def test_what_is_no_reward_is_refused_in_a_line(client: TestClient, body: dict[str, str], says: str) -> None:
    refused = client.post("/api/bench/open", json=body)
    assert refused.status_code == 422 and says in refused.json()["error"] and "\n" not in refused.json()["error"]


def test_only_the_page_may_ask_and_never_by_an_address(client: TestClient, mine: Path) -> None:
    body = {"reward": f"{mine}:right"}
    for path in ("open", "score", "replay", "mark"):
        assert client.get(f"/api/bench/{path}", params=body).status_code in (404, 405)
        elsewhere = client.post(f"/api/bench/{path}", json=body, headers={"origin": "http://evil.example"})
        assert elsewhere.status_code == 403


def test_a_strangers_run_runs_nothing_until_it_is_trusted(small_run: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    shutil.copytree(small_run / "first", runs / "theirs")
    flag = tmp_path / "ran"
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(flag)!r}, 'w')\ndef mine(completion):\n    return 1.0\n")
    config = json.loads((runs / "theirs/run.json").read_text())
    config["wish"]["reward"] = f"{evil}:mine"
    config.pop("sum")
    (runs / "theirs/run.json").write_text(json.dumps(config))
    run = id_of(runs / "theirs")
    body = {"run": run, "rows": [{"completion": "4"}], "fields": {}}
    for library, code in ((Library([runs]), 422), (Library([runs], trust=True), 200)):
        asked = TestClient(make_app(library, token=None), base_url="http://127.0.0.1")
        for path in ("open", "score"):
            said = asked.post(f"/api/bench/{path}", json=body)
            assert said.status_code == code and flag.exists() == (code == 200)
        if code == 422:
            assert said.json()["error"].endswith("read them, then start the studio with `guerdon view --trust`")
            replayed = asked.post("/api/bench/replay", json={"run": run, "reward": "exact", "step": 0})
            assert replayed.status_code == 422 and not flag.exists(), (
                "a replay reads the recipe, so it needs trust as well"
            )
            own = asked.post("/api/bench/score", json={**body, "reward": "exact", "fields": {"answer": "4"}})
            assert own.json()["rows"][0][""]["value"] == 1.0, "a reward that the user names needs none"


def test_samples_to_pick_from_and_a_run_of_ones_own(client: TestClient, small_run: Path) -> None:
    run = id_of(small_run / "first")
    there = client.get("/api/bench/samples", params={"run": run, "step": 1}).json()
    assert there["step"] == 1 and there["steps"] == [0, 1, 2] and there["reward"] is None
    place = {name: there["samples"][0][name] for name in ("step", "episode", "segment")}
    one = client.get("/api/bench/sample", params={"run": run, **place}).json()
    group = place["episode"].rpartition(".")[0]
    assert one["completion"] == there["samples"][0]["completion"] and len(one["tries"]) >= 1
    assert {each["episode"].rpartition(".")[0] for each in one["tries"]} == {group}
    row = {"completion": one["completion"], "origin": place}
    said = client.post("/api/bench/score", json={"run": run, "rows": [row], "step": 1}).json()
    assert said["rows"][0][""]["value"] == one["correct"]
    told = client.post("/api/bench/replay", json={"run": run, "reward": "exact", "step": 1}).json()
    assert told["total"]["samples"] == 128 and told["there"] == told["total"]["flips"] == 0


def test_a_problem_of_a_task_to_try_texts_on(client: TestClient, mine: Path) -> None:
    body = {"reward": f"{mine}:numbered", "task": "countdown:3", "number": 2}
    posed = client.post("/api/bench/problem", json=body).json()
    assert posed["prompt"].startswith("countdown") and len(posed["meta"]["numbers"]) == 3 and posed["level"] == 3
    said = score(client, f"{mine}:numbered", "4", fields={**posed["meta"], "level": 1}).json()
    assert said["rows"][0][""]["value"] == sum(posed["meta"]["numbers"])
    refused = client.post("/api/bench/problem", json={**body, "task": "countdowns"})
    assert refused.status_code == 422 and "unknown task 'countdowns'" in refused.json()["error"]


def gone_soon(pid: int) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False


def test_processes_end_with_the_application(mine: Path, small_run: Path) -> None:
    file = mine.with_name("pid.py")
    file.write_text(
        "import guerdon as gd, os\n@gd.reward(isolate=False)\ndef pid(completion): return float(os.getpid())\n"
    )
    with TestClient(make_app(Library([small_run]), token=None), base_url="http://127.0.0.1") as asked:
        pid = int(score(asked, f"{file}:pid", "4").json()["rows"][0][""]["value"])
        os.kill(pid, 0)
    assert gone_soon(pid), "it still runs"
