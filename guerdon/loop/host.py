"""How this process behaves during a run: Python's garbage collection and torch's threads are kept out of its way.

Python's search for garbage goes through all that was ever loaded (libraries, weights, problems), which is never garbage.
It takes longer than a small step takes.
A system's memory comes in pages that are cleared when they are first written to, which costs a processor as much as writing
them twice: what a step has freed is kept for the next one.
torch wakes a thread on every core for tensors of some thousand numbers: all that the processor has to do beside a GPU.
Leaves out: reference counting, which frees almost everything at once anyway.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from guerdon.core.model import Model

SELDOM = 200_000  # objects made between two searches; Python itself looks after some hundreds
THREADS = 4  # beside a GPU
TRIM, MAPPED = -1, -4  # glibc's mallopt: free bytes at the end of the heap that go back, and how many pieces are mapped one by one
PLAIN = {TRIM: 128 << 10, MAPPED: 65536}  # its own settings


@contextmanager
def undisturbed(models: Iterable[Model]) -> Iterator[None]:
    """Search seldom, and only among what is made from now on; few threads where the models are on a GPU, and no memory of it
    held by what earlier runs in this process left behind: nothing that is frozen here is ever found to be garbage."""
    before, threads = gc.get_threshold(), torch.get_num_threads()
    if all(model.device.type == "cuda" for model in models):
        torch.set_num_threads(min(threads, THREADS))
        gc.collect()
        torch.cuda.empty_cache()
    else:
        _set_memory({TRIM: 2**31 - 1, MAPPED: 0})
    gc.freeze()
    gc.set_threshold(SELDOM, *before[1:])
    try:
        yield
    finally:
        _set_memory(PLAIN)
        torch.set_num_threads(threads)
        gc.set_threshold(*before)
        gc.unfreeze()


def _set_memory(settings: dict[int, int]) -> None:
    """Of the C library, where it is one that can be told."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(library, "malloc_trim"):
        for name, value in settings.items():
            library.mallopt(name, value)
        if settings == PLAIN:
            library.malloc_trim(0)
