"""Tool calls, run: each gives a text that the model is shown, and a kind of error where it is one.

Nothing that a model writes or a tool does ends the episode: an unknown tool, wrong arguments, a tool that raises, hangs,
crashes its process or returns something other than JSON is reported to the model and counted. What no call is to blame for (a
sandbox that is broken, a service that is down) a tool raises as `ToolBroken`: the episode fails and nothing is learned from
it. Leaves out: how calls are written (`data/call_formats.py`).
"""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from guerdon.core.errors import UserError, in_a_line, is_ctrl_c, nearest, printable
from guerdon.data.call_formats import ToolCall
from guerdon.envs.tools.tool_schema import Tool

CallError = Literal["malformed", "unknown", "arguments", "raised", "timed_out", "crashed", "result", "too_many"]
MOST_AT_ONCE = 8  # calls in a turn that are run
DEATHS = ("the worker ", "the call ")  # how it is said that a call ended its process
PLAIN_RESULTS = (str, int, float, bool, list, dict, tuple, type(None))


class ToolBroken(RuntimeError):
    """What a tool raises where neither the call nor its own work is at fault: the episode fails and is not trained on.

    >>> import guerdon as gd
    >>> issubclass(gd.envs.ToolBroken, RuntimeError)
    True
    """


class CallFailed(Exception):
    """A call that ended in an error, with its kind. A tool may raise it to say which."""

    def __init__(self, kind: CallError, message: str) -> None:
        super().__init__(message)
        self.kind: CallError = kind


@dataclass
class EpisodeTools:
    """The tools of one episode, and the record of what was called."""

    tools: Sequence[Tool]
    timeout: float
    longest: int
    called: list[dict[str, Any]] = field(default_factory=list)

    async def answer(self, turn: int, calls: Sequence[ToolCall]) -> list[str]:
        """Run the calls of a turn, in their order: what is shown of each."""
        return [await self._answer(turn, number, call) for number, call in enumerate(calls)]

    async def _answer(self, turn: int, number: int, call: ToolCall) -> str:
        record: dict[str, Any] = {"turn": turn, "name": call.name, "arguments": call.arguments}
        try:
            text, whole = shortened(result_text(await self._run(number, call)), self.longest)
        except CallFailed as error:
            record["error"] = error.kind
            text, whole = shortened(f"error: {printable(str(error))}", self.longest)
        if not whole:
            record["shortened"] = True
        self.called.append({**record, "result": text})
        return text

    async def _run(self, number: int, call: ToolCall) -> Any:
        if call.fault:
            raise CallFailed("malformed", call.fault)
        if number >= MOST_AT_ONCE:
            raise CallFailed("too_many", f"{MOST_AT_ONCE} calls in a turn are the most: this one was not run")
        by_name = {tool.name: tool for tool in self.tools}
        tool = by_name.get(call.name)
        if tool is None:
            raise CallFailed("unknown", _unknown(call.name, by_name))
        fault = tool.fault(call.arguments)
        if fault:
            raise CallFailed("arguments", f"{call.name}: {fault}")
        return await run_tool(tool, call.arguments, self.timeout)

    @property
    def errors(self) -> dict[str, int]:
        """How many calls ended in an error, by kind."""
        kinds = [str(each["error"]) for each in self.called if "error" in each]
        return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


def _unknown(name: str, there: Mapping[str, Tool]) -> str:
    close = nearest(name, sorted(there))
    hint = f"did you mean {close}?" if close else f"there is {', '.join(there) or 'none'}"
    return f"there is no tool {name[:60]!r}: {hint}"


async def run_tool(tool: Tool, arguments: Mapping[str, Any], timeout: float) -> Any:
    """What a tool returns; a CallFailed where it raises, takes too long or crashes."""
    try:
        if tool.apart:
            return await _apart(tool, arguments, timeout)
        async with asyncio.timeout(None if tool.keeps_time else timeout):
            if inspect.iscoroutinefunction(tool.function):
                return await tool.function(**arguments)
            value = await _in_thread(tool.function, arguments)
            return await value if inspect.isawaitable(value) else value
    except (CallFailed, ToolBroken, UserError, asyncio.CancelledError):
        raise
    except TimeoutError as error:
        raise CallFailed("timed_out", f"{tool.name} took more than {timeout:g} s and was stopped") from error
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        raise CallFailed("raised", f"{tool.name} raised {in_a_line(error)}") from error


async def _apart(tool: Tool, arguments: Mapping[str, Any], timeout: float) -> Any:
    from guerdon.workers.worker_pool import shared_pool

    (result,) = await shared_pool().call(tool.function, [arguments], timeout=timeout)
    if result.kind == "value":
        return result.value
    if result.kind == "timed out":
        raise TimeoutError
    last = result.error.strip().rpartition("\n")[2]
    if last.startswith(DEATHS):
        raise CallFailed("crashed", f"{tool.name} crashed: {last}")
    if last.startswith(("could not be loaded", "the process that starts")):
        raise ToolBroken(f"{tool.name}: {last}")
    raise CallFailed("raised", f"{tool.name} raised {last}")


async def _in_thread(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a function in a thread of its own: one that hangs delays no other, and ends with the process."""
    loop = asyncio.get_running_loop()
    promise: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if promise.done():  # it is no longer awaited
            return
        if error is None:
            promise.set_result((value, None))
        else:
            promise.set_result((None, error))

    def work() -> None:
        value, fault = None, None
        try:
            value = function(**arguments)
        except BaseException as error:  # noqa: BLE001  handed to the caller below
            fault = error
        try:
            loop.call_soon_threadsafe(settle, value, fault)
        except RuntimeError:  # it came too late: the loop is closed
            return

    threading.Thread(target=work, daemon=True, name="guerdon tool").start()
    value, fault = await promise
    if fault is not None:
        raise fault
    return value


def result_text(value: Any) -> str:
    """What a tool returned, as text: a text as it is, another JSON value as JSON."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, PLAIN_RESULTS):
        try:
            return printable(json.dumps(value, ensure_ascii=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise CallFailed("result", f"the tool returned what is no JSON: {in_a_line(error)}") from error
    raise CallFailed("result", f"the tool returned a {type(value).__name__}, which is not JSON")


def shortened(text: str, longest: int) -> tuple[str, bool]:
    """A text that is not too long, and whether it is whole."""
    if len(text) <= longest:
        return text, True
    return f"{text[:longest]}\n... ({len(text):,} characters, the first {longest:,} are shown)", False
