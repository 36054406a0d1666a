"""Curves on the page, of one run and of several: smoothing, thinning, places, draws, and seeds as one series, by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from written_runs import steps, whole, write_run

import guerdon as gd
from guerdon.display.run.curves import BUCKETS, draws_of, full_curves, places, shown_curve, smoothed, some_of
from guerdon.display.run.metric_curves import Curve, make_curves
from guerdon.results.compare.as_page import series
from guerdon.runs.event_types import StepDone

Ask = Callable[[Path], TestClient]


def curve(values: list[float | None], steps: list[int] | None = None) -> Curve:
    return Curve("c", "c", steps or [*range(len(values))], values, None, sum(v is not None for v in values))


def test_places_are_steps_or_what_was_spent() -> None:
    done = [StepDone(n, tokens=10 * (n + 1), seconds=0.5) for n in range(3)]
    assert places(done, "steps") == {0: 0, 1: 1, 2: 2}
    assert places(done, "tokens") == {0: 10, 1: 30, 2: 60} and places(done, "seconds") == {0: 0.5, 1: 1.0, 2: 1.5}


def test_smoothing_is_a_mean_that_forgets() -> None:
    assert smoothed([4.0, 0.0, None, 2.0], 0.5) == [4.0, pytest.approx(4 / 3), None, pytest.approx((1 + 0 + 2) / 1.75)]
    assert smoothed([3.0] * 5, 0.9) == [pytest.approx(3.0)] * 5, "the first values weigh no more than they should"


def test_curves_of_a_log_that_was_changed_in_its_place_are_made_again(tmp_path: Path) -> None:
    """With as many steps, the last of the same time."""
    run = gd.Run(write_run(tmp_path / "run", steps("reward/mean", [0.1, 0.2, 0.3])))
    done = run.events(StepDone)
    assert next(iter(full_curves(run, done).values())).steps == [0, 1, 2]
    changed = [dataclasses.replace(event, step=event.step or 7) for event in done]
    assert next(iter(full_curves(run, changed).values())).steps == [7, 1, 2]


def test_peaks_survive_thinning() -> None:
    n = 20_000
    values: list[float | None] = [0.5 + 0.01 * ((7 * i) % 11) for i in range(n)]
    values[12_345], values[777], values[9_000] = 99.0, -99.0, None
    at = {i: float(i) for i in range(n)}
    shown = shown_curve(curve(values), at, smooth=0.0)
    assert 3 * BUCKETS < len(shown["x"]) < 600, "some 400 points"
    assert (shown["value"][shown["x"].index(12_345.0)], shown["value"][shown["x"].index(777.0)]) == (99.0, -99.0)
    assert shown["x"][0] == 0 and shown["x"][-1] == n - 1 and None in shown["value"], "both ends, and the gap"
    both = series([curve(values), curve([0.0] * n)], [at, at])
    assert (
        max(v for v in both["high"] if v is not None) == 99.0 and min(v for v in both["low"] if v is not None) == -99.0
    )
    soft = shown_curve(curve(values), at, smooth=0.9)["smooth"]
    assert len(soft["x"]) < 600 and max(v for v in soft["value"] if v is not None) < 11, (
        "smoothed before it was thinned"
    )


def test_short_curves_are_whole_and_steps_are_spread() -> None:
    assert shown_curve(curve([1.0, None, 3.0], [0, 4, 5]), {0: 0.0, 4: 4.0, 5: 5.0}, 0.0)["value"] == [1.0, None, 3.0]
    assert some_of([1, 2, 3], most=5) == [1, 2, 3] and some_of(range(101), most=3) == [0, 50, 100]


def test_a_band_is_a_deviation_to_either_side() -> None:
    done = [StepDone(n, metrics={"r/mean": 2.0 + n, "r/std": 0.5}) for n in range(2)]
    shown = shown_curve(make_curves(done, buckets=0)["r"], {0: 0.0, 1: 1.0}, 0.0)
    assert (shown["low"], shown["value"], shown["high"]) == ([1.5, 2.5], [2.0, 3.0], [2.5, 3.5])


def test_seeds_are_one_series_with_their_mean_and_how_far_they_reach() -> None:
    at = [{0: 0.0, 1: 100.0, 2: 200.0}, {0: 0.0, 1: 300.0, 2: 400.0}]
    one = series([curve([1.0, 2.0, None]), curve([3.0, 6.0, 5.0])], at)
    assert one["value"] == [2.0, 4.0, None] and one["low"] == [1.0, 2.0, None] and one["high"] == [3.0, 6.0, None]
    assert one["x"] == [0.0, 200.0, 300.0] and one["seeds"] == 2
    alone = series([curve([1.0, 2.0])], [{0: 0.0, 1: 1.0}])
    assert alone["value"] == [1.0, 2.0] and "low" not in alone
    assert series([curve([1.0, 2.0]), curve([1.0])], at)["step"] == [0], "what all have"


def test_draws_are_shares() -> None:
    done = [StepDone(0, metrics={"draws/a:1": 3.0, "draws/a:2": 1.0}), StepDone(1, metrics={"draws/a:2": 4.0})]
    draws = draws_of(done)
    assert draws is not None and [kind["kind"] for kind in draws["kinds"]] == ["a:1", "a:2"]
    assert [kind["share"] for kind in draws["kinds"]] == [[0.75, 0.0], [0.25, 1.0]]
    assert [kind["whole"] for kind in draws["kinds"]] == [0.375, 0.625]
    assert draws_of(done[1:]) is None


# --- several --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def three_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of one recipe, and another learning rate."""
    runs = tmp_path_factory.mktemp("compared")
    for name, seed, lr in (("a", 0, 0.3), ("b", 1, 0.3), ("c", 0, 0.05)):
        how = {"task": "successor", "model": "tabular", "steps": 4, "progress": False}
        gd.train("grpo", **how, seed=seed, lr=lr, out=str(runs / name))
    return runs


def test_runs_are_compared_as_the_library_compares_them(ask: Ask, three_runs: Path) -> None:
    client = ask(three_runs)
    ids = {row["name"]: row["id"] for row in client.get("/api/runs").json()["rows"]}
    query = "&".join(f"run={ids[name]}" for name in "abc")
    said = client.get(f"/api/runs/compare?{query}").json()
    by_hand = gd.compare(*(str(three_runs / name) for name in "abc"))
    assert [[run["name"] for run in arm["runs"]] for arm in said["arms"]] == [["a", "b"], ["c"]]
    assert said["metric"] == by_hand.metric and said["settings"][0] == {"name": "--set lr", "values": ["0.3", "0.05"]}
    for arm in said["arms"]:
        for shown, rate in zip(arm["rates"], by_hand.rates[arm["letter"]], strict=True):
            assert rate is not None and shown["value"] == pytest.approx(rate.value)
    for name, means in by_hand.curves.items():
        if name in said["curves"]:
            assert said["curves"][name]["series"]["A"]["value"] == pytest.approx(means[0].value)
    each = [gd.Run(three_runs / name).metrics["correct/mean"].to_pylist() for name in "ab"]
    one = said["curves"]["correct"]["series"]["A"]
    assert one["low"] == [min(pair) for pair in zip(*each, strict=True)] and one["seeds"] == 2
    assert said["held_out"]["A"]["x"] == [0.0, 4.0]
    between = client.get(f"/api/runs/compare/difference?{query}&arm=B&at=after").json()
    assert (between["value"], between["low"], between["high"]) == tuple(
        getattr(by_hand.differences[1], key) for key in ("value", "low", "high")
    )
    apart = client.get(f"/api/runs/compare?{query}&apart=1&also=tokens").json()
    assert len(apart["arms"]) == 3 and "tokens" in apart["curves"] and "tokens" not in said["curves"]
    prompt = client.get(f"/api/runs/compare/prompt?{query}").json()
    assert prompt["task"].startswith("successor/") and [side["run"] for side in prompt["sides"]] == [ids["a"], ids["c"]]


def test_what_cannot_be_compared_is_told(ask: Ask, tmp_path: Path) -> None:
    for n in range(2):
        write_run(tmp_path / f"run-{n}", whole([0.1, 0.2]), seed=n, steps=2)
    client = ask(tmp_path)
    ids = [row["id"] for row in client.get("/api/runs").json()["rows"]]
    one = client.get(f"/api/runs/compare?run={ids[0]}&run={ids[0]}")
    assert one.status_code == 422 and one.json()["error"].startswith("give two runs or more")
    both = client.get(f"/api/runs/compare?run={ids[0]}&run={ids[1]}&run=gone").json()
    assert len(both["arms"]) == 1 and both["notes"][0] == "there is no run gone here any more"
    assert client.get(f"/api/runs/compare/difference?run={ids[0]}&run={ids[1]}&arm=Z&at=after").status_code == 404
    wrong = client.get(f"/api/runs/compare?run={ids[0]}&run={ids[1]}&metric=nope")
    assert wrong.status_code == 422 and "nope" in wrong.json()["error"]


@pytest.mark.slow
def test_evidence_that_ships(ask: Ask, tmp_path: Path) -> None:
    client = ask(tmp_path)
    claims = client.get("/api/runs/evidence").json()["claims"]
    by_name = {claim["name"]: claim for claim in claims}
    assert by_name["dump"]["word"] == "no difference" and by_name["dump"]["family"] == "curriculum"
    proof = client.get("/api/runs/evidence/dump").json()
    claim = proof["claims"][0]
    assert claim["says"] == by_name["dump"]["says"] and [arm["name"] for arm in claim["arms"]][:2] == [
        "method",
        "baseline",
    ]
    gap = claim["against"][0]
    assert (
        gap["mean"] == pytest.approx(sum(gap["differences"]) / len(gap["differences"]))
        and gap["low"] < gap["mean"] < gap["high"]
    )
    assert (
        set(claim["arms"][0]["curve"][0]) == {"spent", "mean", "low", "high"}
        and proof["command"] == "guerdon prove dump"
        and proof["needs"] == "answers to check (or --reward R); problems of several kinds"
    )
    for name in ("nope", "..%2Fdump", "calibration", "register"):
        assert client.get(f"/api/runs/evidence/{name}").status_code == 404
