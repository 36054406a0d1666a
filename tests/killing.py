"""Runs that are killed in the middle, for tests of resuming."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from guerdon.core.errors import CtrlC
from guerdon.core.learn import Learn


class Killed(CtrlC):
    """Not caught by anything, as a kill is not: what the user does at once is all that a run leaves alone."""


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    """Whatever learns inside dies at this step, before its update; that nothing died is a failure."""
    update = Learn.update

    def dies(self, rows, play):
        if play.step == step:
            raise Killed
        return update(self, rows, play)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Learn, "update", dies)
        yield
