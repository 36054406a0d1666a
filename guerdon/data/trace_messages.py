"""Conversations with tools as OpenAI's chat format has them: what a line must be, and its turns.

A line is an object with `messages` and, where tools could be called, `tools`; other keys are its own. The assistant's calls
stand in `tool_calls` (`{"id", "type": "function", "function": {"name", "arguments"}}`), their results in messages of the role
`tool` that name the call they answer (`tool_call_id`). A line that breaks this is refused with what is wrong with it.
Leaves out: files (`trace_files.py`); pictures and sounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.data.call_formats import ToolCall, ToolTurn, read_arguments, written_json

ROLES = ("system", "developer", "user", "assistant", "tool")
Message = dict[str, Any]


class BadTrace(ValueError):
    """What is wrong with a conversation."""


@dataclass(frozen=True)
class TraceTurn:
    """A turn of the assistant: the messages since the one before, and its own; None where the conversation ends without."""

    view: tuple[Message, ...]
    said: Message | None

    @property
    def turn(self) -> ToolTurn:
        return ToolTurn("") if self.said is None else said_in(self.said)


@dataclass(frozen=True)
class ToolTrace:
    """A conversation: turn by turn, its tools, and the rest of the line."""

    turns: tuple[TraceTurn, ...]
    tools: tuple[Any, ...]
    more: Mapping[str, Any]


def read_trace(row: Mapping[str, Any]) -> ToolTrace:
    """The conversation of a line; a BadTrace has what is wrong with it."""
    given, tools = row.get("messages"), row.get("tools")
    if not isinstance(given, list) or not given:
        raise BadTrace("no messages: a trace is an object with a list of them")
    messages = [_message(each, f"message {n}") for n, each in enumerate(given, 1)]
    _check_calls(messages)
    turns: list[TraceTurn] = []
    view: list[Message] = []
    for message in messages:
        if message["role"] == "assistant":
            turns.append(TraceTurn(tuple(view), message))
            view = []
        else:
            view.append(message)
    if not turns:
        raise BadTrace("the assistant says nothing in it")
    if not turns[0].view or turns[0].view[-1]["role"] != "user":
        raise BadTrace("the user does not speak before the assistant's first words")
    if any(not turn.view for turn in turns):
        raise BadTrace("two messages of the assistant's follow each other: make them one")
    if view:
        turns.append(TraceTurn(tuple(view), None))
    more = {name: value for name, value in row.items() if name not in ("messages", "tools")}
    return ToolTrace(tuple(turns), _tools(tools), more)


def text_of_message(message: Mapping[str, Any]) -> str:
    """The text of a message: its content, which may be parts of text, or nothing beside calls."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", part.get("refusal", ""))) for part in content)
    return content or ""


def said_in(message: Mapping[str, Any]) -> ToolTurn:
    """The text and the calls of an assistant's message."""
    calls = []
    for call in message.get("tool_calls") or ():
        arguments, fault = read_arguments(call["function"]["arguments"])
        calls.append(ToolCall(call["function"]["name"], arguments, fault))
    return ToolTurn(text_of_message(message), tuple(calls))


def results_of(view: Sequence[Message], said: Message | None) -> list[str]:
    """What is shown of each call of a message, in the order of the calls; only of those that were answered."""
    by_id = {message["tool_call_id"]: text_of_message(message) for message in view if message["role"] == "tool"}
    return [by_id[call["id"]] for call in (said or {}).get("tool_calls") or () if call["id"] in by_id]


def call_message(text: str, calls: Sequence[tuple[str, Mapping[str, Any]]], first: int) -> Message:
    """A message of the assistant's that calls tools; its calls are numbered from `first` on."""
    return {
        "role": "assistant",
        "content": text or None,
        "tool_calls": [
            {
                "id": f"call_{first + n}",
                "type": "function",
                "function": {"name": name, "arguments": written_json(arguments)},
            }
            for n, (name, arguments) in enumerate(calls)
        ],
    }


# --- what a message must be ---------------------------------------------------------------------------------------------


def _message(given: Any, where: str) -> Message:
    if not isinstance(given, Mapping):
        raise BadTrace(f"{where} is not an object with role and content")
    role, content = given.get("role"), given.get("content")
    if role not in ROLES:
        old = ": write its result as role tool, with the tool_call_id it answers" if role == "function" else ""
        raise BadTrace(f"{where} has the role {role!r}, not {', '.join(ROLES)}{old}")
    if "function_call" in given and given["function_call"] is not None:
        raise BadTrace(f"{where} has function_call, which tool_calls took the place of: write it as a list of these")
    calls = given.get("tool_calls")
    if calls and role != "assistant":
        raise BadTrace(f"{where} calls tools, and is not the assistant's")
    if isinstance(content, list):
        _check_parts(content, where)
    elif not isinstance(content, str) and not (
        content is None and role == "assistant" and (calls or given.get("refusal"))
    ):
        raise BadTrace(f"{where} has no content: text, or beside tool_calls null")
    message = {**given}
    if calls is not None:
        message["tool_calls"] = _calls(calls, where)
    if role == "tool" and not isinstance(given.get("tool_call_id"), str):
        raise BadTrace(f"{where} is a tool's and has no tool_call_id: name the call that it answers")
    return message


def _check_parts(parts: list[Any], where: str) -> None:
    for part in parts:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind not in ("text", "refusal") or not isinstance(part.get(kind), str):
            raise BadTrace(f"{where} has a part that is not text ({kind}): traces are read as text alone")


def _calls(calls: Any, where: str) -> list[Any]:
    """Calls as the format has them; arguments that are an object are written out, as it wants them."""
    if not isinstance(calls, list):
        raise BadTrace(f"{where}: tool_calls is not a list")
    made = []
    for call in calls:
        function = call.get("function") if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise BadTrace(f'{where}: a call is {{"id", "type": "function", "function": {{"name", "arguments"}}}}')
        if call.get("type", "function") != "function":
            raise BadTrace(f"{where} has a call of the type {call['type']!r}: functions alone are understood")
        if not isinstance(call.get("id"), str):
            raise BadTrace(f"{where} has a call without an id")
        arguments = function.get("arguments")
        if not isinstance(arguments, str | Mapping):
            raise BadTrace(f"{where}: the arguments of {function['name']} are not text")
        text = arguments if isinstance(arguments, str) else written_json(arguments)
        made.append({**call, "type": "function", "function": {**function, "arguments": text}})
    return made


def _check_calls(messages: Sequence[Message]) -> None:
    """Every result answers a call of the assistant's message before it, once; every call is answered before the next."""
    open_calls: set[str] = set()
    for number, message in enumerate(messages, 1):
        role = message["role"]
        if role == "tool":
            answered = message["tool_call_id"]
            if answered not in open_calls:
                raise BadTrace(
                    f"message {number} answers {answered!r}, which is not an open call of the previous message"
                )
            open_calls.discard(answered)
            continue
        if open_calls:
            raise BadTrace(f"message {number} comes before {sorted(open_calls)[0]!r} is answered")
        if role == "assistant":
            ids = [call["id"] for call in message.get("tool_calls") or ()]
            if len(set(ids)) < len(ids):
                raise BadTrace(f"message {number} has two calls with one id")
            open_calls = set(ids)


def _tools(given: Any) -> tuple[Any, ...]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise BadTrace("tools is not a list")
    for tool in given:
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            raise BadTrace('a tool is {"type": "function", "function": {"name", "description", "parameters"}}')
    return tuple(given)
