"""Traces in files: conversations with tools as episodes, and episodes as conversations, in OpenAI's chat format.

A trace of any agent's becomes an Episode like those that are played here, so that rewards see its turns, calls and results;
what was played here can be read by any reader of that format. `made` of a segment is the assistant's message as it stood in the
file, its view the messages before it: a file that is read and written again is equal.
Leaves out: learning from traces (`tasks/trace_turns.py`), what a line must be (`trace_messages.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.task import Ask, Conversation, Task
from guerdon.data.call_formats import CallFormat, call_format
from guerdon.data.opening import open_records
from guerdon.data.trace_messages import (
    BadTrace,
    Message,
    ToolTrace,
    call_message,
    read_trace,
    results_of,
    text_of_message,
)

NOTHING: Any = np.zeros(0, np.int64)
SHOWN = 5  # bad lines named one by one
TRACE = "trace"  # the format of an episode that came from a file


def read_traces(path: Any, format: str | CallFormat = "hermes") -> list[Episode]:
    """The conversations of a file (JSON lines, Parquet, a list of rows), an Episode each: rewards see `turns`, and of the
    episode `info["called"]`, every call with its result. Turns are written in `format` (`text`), as a model would generate
    them. All lines are looked at first; malformed ones are refused with their numbers.

    Args:
        path: a file, or a list of rows.
        format: how tool calls are written in turns.

    >>> import guerdon as gd
    >>> call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'}}
    >>> episode, = gd.read_traces([{"messages": [
    ...     {"role": "user", "content": "2+3?"},
    ...     {"role": "assistant", "content": None, "tool_calls": [call]},
    ...     {"role": "tool", "tool_call_id": "1", "content": "5"},
    ...     {"role": "assistant", "content": "It is 5."},
    ... ], "answer": "5"}])
    >>> episode.segments[-1].text, episode.task.answer, episode.info["called"][0]["result"]
    ('It is 5.', '5', '5')
    """
    way = call_format(format)
    name = str(path) if isinstance(path, str | Path) else "traces"
    records = open_records(path, name)
    episodes, bad = [], []
    for number, row in enumerate(records):
        try:
            if row.value is None:
                raise BadTrace(row.fault or "empty")
            episodes.append(_episode(read_trace(row.value), str(row.number), number, Path(name).stem, way))
        except BadTrace as error:
            bad.append(f"{records.place(row.number)}: {error}")
    if bad:
        more = f"; and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
        raise UserError(f"{name}, {'; '.join(bad[:SHOWN])}{more}. Fix the file: docs/tools.md says what a trace is")
    if not episodes:
        raise UserError(f"{name} holds no traces: a line is an object with messages")
    return episodes


def _episode(trace: ToolTrace, id: str, number: int, family: str, way: CallFormat) -> Episode:
    opening = [{**message, "content": text_of_message(message)} for message in trace.turns[0].view]
    answer = trace.more.get("answer")
    meta = {name: value for name, value in trace.more.items() if name != "answer"}
    view = Conversation(opening) if len(opening) > 1 else None
    task = Task(id, opening[-1]["content"], "" if answer is None else str(answer), family, 1, meta, view)
    segments = [
        Segment(
            "policy",
            list(turn.view),
            NOTHING,
            NOTHING,
            NOTHING,
            "" if turn.said is None else way.write(turn.turn),
            parent=place - 1,
            end=End.CUT if turn.said is None else End.DONE,
            made=turn.said,
        )
        for place, turn in enumerate(trace.turns)
    ]
    return Episode(Ask(task), tuple(segments), number=number, info=_told(trace))


def _told(trace: ToolTrace) -> dict[str, Any]:
    """The `info` of an episode with tools, as far as a trace has it."""
    known = [tool["function"]["name"] for tool in trace.tools]
    called: list[dict[str, Any]] = []
    for place, turn in enumerate(trace.turns):
        behind = trace.turns[place + 1].view if place + 1 < len(trace.turns) else ()
        shown = results_of(behind, turn.said)
        for n, call in enumerate(turn.turn.calls):
            error = "malformed" if call.fault else "unknown" if known and call.name not in known else ""
            record = {
                "turn": place,
                "name": call.name,
                "arguments": call.arguments,
                **({"error": error} if error else {}),
            }
            called.append({**record, "result": shown[n] if n < len(shown) else ""})
    kinds = [each["error"] for each in called if "error" in each]
    last = trace.turns[-1]
    return {
        "answered": last.said is not None and not last.turn.calls,
        "calls": len(called),
        "errors": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "called": called,
        "format": TRACE,
        **({"tools": list(trace.tools)} if trace.tools else {}),
    }


# --- writing ------------------------------------------------------------------------------------------------------------


def write_traces(
    episodes: Iterable[Episode], path: str | Path, *, tools: Sequence[Any] = (), role: str = "policy"
) -> int:
    """Write the conversations of a role, a line each, and return how many. `tools` are given where an episode does not list
    them. What else is known of a task (its `meta`, `answer`) stands beside them. Failed episodes are left out.

    Args:
        episodes: the episodes.
        path: file to write.
        tools: tools, where an episode does not list them.
        role: whose conversations.

    >>> import tempfile
    >>> import guerdon as gd
    >>> rows = [{"messages": [{"role": "user", "content": "2+3?"}, {"role": "assistant", "content": "5"}]}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gd.write_traces(gd.read_traces(rows), f"{folder}/out.jsonl")
    ...     gd.read_traces(f"{folder}/out.jsonl")[0].segments[0].made == rows[0]["messages"][1]
    1
    True
    """
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in trace_rows(episodes, tools, role)]
    try:
        Path(path).write_text("".join(lines), encoding="utf-8", newline="\n")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from error
    return len(lines)


def trace_rows(
    episodes: Iterable[Episode], tools: Sequence[Any] = (), role: str = "policy"
) -> Iterator[dict[str, Any]]:
    """The lines that `write_traces` writes, as objects."""
    told = [tool if isinstance(tool, Mapping) else tool.schema for tool in tools]
    for episode in episodes:
        for track in [] if episode.failed else _tracks(episode, role):
            task, known = episode.task, episode.info.get("tools") or told
            row: dict[str, Any] = {"messages": messages_of(episode, track), **({"tools": known} if known else {})}
            if task.answer:
                row["answer"] = task.answer
            yield {**row, **{name: value for name, value in task.meta.items() if name not in row}}


def _tracks(episode: Episode, role: str) -> list[list[Segment]]:
    """The ways from the first segment of a role to each of its last."""
    segments = episode.segments
    inner = {s.parent for s in segments if s.parent >= 0 and s.role == role == segments[s.parent].role}
    tracks = []
    for leaf in [n for n, s in enumerate(segments) if s.role == role and n not in inner]:
        path, at = [segments[leaf]], segments[leaf].parent
        while at >= 0 and segments[at].role == role:
            path.insert(0, segments[at])
            at = segments[at].parent
        tracks.append(path)
    return tracks


def messages_of(episode: Episode, track: Sequence[Segment]) -> list[Message]:
    """A track as messages: what it was shown and what it said, calls of tools and their results among them."""
    format = episode.info.get("format")
    if format == TRACE:
        return [message for s in track for message in (*s.view, *([s.made] if s.made is not None else []))]
    if format is None:
        return [message for s in track for message in (*_as_messages(s.view), *_said(s))]
    way = call_format(format)
    called: dict[int, list[dict[str, Any]]] = {}
    for each in episode.info.get("called", ()):
        called.setdefault(each["turn"], []).append(each)
    messages = _as_messages(episode.ask.shown)
    ids = 0
    for place, segment in enumerate(track):
        if place:
            messages += _results(segment, called.get(place - 1, []), ids)
            ids += len(called.get(place - 1, []))
        calls = called.get(place, [])
        if _are_sound(calls):
            text = way.read(segment.text, ()).text
            messages.append(call_message(text, [(each["name"], each["arguments"]) for each in calls], ids))
        else:
            messages += _said(segment)
    return messages


def _results(segment: Segment, calls: Sequence[Mapping[str, Any]], first: int) -> list[Message]:
    """What was shown of the calls before a segment; as the user's words where there was no call that the format could hold."""
    if not _are_sound(calls):
        return [{**message, "role": "user"} for message in _as_messages(segment.view)]
    return [{"role": "tool", "tool_call_id": f"call_{first + n}", "content": c["result"]} for n, c in enumerate(calls)]


def _are_sound(calls: Sequence[Mapping[str, Any]]) -> bool:
    return bool(calls) and all(each.get("error") != "malformed" for each in calls)


def _said(segment: Segment) -> list[Message]:
    if segment.end is End.CUT and not segment.text:
        return []
    return [{"role": "assistant", "content": segment.text}]


def _as_messages(view: Any) -> list[Message]:
    if isinstance(view, list) and all(isinstance(each, Mapping) and "role" in each for each in view):
        return [{**each} for each in view]
    return [{"role": "user", "content": view if isinstance(view, str) else json.dumps(view, ensure_ascii=False)}]
