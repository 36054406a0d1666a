"""How scores become advantages: stages that read reward columns and compute a number for every step."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
