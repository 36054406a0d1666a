"""Rewards that query a model: scales, rubrics, comparisons, and the models that answer."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
