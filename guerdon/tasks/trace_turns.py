"""Traces to learn from: every turn of the assistant's in a file of conversations with tools, as something to say.

A turn is shown all that came before it, as a model is shown it that plays with tools, and says what the assistant said,
calls in the format that the model was taught. So `sft` learns the assistant's turns and nothing else.
Leaves out: what a line must be (`data/trace_messages.py`), scoring of traces (`results/run_traces.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part
from guerdon.core.task import Conversation, Task
from guerdon.data.call_formats import CallFormat, call_format
from guerdon.data.data_rows import LOOKED_AT, Records
from guerdon.data.opening import open_records
from guerdon.data.trace_messages import BadTrace, ToolTrace, TraceTurn, read_trace, results_of, text_of_message
from guerdon.tasks.preference_rows import BadRow
from guerdon.tasks.recited_rows import SAY, WORTH, RecitedRows
from guerdon.tasks.row_sets import OpenedRows

if TYPE_CHECKING:
    from guerdon.core.model import Model

AUTO, ASKED = "auto", "asked"  # in a task's meta: all that the user says in the conversation


@part
class traces(RecitedRows):
    """The assistant's turns in `path`, a file of conversations in OpenAI's chat format: what `sft` learns from.

    `format` is how calls are written: "hermes", "llama" or "sprig"; "auto" is what the model was taught. The last `held_out`
    share of the conversations is never trained on, with all of its turns; with `test`, another file, all of its own are. A turn
    is said right when it makes the same calls with the same arguments, or says the same where there are none.

    Args:
        path: a file of conversations.
        held_out: share of the conversations that is never trained on.
        test: a file of held-out conversations in its place.
        skip_bad: skip malformed rows.
        format: how calls are written; "auto" takes the model's own.

    >>> import guerdon as gd
    >>> call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 2, "b": 3}'}}
    >>> source = gd.tasks.traces([{"messages": [
    ...     {"role": "user", "content": f"2+{n}?"},
    ...     {"role": "assistant", "content": None, "tool_calls": [call]},
    ...     {"role": "tool", "tool_call_id": "1", "content": str(2 + n)},
    ...     {"role": "assistant", "content": f"It is {2 + n}."},
    ... ]} for n in range(10)])
    >>> source.size("train"), source.size("test"), source.solution(source.get("train", 0))
    (18, 2, '<tool_call>\\n{"name": "add", "arguments": {"a": 2, "b": 3}}\\n</tool_call>')
    """

    path: Any = knob(hashed=False)
    held_out: float = knob(default=0.1, ge=0.0, le=0.9)
    test: Any = knob(default=None, hashed=False)
    skip_bad: bool = False
    format: str = AUTO

    opened: OpenedRows | None = live()
    taught: str = live(default="hermes")  # the format of the model that is to learn

    def __post_init__(self) -> None:
        if self.format != AUTO:
            call_format(self.format)

    @property
    def brings(self) -> frozenset[str]:
        return frozenset({"answers", "solutions"})  # a turn is said right, and is what to imitate

    @property
    def way(self) -> CallFormat:
        return call_format(self.taught if self.format == AUTO else self.format)

    def meant(self) -> dict[str, Any]:
        """For the hash: what "auto" is here."""
        return {"format": self.way.name}

    def fit(self, model: Model) -> list[str]:
        self.taught = getattr(model, "calls", self.taught)
        return super().fit(model)

    def find_columns(self, records: Records, title: str) -> dict[str, str]:
        if "messages" not in records.columns:
            raise UserError(
                f"{title} holds no traces: a line is an object with messages, and tools where there are some"
            )
        return {"turns": "messages"}

    def tasks_of(self, row: Mapping[str, Any], number: int, columns: Mapping[str, str]) -> tuple[list[Task], int]:
        try:
            trace = read_trace(row)
        except BadTrace as error:
            raise BadRow(str(error)) from error
        way, shown = self.way, list[dict[str, Any]]()
        asked = [text_of_message(each) for turn in trace.turns for each in turn.view if each["role"] == "user"]
        tasks = []
        for place, turn in enumerate(trace.turns):
            shown = [*shown, *shown_turn(trace, place, way)]
            if turn.said is None:
                break
            said = way.write(turn.turn)
            meta = {SAY: [said], WORTH: [1.0], ASKED: "\n".join(asked)}
            talk = Conversation(shown)
            view = talk if len(talk) > 1 else None
            tasks.append(Task(f"{number}.{place + 1}", talk.asked, said, self.name, 1, meta, view))
            shown = [*shown, {"role": "assistant", "content": said}]
        return tasks, 0

    def begins_with(self, task: Task) -> Any:
        """The turns of one conversation, and of others in which the user says the same, are held out together."""
        return task.meta[ASKED]

    def solution(self, task: Task) -> str:
        return str(task.meta[SAY][0])

    def check(self, task: Task, completion: str) -> float | None:
        said, wanted = self.way.read(completion, ()), self.way.read(task.meta[SAY][0], ())
        if wanted.calls:
            return float(said.calls == wanted.calls)
        return float(not said.calls and said.text.strip() == wanted.text.strip())


def shown_turn(trace: ToolTrace, place: int, way: CallFormat) -> list[dict[str, Any]]:
    """What is new before a turn, as a model that plays in this format is shown it."""
    turn: TraceTurn = trace.turns[place]
    if place == 0:
        messages = [{"role": each["role"], "content": text_of_message(each)} for each in turn.view]
        return _messages(way.opening(messages, trace.tools) if trace.tools else messages)
    results = results_of(turn.view, trace.turns[place - 1].said)
    others = [{"role": m["role"], "content": text_of_message(m)} for m in turn.view if m["role"] != "tool"]
    return [*(_messages(way.results(results)) if results else []), *others]


def _messages(view: Any) -> list[dict[str, Any]]:
    return view if isinstance(view, list) else [{"role": "user", "content": view}]


def hold_calls(data: Any) -> bool:
    """Whether some rows are traces of tools: the assistant calls one in the first of them. Only what can be read twice is
    looked at, a file or a list; what is wrong with it is for others to say."""
    path = data["path"] if isinstance(data, Mapping) and "path" in data else data
    try:
        if not (isinstance(path, list | tuple) or (isinstance(path, str | Path) and Path(path).is_file())):
            return False
        records = open_records(path)
    except (UserError, OSError, ValueError):
        return False
    rows = [records[n].value for n in range(min(len(records), LOOKED_AT))]
    return any(_calls(row) for row in rows if row is not None)


def _calls(row: Mapping[str, Any]) -> bool:
    talk = row.get("messages")
    return isinstance(talk, list) and any(isinstance(each, Mapping) and each.get("tool_calls") for each in talk)
