"""Models: language models, tables, copies of others.

`load` finds them by name or in a folder, `save` writes them.
"""

from guerdon.core.lazy import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
