"""Episodes with tools: the role is given their descriptions, calls them turn by turn, and ends with an answer that calls none.

`info` says what happened: `answered` (whether it ended with an answer), `calls`, `errors` by kind, `called` (every call in its
order: turn, name, arguments, result as it was shown, the kind of error), `format` and `tools`, as they were given.
Leaves out: what the answer is worth (the task's own check; `with_tools` holds that a call is not an answer).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.core.part import is_part, knob, part
from guerdon.core.play import Seats
from guerdon.core.task import Ask
from guerdon.data.call_formats import CallFormat, Messages, ToolCall, ToolTurn, call_format
from guerdon.envs.tools.tool_calling import EpisodeTools
from guerdon.envs.tools.tool_schema import Tool, as_tool, schemas, tools_of
from guerdon.envs.world_turns import InTurns, Observed, played_in_turns

AUTO = "auto"
GOLD = "gold"  # in a task's meta: the oracle's output, turn by turn; a call is its name and arguments
SHOWS = "shows"  # in such a call: its known result, so that it need not be run to be written down


@part
class tool_turns(InTurns):
    """The role may call `tools` for up to `most` turns; what it says without a call is its answer and ends the episode.

    A tool is a function with type hints and a docstring, or what `gd.tool` made of one; or a part with `open(seed, meta)`,
    which gives each episode its own, and whose `gd.tool` methods are tools. A call takes `timeout` seconds at most, a result is
    shown up to `longest` characters, an episode takes `seconds` at most (0: no limit). `format` is how calls are written:
    "hermes", "llama" or "sprig"; "auto" is what the model was taught.

    Args:
        tools: the tools.
        most: the most turns of an episode.
        timeout: seconds of a call.
        longest: characters shown of a result.
        seconds: time limit of an episode; 0 for none.
        format: how calls are written; "auto" takes the model's own.

    >>> import guerdon as gd
    >>> def add(a: int, b: int) -> int:
    ...     "The sum of two numbers."
    ...     return a + b
    >>> def player(view, past, seed):
    ...     return '<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>' if not past else "= 5"
    >>> task = gd.tasks.rows([{"question": f"2+{n}?", "answer": f"= {2 + n}"} for n in (5, 3)], held_out=0.5)
    >>> env = gd.envs.tool_turns([add])
    >>> gd.evaluate(gd.models.scripted(player), task=task, env=env)["pass@1"]
    1.0
    """

    tools: Any
    most: int = knob(default=8, ge=1)
    timeout: float = knob(default=5.0, gt=0.0)
    longest: int = knob(default=2000, ge=1)
    seconds: float = knob(default=0.0, ge=0.0)
    format: Any = AUTO
    role: str = "policy"

    waits: ClassVar[bool] = True

    def __post_init__(self) -> None:
        given = self.tools if isinstance(self.tools, list | tuple) else [self.tools]
        self.tools = [each if hasattr(each, "open") else as_tool(each) for each in given]
        for each in self.tools:
            if not isinstance(each, Tool) and (isinstance(each, type) or not is_part(each)):
                name = each.__name__ if isinstance(each, type) else type(each).__name__
                raise UserError(
                    f"{name} has open(seed, meta) and is no part: write @gd.part above it, and give {name}()"
                )
        names = [tool.name for tool in self.every_tool]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UserError(f"two tools are called {twice[0]}: name one of them otherwise, gd.tool(name=...)")
        if not names:
            raise UserError("tool_turns has no tools: give functions with types, or gd.envs.calculator")
        if self.format != AUTO:
            call_format(self.format)

    @property
    def every_tool(self) -> list[Tool]:
        """The tools, those of objects that are opened for each episode among them."""
        return _listed(self.tools)

    @property
    def need_any_tools(self) -> bool:
        """Whether only a model that was taught to call any tools can play here: there are several, or several arguments."""
        described = schemas(self.every_tool)
        arguments = sum(len(each["function"]["parameters"]["properties"]) for each in described)
        return self.format == AUTO and (len(described), arguments) != (1, 1)

    def open(self, ask: Ask, seed: int) -> ToolWorld:
        return self.world(ask, seed, "hermes")

    def world(self, ask: Ask, seed: int, taught: str) -> ToolWorld:
        """An episode's own tools, in this format or the one that its model was taught."""
        meta = copy.deepcopy(ask.task.meta)
        opened = [each if isinstance(each, Tool) else each.open(seed, meta) for each in self.tools]
        way = call_format(taught if self.format == AUTO else self.format)
        return ToolWorld(ask, EpisodeTools(_listed(opened), self.timeout, self.longest), way)

    @property
    def play(self) -> Any:
        return self._in_format

    async def _in_format(self, ask: Ask, seats: Seats) -> Episode:
        world = self.world(ask, seats.seed, seats[self.role].calls)
        return await played_in_turns(world, seats, self.role, self.most, self.seconds)

    async def demonstrate(self, ask: Ask, seats: Seats) -> Episode:
        """The same, teacher-forced on the task's `meta["gold"]`: calls, then the answer; or only the answer."""
        world = self.world(ask, seats.seed, seats[self.role].calls)
        return await played_in_turns(world, seats, self.role, self.most, self.seconds, gold=True)


def _listed(given: Sequence[Any]) -> list[Tool]:
    return [tool for each in given for tool in ([each] if isinstance(each, Tool) else tools_of(each))]


class ToolWorld:
    """One episode: its tools, and how they are called."""

    def __init__(self, ask: Ask, tools: EpisodeTools, way: CallFormat) -> None:
        self.ask, self.tools, self.way = ask, tools, way
        self.schemas = schemas(tools.tools)
        self.turn, self.answered = 0, False

    def begin(self) -> Any:
        return self.way.opening(messages_of(self.ask.shown), self.schemas)

    async def step(self, said: str) -> Observed:
        turn = self.way.read(said, self.schemas)
        if not turn.calls:
            self.answered = True
            return Observed(over=True)
        texts = await self.tools.answer(self.turn, turn.calls)
        self.turn += 1
        return Observed(self.way.results(texts))

    def gold(self) -> str:
        says = self.ask.task.meta.get(GOLD) or [self.ask.task.answer]
        return self._written(says[min(self.turn, len(says) - 1)])

    def _written(self, now: Any) -> str:
        """A turn of the gold as a model would say it."""
        return now if isinstance(now, str) else self.way.write(ToolTurn("", (ToolCall(now["name"], now["arguments"]),)))

    def remembered(self) -> list[tuple[Any, str]] | None:
        """The gold's turns, what is shown and what is said, without a call being run; None where it does not give the result
        of each call."""
        *calls, answer = self.ask.task.meta.get(GOLD) or [self.ask.task.answer]
        if not isinstance(answer, str) or any(isinstance(call, str) or SHOWS not in call for call in calls):
            return None
        views = [self.begin(), *(self.way.results([call[SHOWS]]) for call in calls)]
        return list(zip(views, map(self._written, [*calls, answer]), strict=True))

    def outcome(self) -> dict[str, Any]:
        tools = self.tools
        return {
            "answered": self.answered,
            "calls": len(tools.called),
            "errors": tools.errors,
            "called": tools.called,
            "format": self.way.name,
            "tools": self.schemas,
        }


def messages_of(view: Any) -> Messages:
    """What a role would be shown, as messages of text."""
    if isinstance(view, str):
        return [{"role": "user", "content": view}]
    if isinstance(view, list) and view and all(isinstance(m, dict) and isinstance(m.get("content"), str) for m in view):
        return [*view]
    raise UserError(f"tools are for problems in text, and this one shows {type(view).__name__}: give it a prompt")
