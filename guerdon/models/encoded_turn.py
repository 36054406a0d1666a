"""The last turn that was put into tokens: asked for again, it is not made again.

Leaves out: how turns become tokens (`chat.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from guerdon.core.episode import Segment
from guerdon.models.template_clock import told


class Encoded(NamedTuple):
    """A later turn in tokens, and what it was made of."""

    view: str
    path: tuple[Segment, ...]
    now: datetime
    tokens: tuple[int, ...]

    def is_of(self, view: str, path: Sequence[Segment]) -> bool:
        same = len(path) == len(self.path) and all(mine is other for mine, other in zip(self.path, path, strict=True))
        return same and self.view == view and self.now == told()
