"""Searching for an answer, line by line."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
