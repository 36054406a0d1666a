"""What tests of audits share: most are about the same few problems, so the tokens of a text are looked for once."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from guerdon.rewards.asking import token_ids


@pytest.fixture(scope="session", autouse=True)
def texts_read_once() -> Iterator[None]:
    named = token_ids._named
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_ids, "_named", functools.cache(lambda name: functools.cache(named(name))))
        yield
