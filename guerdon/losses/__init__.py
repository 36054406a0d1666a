"""What a learner minimises, term by term: `clipped() + kl(0.04)`."""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
