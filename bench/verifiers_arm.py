"""The episodes of `bench/episodes.py` in the tool environment of verifiers, with a client that says what the script says.

Needs a verifiers that has environments with rubrics: 0.3.1 is the last (`make peers` installs it beside the newest).
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
from typing import Any

import verifiers.legacy as vf
from verifiers.legacy.clients.client import Client
from verifiers.legacy.types import Response, ResponseMessage, ToolCall

from bench.episodes import TURNS, Unlucky, breaks, fails


class Down(Exception):
    """What breaks an episode."""


async def look_up(episode: int, turn: int) -> str:
    """The next clue.

    Args:
        episode: which
        turn: when
    """
    if turn == TURNS // 2 and breaks(episode):
        raise Down("the service is down")
    if fails(episode, turn):
        raise Unlucky("try again")
    return f"clue {turn} of {episode}"


class Script(Client[Any, Any, Any, Any]):
    """A client without a server."""

    def setup_client(self, config: Any) -> Any:
        return None

    async def to_native_tool(self, tool: Any) -> Any:
        return tool

    async def to_native_prompt(self, messages: Any) -> tuple[Any, dict[str, Any]]:
        return messages, {}

    async def get_native_response(
        self, prompt: Any, model: str, sampling_args: Any, tools: Any = None, **more: Any
    ) -> Any:
        await asyncio.sleep(0)
        return int(prompt[0].content), sum(message.role == "assistant" for message in prompt)

    async def raise_from_native_response(self, response: Any) -> None:
        return None

    async def from_native_response(self, response: Any) -> Response:
        episode, turn = response
        calls = None
        if turn < TURNS:
            given = json.dumps({"episode": episode, "turn": turn})
            calls = [ToolCall(id=f"call-{turn}", name="look_up", arguments=given)]
        said = "I look it up." if calls else f"the answer is {episode}"
        reason: Any = "tool_calls" if calls else "stop"
        message = ResponseMessage(content=said, tool_calls=calls, finish_reason=reason, is_truncated=False)
        return Response(id="", created=0, model="script", message=message)

    async def close(self) -> None:
        return None


@functools.cache
def environment(episodes: int) -> Any:
    """Made once: its data set is none of an episode's time."""
    from datasets import Dataset

    logging.disable(logging.ERROR)
    rows = [{"question": str(e), "answer": "", "example_id": e} for e in range(episodes)]
    return vf.ToolEnv(
        tools=[look_up], max_turns=TURNS + 1, stop_errors=[Down], dataset=Dataset.from_list(rows), rubric=vf.Rubric()
    )


def in_verifiers(episodes: int) -> dict[str, int]:
    env = environment(episodes)
    inputs = [{"prompt": [{"role": "user", "content": str(e)}], "answer": "", "example_id": e} for e in range(episodes)]
    told = asyncio.run(env.generate(inputs, Script(None), "script", on_progress=[], on_start=lambda *_: None))
    whole = [each for each in told["outputs"] if each.get("error") is None]
    turns = [message for each in whole for message in each["completion"]]
    results = [message for message in turns if _get(message, "role") == "tool"]
    return {
        "done": len(whole),
        "failed": len(told["outputs"]) - len(whole),
        "calls": len(results),
        "call errors": sum(_get(message, "content") == "try again" for message in results),
    }


def _get(message: Any, name: str) -> Any:
    return message[name] if isinstance(message, dict) else getattr(message, name)
