"""Tracks of a policy that makes no text, such as one of continuous actions: the empty text there is no wrong answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from guerdon.core.episode import Segment


def makes_no_text(path: Iterable[Segment]) -> bool:
    """Whether a track has no text and its actions are not tokens: something else was made of them, or they, or what was shown,
    are not whole numbers. A language model that generates nothing makes an empty text.

    >>> import guerdon as gd
    >>> makes_no_text([gd.Segment("policy", "go", [5], [1], [0.0], text="")])
    False
    >>> makes_no_text([gd.Segment("policy", "go", [5], [0.5], [0.0], text="")])
    True
    """
    done = [segment for segment in path if len(segment.actions) or segment.text]
    return not any(s.text for s in done) and any(
        s.made is not None or s.actions.dtype.kind == "f" or s.actions.ndim > 1 or s.context.dtype.kind == "f"
        for s in done
    )
