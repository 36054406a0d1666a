"""The first lines of a zygote: modules that want something done at every fork are noted, and not obeyed.

`random`, `threading` and others register such hooks when they are imported. A zygote has one thread and forks twice for every box, and
the hooks took a tenth of a box's time; only a program that forks has a use for them, and is given them (`boxed_program.py`).
Leaves out: the zygote (`zygote.py`).
"""

from __future__ import annotations

import os
from typing import Any

NOTED: list[dict[str, Any]] = []


def start(control_end: int) -> None:
    """Become a zygote."""
    register = os.register_at_fork
    os.register_at_fork = lambda **given: NOTED.append(given)  # type: ignore[assignment]
    from guerdon.sandbox.zygote import main

    main(control_end, register)
