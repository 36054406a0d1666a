"""Search: several continuations are sampled, and one is chosen or all are kept."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
