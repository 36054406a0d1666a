"""One episode as JSON that a page can show: the ask, the view and text of each turn, each token's numbers, every score."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from guerdon.core.arrays import loads
from guerdon.core.episode import End
from guerdon.display.reading import track_scores as scores
from guerdon.display.reading.opened_steps import Row, StepFile, followed_by
from guerdon.display.reading.token_pieces import Pieces, Tokenizers, characters
from guerdon.display.text import ENDS, error_text, view_text
from guerdon.runs.run import Missing, Run

TEXT = 8_000  # characters of a text that come at once
TOKENS = 2_000  # tokens of a segment that come at once ...
IN_ALL = 8_000  # ... and of an episode
TURNS = 400  # segments
FOLLOWERS = 50  # episodes about this one that are listed
COLOURED = ("logp", "paid")  # what steps can be coloured by beside columns

Told = dict[str, Any]


class Reader:
    """Reads the episodes of a run's step."""

    def __init__(self, run: Run, file: StepFile, tokenizers: Tokenizers) -> None:
        self.run, self.file, self.tokenizers = run, file, tokenizers

    def episode(self, key: str) -> Told:
        """All of it, long texts and long rows of tokens from their beginning."""
        rows = self.file.of(key)
        stored = self.file.rows(rows, *NAMES)
        first = stored[0]
        asked, info = loads(first["ask"]), loads(first["info"])
        room = IN_ALL
        segments = []
        for at, row in zip(rows, stored[:TURNS], strict=False):
            if row["place"] >= 0:
                segments.append(self._segment(at, row, asked, min(room, TOKENS)))
                room -= len(segments[-1]["tokens"]["ids"])
        error = error_text(str(info["error"]), "no message") if "error" in info else None
        return {
            "step": self.file.step,
            "episode": key,
            "ask_key": key.rpartition(".")[0],
            "attempt": first["attempt"],
            "seed": str(first.get("seed", "")),
            "task": _task(first, asked),
            "ask": _ask(asked),
            "info": {name: value for name, value in info.items() if name != "error"},
            "error": None if error is None else {"line": error.line, "whole": error.whole},
            "segments": segments,
            "segments_in_all": sum(place >= 0 for place in self.file.plain["place"][rows.start : rows.stop]),
            "is_tree": _branches(segments),
            "tracks": [self._track(end) for end in self.file.ends_in(rows)],
            "pairs": self._pairs(rows),
            "follows": [each for each in dict.fromkeys(followed_by(asked)) if each in self.file.episodes],
            "followers": [self._follower(each) for each in self.file.followers.get(key, [])[:FOLLOWERS]],
            "formulas": scores.formulas(self.run.config),
            "colours": self._colours(),
            "column_order": list(self.file.columns),
        }

    # --- segments -----------------------------------------------------------------------------------------------

    def _segment(self, at: int, row: Row, asked: Mapping[str, Any], room: int) -> Told:
        view, made = loads(row["view"]), loads(row.get("made") or "null")
        return {
            "place": row["place"],
            "role": row["role"],
            "parent": row["parent"],
            "learned": row["row"] >= 0,
            "track": self.file.track_of.get(at),
            "view": _view(view),
            **_cut("text", row["text"] or ""),
            "end": row["end"],
            "end_words": ENDS[End(row["end"])],
            "sampling": json.loads(row["sampling"]),
            "version": row["version"],
            "given": row["given"],
            "goes_on": bool(row.get("goes_on")),
            "paid": None if row["reward"] is None else scores.plain(row["reward"]),
            "made": None if made is None else view_text(made)[:TEXT],
            "tokens": self.tokens(at, row, asked.get("seats"), 0, room),
            "columns": self._own_columns(at),
        }

    def tokens(self, at: int, row: Row, seats: Any, start: int, most: int) -> Told:
        """Some tokens of a segment: its text, as far as that is known, and its numbers."""
        actions = self.file.list_at("actions", at)
        count = len(_or_empty(self.file.list_at("logp", at)))
        tail = self.file.meta["actions"][1]
        acted = _or_empty(actions).reshape(-1, *tail)
        made = self._pieces(row, acted, seats, start + most) if most and not tail else None
        stop = min(count, start + most)
        if made is not None:  # a started character is completed
            stop = max(stop, start) if len(made.said) <= stop else len(made.said)
        window = slice(start, stop)
        return {
            "start": start,
            "in_all": count,
            "ids": acted[window].tolist(),
            "is_number": acted.dtype.kind == "f",
            "pieces": None if made is None else made.said[window],
            "silent": {} if made is None else _within(made.silent, window),
            "beyond": {} if made is None else _within(made.beyond, window),
            "numbers": self._numbers(at, window),
            "muted": self._unlearned(at, window),
        }

    def _pieces(self, row: Row, actions: Any, seats: Any, most: int) -> Pieces | None:
        text, listed = row["text"] or "", actions.tolist()
        if actions.dtype.kind == "f":
            return None
        known = self.tokenizers.pieces(self.run, row["role"], seats, listed, text, most)
        if known is not None:
            return known
        return characters(text, listed, most) if self.file.spelled.get(row["role"]) and text else None

    def _numbers(self, at: int, window: slice) -> dict[str, Any]:
        """By what they are coloured by: a number for each token, or one for all of them."""
        numbers: dict[str, Any] = {}
        for name in self.file.scales:
            if name in COLOURED:
                values = self.file.list_at({"logp": "logp", "paid": "rewards"}[name], at)
            elif self.file.columns[name][0] == "step":
                values = self.file.list_at(f"col.{name}", at)
            elif "advantage" in name:
                numbers[name] = scores.plain(self._spread(name, at))
                continue
            else:
                continue
            if values is not None:
                numbers[name] = [scores.plain(float(f"{value:.9g}")) for value in values[window].tolist()]
        return numbers

    def _spread(self, name: str, at: int) -> float:
        """The number of a segment by that of its tracks: their mean, as credit spreads it."""
        if self.file.columns[name][0] == "segment":
            return scores.mean([_or_empty(self.file.list_at(f"col.{name}", at))])
        ends = [end for end in self.file.ends_in(self.file.of(self.file.key(at))) if at in self.file.path(end)]
        return scores.mean([_or_empty(self.file.list_at(f"col.{name}", end)) for end in ends])

    def _unlearned(self, at: int, window: slice) -> list[int]:
        """Tokens of a window that nothing is learned from, though their segment is in the batch."""
        weight, muted = self.file.list_at("weight", at), self.file.list_at("muted", at)
        if weight is None:
            return []
        quiet = weight == 0 if muted is None else (weight == 0) | muted.astype(bool)
        return [int(i) for i in np.flatnonzero(quiet[window])]

    def _own_columns(self, at: int) -> list[Told]:
        """Numbers of this segment itself."""
        own = [name for name, (level, _, shape) in self.file.columns.items() if level == "segment" and not shape]
        return [scores.of_segment(self.file, name, at) for name in own]

    # --- tracks, pairs, colours -----------------------------------------------------------------------------------

    def _track(self, end: int) -> Told:
        plain = self.file.plain
        return {
            "segment": plain["place"][end],
            "role": plain["role"][end],
            "path": [plain["place"][row] for row in self.file.path(end)],
            "learned": plain["row"][end] >= 0,
            "columns": scores.of_track(self.file, end),
        }

    def _pairs(self, rows: range) -> list[Told]:
        """The preferences that a track of this episode stands in."""
        pairs = self.file.meta["pairs"]
        if not pairs:
            return []
        listed = zip(*(pairs[name][1] for name in ("better", "worse", "margin", "label")), strict=True)
        told = []
        for better, worse, margin, label in listed:
            rows_of = [self.file.leaves[track] for track in (better, worse)]
            if not any(row in rows for row in rows_of):
                continue
            ends = [{"episode": self.file.key(r), "segment": self.file.plain["place"][r]} for r in rows_of]
            told.append({"better": ends[0], "worse": ends[1], "margin": margin, "label": label})
        return told

    def _follower(self, key: str) -> Told:
        """Texts about this episode, and its scores."""
        end = self.file.ends_in(self.file.of(key))[-1:]
        if not end:
            return {"episode": key, "role": "", "text": "", "reward": None}
        text = self.file.rows(range(end[0], end[0] + 1), "text")[0]["text"] or ""
        reward = next((each["number"] for each in scores.of_track(self.file, end[0]) if each["name"] == "reward"), None)
        return {"episode": key, "role": self.file.plain["role"][end[0]], "text": text[:200], "reward": reward}

    def _colours(self) -> list[Told]:
        """What tokens can be coloured by: first advantages, then log-probs, then what else has a number for each."""
        told = []
        for name, (low, high) in self.file.scales.items():
            level = self.file.columns[name][0] if name in self.file.columns else "step"
            if level == "step" or "advantage" in name:
                signed = "advantage" in name or (low < 0 < high)
                told.append({"name": name, "words": WORDS.get(name, name), "signed": signed, "low": low, "high": high})
        return sorted(told, key=lambda each: _rank(each["name"]))

    # --- more of it ----------------------------------------------------------------------------------------------

    def more_tokens(self, key: str, segment: int, start: int) -> Told:
        """Tokens from one on."""
        at, row = self._row(key, segment)
        return self.tokens(at, row, loads(row["ask"]).get("seats"), start, TOKENS)

    def more_text(self, key: str, segment: int, of: str, start: int) -> Told:
        """Text from a character on: of a segment's text or view, or of the task's prompt."""
        _, row = self._row(key, segment)
        text = {"text": row["text"] or "", "view": view_text(loads(row["view"])), "prompt": row["prompt"]}[of]
        return {"text": text[start : start + 10 * TEXT], "start": start, "in_all": len(text)}

    def _row(self, key: str, segment: int) -> tuple[int, Row]:
        rows = self.file.of(key)
        if not 0 <= segment < len(rows) or self.file.plain["place"][rows.start] < 0:
            raise Missing(f"rollout {key} has no segment {segment}")
        at = rows.start + segment
        return at, self.file.rows(range(at, at + 1), *NAMES)[0]


def python_line(run: str, step: int, episode: str) -> str:
    """What opens a rollout in Python."""
    where = f"(pc.field('step') == {step}) & (pc.field('episode') == {episode!r})"
    return f"import guerdon as gd, pyarrow.compute as pc\ngd.Run({run!r}).rollouts.filter({where}).to_pylist()"


WORDS = {"logp": "log-prob", "paid": "pay for each"}
NAMES = (
    "row", "episode", "place", "step", "number", "attempt", "task_id", "family", "level", "prompt", "answer", "meta", "ask",
    "info", "seed", "role", "parent", "view", "text", "sampling", "version", "given", "reward", "end", "made", "goes_on",
)  # fmt: skip


def _rank(name: str) -> tuple[bool, bool, bool]:
    return name != "advantage", "advantage" not in name, name != "logp"


def _or_empty(values: Any) -> Any:
    return np.zeros(0) if values is None else values


def _within(marks: Mapping[int, str], window: slice) -> dict[int, str]:
    """Counted from the window's beginning."""
    return {at - window.start: name for at, name in marks.items() if window.start <= at < window.stop}


def _cut(name: str, text: str) -> Told:
    """The beginning of a text, and how long it is in all."""
    return {name: text[:TEXT], f"{name}_in_all": len(text)}


def _task(row: Row, asked: Mapping[str, Any]) -> Told:
    return {
        "id": row["task_id"], "family": row["family"], "key": f"{row['family']}/{row['task_id']}", "level": row["level"],
        "kind": f"{row['family']}:{row['level']}", **_cut("prompt", row["prompt"]), **_cut("answer", row["answer"]),
        "meta": _json_text(loads(row["meta"])), "view": _view(asked["task_view"]) if asked.get("task_view") else None,
    }  # fmt: skip


def _ask(asked: Mapping[str, Any]) -> Told:
    prefix = asked.get("prefix")
    return {
        "n": asked["n"],
        "prompt": None if asked["prompt"] is None else asked["prompt"][:TEXT],
        "sampling": asked.get("sampling"),
        "prefix": prefix and {name: prefix[name] for name in ("of", "segment", "step")},
        "note": _json_text(asked.get("note") or {}),
        "seats": asked.get("seats"),
    }


def _json_text(value: Any) -> str:
    """A small value as text to read; empty where there is nothing in it."""
    return view_text(value if not isinstance(value, str) else [value])[:TEXT] if value else ""


def _view(view: Any) -> Told:
    """What was shown: messages as messages, all else as text."""
    if isinstance(view, list) and view and all(isinstance(each, dict) and "role" in each for each in view):
        return {"messages": [_message(each) for each in view[:TURNS]], "in_all": len(view)}
    return _cut("text", view_text(view))


def _message(message: Mapping[str, Any]) -> Told:
    content = message.get("content")
    told = {"role": str(message["role"]), **_cut("text", "" if content is None else view_text(content))}
    calls = message.get("tool_calls")
    rest = {k: v for k, v in message.items() if k not in ("role", "content", "tool_calls", "name", "tool_call_id")}
    for name in ("name", "tool_call_id"):
        if message.get(name):
            told[name] = str(message[name])
    if isinstance(calls, list):
        told["calls"] = [_call(call) for call in calls]
    return told | ({"rest": view_text(rest)[:TEXT]} if rest else {})


def _call(call: Any) -> Told:
    function = call.get("function", call) if isinstance(call, dict) else {}
    if not isinstance(function, dict) or "name" not in function:
        return {"name": "", "arguments": view_text(call)[:TEXT]}
    arguments = function.get("arguments", "")
    return {"name": str(function["name"]), "arguments": view_text(arguments)[:TEXT]}


def _branches(segments: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a role continued from one place twice: a search. Players that answer each other are not a tree, nor is a
    judge."""
    seen: set[tuple[int, str]] = set()
    by_place = {each["place"]: each for each in segments}
    for each in by_place.values():
        parent = by_place.get(each["parent"])
        if parent is None or parent["role"] != each["role"]:
            continue
        if (each["parent"], each["role"]) in seen:
            return True
        seen.add((each["parent"], each["role"]))
    return False
