"""Tool calls as text: how tools are described to models, how models write calls and how results are shown. One class for each
way.

Environments play in a format, traces are read and written in one, and so what a model learned from is what it is asked in.
`hermes` is what Qwen, Hermes and SmolLM2 were taught (`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`), `llama` what
Llama 3.1 and later were (the call alone, as JSON), `sprig` the built-in model's (`call 12*7`).
Leaves out: what tools are and how they are run (`envs/tools`), and which format a model has (`models/chat.py`).
"""

from __future__ import annotations

import abc
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from guerdon.core.errors import UserError, unknown

Messages = list[dict[str, Any]]
Schema = Mapping[str, Any]  # of a tool: {"type": "function", "function": {"name", "description", "parameters"}}
DEEPEST = 32  # values inside of values in a call
CALCULATOR = "calculator"
MOST = 64  # calls that are read in a turn


@dataclass(frozen=True)
class ToolCall:
    """A written call: its tool and arguments, or in `fault` why it is not one."""

    name: str = ""
    arguments: Any = None
    fault: str = ""


@dataclass(frozen=True)
class ToolTurn:
    """The content of a turn: text, and calls in their order. One without calls is the answer."""

    text: str
    calls: tuple[ToolCall, ...] = ()


class CallFormat(abc.ABC):
    """How tools are called in text. Whatever a model writes can be read: what is not a call is text, an incomplete call has
    a `fault` with what is wrong with it."""

    name: ClassVar[str]

    @abc.abstractmethod
    def opening(self, messages: Messages, tools: Sequence[Schema]) -> Any:
        """What is shown first: the conversation so far, and the tools."""

    @abc.abstractmethod
    def read(self, said: str, tools: Sequence[Schema]) -> ToolTurn:
        """The text of a model's turn."""

    @abc.abstractmethod
    def write(self, turn: ToolTurn) -> str:
        """A turn as a model would generate it; `read` gives it back."""

    @abc.abstractmethod
    def results(self, texts: Sequence[str]) -> Any:
        """The results of a turn's calls, in their order, as they are shown."""


class HermesCalls(CallFormat):
    """As Qwen, Hermes and SmolLM2 write calls, and tools described word for word as in Qwen 2.5's chat template."""

    name = "hermes"
    BODY = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
    BEFORE = (
        "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function"
        " signatures within <tools></tools> XML tags:\n<tools>\n"
    )
    AFTER = (
        "\n</tools>\n\nFor each function call, return a json object with function name and arguments within"
        " <tool_call></tool_call> XML tags:\n<tool_call>\n"
        '{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
    )

    def opening(self, messages: Messages, tools: Sequence[Schema]) -> Messages:
        told = self.BEFORE + "\n".join(written_json(tool) for tool in tools) + self.AFTER
        system, rest = _system(messages)
        return [{"role": "system", "content": f"{system}\n\n{told}" if system else told}, *rest]

    def read(self, said: str, tools: Sequence[Schema]) -> ToolTurn:
        every = (call for body in self.BODY.findall(said) for call in calls_in(body))
        calls = [*itertools.islice(every, MOST)]
        return ToolTurn(self.BODY.sub("", said).strip() if calls else said, tuple(calls))

    def write(self, turn: ToolTurn) -> str:
        calls = [f"<tool_call>\n{written_call(call, 'arguments')}\n</tool_call>" for call in turn.calls]
        return "\n".join([*filter(None, [turn.text]), *calls])

    def results(self, texts: Sequence[str]) -> str:
        return "\n".join(f"<tool_response>\n{text}\n</tool_response>" for text in texts)


class LlamaCalls(CallFormat):
    """As Llama 3.1 and later write calls: JSON and nothing else, tools described before the user's first message."""

    name = "llama"
    BEFORE = (
        "Given the following functions, please respond with a JSON for a function call with its proper arguments that best"
        ' answers the given prompt.\n\nRespond in the format {"name": function name, "parameters": dictionary of argument name'
        " and its value}.Do not use variables.\n\n"
    )  # to the letter, for that is what it was taught
    TAG = "<|python_tag|>"

    def opening(self, messages: Messages, tools: Sequence[Schema]) -> Messages:
        told = "".join(json.dumps(tool, indent=4, ensure_ascii=False) + "\n\n" for tool in tools)
        first = next(i for i, message in enumerate(messages) if message["role"] == "user")
        user = {**messages[first], "content": f"{self.BEFORE}{told}{messages[first]['content']}"}
        return [*messages[:first], user, *messages[first + 1 :]]

    def read(self, said: str, tools: Sequence[Schema]) -> ToolTurn:
        text = said.strip().removeprefix(self.TAG).strip()
        if not text.startswith(("{", "[")):
            return ToolTurn(said)
        calls = calls_in(text, sep=";")
        is_call = any(not call.fault for call in calls) or '"name"' in text
        return ToolTurn("", tuple(calls)) if is_call else ToolTurn(said)

    def write(self, turn: ToolTurn) -> str:
        return "; ".join(written_call(call, "parameters") for call in turn.calls) or turn.text

    def results(self, texts: Sequence[str]) -> Messages:
        return [{"role": "ipython", "content": text} for text in texts]


class SprigCalls(CallFormat):
    """As the built-in model writes calls, of the one tool there is: a line `call 12*7`. It ends on `= 84`. Problems to be
    solved with it begin with the tool's name, `python`; with `tool` where it is the calculator."""

    name = "sprig"

    def opening(self, messages: Messages, tools: Sequence[Schema]) -> str:
        name, _ = only_argument(tools)
        opening = "tool" if name == CALCULATOR else name
        return "\n".join([opening, *(message["content"] for message in messages)])

    def read(self, said: str, tools: Sequence[Schema]) -> ToolTurn:
        lines = said.strip().splitlines()
        if not lines or not lines[0].startswith("call"):
            return ToolTurn(said)
        name, argument = only_argument(tools) if tools else ("", "")
        calls = []
        for line in lines[:MOST]:
            word, _, given = line.partition(" ")
            right = word == "call" and given.strip()
            fault = "" if right else f"a call is a line such as call 12*7, not {line[:40]!r}"
            calls.append(ToolCall(name, {argument: given.strip()}, fault))
        return ToolTurn("", tuple(calls))

    def write(self, turn: ToolTurn) -> str:
        return "\n".join(f"call {' '.join(map(str, call.arguments.values()))}" for call in turn.calls) or turn.text

    def results(self, texts: Sequence[str]) -> str:
        return "\n".join(texts)


CALL_FORMATS: dict[str, CallFormat] = {each.name: each for each in (HermesCalls(), LlamaCalls(), SprigCalls())}


def call_format(name: str | CallFormat) -> CallFormat:
    """A format by its name; one of the user's as it is."""
    if isinstance(name, CallFormat):
        return name
    if name not in CALL_FORMATS:
        raise unknown("call format", name, CALL_FORMATS)
    return CALL_FORMATS[name]


def only_argument(tools: Sequence[Schema]) -> tuple[str, str]:
    """The name of the one tool and of its one argument, for formats that write neither."""
    fits = [
        (str(tool["function"]["name"]), argument)
        for tool in tools
        for argument in tool["function"]["parameters"]["properties"]
    ]
    if len(tools) != 1 or len(fits) != 1:
        raise UserError(
            "sprig calls one tool with one argument, and there are others: give gd.envs.calculator alone, or another model"
        )
    return fits[0]


# --- JSON ---------------------------------------------------------------------------------------------------------------


def _constant(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


STRICT = json.JSONDecoder(parse_constant=_constant)


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    if isinstance(error, UnicodeEncodeError):
        return "half a character is not text"
    return "too deep" if isinstance(error, RecursionError) else str(error)


def written_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def written_call(call: ToolCall, key: str) -> str:
    return written_json({"name": call.name, key: call.arguments})


def calls_in(text: str, sep: str = "") -> list[ToolCall]:
    """The calls in a text that is to be JSON: an object, a list of them, or several with `sep` or space between."""
    calls: list[ToolCall] = []
    rest = text.strip()
    if not rest:
        return [ToolCall(fault="an empty call")]
    while rest and len(calls) < MOST:
        try:
            value, end = STRICT.raw_decode(rest)
            written_json(value).encode()
        except (ValueError, RecursionError) as error:
            return [*calls, ToolCall(fault=f"the call is not JSON ({_why(error)}): {_begin(rest)}")]
        calls += [_call(each) for each in (value if isinstance(value, list) and value else [value])]
        rest = rest[end:].lstrip().removeprefix(sep).lstrip()
    return calls[:MOST]


def _call(value: Any) -> ToolCall:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return ToolCall(fault=f'a call is {{"name": ..., "arguments": {{...}}}}, not {_begin(written_json(value))}')
    given = value.get("arguments", value.get("parameters", {}))
    return ToolCall(value["name"], *read_arguments(given))


def read_arguments(given: Any) -> tuple[Any, str]:
    """Arguments as an object, which may be written as text; and what is wrong with them."""
    if isinstance(given, str):
        try:
            given = STRICT.decode(given) if given.strip() else {}
            written_json(given).encode()
        except (ValueError, RecursionError) as error:
            return None, f"the arguments are not JSON ({_why(error)}): {_begin(given)}"
    if not isinstance(given, dict):
        return None, f"the arguments are an object by name, not {_begin(written_json(given))}"
    return (None, "the arguments are too deep") if _depth(given) > DEEPEST else (given, "")


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        held = [each for each in level if isinstance(each, dict | list)]
        level = [inner for each in held for inner in (each.values() if isinstance(each, dict) else each)]
        depth += 1
    return depth


def _begin(text: str) -> str:
    """How a text begins, in a message that a model reads too."""
    return text if len(text) <= 60 else text[:57] + "..."


def _system(messages: Messages) -> tuple[str, Messages]:
    """The text of a system message, and the others."""
    if messages and messages[0]["role"] in ("system", "developer"):
        return str(messages[0]["content"]), messages[1:]
    return "", messages
