"""Episodes with tools, played by a script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import guerdon as gd
from guerdon.engine.player import Player


def call(name: str, **arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def played(env: Any, says: Sequence[str], task: gd.Task | None = None, **how: Any) -> gd.Episode:
    """The episode in which a player says these, one after the other, and the last of them on and on."""
    model = gd.models.scripted(lambda view, past, seed: says[min(len(past), len(says) - 1)])
    sampling = gd.Sampling(max_tokens=how.pop("max_tokens", 1 << 20))
    play = Player({"policy": model}, {"policy": "policy"}, env, sampling, 0, 1)
    (episode,) = play([gd.Ask(task or gd.Task("1", "What is it?", "5"))])
    return episode


def errors(episode: gd.Episode) -> list[str]:
    """The kind of error of every call, "" where it is none."""
    return [each.get("error", "") for each in episode.info["called"]]
