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
TRIM, LARGE, MAPPED = (
    -1,
    -3,
    -4,
)  # glibc's mallopt: free bytes that go back, bytes of a large piece, how many are mapped
KEPT = {TRIM: 2**31 - 1, MAPPED: 0}
GIVEN_BACK = {
    TRIM: 64 << 20,
    LARGE: 32 << 20,
    MAPPED: 65536,
}  # what glibc itself ends with where large pieces are freed


@contextmanager
def undisturbed(models: Iterable[Model]) -> Iterator[None]:
    """Search seldom, and only among what is made from now on; few threads where the models are on a GPU, and no memory of it
    held by what earlier runs in this process left behind: nothing that is frozen here is ever found to be garbage."""
    before, threads = gc.get_threshold(), torch.get_num_threads()
    on_gpu = all(model.device.type == "cuda" for model in models)
    if on_gpu:
        torch.set_num_threads(min(threads, THREADS))
        gc.collect()
        torch.cuda.empty_cache()
    else:
        _set_memory(KEPT)
    gc.freeze()
    gc.set_threshold(SELDOM, *before[1:])
    try:
        yield
    finally:
        if not on_gpu:
            _set_memory(GIVEN_BACK)
        torch.set_num_threads(threads)
        gc.set_threshold(*before)
        gc.unfreeze()


def _set_memory(settings: dict[int, int]) -> None:
    """Of the C library, where it is a known one."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        for name, value in settings.items():
            library.mallopt(name, value)
        if settings == GIVEN_BACK:
            library.malloc_trim(0)
