"""Curricula: which problems come next, and how many tries for each."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
