"""What a row of preferences says, in whichever of the usual forms: a view, answers to it, and what each is worth.

Forms: `prompt, chosen, rejected`; `chosen, rejected` as whole conversations that part at their last answer (Anthropic's HH,
TRL's implicit prompts), in messages or as a transcript; `prompt, completions, scores`; `prompt, completion, label`.
Leaves out: files and splits (`recited_rows.py`), and labels of steps (`step_files.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.task import Conversation, Task
from guerdon.data.lines import shown
from guerdon.tasks.row_columns import PROMPTS

NAMES: dict[str, tuple[str, ...]] = {  # what a column is for: the names it goes by, the likeliest first
    "prompt": PROMPTS,
    "chosen": ("chosen", "preferred", "preferred_output", "better", "accepted"),
    "rejected": ("rejected", "dispreferred", "non_preferred_output", "worse"),
    "completions": ("completions", "responses", "answers", "candidates"),
    "scores": ("scores", "ratings", "rewards"),
    "completion": ("completion", "response", "output", "answer"),
    "label": ("label", "good", "is_good"),
    "margin": ("margin",),
    "user": ("user", "user_id", "annotator", "annotator_id", "rater"),
}
WEIGHTS = ("weight", "weights", "sample_weight")  # of columns that are refused
OF_PAIRS = {
    "label": ("label", "probability", "soft_label"),
    "margin": NAMES["margin"],
}  # what a pair may tell, as a number
TEXT = ("content", "text", "response", "completion")  # of an answer that is an object
SCORE = ("score", "overall_score", "rating", "reward")  # beside it
TURN = re.compile(r"(?:^|\n\n)(Human|Assistant|H|A): ?")
SPEAKER = {"Human": "user", "H": "user", "Assistant": "assistant", "A": "assistant"}


class BadRow(ValueError):
    """What is wrong with a row."""


@dataclass(frozen=True)
class Answers:
    """What a row shows, and the answers it has to that, with a number for each."""

    view: str | Conversation
    texts: list[str]
    worth: list[float]


def pair_of(row: Mapping[str, Any], prompt: str, chosen: str, rejected: str) -> Answers:
    """The better answer and the worse one. Without a prompt it is what both conversations begin with."""
    sides = [row.get(chosen), row.get(rejected)]
    if prompt:
        view = view_of(row.get(prompt), prompt)
        texts = [_reply(side, view, name) for side, name in zip(sides, (chosen, rejected), strict=True)]
    else:
        talks = [_conversation(side, name) for side, name in zip(sides, (chosen, rejected), strict=True)]
        view = _shared(*talks)
        texts = [_last(talk[len(view) :], name) for talk, name in zip(talks, (chosen, rejected), strict=True)]
    if texts[0] == texts[1]:
        raise BadRow(f"{chosen} and {rejected} are the same text")
    return Answers(view, texts, [1.0, 0.0])


def scored_of(row: Mapping[str, Any], prompt: str, completions: str, scores: str) -> Answers:
    """Several answers with a number each, in a list of their own or beside them."""
    view = view_of(row.get(prompt), prompt)
    said = row.get(completions)
    if not isinstance(said, list) or len(said) < 2:
        raise BadRow(f"no list of two answers or more in column {shown(completions)}")
    if scores:
        given = row.get(scores)
        if not isinstance(given, list) or len(given) != len(said):
            raise BadRow(f"column {shown(scores)} is not a list with a score for each of {len(said)} answers")
    else:
        given = [_named(each, SCORE) if isinstance(each, Mapping) else None for each in said]
    worth = [number(each, scores or f"{completions}.score") for each in given]
    texts = [_reply([each] if isinstance(each, Mapping) else each, view, completions) for each in said]
    if len(set(texts)) < len(texts):
        kept = {text: n for n, text in reversed(list(enumerate(texts)))}
        if any(worth[kept[text]] != value for text, value in zip(texts, worth, strict=True)):
            raise BadRow("the same answer occurs twice with different scores")
        texts, worth = [texts[n] for n in sorted(kept.values())], [worth[n] for n in sorted(kept.values())]
    return Answers(view, texts, worth)


def labelled_of(row: Mapping[str, Any], prompt: str, completion: str, label: str) -> Answers:
    """One answer that is good or bad."""
    if prompt:
        view = view_of(row.get(prompt), prompt)
        text = _reply(row.get(completion), view, completion)
    else:
        talk = _conversation(row.get(completion), completion)
        view, text = Conversation(talk[:-1]), _last(talk[-1:], completion)
    return Answers(view, [text], [good_or_bad(row.get(label), label)])


def good_or_bad(value: Any, column: str) -> float:
    """1 or 0, from what people write for it."""
    words = {"true": 1.0, "good": 1.0, "+": 1.0, "1": 1.0, "false": 0.0, "bad": 0.0, "-": 0.0, "0": 0.0, "-1": 0.0}
    known = words.get(value.strip().lower()) if isinstance(value, str) else None
    if isinstance(value, bool | int | float) and value in (0, 1, -1):
        known = float(value == 1)
    if known is None:
        raise BadRow(f"a label in column {shown(column)} is true or false, 1 or 0, not {shown(value)}")
    return known


def told_of(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, float]:
    """How likely the better answer of a pair is the better one, and by how much, as far as its row tells."""
    told = {what: number(row.get(columns[what]), columns[what]) for what in OF_PAIRS if what in columns}
    if not 0 <= told.get("label", 1.0) <= 1:
        raise BadRow(
            f"the label of a pair in column {shown(columns['label'])} is a probability, 0 to 1, not {told['label']:g}"
        )
    if not 0 <= told.get("margin", 0.0) < math.inf:
        raise BadRow(f"a margin in column {shown(columns['margin'])} is 0 or more, not {told['margin']:g}")
    return told


def number(value: Any, column: str) -> float:
    try:
        if isinstance(value, str | int | float):
            return float(value)
    except ValueError:
        pass
    raise BadRow(f"no number in {shown(column)} but {shown(value)}")


def is_number(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and math.isfinite(number(value, ""))
    except BadRow:
        return False


def view_of(value: Any, column: str) -> str | Conversation:
    """A prompt: text, or messages, which may stand in an object as OpenAI has them."""
    if isinstance(value, Mapping) and "messages" in value:
        value = value["messages"]
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and value:
        return _talk(value, column)
    raise BadRow(f"no text and no messages in column {shown(column)}")


def posed(name: str, family: str, view: str | Conversation, meta: dict[str, Any]) -> Task:
    """What a row asks, as a task."""
    if isinstance(view, str):
        return Task(name, view, family=family, meta=meta)
    return Task(name, view.asked if view else "", family=family, meta=meta, view=view)


def _reply(value: Any, view: str | Conversation, column: str) -> str:
    """The answer to a view: text, or messages that may begin with the view again."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        raise BadRow(f"no text and no messages in column {shown(column)}")
    messages = _talk(value, column)
    asked = [{"role": "user", "content": view}] if isinstance(view, str) else view
    return _last(messages[len(asked) :] if messages[: len(asked)] == asked else messages, column)


def _conversation(value: Any, column: str) -> Conversation:
    if isinstance(value, list) and value:
        return _talk(value, column)
    if isinstance(value, str):
        return _transcript(value, column)
    raise BadRow(f"no text and no messages in column {shown(column)}")


def _transcript(text: str, column: str) -> Conversation:
    r"""`\n\nHuman: ...\n\nAssistant: ...` as messages; turns of one speaker in a row are one."""
    pieces = TURN.split(text)
    if len(pieces) < 3 or pieces[0].strip():
        raise BadRow(
            f"there is no prompt column, and column {shown(column)} is not a conversation that begins with one"
        )
    messages = Conversation()
    for speaker, said in zip(pieces[1::2], pieces[2::2], strict=True):
        role = SPEAKER[speaker]
        if messages and messages[-1]["role"] == role:
            messages[-1] = {"role": role, "content": f"{messages[-1]['content']}\n\n{said}"}
        else:
            messages.append({"role": role, "content": said})
    return messages


def _shared(first: Conversation, second: Conversation) -> Conversation:
    """What two conversations begin with: never all of either."""
    most = min(len(first), len(second)) - 1
    return Conversation(first[: next((n for n in range(most) if first[n] != second[n]), most)])


def _talk(value: Sequence[Any], column: str) -> Conversation:
    return Conversation([_message(each, column) for each in value])


def _last(messages: Sequence[Mapping[str, Any]], column: str) -> str:
    if len(messages) != 1:
        raise BadRow(f"column {shown(column)} continues for {len(messages)} turns where one answer is compared")
    if messages[0]["role"] != "assistant":
        raise BadRow(f"column {shown(column)} does not end with an answer of the assistant's")
    return str(messages[0]["content"])


def _message(value: Any, column: str) -> dict[str, str]:
    said = _named(value, TEXT) if isinstance(value, Mapping) else None
    if not isinstance(said, str):
        raise BadRow(f"a message in column {shown(column)} has no text: {shown(value)}")
    role = value.get("role", "assistant")
    if not isinstance(role, str):
        raise BadRow(f"a message in column {shown(column)} has a role of {shown(role)}")
    return {"role": role, "content": said}


def _named(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if value.get(name) is not None), None)
