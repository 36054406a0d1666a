"""Calls of a reward's function in the sandbox, each in a box of its own.

The function travels as it does to workers (`workers/carry.py`) and is loaded inside the box, which sees the installed
libraries and nothing of the user's. Arguments and the value are plain data. What came of a box is typed as from a worker.

Leaves out: the box (`guerdon/sandbox`), async functions (they wait for what no box has), state between calls (a box ends with
its call), arrays and objects as arguments.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import pickle
import sysconfig
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import guerdon
from guerdon.core.errors import UserError, printable
from guerdon.core.score import CallResult, restored
from guerdon.rewards.asking.calls import FOREVER
from guerdon.workers.carry import carry

if TYPE_CHECKING:
    from guerdon.sandbox import Ran, SandboxPool

MEMORY = 2 << 30  # bytes of a call, as in a worker
OUTPUT = 1 << 20  # what a function prints goes nowhere, but it may print
LATE, SPARE = (
    10.0,
    30.0,
)  # by the clock a call may take so many times its limit, and so many seconds more: machines are busy
WARM = ("cloudpickle", "dataclasses", "hashlib", "pathlib", "pickle", "traceback")  # what loading a function takes
CROSS = (
    "prompt",
    "completion",
    "answer",
    "meta",
    "level",
    "role",
    "turns",
    "view",
)  # fields of a sample that are plain data
FORGED = "something else than the reward's answer came out of its box"
STAY = ("task", "episode", "path", "made", "actions")  # and those that are not


def refuse_what_stays(name: str, wanted: Collection[str], is_async: bool) -> None:
    """Refuse a reward that asks for what no box can have."""
    if is_async:
        raise UserError(
            f"reward {name}: an async function runs in this process: make it a plain one for isolate='sandbox'"
        )
    for field in STAY:
        if field in wanted:
            raise UserError(
                f"reward {name}: `{field}` can not go into the sandbox, which takes plain data: ask for "
                f"{', '.join(CROSS[:-1])} or {CROSS[-1]}, or leave out isolate='sandbox'"
            )


def fields_that_cross(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a function that takes whatever there is (`**fields`) gets of a sample."""
    return {name: value for name, value in given.items() if name not in STAY}


async def call_in_boxes(
    function: Callable[..., Any] | bytes, given: Sequence[Mapping[str, Any]], seconds: float
) -> list[CallResult]:
    """Call it in boxes of the sandbox; it may have been made ready to travel."""
    carried = function if isinstance(function, bytes) else carry(function)
    pickled: bytes = pickle.loads(carried)[-1]  # made here: a box has a search path and a folder of its own
    return list(await asyncio.gather(*(_call(pickled, each, seconds) for each in given)))


async def _call(pickled: bytes, given: Mapping[str, Any], seconds: float) -> CallResult:
    from guerdon.sandbox import Limits
    from guerdon.sandbox.plain_data import NotPlain, plain_form

    try:
        plain_form(dict(given))
    except NotPlain as error:  # this sample's alone: others have plain data
        return CallResult("failed", error=f"TypeError: the arguments can not go into the sandbox: {error}")
    seconds = seconds or FOREVER
    limits = Limits(cpu=seconds, wall=max(LATE * seconds, seconds + SPARE), memory=MEMORY, output=OUTPUT)
    return _result_of(await _reward_boxes().call(pickled, [given], limits=limits))


def _result_of(ran: Ran) -> CallResult:
    """As from a worker. What comes out of a box is a stranger's word, of whatever shape."""
    from guerdon.sandbox import Cause

    if ran.cause is Cause.DONE:
        try:
            (value,) = ran.value
            return CallResult("value", restored(value))
        except (TypeError, ValueError, KeyError):
            return CallResult("failed", error=FORGED)
    late = ran.cause in (Cause.CPU, Cause.WALL) or ran.error.startswith("TimeoutError")
    return CallResult("timed out" if late else "failed", error=printable(ran.error))


@functools.cache
def _reward_boxes() -> SandboxPool:
    """The boxes that rewards are called in: they see what is installed, and this library."""
    from guerdon.sandbox import SandboxPool

    installed = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
    ours = Path(guerdon.__file__).resolve().parent
    see = [*sorted(installed), *([] if ours.parent in installed else [ours])]
    boxes = SandboxPool(see=see, warm=WARM)
    atexit.register(boxes.close)
    return boxes
