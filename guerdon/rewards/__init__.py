"""Rewards: functions, formulas, answers, models and memories as rewards, and the stages that put them into columns."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
