"""What a model is shown of a row: a column's text, messages, lettered options, a template of the user's, a system message.

A template is Jinja (`{{ question }}`) or, without double braces, plain (`{question}`), over the row's columns; `lettered` is
the options as lines. It is run in Jinja's sandbox.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.task import Conversation
from guerdon.text.answers import NOTHING, whole_json

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant"}  # of conversations as ShareGPT writes them
FIELD = re.compile(
    r"(?<!\\)(?<![A-Za-z])\{([A-Za-z_]\w*)\}"
)  # of a plain template: no brace of LaTeX's, as in \boxed{x}
LONGEST_NAME = 200  # characters of a word that may be a file's name


def text_or_file(given: str, flag: str) -> str:
    """What was meant by TEXT|FILE: the content of a file that is there, or the text itself."""
    if "\n" in given or len(given) > LONGEST_NAME or not Path(given).is_file():
        return given
    try:
        return Path(given).read_text(encoding="utf-8-sig").rstrip("\n")
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {flag} {given}: {getattr(error, 'strerror', None) or error}") from error


class RowTemplate:
    """A template over the columns of a row."""

    def __init__(self, text: str, columns: Sequence[str]) -> None:
        import jinja2
        from jinja2.meta import find_undeclared_variables
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        known = [*columns, "lettered"]
        if "{{" in text or "{%" in text:
            source, wanted = text, None
        else:
            wanted = FIELD.findall(text)
            source = FIELD.sub(lambda m: "{{ row[" + json.dumps(m[1]) + "] }}", text.replace("{#", "{{ '{#' }}"))
        world = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
        try:
            self.template = world.from_string(source)
            if wanted is None:
                wanted = sorted(find_undeclared_variables(world.parse(source)) - {"row"})
        except jinja2.TemplateError as error:
            raise UserError(f"--template cannot be read: {error}") from error
        for name in wanted:
            if name not in known:
                raise unknown("column in --template", name, known)
        if not wanted and "row" not in text:
            raise UserError(f"--template names no column: write {{{{ {known[0]} }}}} where it goes")

    def render(self, row: Mapping[str, Any], lettered: str) -> str:
        """A ValueError says what went wrong."""
        import jinja2

        given = {name: "" if value is None else value for name, value in row.items()}
        given["lettered"] = lettered
        try:
            return self.template.render(given | {"row": given})
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"--template does not work here: {error}") from error


@functools.lru_cache(8)
def template_of(text: str, columns: tuple[str, ...]) -> RowTemplate:
    """One that is made once."""
    return RowTemplate(text, columns)


def labelled(value: Any) -> dict[str, str] | None:
    """Options by their labels: of a list, of an object by label, or of `{"text": [...], "label": [...]}`; else None."""
    if isinstance(value, str):
        read = whole_json(value)
        value = None if read is NOTHING else read
    if isinstance(value, Mapping) and isinstance(value.get("text"), list) and isinstance(value.get("label"), list):
        texts, labels = value["text"], [str(label) for label in value["label"]]
    elif isinstance(value, Mapping):
        texts, labels = list(value.values()), [str(label) for label in value]
    elif isinstance(value, list):
        texts, labels = value, list(LABELS)
    else:
        return None
    if not texts or len(texts) > len(labels) or not all(isinstance(text, str | int | float) for text in texts):
        return None
    return dict(zip(labels, map(str, texts), strict=False))


def lettered_lines(options: Mapping[str, str]) -> str:
    """Options as lines.

    >>> print(lettered_lines({"A": "red", "B": "blue"}))
    A. red
    B. blue
    """
    return "\n".join(f"{label}. {text}" for label, text in options.items())


def label_of(answer: Any, options: Mapping[str, str]) -> str:
    """The label of the answer: itself a label, an option's text, or the number of one, from 0; else a ValueError."""
    text = str(answer).strip()
    by_case = {label.casefold(): label for label in options}
    if text.casefold() in by_case:
        return by_case[text.casefold()]
    texts = [label for label, option in options.items() if option.strip() == text]
    if len(texts) == 1:
        return texts[0]
    if text.isdecimal() and int(text) < len(options):
        return list(options)[int(text)]
    raise ValueError(f"the answer {text[:40]!a} is none of the {len(options)} options")


def conversation(value: Any) -> tuple[Conversation, str | None]:
    """Messages up to the user's last words, and what the assistant says to them, if it does; else a ValueError."""
    talk = value.get("messages") if isinstance(value, Mapping) else value
    if not isinstance(talk, list) or not talk:
        raise ValueError("no messages")
    messages = [_message(each) for each in talk]
    said = messages.pop()["content"] if messages[-1]["role"] == "assistant" else None
    if not messages or messages[-1]["role"] != "user":
        raise ValueError("messages in which the user does not speak last, before the assistant's answer")
    return Conversation(messages), said


def _message(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError("a message that is not an object with role and content")
    role, content = (given.get(a, given.get(b)) for a, b in (("role", "from"), ("content", "value")))
    if isinstance(content, list) and all(isinstance(each, Mapping) and each.get("type") == "text" for each in content):
        content = "".join(str(each.get("text", "")) for each in content)
    if not isinstance(role, str) or not isinstance(content, str):
        raise ValueError("a message whose role or content is not text")
    return {"role": ROLES.get(role, role), "content": content}
