"""What a request of a server of ours may bring: a body of so many bytes, within so many seconds.

Left out: connections and headers (`connections.py`).
"""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

KNOWN = "guerdon.known"  # in a request's state: what is called when the token was right


class LimitedBody:
    """`receive`, up to so many bytes: a length is only a promise, and a body in chunks has none. With `seconds` also no longer
    than that."""

    def __init__(self, receive: Receive, most: int, advice: str, seconds: float | None = None) -> None:
        self.receive, self.most, self.left, self.advice = receive, most, most, advice
        self.seconds, self.whole = seconds, False
        self.until: float | None = None

    async def __call__(self) -> Message:
        if self.whole:
            return await self.receive()
        if self.until is None and self.seconds is not None:
            self.until = asyncio.get_running_loop().time() + self.seconds
        try:
            async with asyncio.timeout_at(self.until) as limit:
                message = await self.receive()
        except TimeoutError:
            if not limit.expired():
                raise
            raise HTTPException(408, f"the request did not arrive within {self.seconds:g} s") from None
        self.left -= len(message.get("body", b""))
        self.whole = not message.get("more_body", False)
        if self.left < 0:
            raise HTTPException(413, too_large(self.most, self.advice))
        return message


def too_large(most: int, advice: str) -> str:
    """Why a body is refused, and what to do."""
    return f"the request is larger than {most:,} bytes: {advice}"
