"""The time of day that models are given, where a chat template asks for it (`strftime_now`).

It stands still: during a run at the moment the run began, however often and whenever that is resumed,
elsewhere at the moment this process did.
So a prompt is the same on every day, and so are the weights that are learned from it.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from guerdon.core.errors import UserError

_told = [datetime.datetime.now()]  # the last one counts: runs may stand inside of others


def told() -> datetime.datetime:
    """The time that models are given."""
    return _told[-1]


def begun() -> str:
    """For the config of a run that begins now: the time it keeps. A run inside of another has that one's."""
    now = _told[-1] if len(_told) > 1 else datetime.datetime.now()
    return now.isoformat(timespec="seconds")


@contextlib.contextmanager
def as_of(config: Mapping[str, Any] | None) -> Iterator[None]:
    """Stand still where the run with this config began; without one, as before. Old configs have only the date of the file."""
    if config is None:
        yield
        return
    began = config.get("clock") or config.get("created")
    try:
        when = datetime.datetime.fromisoformat(began)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise UserError(f"run.json does not say when the run began: its clock is {began!r}") from error
    _told.append(when.replace(tzinfo=None))
    try:
        yield
    finally:
        _told.pop()
