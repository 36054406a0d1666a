"""What is asked of a run's models on held-out things, and what is measured of it."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
