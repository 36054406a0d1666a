"""The metrics of a step, computed from its batch alone, so that they can be recomputed from the stored batch."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import ENDS, Batch
from guerdon.core.column import Reason
from guerdon.core.episode import End
from guerdon.core.one_turn import failed_in, steps_in
from guerdon.core.pack import played_at
from guerdon.core.task import Ask
from guerdon.runs.headline import DRAWS

ASKED, LINES = "asked/", 3
LONGEST = 12  # letters of a word that count
NUMBER, LETTERS, SIGNS = re.compile(r"[-+]?\d"), re.compile(r"[^\W\d]+"), re.compile(r"[^\w\s]+")


def batch_metrics(batch: Batch) -> dict[str, float]:
    """For every column of tracks or segments its mean, its spread and the share that failed of what should have a value, and
    where it did not apply to some the share of those; for the length of tracks the mean and spread, and the share that a
    limit `cut`; for episodes the share that failed; how many asks were about each kind of problem (`draws/countdown:3`) and
    were asked in which form (`asked/countdown`): how the first lines that were shown begin.

    With several roles what does not apply is not counted, for most rewards are of one of them.
    With several roles each gets its own numbers beside the common ones: `reward@first/mean`. Episodes of earlier steps, which
    a memory joined to those of this one, are in none of them.
    """
    batch = played_at(batch, max(steps_in(batch.episodes), default=0))
    metrics = _spread("length", batch.up(torch.ones(batch.S), "track"), batch.role_K, batch)
    for name, column in batch.cols.items():
        if column.level != "step" and column.value.dim() == 1:
            metrics |= _spread(name, column.value, batch.role_K if column.level == "track" else batch.role, batch)
            due = int((column.reason != Reason.NOT_APPLICABLE).sum())
            metrics[f"{name}/failed"] = float(column.broken.sum()) / max(1, due)
            if due < len(column.reason) and len(batch.roles) == 1:
                metrics[f"{name}/not_applicable"] = 1 - due / len(column.reason)
    cut = batch.end[batch.leaf] == ENDS.index(End.CUT)
    metrics["cut"] = float(cut.double().sum()) / max(1, len(cut))
    metrics["failed"] = len(failed_in(batch.episodes)) / max(1, len(batch.episodes))
    return metrics | _draws(batch)


def _draws(batch: Batch) -> dict[str, float]:
    """Asks by kind of problem."""
    asks = {(e.step, e.number): e.ask for e in batch.episodes}
    count = Counter(ask.task.kind for ask in asks.values())
    forms = Counter(form_of(ask) for ask in asks.values())
    drawn = {f"{DRAWS}{kind}": float(n) for kind, n in sorted(count.items())}
    return drawn | {f"{ASKED}{form}": float(n) for form, n in sorted(forms.items())}


def form_of(ask: Ask) -> str:
    """The form of a question. Of a row of a file, which is identified by its line, the family's name replaces the question:
    rows begin with any word. Where a role is asked about a problem, the family's name replaces it and all that follows, for
    attempts begin with any word too.

    >>> from guerdon.core.task import Task
    >>> form_of(Ask(Task("a", "trace x", family="trace"), prompt="critique\\ntrace x\\n= 5"))
    'critique trace'
    """
    shown, task = ask.shown, ask.task
    if isinstance(shown, str) and task.id.isdigit():
        shown = shown.replace(task.prompt, task.family)
    elif isinstance(shown, str) and task.prompt and shown.find(task.prompt) > 0:
        shown = shown.partition(task.prompt)[0] + task.family
    return form_of_words(shown)


def form_of_words(shown: Any) -> str:
    """What kind of question something is, whatever it asks: what the first word of each of its first lines begins with,
    letters, signs, or 0 for a number.

    >>> form_of_words("48\\ncountdown 3 7 25 make 54"), form_of_words("write f(xs)\\nf([-2, 3]) == 1\\n-8x=-96")
    ('0 countdown', 'write f 0')
    """
    if not isinstance(shown, str):
        return "view"
    words = [(line.split(maxsplit=1) or [""])[0] for line in shown.split("\n", LINES)[:LINES]]
    return same_form(" ".join(words))


def same_form(form: str) -> str:
    """A form as `form_of_words` has it, of one that still holds more of what was asked, as earlier runs wrote it down.

    >>> same_form("write f([-2, f('dust')"), same_form("CREATE CREATE --")
    ('write f f', 'CREATE CREATE --')
    """
    return " ".join(_beginning(word) for word in form.split(" "))


def _beginning(word: str) -> str:
    if NUMBER.match(word):
        return "0"
    begins = LETTERS.match(word) or SIGNS.match(word)
    return begins[0][:LONGEST] if begins else ""


def _spread(name: str, value: Tensor, role: Tensor, batch: Batch) -> dict[str, float]:
    """Mean and standard deviation over the rows that have a value, in all and by the role of each."""
    metrics: dict[str, float] = {}
    groups = {name: torch.ones(len(value), dtype=torch.bool)}
    if len(batch.roles) > 1:
        groups |= {f"{name}@{word}": role == i for i, word in enumerate(batch.roles)}
    for label, rows in groups.items():
        valued = value[rows & ~torch.isnan(value)].double()
        if len(valued):
            metrics[f"{label}/mean"] = float(valued.mean())
            metrics[f"{label}/std"] = float(valued.std(correction=0))
    return metrics
