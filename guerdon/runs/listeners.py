"""Listeners: functions that are called with each event of a run while it goes, such as the progress line and dashboards.

A listener cannot break a run: one that raises is called no more, and one that does not answer is left behind.
The run continues and writes a warning.
Leaves out: the events that a lost dashboard missed; `export` rebuilds it from the run folder.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from guerdon.core.errors import UserError
from guerdon.runs.event_types import Event

Listener = Callable[[Event], None]
PATIENCE = 60.0  # seconds that a run waits for a dashboard, once; to open one over a network takes up to 30


class Listeners:
    """Listeners, as long as they listen."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self.listeners = [*listeners]

    def tell(self, event: Event) -> Iterator[str]:
        """Pass an event to all; returns a line for each listener that fails on it. A `UserError` is deliberate: it wants the
        run to end."""
        for listener in [*self.listeners]:
            try:
                listener(event)
            except UserError:
                raise
            except Exception as error:  # noqa: BLE001 - a listener may be any code
                self.listeners.remove(listener)
                yield f"{_name(listener)} hears no more of this run: {type(error).__name__}: {error}"


class Dashboard:
    """A listener that may hang: it runs in a thread of its own, and the caller waits for `PATIENCE` at most."""

    def __init__(self, name: str, listener: Listener) -> None:
        self.__name__, self.listener = name, listener

    def __call__(self, event: Event) -> None:
        raised: list[BaseException] = []

        def hear() -> None:
            try:
                self.listener(event)
            except BaseException as error:  # noqa: BLE001 - handed to the caller's thread below; a library may exit, too
                raised.append(error)

        thread = threading.Thread(target=hear, name=f"dashboard {self.__name__}", daemon=True)
        thread.start()
        thread.join(PATIENCE)
        if thread.is_alive():
            raise TimeoutError(f"no answer within {PATIENCE:g} s")
        for error in raised:
            raise error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")


def _name(listener: Any) -> str:
    return str(getattr(listener, "__name__", type(listener).__name__))
