"""A conversation as the tokens that a language model reads: views put into its chat template, and where its turn ends.

1. A template is run on marks in place of texts; what comes out, its own text with marks in it, is the skeleton.
2. Texts are put into the skeleton afterwards, so no text ever reaches the template's code.
3. Special tokens are believed only where the template wrote them, never where a text holds them.
4. A skeleton is rendered once for all conversations of its shape, and remembered.
5. A later turn's context is only what is new: what the template writes after the assistant's last words.

A model without a template reads the view's text as it is.
Leaves out: files (`huggingface.py`, `gguf.py`).
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from tokenizers import Encoding, Tokenizer

from guerdon.core.episode import Segment
from guerdon.core.errors import UserError
from guerdon.models.chat_template import Bounded, TemplateRefused
from guerdon.models.template_clock import told

MARK = re.compile(r"QxSlot(\d+)xQ")  # a text's placeholder: letters and digits, which no template changes or strips
PAD = "\n\x1f"  # white space around a mark, to see how much of it a template strips: all, line breaks alone, none
KEPT = ("role", "type")  # words a template decides by; every other text becomes a mark
CALLS = {  # what a template has in it, by the format of calls (`data/call_formats.py`)
    "hermes": ("<tool_call>",),
    "llama": ("<|python_tag|>", "ipython"),
    "sprig": ("the roles are user and assistant",),  # of models that are trained from nothing here
}
SKELETONS, TEXTS = 512, 256  # how many are remembered


class Encoded(NamedTuple):
    """The last turn that was put into tokens, and what it was made of: asked for again, it is not made again."""

    view: str
    path: tuple[Segment, ...]
    now: datetime
    tokens: tuple[int, ...]

    def is_of(self, view: str, path: Sequence[Segment]) -> bool:
        same = len(path) == len(self.path) and all(mine is other for mine, other in zip(self.path, path, strict=True))
        return same and self.view == view and self.now == told()


@dataclass(frozen=True)
class Format:
    """Settings of text in files, beside the tokenizer."""

    template: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)  # bos_token, eos_token, ... as templates see them
    extra: tuple[str, ...] = ()  # further special tokens
    ends: tuple[int, ...] = ()  # tokens that end a text
    starts: bool = False  # without a template, a text begins with the bos token


class Slot(NamedTuple):
    """The place of a text in a skeleton, and what the template does to its edges."""

    value: int
    left: str | None = None  # characters that are stripped there: "" is all white space, None is nothing
    right: str | None = None
    is_json: bool = False

    def fill(self, text: str) -> str:
        if self.left is not None:
            text = text.lstrip(self.left or None)
        if self.right is not None:
            text = text.rstrip(self.right or None)
        return json.dumps(text, ensure_ascii=False)[1:-1] if self.is_json else text


class Special(NamedTuple):
    """A special token that the template wrote."""

    token: int
    text: str


Part = str | Slot | Special


@dataclass(frozen=True)
class Skeleton:
    parts: tuple[Part, ...]
    known: int = 0  # leading tokens that are there already, for the tokenizer to see what stands before the rest


class Refused(UserError):
    """A template that wants another conversation."""


def taught_format(template: str) -> str:
    """The format that a template shows tool calls in; the one that most models were taught, where it shows none."""
    return next((name for name, signs in CALLS.items() if any(sign in template for sign in signs)), "hermes")


class Chat:
    """The conversation format of a model. `ends` are the tokens that end a turn: the first is the one it is trained to
    generate."""

    def __init__(self, tokenizer: Tokenizer, format: Format) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.tokenizer, self.format = tokenizer, format
        added = tokenizer.get_added_tokens_decoder()
        self.special = {token.content: number for number, token in sorted(added.items()) if token.special}
        self._names = {number: text for text, number in self.special.items()}
        self._template = None if format.template is None else _compiled(format.template)
        self._skeleton = functools.lru_cache(SKELETONS)(self._make_skeleton)
        self._filled = functools.lru_cache(TEXTS)(self._fill)
        self._opening = functools.lru_cache(TEXTS)(lambda view, now: self._encode(view, ()))
        self._last = Encoded("", (), told(), ())
        self._try_out()
        self.ends = tuple(dict.fromkeys([*self._turn_end(), *format.ends]))
        if not self.ends:
            raise UserError("nothing says which token ends a text: set eos_token_id in generation_config.json")

    def __deepcopy__(self, memo: Any) -> Chat:
        """A copy of a model shares it: nothing in it changes."""
        return self

    def __reduce__(self) -> Any:
        """Another process compiles it again: what it remembers stays here."""
        return Chat, (self.tokenizer, self.format)

    def encode(self, view: Any, path: Sequence[Segment] = ()) -> tuple[int, ...]:
        """A view after the earlier turns, `path`: only what is new. The tries at a prompt all open with the same text, and
        a later turn is asked for twice: whether it fits, and then to be read."""
        if not isinstance(view, str):
            return self._encode(view, path)
        if not path:
            return self._opening(view, told())
        if not self._last.is_of(view, path):
            self._last = Encoded(view, tuple(path), told(), self._encode(view, path))
        return self._last.tokens

    @functools.cached_property
    def hears_system(self) -> bool:
        """Whether there is a place for a system message: a template may refuse it, or drop its text."""
        if self._template is None:
            return False
        texts: list[str] = []
        turns = [{"role": role, "content": _mark("", texts)} for role in ("system", "user")]
        try:
            parts = self._parts(json.dumps(turns), True)
        except UserError:
            return False
        return any(isinstance(part, Slot) and part.value == 0 for part in parts)

    @property
    def calls(self) -> str:
        """The format that the template shows tool calls in; the one that most models were taught, where it shows none."""
        return taught_format(self.format.template or "")

    def _said(self, view: Any) -> list[Any]:
        """The messages of a view. The text of a system message goes before the user's where it has no place of its own."""
        messages = _messages(view)
        if messages[0].get("role") != "system" or len(messages) == 1 or self.hears_system:
            return messages
        system, user, *rest = messages
        if user.get("role") != "user" or not all(isinstance(each["content"], str) for each in (system, user)):
            return messages
        return [{**user, "content": f"{system['content']}\n\n{user['content']}"}, *rest]

    def more(self, view: Any) -> tuple[int, ...]:
        """A view inside a continued turn: its text as it is, without the template around it."""
        return tuple(self.tokens(_plain(view)))

    def _encode(self, view: Any, path: Sequence[Segment]) -> tuple[int, ...]:
        if self._template is None:
            start = [self.special[self.format.names["bos_token"]]] if self.format.starts and not path else []
            return (*start, *self.tokens(_plain(view)))
        texts: list[str] = []
        messages: list[Any] = []
        after = -1
        for segment in path:
            if segment.goes_on:  # it is part of the words above it, and only what follows the last of them is written
                continue
            messages += _marked(self._said(segment.view), texts)
            messages.append({"role": "assistant", "content": _mark(segment.text, texts)})
            after = len(texts) - 1
        messages += _marked(self._said(view), texts)
        ended = len(path) > 0 and len(path[-1].actions) > 0 and int(path[-1].actions[-1]) in self.ends
        skeleton = self._skeleton(json.dumps(messages), after, ended, told())
        return self._filled(skeleton, tuple(texts))

    def tokens(self, text: str) -> list[int]:
        """Text alone: what looks like a special token is plain characters."""
        self.tokenizer.encode_special_tokens = True  # asked every time: a copy of a tokenizer forgets the setting
        return self._tokenised(text).ids

    def _tokenised(self, text: str) -> Encoding:
        try:
            return self.tokenizer.encode(text, add_special_tokens=False)
        except Exception as error:  # `tokenizers` has no narrower kind for a text that a tokenizer has no token for
            message = (str(error).splitlines() or [type(error).__name__])[0]
            raise UserError(f"the model's tokenizer cannot read {text[:40]!a}: {message}") from error

    # --- skeletons --------------------------------------------------------------------------------------------------

    def _try_out(self) -> None:
        """A template that does not work fails when the model is loaded, not at the first conversation."""
        if self._template is not None:
            with contextlib.suppress(Refused):  # it is for other conversations
                self._skeleton(json.dumps([{"role": "user", "content": _mark("", [])}]), -1, False, told())

    def _make_skeleton(self, marked: str, after: int, ended: bool, now: datetime) -> Skeleton:
        """The template's text around the marks; `after` the text of an earlier turn, and its end if that was generated. It may
        contain the time, `now`."""
        messages = json.loads(marked)
        self._refuse_forged(messages)
        parts = self._parts(marked, True)
        if set(_heard(messages, after)) - {part.value for part in parts if isinstance(part, Slot)}:
            raise UserError(
                "the model's chat template leaves out or changes what the user says: it would not see its task"
            )
        if after < 0:
            return Skeleton(tuple(parts))
        places = [i for i, part in enumerate(parts) if isinstance(part, Slot) and part.value == after]
        if not places:
            raise UserError("the chat template does not show what the assistant said last: it allows one turn only")
        parts = parts[places[-1] + 1 :]
        first = next((i for i, part in enumerate(parts) if isinstance(part, Special)), None)
        if not ended or first is None:
            return Skeleton(tuple(parts))
        return Skeleton(tuple(parts[first:]), known=1)

    def _parts(self, marked: str, goes_on: bool) -> list[Part]:
        """What the template makes of marked messages."""
        plain = self._render(json.loads(marked), goes_on)
        padded = self._render(json.loads(MARK.sub(_pad, marked)), goes_on)
        slots = _slots(MARK.split(plain), MARK.split(padded))
        parts: list[Part] = []
        at = 0
        for token, start, stop in [*self._parsed(plain)[1], (-1, len(plain), len(plain))]:
            pieces = MARK.split(plain[at:start])
            for i, piece in enumerate(pieces):
                parts.append(piece if i % 2 == 0 else slots.pop(0))
            if token >= 0:
                parts.append(Special(token, plain[start:stop]))
            at = stop
        return [part for part in parts if part != ""]

    def _render(self, messages: list[Any], goes_on: bool) -> str:
        assert self._template is not None
        try:
            return self._template.render(
                messages=messages, tools=None, documents=None, add_generation_prompt=goes_on, **self.format.names
            )
        except TemplateRefused as error:
            lines = MARK.sub("...", str(error)).splitlines() or [""]
            raise Refused(f"the model's chat template refuses these messages: {lines[0]}") from error
        except UserError as error:
            raise UserError(MARK.sub("...", str(error))) from error

    def _turn_end(self) -> list[int]:
        """The special token that the template closes an assistant's turn with, if there is one."""
        if self._template is None:
            return []
        texts: list[str] = []
        turns = [{"role": role, "content": _mark("", texts)} for role in ("user", "assistant")]
        try:
            parts = self._parts(json.dumps(turns), False)
        except UserError:  # a template for other roles
            return []
        answers = [i for i, part in enumerate(parts) if isinstance(part, Slot) and part.value == 1]
        return [part.token for part in parts[answers[-1] :] if isinstance(part, Special)][:1] if answers else []

    def _parsed(self, text: str) -> tuple[list[int], list[tuple[int, int, int]]]:
        """The tokens of a text, and the special tokens that stand in it: number, first character, end."""
        self.tokenizer.encode_special_tokens = False
        encoding = self._tokenised(text)
        seen = [(n, *at) for n, at in zip(encoding.ids, encoding.offsets, strict=True) if n in self._names]
        return encoding.ids, [
            (n, a, b) for n, a, b in seen if text[a:b].strip() == self._names[n]
        ]  # not `<unk>` for a letter

    def _refuse_forged(self, message: Any) -> None:
        """Words that the template sees as they are (roles, keys) must not hold special tokens."""
        if isinstance(message, str):
            if self._parsed(message)[1]:
                raise UserError(f"a role or key of a message holds a special token: {message!r}")
        elif isinstance(message, Mapping):
            for key, value in message.items():
                self._refuse_forged(key)
                self._refuse_forged(value)
        elif isinstance(message, list):
            for value in message:
                self._refuse_forged(value)

    # --- tokens -----------------------------------------------------------------------------------------------------

    def _fill(self, skeleton: Skeleton, texts: tuple[str, ...]) -> tuple[int, ...]:
        """Tokenise all at once, as `transformers` does; if a special token is then found that the template did not
        write, stretch by stretch with such tokens taken for plain characters."""
        whole = ""
        own: list[tuple[int, int, int]] = []
        stretches = [""]
        for part in skeleton.parts:
            if isinstance(part, Special):
                own.append((part.token, len(whole), len(whole) + len(part.text)))
                stretches.append("")
                whole += part.text
            else:
                text = part.fill(texts[part.value]) if isinstance(part, Slot) else part
                stretches[-1] += text
                whole += text
        tokens, seen = self._parsed(whole)
        if seen == own:
            return tuple(tokens[skeleton.known :])
        numbers = self.tokens(stretches[0])
        for (token, _, _), stretch in zip(own, stretches[1:], strict=True):
            numbers += [token, *self.tokens(stretch)]
        return tuple(numbers[skeleton.known :])


# --- views and marks ----------------------------------------------------------------------------------------------------


def _messages(view: Any) -> list[Any]:
    """A string is one user message, a list of messages is itself, anything else is shown as JSON."""
    if isinstance(view, list) and view and all(_is_message(item) for item in view):
        return view
    return [{"role": "user", "content": view if isinstance(view, str) else json.dumps(view)}]


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("role"), str) and "content" in item


def _plain(view: Any) -> str:
    """For a model without a template: the text of a message, of several one after the other."""
    contents = [message["content"] for message in _messages(view)]
    return "\n\n".join(c if isinstance(c, str) else json.dumps(c) for c in contents)


def _mark(text: str, texts: list[str]) -> str:
    texts.append(text)
    return f"QxSlot{len(texts) - 1}xQ"


def _marked(value: Any, texts: list[str], key: str = "") -> Any:
    """The same with a mark for each text. An empty one stays: templates ask whether there is any."""
    if isinstance(value, str):
        return value if key in KEPT or not value else _mark(value, texts)
    if isinstance(value, Mapping):
        return {k: _marked(v, texts, k) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_marked(item, texts, key) for item in value]
    return value


def _pad(mark: re.Match[str]) -> str:
    """A mark with white space around it, as it stands in JSON."""
    return json.dumps(PAD + mark.group() + PAD[::-1])[1:-1]


EDGES: tuple[tuple[str, str | None, bool], ...] = (  # what is left of the white space: what was stripped, whether JSON
    (PAD, None, False),
    (PAD[1:], "\n", False),
    ("", "", False),
    (json.dumps(PAD)[1:-1], None, True),
)


def _slots(plain: list[str], padded: list[str]) -> list[Slot]:
    """What the template does to the edges of each text, from its output without and with white space around the marks."""
    numbers = [int(n) for n in plain[1::2]]
    if padded[1::2] != plain[1::2]:
        return [Slot(n) for n in numbers]
    lefts: list[tuple[str | None, bool]] = []
    rights: list[tuple[str | None, bool]] = []
    for i, (bare, text) in enumerate(zip(plain[::2], padded[::2], strict=True)):
        before = EDGES if i > 0 else EDGES[2:3]
        behind = EDGES if i < len(numbers) else EDGES[2:3]
        fits = [(a, b) for a in before for b in behind if _mirrored(a) + bare + b[0] == text]
        right, left = fits[0] if fits else (EDGES[0], EDGES[0])
        rights.append(right[1:])
        lefts.append(left[1:])
    return [
        Slot(n, left[0], right[0], left[1] and right[1])
        for n, left, right in zip(numbers, lefts[:-1], rights[1:], strict=True)
    ]


def _mirrored(edge: tuple[str, str | None, bool]) -> str:
    return json.dumps(PAD[::-1])[1:-1] if edge[2] else edge[0][::-1]


# --- templates ----------------------------------------------------------------------------------------------------------


@functools.cache
def _compiled(template: str) -> Bounded:
    if MARK.search(template):
        raise UserError("the model's chat template holds text that this library uses as a mark")
    return Bounded(template)


def _heard(messages: list[Any], after: int) -> list[int]:
    """The texts of the user's last message, by number; none where that precedes the text `after`."""
    for message in reversed(messages):
        if message.get("role") == "user":
            content = message["content"]
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            texts = [part.get("text") for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
            numbers = [int(n) for text in texts if isinstance(text, str) for n in MARK.findall(text)]
            return [n for n in numbers if n > after]
    return []
