"""How this process behaves during a run: Python's garbage collection and torch's threads are kept out of its way.

Python's search for garbage goes through all that was ever loaded (libraries, weights, problems), which is never garbage.
It takes longer than a small step takes.
torch wakes a thread on every core for tensors of some thousand numbers: all that the processor has to do beside a GPU.
Leaves out: reference counting, which frees almost everything at once anyway.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from guerdon.core.model import Model

SELDOM = 200_000  # objects made between two searches; Python itself looks after some hundreds
THREADS = 4  # beside a GPU


@contextmanager
def undisturbed(models: Iterable[Model]) -> Iterator[None]:
    """Search seldom, and only among what is made from now on; few threads where the models are on a GPU, and no memory of it
    held by what earlier runs in this process left behind: nothing that is frozen here is ever found to be garbage."""
    before, threads = gc.get_threshold(), torch.get_num_threads()
    if all(model.device.type == "cuda" for model in models):
        torch.set_num_threads(min(threads, THREADS))
        gc.collect()
        torch.cuda.empty_cache()
    gc.freeze()
    gc.set_threshold(SELDOM, *before[1:])
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        gc.set_threshold(*before)
        gc.unfreeze()
