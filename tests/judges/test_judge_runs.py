"""Judges inside a run: counted, limited, resumed, and without a trace of the key."""

from __future__ import annotations

import pytest
from toy_server import DROP, GARBAGE, toy

import guerdon as gd
from guerdon.runs.event_types import StepDone, Stopped
from guerdon.runs.events import read_events
from guerdon.runs.run import Run

KEY = "sk-another-secret-9876543210"
COSTS = 110e-6  # a question to the toy at 1 a million
FAST = gd.patience(wait=0.001)


def longer(messages):
    """The toy's verdict: by the length of the answer."""
    return f"Verdict: {1 + len(messages[-1]['content']) % 5}"


def trained(server, path, max_cost=None, steps=4, reward=gd.judge, again=False, **knobs):
    by = gd.endpoint(
        server.url, "toy", "TOY_KEY", prices=(1.0, 1.0), max_cost=max_cost, cache=str(path / "c.sqlite"), trying=FAST
    )
    where = {"resume": path / "run"} if again else {"out": path / "run"}
    return gd.train(
        "grpo", model="tabular", task="successor", reward=reward(by, **knobs), steps=steps, prompts=2, max_tokens=4,
        options=gd.Options(eval_tasks=0, save_every=1), **where,
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("TOY_KEY", KEY)


def metrics(path, name):
    return [e.metrics.get(name) for e in read_events(path / "run" / "events.jsonl") if isinstance(e, StepDone)]


@pytest.mark.slow
def test_a_run_counts_what_its_judge_took_and_keeps_no_key(tmp_path):
    with toy(longer, faults=[429, DROP, (400, {}, f"no, {KEY}"), GARBAGE]) as server:
        run = trained(server, tmp_path)
    assert run.complete
    asked, cost = metrics(tmp_path, "judge/asked"), metrics(tmp_path, "judge/cost")
    assert sum(asked) >= 4 * 2 and all(0 <= rate <= 1 for rate in metrics(tmp_path, "judge/hit_rate"))
    assert metrics(tmp_path, "judge/cost_so_far")[-1] == pytest.approx(sum(cost))
    paid = len(server.requests) - 4
    assert sum(cost) == pytest.approx(paid * COSTS)
    assert set(server.keys) == {f"Bearer {KEY}"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "events.jsonl" for path in files) and any(path.suffix == ".sqlite" for path in files)
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


@pytest.mark.slow
def test_a_run_stops_at_its_limit_and_goes_on_with_a_higher_one(tmp_path):
    with toy(longer) as server:
        whole = tmp_path / "whole"
        whole.mkdir()
        trained(server, whole)
        total = metrics(whole, "judge/cost_so_far")[-1]
        part = tmp_path / "part"
        part.mkdir()
        limit = total / 2 + 600e-6
        with pytest.raises(gd.RunStopped, match="raise max_cost of the endpoint and resume"):
            trained(server, part, limit)
        done = len(metrics(part, "judge/cost"))
        assert 0 < done < 4
        (stop,) = [e for e in read_events(part / "run" / "events.jsonl") if isinstance(e, Stopped)]
        assert "max_cost" in stop.why
        before = len(server.requests)
        run = trained(server, part, total + 600e-6, again=True)
        assert run.complete
        spent = metrics(part, "judge/cost_so_far")
        assert spent[done] >= spent[done - 1] > 0  # what was spent before is still known
        assert sum(1 for _ in server.requests[before:]) * COSTS < total  # what was paid for is not paid for again
    finished = Run(whole / "run"), Run(part / "run")
    hashes = [read_events(r.path / "events.jsonl")[-1].weights for r in finished]
    assert hashes[0] == hashes[1]  # the same run as the unbroken one


@pytest.mark.slow
def test_pairs_and_rubrics_train(tmp_path):
    for n, (reward, knobs, said) in enumerate(
        [
            (gd.pairwise, {"against": 2}, "Verdict: tie"),
            (
                lambda by: gd.rubric(["It is short.", gd.criterion("It is right.", name="right")], by),
                {},
                "Verdict: yes",
            ),
        ]
    ):
        with toy(lambda messages, said=said: said) as server:
            (tmp_path / str(n)).mkdir()
            assert trained(server, tmp_path / str(n), steps=1, reward=reward, **knobs).complete
    assert metrics(tmp_path / "1", "rubric/right") == [1.0] and metrics(tmp_path / "1", "rubric/It is short.") == [1.0]
