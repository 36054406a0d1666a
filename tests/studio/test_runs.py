"""The list of runs and one of them, as the page is told of them: numbers by hand, folders that change, broken ones."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from written_runs import add_events, steps, whole, write_run

from guerdon.display.run.alarms import SOURCES, Alarm, alarms_of, source
from guerdon.display.run.flow import flow_of
from guerdon.runs.event_types import Ended, Evaluated, ScoresMissing, StepDone, Stopped, Warned
from guerdon.runs.folder import RunFolder
from guerdon.runs.headline import Headline, Point
from guerdon.studio.library import Library, ShelvedRun
from guerdon.studio.runs import summaries as summing
from guerdon.studio.runs.listing import Wanted, listing
from guerdon.studio.runs.one_run import address_of
from guerdon.studio.runs.run_snapshot import LOCKS, held_inodes, is_held, snapshot, standing
from guerdon.studio.runs.summaries import Summaries, coarse, spark, summary

Ask = Callable[[Path], TestClient]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Three runs, a study of two and a folder that cannot be read."""
    wish = {"task": "sums", "model": "tabular", "reward": "my.py:pay"}
    write_run(tmp_path / "old", whole([0.2, 0.4, 0.6]), recipe="grpo", wish=wish, created="2026-01-01T00:00:00Z")
    write_run(tmp_path / "new", whole([0.2, 0.9], after=0.9), recipe="dapo", wish=wish, created="2026-01-03T00:00:00Z",
              settings={"lr": "0.3"}, seed=5, steps=2)  # fmt: skip
    write_run(tmp_path / "half", [*steps("reward/mean", [1.0]), Stopped(1, why="asked to")], recipe="grpo", steps=4)
    study = write_run(tmp_path / "study", [Ended(0)], recipe="sweep", kind="study", created="2026-01-02T00:00:00Z")
    for n in (1, 2):
        write_run(
            study / "inner" / f"arm-{n}",
            whole([0.5]),
            recipe="grpo",
            seed=n,
            steps=1,
            wish={**wish, "task": "inner-sums"},
        )
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    return tmp_path


def names(answer: Any) -> list[str]:
    return [row["name"] for row in answer.json()["rows"]]


def shelved(path: Path) -> ShelvedRun:
    return ShelvedRun(path, path.name)


def test_the_list_is_searched_filtered_and_sorted(ask: Ask, runs: Path) -> None:
    client = ask(runs)
    every = client.get("/api/runs").json()
    rows = {row["name"]: row for row in every["rows"]}
    assert list(rows) == ["new", "half", "study", "old", "broken"], "the newest first, what has no date last"
    assert every["total"] == 5 and every["all"] == 7 and not every["waiting"]
    assert rows["broken"]["status"] == "unreadable" and "no readable run.json" in rows["broken"]["why"]
    assert (rows["half"]["status"], rows["half"]["why"]) == ("stopped", "asked to")
    assert rows["old"]["headline"]["before"]["value"] == 0.1 and rows["old"]["headline"]["after"][
        "high"
    ] == pytest.approx(0.7)
    assert rows["study"]["inner"] == 2 and rows["study"]["progress"]["done"] == 2
    assert not {"words", "spent"} & set(rows["old"]), "what is not shown is not sent"
    assert dict(map(tuple, every["counts"]["status"])) == {"complete": 5, "stopped": 1, "unreadable": 1}

    assert names(client.get("/api/runs?search=LR%3D0.3")) == ["new"]
    assert names(client.get("/api/runs?search=grpo+sums&sort=name&up=true")) == ["old", "study"], (
        "a run of a study fits"
    )
    found = client.get("/api/runs?task=inner-sums").json()
    assert [(row["name"], row["inner"], row["inner_fit"]) for row in found["rows"]] == [("study", 2, 2)]
    assert names(client.get("/api/runs?recipe=dapo&recipe=sweep&sort=name&up=1")) == ["new", "study"]
    assert names(client.get("/api/runs?sort=headline&recipe=grpo&recipe=dapo"))[:3] == ["half", "new", "old"], (
        "1.0 of a reward"
    )
    assert names(client.get(f"/api/runs?within={rows['study']['id']}&sort=seed")) == ["arm-2", "arm-1"]
    assert names(client.get("/api/runs?sort=name&up=1&offset=1&limit=2")) == ["half", "new"]
    assert client.get("/api/runs?sort=nmae").json()["error"].startswith("unknown column to sort by 'nmae'")


def test_counts_are_of_what_a_choice_would_leave() -> None:
    base = {"within": "", "inner": 0, "path": "x", "words": "", "status": "complete"}
    rows = [{**base, "id": str(n), "recipe": r, "task": t} for n, (r, t) in enumerate(["ab", "ac", "bc", "bc"])]
    counts = listing(rows, Wanted(chosen={"task": ["c"]}))["counts"]
    assert counts["recipe"] == [("b", 2), ("a", 1)] and counts["task"] == [("c", 3), ("b", 1)]


def test_progress_by_hand(tmp_path: Path) -> None:
    done = steps("correct/mean", [0.1, 0.2, 0.3], tokens=40)
    by_steps = summary(shelved(write_run(tmp_path / "a", done, steps=12))).facts["progress"]
    assert by_steps == {"done": 3, "of": 12, "unit": "steps", "share": 0.25}
    budget = {"amount": 160, "unit": "tokens"}
    by_tokens = summary(shelved(write_run(tmp_path / "b", done, steps=10**9, budget=budget))).facts["progress"]
    assert by_tokens == {"done": 120, "of": 160, "unit": "tokens", "share": 0.75, "steps": 3}
    none_yet = summary(shelved(write_run(tmp_path / "c", steps=0))).facts["progress"]
    assert none_yet["done"] == 0 and none_yet["share"] is None


def test_how_a_run_stands() -> None:
    assert standing("complete", False, 0.0, now=1e9) == ("complete", "")
    assert standing("stopped: no disk", False, 0.0, now=1e9) == ("stopped", "no disk")
    assert standing("stopped: no disk", True, 0.0, now=1e9) == ("running", ""), "somebody went on with it"
    assert standing("unfinished", False, 1e9 - 60, now=1e9) == ("running", ""), "perhaps on another machine"
    assert standing("unfinished", False, 1e9 - 600, now=1e9)[0] == "stopped"
    assert "cut short" in standing("unfinished", False, 1e9 - 600, now=1e9)[1]


@pytest.mark.skipif(not LOCKS.exists(), reason="this system does not tell who holds a lock")
def test_a_run_that_is_held_is_going_on(tmp_path: Path) -> None:
    folder = RunFolder(write_run(tmp_path / "run"))
    assert not is_held(folder, held_inodes())
    with folder.lock():
        assert is_held(folder, held_inodes())
    assert not is_held(folder, held_inodes())
    assert not is_held(folder, None) and not is_held(RunFolder(tmp_path / "none"), held_inodes())


def test_a_run_is_read_again_only_when_it_changed(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = summing.summary
    monkeypatch.setattr(summing, "summary", lambda one, keep=False: (read.append(one.path.name), plain(one, keep))[1])
    every = Summaries(Library([runs]))
    every.every(patience=60)
    assert sorted(read) == ["arm-1", "arm-2", "broken", "half", "new", "old", "study"]
    every.every(patience=60)
    assert len(read) == 7
    add_events(runs / "half", steps("reward/mean", [1.0, 2.0])[1:])
    rows, _ = every.every(patience=60)
    assert read[7:] == ["half"] and next(row for row in rows if row["name"] == "half")["progress"]["done"] == 2


def test_what_is_not_read_in_time_comes_with_its_name(runs: Path) -> None:
    every = Summaries(Library([runs]))
    rows, waiting = every.every(patience=-1)
    assert waiting == 7 and {row["status"] for row in rows} == {"reading"}
    assert listing(rows, Wanted())["rows"][0]["name"] == "broken"
    assert every.every(patience=60)[1] == 0


def test_sparks() -> None:
    assert coarse([1.0, 3.0, None, None, 5.0, 5.0], points=3) == [2.0, None, 5.0]
    assert coarse([1.0, None], points=3) == [1.0, None]
    done = [StepDone(n, metrics={"correct/mean": v}) for n, v in enumerate((0.1, 0.2, 0.6))]
    ends = (Point(0.1, 0, 0), Point(0.5, 3, 1))
    exam = Headline("accuracy", "pass@1", "exam", ends, True)
    assert spark(exam, done) == {"of": "accuracy on the problems trained on", "values": [0.1, 0.2, 0.6]}
    often = Headline("accuracy", "pass@1", "exam", (*ends, Point(0.7, 6, 2)), True, "sums")
    assert spark(often, done) == {"of": "accuracy, held-out sums", "values": [0.1, 0.5, 0.7]}
    assert spark(None, done) is None and spark(Headline("x", "x", "result", ends[:1]), []) is None


# --- one run ------------------------------------------------------------------------------------------------------------


def test_one_run_in_full(ask: Ask, small_run: Path) -> None:
    client = ask(small_run)
    id = client.get("/api/runs").json()["rows"][0]["id"]
    one = client.get(f"/api/runs/one/{id}").json()
    assert one["readable"] and one["run"]["status"] == "complete" and one["rollouts"] == 3
    assert one["facts"]["spent"]["steps"] == 3 and one["facts"]["weights"] and "guerdon" in one["facts"]["versions"]
    flow = [(box["role"], box["part"], box["needs"], box["gives"]) for box in one["flow"]]
    assert flow == [
        ("draw", "uniform", [], []), ("play", "single_turn", [], []), ("score", "verified", [], ["correct"]),
        ("credit", "centre", ["correct"], ["advantage"]), ("learn", "Learn", ["advantage"], []), ("examine", "Exam", [], []),
    ]  # fmt: skip
    assert one["flow"][4]["knobs"]["opt.lr"] == "0.3" and one["flow"][4]["about"] == "clipped, adam"
    assert one["exams"]["steps_done"] == [0, 3] and one["exams"]["measures"][0]["name"] == "pass@1"
    assert len(one["exams"]["measures"][0]["points"][0]) == 3 and one["exams"]["spent"][0]["tokens"] == 0
    lines = [each["line"] for each in one["commands"]]
    assert any(line.startswith("guerdon train --again ") for line in lines) and not any(
        "--resume" in line for line in lines
    )
    assert one["settings"]["set"] == {"--set lr": "0.3"} and one["evidence"] is None
    curves = client.get(f"/api/runs/one/{id}/curves").json()
    assert curves["first"] == "correct" and curves["stored"] == [0, 1, 2]
    assert [group["tone"] for group in curves["sections"]] == ["reward", "policy", "play", "other", "kind"]
    named = [name for group in curves["sections"] for name in group["names"]]
    assert len(set(named)) == len(named) and "tokens" in named and "tokens" not in curves["curves"], (
        "sent when it is asked for"
    )
    asked = client.get(f"/api/runs/one/{id}/curves", params={"also": [*named, "nothing"]}).json()
    assert sorted(asked["curves"]) == sorted(named), "every metric is in one section"
    assert client.get(f"/api/runs/one/{id}/curves?smooth=1").json()["error"].startswith("smooth:")
    assert client.get("/api/runs/one/none").status_code == 404


def test_flow_of_strange_configs() -> None:
    assert flow_of({"parts": {}}) == [] and flow_of({"parts": {"knobs": {"stages": 3, "exams": "x", "env": []}}}) == []
    knobs = {
        "stages": [{"part": "mine", "knobs": 4}, 7, {"knobs": {}}],
        "seats": [],
        "models": 3,
        "env": {"part": ["x"]},
    }
    boxes = flow_of({"parts": {"knobs": knobs}, "flow": [{"shelf": "credit", "needs": "abc", "gives": [1]}, "x"]})
    assert [(box["role"], box["part"], box["needs"], box["gives"]) for box in boxes] == [
        ("play", "['x']", [], []), ("credit", "mine", [], ["1"]),
    ]  # fmt: skip


def test_alarms_lead_to_the_rollouts_that_caused_them(tmp_path: Path) -> None:
    none = {"reward/failed": 0.1, "reward/mean": 0.2, "reward.brief/failed": 0.0}
    why, slow = "Traceback...\nValueError: no number", {"ValueError: no number": 1, "slow": 1}
    events = [
        StepDone(0, metrics=none), StepDone(1, metrics=none),
        ScoresMissing(0, column="reward", failed=2, of=8, first=why, causes={"ValueError: no number": 2}),
        ScoresMissing(1, column="reward", failed=1, timed_out=1, of=8, first=why, causes=slow),
        ScoresMissing(1, column="judge 1&2", timed_out=3, of=8, causes={"slow": 3}),
        Warned(0, message="brief never applied in 1 step: it scored no sample"), Warned(1, message="careful"),
        Warned(1, message="careful"), Warned(1, message="4 scores in 'reward' failed, 25.0 % of all"),
        Stopped(1, why="too many failed"),
    ]  # fmt: skip
    path = write_run(tmp_path / "run", events)
    (path / "rollouts").mkdir()
    for step in (0, 1):
        (path / "rollouts" / f"step-{step:08d}.parquet").touch()
    found = {alarm.title: alarm for alarm in alarms_of(snapshot(shelved(path)), address_of("ID"))}
    assert list(found) == ["It stopped", "reward: scores are missing", "judge 1&2: scores are missing", "'brief' never applied",
                           "Warning"]  # fmt: skip
    missing = found["reward: scores are missing"]
    assert missing.message == "3 failed and 1 timed out of 16 in 2 steps: ValueError: no number (3); slow (1)"
    assert (missing.level, missing.step, missing.count, missing.detail) == ("bad", 1, 4, why)
    assert missing.rollouts == "/rollouts?run=ID&step=1&reason=reward%3Afailed"
    late = found["judge 1&2: scores are missing"]
    assert late.rollouts == "/rollouts?run=ID&step=1&reason=judge+1%262%3Atimed+out"
    assert found["'brief' never applied"].rollouts == "/rollouts?run=ID&step=1&reason=reward.brief%3Anot+applicable"
    assert (found["Warning"].message, found["Warning"].count, found["Warning"].rollouts) == (
        "careful",
        2,
        "/rollouts?run=ID&step=1",
    )
    shutil.rmtree(path / "rollouts")
    assert {alarm.rollouts for alarm in alarms_of(snapshot(shelved(path)), address_of("ID"))} == {""}, "none are stored"


def test_one_more_source_of_alarms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_run(tmp_path / "run", [Stopped(0, why="x")])
    monkeypatch.setattr("guerdon.display.run.alarms.SOURCES", [*SOURCES])
    source(lambda given: [Alarm("note", "Audited", f"{given.run.name} is fine")])
    assert [alarm.title for alarm in alarms_of(snapshot(shelved(path)), address_of("ID"))] == ["It stopped", "Audited"]
    assert summary(shelved(path)).facts["alarms"] == 2 and summary(shelved(path)).facts["worst"] == "bad"


# --- folders that change, and broken ones ---------------------------------------------------------------------------------


def test_two_runs_that_are_written_at_once(ask: Ask, tmp_path: Path) -> None:
    values = [0.1, 0.2, 0.3, 0.4]
    for name in "ab":
        write_run(tmp_path / name, steps("correct/mean", values[:1]), steps=4)
    client = ask(tmp_path)
    ids = {row["name"]: row["id"] for row in client.get("/api/runs").json()["rows"]}
    for n in (2, 3):
        for name in "ab":
            add_events(tmp_path / name, steps("correct/mean", values[:n])[n - 1 :])
        for name in "ab":
            curve = client.get(f"/api/runs/one/{ids[name]}/curves?also=correct/mean").json()["curves"]["correct/mean"]
            assert curve["value"] == values[:n]
    with open(tmp_path / "a" / "events.jsonl", "ab") as file:
        file.write(b'{"type": "StepDone", "step": 3, "metr')
    one = client.get(f"/api/runs/one/{ids['a']}").json()
    assert one["alarms"] == [] and one["run"]["progress"]["done"] == 3, "a torn line is nothing odd"
    shutil.rmtree(tmp_path / "a")
    gone = client.get(f"/api/runs/one/{ids['a']}")
    assert gone.status_code == 404 and gone.json()["error"].endswith("is not there any more")
    assert client.get(f"/api/runs/one/{ids['a']}/curves").status_code == 404
    assert client.get(f"/api/runs/one/{ids['b']}").status_code == 200
    assert names(client.get("/api/runs")) in (["b"], ["a", "b"]) and "a" not in names(client.get("/api/runs"))


def test_hostile_runs_do_no_harm(ask: Ask, tmp_path: Path) -> None:
    nasty = "<img src=x onerror=alert(1)>\x1b[2J\u202e"
    odd = {f"{nasty}/mean": float("nan"), "a\"b'; drop/mean": float("inf"), "x/mean": 1.0, "": 2.0, "n": "text"}
    wish = {"task": nasty, "model": nasty, "reward": nasty}
    config = {
        "wish": wish,
        "recipe": nasty,
        "created": "tomorrow",
        "parts": {"knobs": {"stages": [{"part": {}}]}},
        "settings": {"k": [1]},
    }
    write_run(tmp_path / "<b>run", [StepDone(0, metrics=odd), Stopped(1, why=nasty)], **config)
    write_run(
        tmp_path / "ahead", whole([0.1]), options={"eval_every": {}}, models=[1], versions={"device": {}}, steps=-3
    )
    (tmp_path / "pipe").mkdir()
    write_run(tmp_path / "no-file")
    (tmp_path / "no-file" / "events.jsonl").unlink()
    (tmp_path / "no-file" / "events.jsonl").mkdir()
    client = ask(tmp_path)
    rows = {row["name"]: row for row in client.get("/api/runs").json()["rows"]}
    assert rows["no-file"]["status"] == "unreadable" and rows["<b>run"]["status"] == "stopped"
    assert rows["ahead"]["progress"]["share"] is None
    for row in rows.values():
        one, curves = (client.get(f"/api/runs/one/{row['id']}{end}") for end in ("", "/curves?x=tokens&smooth=0.5"))
        assert one.status_code == 200 and curves.status_code in (200, 422), one.text
        json.loads(curves.text, parse_constant=pytest.fail)
    assert client.get(f"/api/runs/one/{rows['no-file']['id']}").json()["readable"] is False


def test_damage_is_an_alarm(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", whole([0.1, 0.2, 0.3]), steps=3)
    lines = (path / "events.jsonl").read_bytes().split(b"\n")
    lines[3] = lines[3].replace(b"0.2", b"0.7")
    (path / "events.jsonl").write_bytes(b"\n".join(lines))
    found = [alarm for alarm in alarms_of(snapshot(shelved(path)), address_of("ID")) if alarm.title == "Damaged"]
    assert "1 damaged line in events.jsonl: 4" in found[0].message and found[0].level == "bad"


@pytest.mark.slow
def test_any_run_json_is_shown_or_told(ask: Ask, small_run: Path, tmp_path: Path) -> None:
    """Each key missing, and of each wrong type: no question about it breaks."""
    whole_config = json.loads((small_run / "first" / "run.json").read_text())
    whole_config.pop("sum")
    odd = ([], [3], {"a": []}, {"a": {"part": 3, "knobs": [1]}}, "x", None, 10**30, -1)
    configs = [{k: v for k, v in whole_config.items() if k != name} for name in whole_config]
    configs += [{**whole_config, name: value} for name in whole_config for value in odd]
    configs += [
        {**whole_config, "parts": {**whole_config["parts"], "knobs": {**whole_config["parts"]["knobs"], name: value}}}
        for name in whole_config["parts"]["knobs"]
        for value in odd
    ]
    for n, config in enumerate(configs):
        (tmp_path / f"run-{n}").mkdir()
        (tmp_path / f"run-{n}" / "run.json").write_text(json.dumps(config))
        (tmp_path / f"run-{n}" / "events.jsonl").hardlink_to(small_run / "first" / "events.jsonl")
    client = ask(tmp_path)
    rows: list[Any] = []
    waiting = 1
    while waiting:
        answer = client.get("/api/runs?limit=1000").json()
        rows, waiting = answer["rows"], answer["waiting"]
    assert len(rows) == len(configs) and {"complete", "unreadable"} <= {row["status"] for row in rows}
    for row in rows:
        assert client.get(f"/api/runs/one/{row['id']}").status_code == 200
    shown = [row["id"] for row in rows if row["status"] == "complete"]
    for id in shown[::7]:
        assert client.get(f"/api/runs/one/{id}/curves").status_code == 200
        assert client.get(f"/api/runs/compare?run={id}&run={shown[0]}&run={shown[-1]}").status_code == 200


@pytest.mark.sampled(3, "odd")
@pytest.mark.parametrize(
    "odd", [None, "x", [1], {"a": 1}, True, 10**400, float("nan"), float("-inf")], ids=lambda odd: str(odd)[:8]
)
def test_any_metric_is_shown_or_left_out(ask: Ask, tmp_path: Path, odd: Any) -> None:
    """Somebody may log what they like, under names that mean something to us."""
    ours = (
        "draws/a:1",
        "draws/b",
        "correct/mean",
        "correct/std",
        "reward/mean",
        "reward.x/failed",
        "length/mean",
        "policy/lr",
        "/",
    )
    metrics = {**dict.fromkeys(ours, odd), "draws/c": 1.0, "reward/failed": 0.0}
    result = {"task": odd, "tasks": odd, "pass@1": odd, "pass@1_low": odd, "pass@2": 0.5, "exam/": odd, "length": odd}
    events = [
        Evaluated(-1, result=result),
        *(StepDone(n, metrics=metrics) for n in range(3)),
        Evaluated(2, result=result),
    ]
    for name in "ab":
        write_run(tmp_path / name, events, steps=3)
    client = ask(tmp_path)
    ids = [row["id"] for row in client.get("/api/runs").json()["rows"]]
    assert len(ids) == 2
    for path in (
        f"one/{ids[0]}",
        f"one/{ids[0]}/curves?smooth=0.3",
        f"compare?run={ids[0]}&run={ids[1]}&metric=pass@2",
    ):
        answer = client.get(f"/api/runs/{path}")
        assert answer.status_code == 200, (path, answer.text)
        json.loads(answer.text, parse_constant=pytest.fail)


@pytest.mark.slow
def test_what_is_long_is_cut(tmp_path: Path, ask: Ask) -> None:
    huge = "x" * 5_000_000
    names_of = {f"mine/{n}": 1.0 for n in range(500)}
    missing = ScoresMissing(0, column="c", failed=1, of=1, first=huge, causes={huge: 1})
    path = write_run(tmp_path / "run", [missing, Warned(0, message=huge)], settings={"x": huge})
    add_events(path, [StepDone(n, metrics=names_of) for n in range(3)])
    client = ask(tmp_path)
    id = client.get("/api/runs").json()["rows"][0]["id"]
    one = client.get(f"/api/runs/one/{id}").json()
    assert one["config"] is None and all(
        len(alarm["message"]) < 2_100 and len(alarm["detail"]) < 20_100 for alarm in one["alarms"]
    )
    assert "x ... x" in one["alarms"][0]["detail"] and len(one["alarms"][0]["detail"]) > 19_000
    assert len(json.dumps(one)) < 100_000 and len(client.get(f"/api/runs/one/{id}/curves").content) < 100_000
