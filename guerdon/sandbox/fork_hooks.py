"""The first lines of a zygote: modules that want something done at every fork are noted, and not obeyed.

`random`, `threading` and others register such hooks when they are imported. A zygote has one thread and forks twice for
every box, where the hooks cost time and do nothing; a program that may fork is given them back (`boxed_program.py`).
Leaves out: the zygote (`zygote.py`).
"""

from __future__ import annotations

import os
import sys
from typing import Any


def start(control_end: int) -> None:
    """Become a zygote."""
    register, hooks = os.register_at_fork, list[dict[str, Any]]()
    os.register_at_fork = lambda **given: hooks.append(given)
    from guerdon.sandbox.zygote import main

    del sys.meta_path[0]  # which gave the code of these modules (`zygote_handle.py`), and holds it
    main(control_end, register, hooks)
