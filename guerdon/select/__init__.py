"""Selection of what to train on: filters, pairs, more tries, second roles, memories of episodes."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
