"""Guerdon: reward engineering in reinforcement learning.

`import guerdon as gd` is cheap: names are loaded at first use, and torch with the first that needs it.
"""

from guerdon.core.lazy import front_door, show_with
from guerdon.core.renamed import find_old_modules

__version__ = "0.2.0"
__getattr__, __dir__, __all__ = front_door(__name__)
__all__ += ["__version__"]
find_old_modules()
show_with(f"{__name__}.display.notebook")
