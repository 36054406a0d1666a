"""Problems that show their answer: what a model makes of a question when it knows what comes out."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.part import part
from guerdon.core.task import Split, Task
from guerdon.tasks.changed_source import ChangedSource

Show = Literal["sentence", "line"]
WORDS: dict[str, str] = {"sentence": "{prompt}\n(The answer is {answer}.)", "line": "{prompt}\n= {answer}"}


def with_answer(view: Any, answer: Any, show: Show) -> Any:
    """A question, a text or messages, with its answer below it: in a sentence, or, for models that know no instructions, as the
    line that ends a solution.

    >>> from guerdon.tasks.shown_answers import with_answer
    >>> with_answer("2+2?", "4", "line")
    '2+2?\\n= 4'
    """
    if answer is None or answer == "":
        raise UserError(
            "there is no answer to show: the task's problems need one (`--answer COLUMN` for rows of a file)"
        )
    if isinstance(view, str):
        return WORDS[show].format(prompt=view, answer=answer)
    *earlier, last = view
    return [*earlier, {**last, "content": with_answer(last["content"], answer, show)}]


@part
class answer_shown(ChangedSource):
    """The problems of `source`, each with its answer below the question. Solutions and checks stay as they are.

    Args:
        source: where problems come from.
        show: how the answer is written.

    >>> import guerdon as gd
    >>> gd.tasks.answer_shown(gd.tasks.load("chain:1"), "line").get("train", 0).prompt
    'chain 4 *4 *5\\n= 80'
    """

    source: Any
    show: Show = "sentence"

    def get(self, split: Split, index: int) -> Task:
        task = super().get(split, index)
        return dataclasses.replace(task, prompt=with_answer(task.prompt, task.answer, self.show))

    def solution(self, task: Task) -> str:
        solve = getattr(self.source, "solution", None)
        return str(task.answer) if solve is None else str(solve(task))
