"""An episode as a person would read it: the view and the output of each role, turn by turn, and how it ended.

Leaves out: numbers for each token (the studio has them).
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import Any

from guerdon.core.episode import End, Episode, Segment

WIDTH = 100
LONGEST = 60  # characters of what came of it: longer records are for programs to read
SHOWN = "  │ "  # before what a role is shown
SAID = "  "  # before its output


def transcript(episode: Episode, width: int = WIDTH) -> str:
    """The whole of it as text.

    Args:
        episode: the episode.
        width: columns of the text.

    >>> import guerdon as gd
    >>> turns = [gd.Segment("policy", "2 + 2 =", [], [4], [0.0], text="5"), gd.Segment("policy", "Wrong.", [], [4], [0.0], text="4", parent=0)]
    >>> print(gd.transcript(gd.Episode(gd.Ask(gd.Task("7", "2 + 2 =", "4")), tuple(turns), info={"goal": 1.0})))
    task/7
      │ 2 + 2 =
    policy:
      5
      │ Wrong.
    policy:
      4
    goal 1.0
    """  # noqa: E501
    return "\n".join(_lines(episode, width))


def _lines(episode: Episode, width: int) -> Iterator[str]:
    yield episode.task.key
    for i, segment in enumerate(episode.segments):
        yield from _block(_words(segment.view), SHOWN, width)
        if not (len(segment.actions) or segment.text):
            yield f"({segment.role} did not get to act)"
            continue
        yield f"{segment.role}{_branch(episode, i)}:"
        yield from _block(segment.text or "(nothing)", SAID, width)
        yield from (f"{SAID}({note})" for note in _notes(segment))
    if "error" in episode.info:
        yield f"FAILED: {episode.info['error']}"
    told = {name: v if isinstance(v, str) else json.dumps(v) for name, v in episode.info.items() if name != "error"}
    short = [f"{name} {text}" for name, text in told.items() if len(text) <= LONGEST]
    if short:
        yield ", ".join(short)


def _branch(episode: Episode, at: int) -> str:
    """The turn that this one continues, unless that is the one before it of the same role."""
    segment = episode.segments[at]
    before = max((i for i in range(at) if episode.segments[i].role == segment.role), default=-1)
    if segment.parent == before:
        return ""
    return f" (turn {at + 1}, after turn {segment.parent + 1})" if segment.parent >= 0 else f" (turn {at + 1}, anew)"


def _notes(segment: Segment) -> Iterator[str]:
    if segment.end is End.CUT:
        yield "cut off"
    if segment.end is End.FAILED:
        yield "failed"
    if segment.reward is not None:
        yield f"paid {segment.reward:g}"
    if segment.rewards is not None:
        yield f"paid {float(segment.rewards.sum()):g} along the way"


def _words(view: Any) -> str:
    """A view as text: messages as `role: words`, anything else as it is."""
    if isinstance(view, list) and all(isinstance(m, dict) and "role" in m for m in view):
        return "\n".join(f"{m['role']}: {_content(m)}" for m in view)
    return str(view)


def _content(message: dict[str, Any]) -> str:
    calls = [
        f"{call['function']['name']}({call['function']['arguments']})"
        for call in message.get("tool_calls") or ()
        if isinstance(call, dict) and isinstance(call.get("function"), dict)
    ]
    return "\n".join([str(message.get("content") or ""), *calls]).strip()


def _block(text: str, mark: str, width: int) -> Iterator[str]:
    for line in text.splitlines() or [""]:
        for piece in textwrap.wrap(line, width - len(mark), break_long_words=True, drop_whitespace=False) or [""]:
            yield (mark + piece).rstrip()
