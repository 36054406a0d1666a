"""Tasks: families with exact step checkers, rows of a file, and modifications of both.

`load` finds them by name.
"""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
