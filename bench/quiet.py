"""Is anybody else using this machine? A step that had to share its cores says nothing about who is faster.

Reads the kernel's count of busy processor time. Left out: systems without `/proc/stat`, which count as quiet, and other
users of a GPU.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

STAT = Path("/proc/stat")
IDLE = (3, 4)  # among the numbers of its first line: idle, and waiting for the disk
COUNTED = 8  # those behind are parts of the first two
SHARE = 0.1  # of all cores: with more of them in other hands, the machine is not quiet
LOOK_SECONDS = 2.0


def busy_seconds() -> float:
    """Processor time that anybody has used, all cores together, since the machine was started."""
    if not STAT.is_file():
        return 0.0
    ticks = [int(word) for word in STAT.read_text().splitlines()[0].split()[1:]][:COUNTED]
    return sum(n for place, n in enumerate(ticks) if place not in IDLE) / os.sysconf("SC_CLK_TCK")


def is_quiet(others: float) -> bool:
    """Whether so many cores in other hands, on average, leave a measurement alone."""
    return others <= SHARE * (os.cpu_count() or 1)


def wait_until_quiet(patience: float) -> bool:
    """Watch the machine until it is quiet, `patience` seconds at the most. Whether it is."""
    give_up = time.monotonic() + patience
    while True:
        busy, began = busy_seconds(), time.monotonic()
        time.sleep(LOOK_SECONDS)
        if is_quiet((busy_seconds() - busy) / (time.monotonic() - began)):
            return True
        if time.monotonic() > give_up:
            return False
