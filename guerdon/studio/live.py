"""What changes, as it does: server-sent events that name the runs and audits that were written to, came or went.

One look at the disk serves all listeners, and there is none without listeners. An event is only a hint to ask again;
so a page that missed one, or a browser that comes back after an hour, has lost nothing.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping

from guerdon.studio.library import Library

EVERY = 0.5  # seconds between looks, and more where a look takes long
SHARE = 0.05  # of the time may be spent looking
ALIVE = (
    15.0  # seconds after which a line is sent though nothing happened, for proxies and for who is gone to be noticed
)

Marks = dict[str, object]


class ChangeWatch:
    """Watches a library for all listeners; and what `also` gives marks of, by ids of its own."""

    def __init__(self, library: Library, also: Callable[[], Mapping[str, object]] = dict) -> None:
        self.library, self.also = library, also
        self.closing = False
        self._listening: set[asyncio.Queue[list[str] | None]] = set()
        self._watcher: asyncio.Task[None] | None = None
        self._looking = asyncio.Event()  # set once changes from then on are noticed

    async def events(self) -> AsyncIterator[str]:
        """The lines of an event stream, until the server stops."""
        queue: asyncio.Queue[list[str] | None] = asyncio.Queue()
        self._listening.add(queue)
        if self._watcher is None or self._watcher.done():
            self._looking.clear()
            self._watcher = asyncio.create_task(self._look_on())
        try:
            await self._looking.wait()
            yield "retry: 1000\nevent: hello\ndata: {}\n\n"
            while not self.closing:
                try:
                    changed = await asyncio.wait_for(queue.get(), ALIVE)
                except TimeoutError:
                    yield ": alive\n\n"
                    continue
                if changed is None:
                    return
                yield f"event: changed\ndata: {json.dumps({'runs': changed})}\n\n"
        finally:
            self._listening.discard(queue)

    def close(self) -> None:
        """End every stream."""
        self.closing = True
        for queue in self._listening:
            queue.put_nowait(None)

    async def _look_on(self) -> None:
        before = await asyncio.to_thread(self._marks)
        self._looking.set()
        while self._listening and not self.closing:
            began = time.monotonic()
            now = await asyncio.to_thread(self._marks)
            changed = sorted(id for id in {*before, *now} if before.get(id) != now.get(id))
            before = now
            if changed:
                for queue in self._listening:
                    queue.put_nowait(changed)
            await asyncio.sleep(max(EVERY, (time.monotonic() - began) / SHARE))

    def _marks(self) -> Marks:
        return {**{each.id: each.marks() for each in self.library.runs()}, **self.also()}
