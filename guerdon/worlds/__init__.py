"""Worlds of physics and other libraries' environments, several at a time."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
