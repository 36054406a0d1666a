"""Exams: held-out problems for a run's models, and metrics on them."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
