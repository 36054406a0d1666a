"""Trying again: how often, after what pauses, and for how long in all.

Used by judges behind an endpoint and by rewards that are served elsewhere.
Left out: HTTP (`client.py`), and which failures may pass, which the caller knows.
"""

from __future__ import annotations

import asyncio
import datetime
import email.utils
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from guerdon.core.part import knob, part

LONGEST_PAUSE = 60.0  # seconds between two tries, unless the server asks for more ...
LONGEST_ASKED = 600.0  # ... which is believed up to here

Answered = TypeVar("Answered")


@part
class patience:
    """How an endpoint is tried: `at_once` requests under way, `timeout` seconds for each try from its first byte to its last,
    `retries` more tries after a lost connection, a 429 or a server's error. Before the first of them it waits about `wait`
    seconds, then each time twice as long; where the server gives a time (`Retry-After`), at least that. `total` seconds are
    for all tries of a question and the waits between them.

    Args:
        at_once: requests at a time.
        timeout: seconds of a request.
        retries: requests after one that failed.
        wait: seconds before the first of them, doubled for each further one.
        total: seconds for all requests of a question.

    >>> import guerdon as gd
    >>> gd.endpoint("http://127.0.0.1:8000/v1", "qwen3-8b", trying=gd.patience(at_once=4, retries=2)).trying
    patience(at_once=4, retries=2)
    """

    at_once: int = knob(default=16, ge=1)
    timeout: float = knob(default=60.0, gt=0.0)
    retries: int = knob(default=5, ge=0)
    wait: float = knob(default=1.0, gt=0.0)
    total: float = knob(default=600.0, gt=0.0, absent=600.0)


@dataclass(frozen=True)
class FailedTry:
    """Why a try failed, where another may succeed. `late`: it was waited for in vain."""

    error: str
    late: bool = False
    pause: float = 0.0  # seconds that the server asked for


async def try_patiently(
    trying: patience, attempt: Callable[[float], Awaitable[Answered | FailedTry]]
) -> Answered | FailedTry:
    """Try, and try again where that may help and there is time; `attempt` is given its seconds.

    The last failure names the number of tries. An exception ends everything at once.
    """
    now = asyncio.get_running_loop().time
    until, tries = now() + trying.total, 0
    while True:
        outcome = await attempt(max(0.0, min(trying.timeout, until - now())))
        if not isinstance(outcome, FailedTry):
            return outcome
        pause = max(outcome.pause, min(LONGEST_PAUSE, trying.wait * 2**tries) * random.Random().uniform(0.5, 1.5))
        tries += 1
        if tries > trying.retries or now() + pause >= until:
            break
        await asyncio.sleep(pause)
    often = "once" if tries == 1 else f"{tries} times"
    why = "" if tries > trying.retries or now() >= until else f", and another try would end after {trying.total:g} s"
    return replace(outcome, error=f"{outcome.error}, tried {often}{why}")


def retry_after(header: str) -> float:
    """The seconds of a `Retry-After` header, from a number or a date; 0 where it is neither."""
    if header.strip().isdecimal():
        return min(float(header), LONGEST_ASKED)
    try:
        when = email.utils.parsedate_to_datetime(header)
        when = when if when.tzinfo else when.replace(tzinfo=datetime.UTC)
        return min(max(0.0, (when - datetime.datetime.now(datetime.UTC)).total_seconds()), LONGEST_ASKED)
    except (ValueError, OverflowError, TypeError):
        return 0.0
