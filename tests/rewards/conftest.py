"""A pool of two workers with little memory."""

from __future__ import annotations

import pytest

from guerdon.workers.worker_pool import WorkerPool

MEMORY = 256 << 20


@pytest.fixture(scope="module")
def pool():
    pool = WorkerPool(2, memory=MEMORY)
    yield pool
    pool.close()
