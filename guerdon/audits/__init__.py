"""Findings about a reward, a reward model, scores or distances between rewards."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
