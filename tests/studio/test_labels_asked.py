"""What the page asks about labels, over HTTP: samples in an order, a label given, taken back, and how the reward agrees."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.statistics import auc
from guerdon.runs.label_files import label
from guerdon.runs.labels import LabelBook, read_labels
from guerdon.runs.run import Missing
from guerdon.studio.labels.label_agreement import agreement
from guerdon.studio.labels.label_queue import LabelCandidate, in_order, looked_at, middle, pairs, unlabelled
from guerdon.studio.labels.labelled_samples import _talk, sample_row
from guerdon.studio.library import Library, id_of

Ask = Callable[[Path], TestClient]


@pytest.fixture
def own(small_run: Path, tmp_path: Path) -> Path:
    """A run of the test's own, to be written in."""
    shutil.copytree(small_run / "first", tmp_path / "runs/first")
    return tmp_path / "runs"


def given(runs: Path, kind: str, sample: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "run": id_of(runs / "first"),
        "kind": kind,
        **{n: sample[n] for n in ("step", "episode", "segment")},
        **more,
    }


def test_a_journey_over_http(own: Path, ask: Ask) -> None:
    client, run = ask(own), id_of(own / "first")
    queue = client.get("/api/labels/queue", params={"run": run}).json()
    rewards = [each["reward"] for each in queue["samples"]]
    assert queue["steps"] == [0, 1, 2] and rewards == sorted(rewards, reverse=True) and rewards[0] == 1.0
    first, second = queue["samples"][:2]
    said = client.post("/api/labels", json=given(own, "right", first)).json()
    assert said["kind"] == "right" and said["counts"]["right"] == 1
    client.post("/api/labels", json=given(own, "note", first, note=" clean \n"))
    client.post("/api/labels", json=given(own, "hack", second))
    place = {n: first[n] for n in ("step", "episode", "segment")}
    assert client.get("/api/labels/of", params={"run": run, **place}).json() == {
        "kind": "right",
        "note": "clean",
        "pairs": [],
    }
    left = client.get("/api/labels/queue", params={"run": run}).json()
    assert left["there"] == queue["there"] - 2 and left["texts"] == queue["texts"]
    every = client.get("/api/labels/queue", params={"run": run, "labelled": True}).json()["samples"]
    assert [each["kind"] for each in every[:3]] == ["right", "hack", None]
    told = client.get("/api/labels", params={"run": run}).json()
    assert [each["kind"] for each in told["labels"]] == ["hack", "note", "right"] and told["damaged"] == 0
    assert told["agreement"]["auc"] == 0.5, "both were paid 1"
    assert [each["rows"] for each in told["files"]] == [2, 0]
    assert told["commands"][0]["command"].endswith(f"--labels {own / 'first/labels/truth.jsonl'}")
    nothing = client.post("/api/labels/undo", json={"run": run, "sample": place, "kind": "hack"}).json()
    assert nothing["taken"] is None and nothing["kind"] == "right"
    undone = client.post("/api/labels/undo", json={"run": run, "sample": place}).json()
    assert undone["taken"]["kind"] == "note" and undone["kind"] == "right" and undone["note"] == ""
    assert client.post("/api/labels/undo", json={"run": run}).json()["taken"]["kind"] == "hack"


def test_a_label_holds_all_that_it_is_about(own: Path, ask: Ask) -> None:
    table = gd.Run(own / "first").rollouts.to_pylist()
    one = next(row for row in table if row["step"] == 2)
    ask(own).post("/api/labels", json=given(own, "wrong", one))
    (kept,) = read_labels(own / "first").labels
    same = ("prompt", "completion", "answer", "family", "correct")
    assert {n: kept[n] for n in same} == {n: one[n] for n in same}
    assert kept["reward"] == one["correct"], "a run without a reward of its own is paid for being right"
    (truth,) = map(json.loads, (own / "first/labels/truth.jsonl").read_text().splitlines())
    assert truth["label"] is False and truth["prompt"] == one["prompt"] and truth["answer"] == one["answer"]


def test_pairs_to_compare_and_what_is_refused(own: Path, ask: Ask) -> None:
    client, run = ask(own), id_of(own / "first")
    there = client.get("/api/labels/pairs", params={"run": run}).json()
    two = there["pairs"][0]
    assert two["left"]["prompt"] == two["right"]["prompt"] and two["left"]["completion"] != two["right"]["completion"]
    client.post("/api/labels", json=given(own, "better", two["left"], other=two["right"]))
    after = client.get("/api/labels/pairs", params={"run": run}).json()
    assert after["there"] == there["there"] - 1 and two not in after["pairs"]
    stranger = next(p["left"] for p in there["pairs"] if p["left"]["prompt"] != two["left"]["prompt"])
    for wish, says in (
        (given(own, "better", two["left"]), "name the other one"),
        (given(own, "better", two["left"], other=stranger), "tries at the same prompt"),
        (given(own, "splendid", two["left"]), "a label is one of right, wrong, hack"),
        (given(own, "note", two["left"], note=" "), "a note needs text"),
        ({**given(own, "right", two["left"]), "segment": -1}, "segment"),
    ):
        refused = client.post("/api/labels", json=wish)
        assert refused.status_code == 422 and says in refused.json()["error"]
    for change in ({"episode": "9.9.9"}, {"step": 77}, {"segment": 3}, {"run": "nowhere"}):
        assert client.post("/api/labels", json={**given(own, "right", two["left"]), **change}).status_code == 404
    assert client.get("/api/labels/queue", params={"run": run, "order": "best"}).status_code == 422
    assert len(read_labels(own / "first").labels) == 1


def test_a_folder_that_cannot_be_written_says_so_in_a_line(own: Path, ask: Ask) -> None:
    (own / "first/labels").write_text("no folder")
    sample = {"step": 0, "episode": "0.0.0", "segment": 0}
    refused = ask(own).post("/api/labels", json=given(own, "right", sample))
    assert refused.status_code == 422 and "labels.jsonl" in refused.json()["error"]


# --- by hand --------------------------------------------------------------------------------------------------------


def candidate(n: int, reward: float | None, correct: float | None, group: int = 0, said: str = "") -> LabelCandidate:
    place = (0, f"0.{group}.{n}", 0)
    return LabelCandidate(place, "sums/1", f"p{group}", said or str(n), reward, correct, (place,))


def test_orders_by_hand() -> None:
    every = [
        candidate(0, 1.0, 1.0),
        candidate(1, 0.0, 0.0),
        candidate(2, 0.8, 0.0),
        candidate(3, 0.1, 1.0),
        candidate(4, None, 0.0),
    ]
    assert middle(every[:4]) == pytest.approx((0.55 + 0.4) / 2)  # means of right ones 0.55, of wrong ones 0.4
    assert [c.place[1] for c in in_order(every, "high")] == ["0.0.0", "0.0.2", "0.0.3", "0.0.1"]
    assert [c.place[1] for c in in_order(every, "odd")] == ["0.0.3", "0.0.2"], "0.375 and 0.325 from the line"
    assert [c.place[1] for c in in_order(every, "near")] == ["0.0.2", "0.0.3", "0.0.1", "0.0.0"]
    assert sorted(in_order(every, "random"), key=str) == sorted(every, key=str)
    assert in_order(every, "random", 1) != in_order(every, "random", 2) or in_order(every, "random", 3) != every
    unpaid = [candidate(n, None, None) for n in range(4)]
    assert len(in_order(unpaid, "high")) == 4 and in_order(unpaid, "odd") == []
    with pytest.raises(UserError, match="unknown order"):
        in_order(every, "best")


def test_a_text_is_judged_wherever_it_was_said() -> None:
    twice = LabelCandidate((0, "0.0.0", 0), "t", "p", "same", 1.0, None, ((0, "0.0.0", 0), (5, "5.1.0", 0)))
    judged = {"kind": "hack", "step": 5, "episode": "5.1.0", "segment": 0}
    assert unlabelled([twice], LabelBook([judged])) == [] and unlabelled([twice], LabelBook([])) == [twice]


def test_pairs_begin_with_the_widest_of_each_group() -> None:
    every = [candidate(n, reward, None, group) for group in (0, 1) for n, reward in enumerate((0.2, 0.9, 0.5))]
    two = [{a.place[1], b.place[1]} for a, b in pairs(every, LabelBook([]))]
    assert two[:2] == [{"0.0.1", "0.0.0"}, {"0.1.1", "0.1.0"}] and len(two) == 6
    assert pairs(every[:1], LabelBook([])) == []


def test_how_a_reward_agrees_by_hand() -> None:
    # right 3, 1, 1 against 2, 1, 0: above in 3 + 1 + 1 pairs, level in 2, so (5 + 1) / 9
    assert auc([3.0, 1.0, 1.0], [2.0, 1.0, 0.0]) == pytest.approx(6 / 9)
    assert math.isnan(auc([1.0], [])) and auc([2.0, 3.0], [0.0]) == 1.0 and auc([0.0], [5.0, 6.0]) == 0.0

    def row(kind: str, reward: float, n: int, **more: Any) -> dict[str, Any]:
        return {"kind": kind, "step": 0, "episode": f"0.0.{n}", "segment": 0, "reward": reward, **more}

    other = {"step": 0, "episode": "0.0.9", "segment": 0, "reward": 0.5}
    rows = [row("right", 1.0, 0, correct=1.0), row("right", 0.5, 1, correct=0.0), row("hack", 1.0, 2, correct=1.0)]
    told = agreement(LabelBook([*rows, row("better", 1.0, 3, other=other), row("better", 0.5, 4, other=other)]))
    assert [(each["kind"], each["count"], each["mean"]) for each in told["rows"]] == [
        ("right", 2, 0.75),
        ("wrong", 0, None),
        ("hack", 1, 1.0),
    ]
    assert told["auc"] == 0.25 and told["checked"] == {"agree": 1, "of": 3}
    assert told["pairs"] == {"agree": 1, "level": 1, "of": 2}


def test_few_steps_of_many_are_looked_at(small_run: Path) -> None:
    run = Library([small_run]).runs()[0].run
    assert looked_at(run) == ([0, 1, 2], 3) and looked_at(run, 2) == ([0, 2], 3) and looked_at(run, 1) == ([2], 3)


def test_what_was_shown_becomes_what_is_trained_on() -> None:
    def part(view: Any, said: str, goes_on: bool = False) -> dict[str, Any]:
        return {"view": json.dumps(view), "completion": said, "goes_on": goes_on}

    assert _talk([part("2+2=", "4")], "2+2=") == ("2+2=", "4", ["4"])
    system = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2="}]
    assert _talk([part(system, "4")], "2+2=") == (system, "4", ["4"])
    prompt, said, turns = _talk([part("guess", "5"), part("higher", "7"), part(" so", " 8", True)], "guess")
    assert [m["content"] for m in prompt] == ["guess", "5", "higher"] and said == "7 so 8" and turns == ["5", "7 so 8"]
    assert [m["role"] for m in prompt] == ["user", "assistant", "user"]
    assert _talk([part({"board": [1]}, "left")], "play") == ("play", "left", ["left"])


def test_a_step_that_went_is_missing(own: Path) -> None:
    shelved = Library([own]).runs()[0]
    label(shelved.path, {"kind": "right", **sample_row(shelved.run, (1, "1.0.0", 0))})
    (own / "first/rollouts/step-00000001.parquet").unlink()
    with pytest.raises(Missing, match="no rollouts of step 1"):
        sample_row(shelved.run, (1, "1.0.0", 0))
    assert len(read_labels(shelved.path).labels) == 1


def test_a_damaged_step_hides_no_other(own: Path, ask: Ask) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = own / "first/rollouts/step-00000001.parquet"
    whole = pq.read_table(file)
    meta = {b"guerdon": whole.schema.metadata[b"guerdon"]}
    for table in (
        whole.drop(["ask"]),
        whole.set_column(whole.column_names.index("ask"), "ask", pa.array(["{]"] * len(whole))),
    ):
        pq.write_table(table.replace_schema_metadata(meta), file)
        client, run = ask(own), id_of(own / "first")
        queue = client.get("/api/labels/queue", params={"run": run}).json()
        assert {each["step"] for each in queue["samples"]} == {0, 2}
        refused = client.post("/api/labels", json=given(own, "right", {"step": 1, "episode": "1.0.0", "segment": 0}))
        assert refused.status_code == 422 and "is damaged" in refused.json()["error"]
        assert client.get("/api/bench/samples", params={"run": run, "step": 1}).status_code == 422
