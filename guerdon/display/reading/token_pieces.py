"""Texts cut into the pieces of their tokens, so that each can be coloured where it stands.

The tokenizer is the one that lies in the run's folder; of a run that has saved no model yet, the one of the model that it
began with, if that is on this machine. One is believed only as far as its pieces, joined, are the text itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from tokenizers import Tokenizer

from guerdon.runs.run import Run
from guerdon.runs.run_config import read_small
from guerdon.runs.whole_files import file_mark

FILE = "tokenizer.json"
KEPT = 8  # tokenizers
UNFINISHED = "\ufffd"  # what a character is spelled as whose last token is still to come
LARGEST = 1 << 32  # what a token's number is less than
BACK = 16  # tokens, at most, that are spelled again with a new one

Answer = TypeVar("Answer")


@dataclass
class Pieces:
    """The text of each token. None continues the piece before it: a character takes both. `silent` names tokens without
    text; `beyond` was generated and is not in the text: a stop string and what came with it."""

    said: list[str | None] = field(default_factory=list)
    silent: dict[int, str] = field(default_factory=dict)
    beyond: dict[int, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return "".join(piece for piece in self.said if piece)


def pieces_of(speller: Tokenizer, actions: Sequence[int], text: str, most: int) -> Pieces | None:
    """At least `most` tokens of a text, and as many more as the last character takes; None where the tokens do not spell it."""
    made = Pieces()
    left = len(text)
    for tokens, said in _spelled(speller, actions, most):
        at = len(made.said)
        inside = said[: max(0, left)]
        if not text.startswith(inside, len(text) - left if left > 0 else len(text)):
            return None
        left -= len(inside)
        made.said += [inside, *[None] * (len(tokens) - 1)]
        if said == "":
            made.silent[at] = _name(speller, tokens[0])
        elif inside != said:
            made.beyond[at] = said[len(inside) :]
    return made if left == 0 or len(made.said) < len(actions) else None


def _spelled(speller: Tokenizer, actions: Sequence[int], most: int) -> Iterator[tuple[list[int], str]]:
    """Tokens with a common text, and that text: spelled after those before them, for a tokenizer may drop a text's first
    space. A character of several tokens stays whole."""
    begin = done = 0  # of the window, and of the text so far
    known = ""
    for at in range(len(actions)):
        if done == at and at >= most:
            return
        now = speller.decode(actions[begin : at + 1], skip_special_tokens=True)
        waits = now.endswith(UNFINISHED) and at + 1 < len(actions) and at - done < BACK
        if waits or not now.startswith(known):
            continue
        said = now[len(known) :]
        yield list(actions[done : at + 1]), said
        if said:
            begin, known = done, speller.decode(actions[done : at + 1], skip_special_tokens=True)
        done = at + 1
        if begin and not known:  # tokens without text of their own cannot be aligned
            begin, known = 0, speller.decode(actions[:done], skip_special_tokens=True)
    if done < len(actions):
        yield list(actions[done:]), ""


def _name(speller: Tokenizer, token: int) -> str:
    """The name of a token without text."""
    name = speller.id_to_token(token) if token >= 0 else None
    return name if name is not None else f"token {token}"


def characters(text: str, actions: Sequence[int], most: int) -> Pieces:
    """Where a token is a character; the one after the last ends the text."""
    said: list[str | None] = [*text[:most], *[""] * (len(actions) > len(text) and most > len(text))]
    return Pieces(said, {len(text): "end"} if len(said) > len(text) else {})


# --- where tokenizers lie -----------------------------------------------------------------------------------------


def tokenizer_files(run: Run, role: str, seats: Mapping[str, str] | None, shipped: Mapping[str, Path]) -> list[Path]:
    """Where the tokenizer of a role's model may lie, the likeliest first. `shipped` are folders of models by their names."""
    named = {**_seats(run.config), **(seats or {})}.get(role, role)
    saved = sorted(path.parent.name for path in run.folder.models.glob(f"*/{FILE}"))
    wish = str(run.config["wish"].get("model") or "")
    first = [shipped[wish]] if wish in shipped else [Path(wish)] if wish else []
    folders = [run.folder.models / name for name in sorted(saved, key=lambda name: name != named)] + first
    return [folder / FILE for folder in folders]


def _seats(config: Mapping[str, Any]) -> dict[str, str]:
    parts = config.get("parts") or {}
    knobs = parts.get("knobs") if isinstance(parts, dict) else None
    seats = knobs.get("seats") if isinstance(knobs, dict) else None
    return {str(k): str(v) for k, v in seats.items()} if isinstance(seats, dict) else {}


class Tokenizers:
    """Tokenizers by their files, the last few kept. `shipped` are folders of models that a run may have begun with, by name."""

    def __init__(self, shipped: Mapping[str, Path] | None = None) -> None:
        self._shipped = shipped or {}
        self._kept: dict[tuple[str, tuple[int, ...]], Tokenizer | None] = {}
        self._lock = threading.Lock()

    def of(self, path: Path) -> Tokenizer | None:
        """None where there is none that can be read."""
        mark = file_mark(path)
        if not mark:
            return None
        with self._lock:
            key = (str(path), mark)
            if key not in self._kept:
                while len(self._kept) >= KEPT:
                    self._kept.pop(next(iter(self._kept)))
                self._kept[key] = _read(path)
            return self._kept[key]

    def pieces(self, run: Run, role: str, seats: Any, actions: Sequence[int], text: str, most: int) -> Pieces | None:
        """By the first tokenizer that spells the text."""
        for path in tokenizer_files(run, role, seats if isinstance(seats, dict) else None, self._shipped):
            speller = self.of(path)
            is_id = all(0 <= token < LARGEST for token in actions)
            if speller is None or not is_id:
                continue
            made = _or_none(partial(pieces_of, speller, actions, text, most))
            if made is not None:
                return made
        return None


def _read(path: Path) -> Tokenizer | None:
    try:
        text = read_small(path)
    except (OSError, ValueError):
        return None
    return _or_none(lambda: Tokenizer.from_str(text))


def _or_none(call: Callable[[], Answer]) -> Answer | None:
    """What `tokenizers` makes of a stranger's file; None where that is more than it can take."""
    try:
        return call()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - it raises Exception itself, and its panics are not even that
        return None
