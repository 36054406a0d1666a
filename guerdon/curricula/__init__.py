"""What is asked next: which problems, how many tries at each."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
