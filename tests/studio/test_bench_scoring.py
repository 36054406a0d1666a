"""A reward on the bench, asked directly: what it says about texts and stored samples, and replays under other weights that are
those of `gd.replay` to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from strategies import episode_lists

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.credit.group_relative import centre
from guerdon.rewards.asking.by_name import find_reward
from guerdon.rewards.asking.samples import fields_of, paths
from guerdon.studio.bench.bench_samples import stored_fields
from guerdon.studio.bench.formula_tree import reweighted
from guerdon.studio.bench.reward_bench import RewardBench

WEIGHTS: list[dict[str, float]] = [{}, {"brief": 0.0}, {"brief": -3.0}, {"right": 0.0, "brief": 1.0}, {"right": -1.0}]


@pytest.fixture(scope="module")
def folder(mine: Path) -> str:
    """A run that was trained on `trained`, by sampled words of several lengths."""
    out = mine.parent / "run"
    small = {"prompts": 4, "tries": 8, "lr": 0.3}
    gd.train(
        "grpo",
        task="successor",
        model="tabular",
        reward=f"{mine}:trained",
        steps=2,
        out=str(out),
        progress=False,
        **small,
    )
    return str(out)


@pytest.fixture(scope="module")
def bench(folder: str) -> RewardBench:
    return RewardBench(None, folder)


def rows(*texts: str, origin: Any = None) -> list[dict[str, Any]]:
    return [{"completion": text, "from": origin} for text in texts]


def test_it_says_what_score_samples_says(bench: RewardBench) -> None:
    told = bench.score(rows("42", "4 2", ""), {"answer": "42", "prompt": "?"}, 0, {})
    samples = [{"completion": text, "answer": "42"} for text in ("42", "4 2", "")]
    scored = gd.score_samples(bench.formula, samples)
    assert [row[""]["value"] for row in told["rows"]] == scored.whole
    for name in ("right", "brief"):
        assert [row[name]["value"] for row in told["rows"]] == scored.parts[name]
    assert [row["brief"]["contribution"] for row in told["rows"]] == pytest.approx([-0.1, -0.15, 0.0])
    assert told["python"] == "gd.blend(right=right, brief=brief.weight(0.5))"
    other = bench.score(rows("42"), {"answer": "42"}, 0, {"brief": 2.0})
    assert other["rows"][0][""]["value"] == pytest.approx(0.6) and "weight(2.0)" in other["python"]


def test_a_nested_formula_has_every_part_by_its_way(mine: Path) -> None:
    bench = RewardBench(f"{mine}:nested", None)
    (row,) = bench.score(rows("42"), {"answer": "42"}, 0, {})["rows"]
    assert {path: each["value"] for path, each in row.items()} == {
        "shaped/blend/a": 1.0,
        "shaped/blend/b": -0.2,
        "shaped/blend": pytest.approx(0.6),
        "shaped": pytest.approx(0.6),
        "why": 0.5,
        "": pytest.approx(0.65),
    }
    assert row["why"]["why"] == "it has reasons" and row["shaped"]["contribution"] == pytest.approx(0.15)


def test_a_stored_sample_is_scored_as_it_was_and_with_other_words(bench: RewardBench) -> None:
    assert bench.run is not None
    table = bench.run.rollouts.to_pylist()
    for stored in table[:6]:
        origin = {name: stored[name] for name in ("step", "episode", "segment")}
        told = bench.score(rows(stored["completion"], "x" * 30, origin=origin), {}, 0, {})["rows"]
        assert told[0][""]["value"] == pytest.approx(stored["reward"], abs=1e-6)
        assert told[1]["brief"]["value"] == -3.0 and told[1]["right"]["value"] == 0.0
        answered = bench.score(rows("x", origin=origin), {"answer": "x"}, 0, {})["rows"]
        assert answered[0]["right"]["value"] == 1.0, "what is typed counts"


def test_fields_that_a_reward_asks_for(mine: Path) -> None:
    bench = RewardBench(f"{mine}:numbered", None)
    about = bench.about()
    assert about["wants"] == [{"name": "numbers", "optional": False}, {"name": "level", "optional": True}]
    (row,) = bench.score(rows("x"), {"numbers": [1, 2], "level": 2}, 0, {})["rows"]
    assert row[""]["value"] == 6.0
    with pytest.raises(UserError, match="numbered asks for 'numbers': fill that field"):
        bench.score(rows("x"), {}, 0, {})


def test_tokens_are_counted_and_tasks_are_there() -> None:
    bench = RewardBench("exact", None)
    assert bench.score(rows("4"), {"answer": "4"}, 0, {})["rows"][0][""]["value"] == 1.0
    bench.formula = gd.length(3, margin=4)
    assert bench.score(rows("4 5 6"), {}, 0, {})["rows"][0][""]["value"] == 0.5, "by the built-in model's tokens"


@pytest.mark.sampled(4, "weights")
@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("step", [0, 1])
def test_a_replay_is_that_of_replay_to_the_last_bit(
    bench: RewardBench, folder: str, mine: Path, weights: dict[str, float], step: int
) -> None:
    ours = bench.replay(step, weights)
    formula = reweighted(find_reward(f"{mine}:trained"), weights)
    theirs = gd.replay(folder, formula, steps=[step], top=1000, progress=False)
    assert repr(ours["total"]) == repr(theirs.total) and ours["formula"] == theirs.reward
    assert (ours["column"], ours["credit"], ours["credit_from"]) == (theirs.column, theirs.credit, theirs.credit_from)
    assert ours["there"] == sum(theirs.total[name] for name in ("flips", "zero_to_nonzero", "nonzero_to_zero"))
    names = ("task", "completion", "old_reward", "new_reward", "old_advantage", "new_advantage")
    moved = {tuple(row[name] for name in names) for row in theirs.moved}
    assert {tuple(row[name] for name in names) for row in ours["samples"]} <= moved


def test_flips_by_hand_and_where_they_are(bench: RewardBench) -> None:
    """With the sign of every part turned round, every advantage that is not 0 flips."""
    told = bench.replay(1, {"right": -1.0, "brief": -0.5})
    assert told["total"]["flips"] == told["there"] > 0 and told["total"]["pearson"] == -1.0
    assert bench.run is not None
    stored = {(row["episode"], row["segment"]): row for row in bench.run.rollouts.to_pylist() if row["step"] == 1}
    for row in told["samples"]:
        there = stored[row["episode"], row["segment"]]
        assert row["old_reward"] == there["reward"] and row["old_advantage"] == pytest.approx(there["advantage"])
        assert row["new_reward"] == -row["old_reward"] and row["kind"] == "flip"
    assert bench.replay(1, {})["there"] == 0


def test_leaves_are_asked_once_for_any_number_of_weights(bench: RewardBench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.replay(0, {})
    monkeypatch.setattr("guerdon.studio.bench.reward_bench.ask_all", None)
    monkeypatch.setattr("guerdon.rewards.asking.calls.call_in_workers", None)
    for by in (0.1, 0.2, 0.3):
        assert bench.replay(0, {"brief": by})["total"]["scored"] == 32


def test_a_run_that_stores_no_such_step_or_no_reward_says_so(bench: RewardBench, mine: Path) -> None:
    with pytest.raises(UserError, match="holds no rollouts of step 9"):
        bench.replay(9, {})
    with pytest.raises(UserError, match="open the bench from a run"):
        RewardBench(f"{mine}:trained", None).replay(0, {})
    with pytest.raises(UserError, match="which reward"):
        RewardBench(None, None)


def test_a_run_without_a_reward_of_its_own_is_judged_by_its_task(small_run: Path) -> None:
    bench = RewardBench(None, str(small_run / "first"))
    stored = bench.run.rollouts.to_pylist()[0]  # type: ignore[union-attr]
    origin = {name: stored[name] for name in ("step", "episode", "segment")}
    (row,) = bench.score(rows(stored["completion"], origin=origin), {}, 0, {})["rows"]
    assert row[""]["value"] == stored["correct"]
    assert bench.replay(0, {})["total"]["flips"] == 0


@pytest.fixture(scope="module")
def greedy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run whose credit plays episodes of its own."""
    out = str(tmp_path_factory.mktemp("greedy") / "run")
    gd.train("remax", task="successor", model="tabular", steps=1, prompts=4, lr=0.3, out=out, progress=False)
    return out


@pytest.mark.slow
def test_a_credit_that_cannot_be_replayed_is_stood_in_for_and_that_is_said(greedy: str) -> None:
    told = RewardBench("exact", greedy).replay(0, {})
    theirs = gd.replay(greedy, gd.exact(), credit=centre("correct"), column="correct", progress=False)
    assert repr(told["total"]) == repr(theirs.total) and told["column"] == "correct"
    assert told["credit_from"].startswith(
        "the default: the run's own cannot be replayed (the run's credit plays episodes"
    )


@given(episode_lists(continuous=False))
def test_a_stored_sample_has_the_fields_that_a_stage_asks_about(episodes: Any) -> None:
    """Of every track in trees of any shape, by its last segment."""
    batch = pack(episodes)
    for episode, path in paths(batch):
        last = next(n for n, segment in enumerate(episode.segments) if segment is path[-1])
        fields = stored_fields(batch, (episode.step, f"{episode.step}.{episode.number}.{episode.attempt}", last))
        assert fields["path"] == path and fields["task"] is episode.task
        assert fields["turns"] == fields_of(episode, path)["turns"]
