"""Text from what chat libraries pass around: a string, or a list of messages with a role and a content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def content(message: Any) -> str:
    """A message's text; of a content in blocks, that of its text blocks. A message is a mapping, or an object."""
    blocks = _get(message, "content")
    if blocks is None or isinstance(blocks, str):
        return blocks or ""
    return "".join(str(_get(block, "text") or "") for block in blocks)


def prompt_text(prompt: Any) -> str:
    """A prompt as one string: of a conversation, the user's last message."""
    if isinstance(prompt, str):
        return prompt
    asked = [content(m) for m in prompt if _get(m, "role") == "user"]
    return asked[-1] if asked else "".join(content(m) for m in prompt[-1:])


def turns_text(completion: Any) -> list[str]:
    """The model's own turns in a completion: all of a string, or the assistant's messages."""
    if isinstance(completion, str):
        return [completion]
    return [content(m) for m in completion if _get(m, "role") == "assistant"]


def sample(prompt: Any, completion: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of one sample. A conversation is also there whole, as `messages`; `completion` is the model's last turn."""
    turns = turns_text(completion)
    fields = {**columns, "prompt": prompt_text(prompt), "completion": turns[-1] if turns else "", "turns": turns}
    if not isinstance(completion, str):
        before = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)
        fields["messages"] = [*before, *completion]
    return fields


def runs(items: Sequence[Any]) -> list[int]:
    """A number for each item, the same for neighbours that are equal: `[a, a, b, a]` gives `[0, 0, 1, 2]`."""
    numbers: list[int] = []
    for n, item in enumerate(items):
        numbers.append(numbers[-1] + (item != items[n - 1]) if n else 0)
    return numbers


def _get(thing: Any, name: str) -> Any:
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
