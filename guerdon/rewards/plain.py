"""What a reward may return besides a number. Here and not elsewhere so that a worker need not import torch for it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Score:
    """A value with its why: `parts` are named components, `why` is a sentence for people."""

    value: float | list[float] | None
    why: str = ""
    parts: dict[str, float] = field(default_factory=dict)
