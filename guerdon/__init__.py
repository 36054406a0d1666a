"""Guerdon: reward engineering in reinforcement learning.

`import guerdon as gd` costs next to nothing: names are loaded when they are first used, torch with the first that needs it.
"""

from guerdon.core.lazy import front_door
from guerdon.core.moved import keep_old_paths

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = front_door(__name__)
__all__ += ["__version__"]
keep_old_paths()
