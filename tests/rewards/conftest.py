"""A pool of two workers with little memory."""

from __future__ import annotations

import pytest

from guerdon.workers.worker_pool import Workers

MEMORY = 256 << 20


@pytest.fixture(scope="module")
def pool():
    made = Workers(2, memory=MEMORY)
    yield made
    made.close()
