"""reasoning-gym as a task (github.com/open-thought/reasoning-gym): every data set of it, scored as it scores.

Leaves out: the library itself, how its entries are made and its scores asked for (`gym_library.py`).
"""

from __future__ import annotations

import json
import re
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.part import knob, live, part
from guerdon.core.seeds import Place, derive
from guerdon.core.task import Conversation, Split, Task
from guerdon.tasks.answer_checks import CheckBroke
from guerdon.tasks.family import HELD_OUT, read_solution
from guerdon.tasks.field.gym_library import GymDataset, dataset_names, opened, score_number, system_prompt

TRIES = 256  # numbers of the library's that a problem may be found among
SECONDS = 10.0  # that a score may take; integrals are simplified
SAME_PUZZLE = {
    "arc_agi": "task_id"
}  # the key of an entry's metadata that says which puzzle it is, however it is turned
TAGS = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


@part(name="gym")
class gym_dataset:
    """The problems of one data set of reasoning-gym, as `gd.tasks.gym` makes it.

    Args:
        dataset: name of the data set.
        level: difficulty; 0 for its defaults.
        config: the data set's settings.
        system: name of a system prompt.

    >>> import guerdon as gd
    >>> source = gd.tasks.gym_dataset("gcd", config={"max_numbers": 2})
    >>> source.name, source.size("train")
    ('gym:gcd', None)
    """

    dataset: str
    level: int = knob(default=0, ge=0)
    config: dict[str, Any] = knob(factory=dict)
    system: str = ""

    settings: str | None = live()

    def __post_init__(self) -> None:
        if self.dataset == "composite":
            raise UserError("gym:composite mixes other data sets: name these, --task gym:gcd+gym:leg_counting")
        if self.dataset not in dataset_names():
            raise unknown("data set of reasoning-gym", self.dataset, dataset_names())
        if {"seed", "size"} & {*self.config}:
            raise UserError(
                f"gym:{self.dataset} takes no seed or size: its problems never end, and a number names each"
            )
        try:
            self.settings = json.dumps(self.config, sort_keys=True)
        except TypeError as error:
            raise UserError(f"gym:{self.dataset} takes settings that are JSON values: {error}") from error
        if self.system:
            system_prompt(self.system)
        self.open()

    def open(self) -> GymDataset:
        return opened(self.dataset, self.level, self.settings or "{}")

    @property
    def name(self) -> str:
        return f"gym:{self.dataset}" + (f":{self.level}" if self.level else "")

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem `index`. What a problem asks decides its split, so that train and test never meet."""
        source = self.open()
        place = Place("reasoning-gym", self.dataset, split, index)
        for attempt in range(TRIES):
            number = place.derive(attempt) % source.size
            entry = source.entry(number)
            if entry is not None and self._held_out(entry) == (split == "test"):
                return self._task(number, entry)
        raise UserError(f"{self.name} has too few problems, set up so, to hold any out: make them harder")

    def _held_out(self, entry: dict[str, Any]) -> bool:
        key = SAME_PUZZLE.get(self.dataset)
        return derive(self.dataset, str(entry["metadata"][key] if key else entry["question"])) % HELD_OUT == 0

    def _task(self, number: int, entry: dict[str, Any]) -> Task:
        asked, view = str(entry["question"]), None
        if self.system:
            told = {"role": "system", "content": system_prompt(self.system)}
            view = Conversation([told, {"role": "user", "content": asked}])
        meta = {"number": number}
        return Task(str(number), asked, str(entry["answer"]), f"gym:{self.dataset}", self.level, meta, view)

    def check(self, task: Task, completion: str) -> float | None:
        """The library's score, from 0 to 1: what of it is partial, the library says."""
        source, number = self.open(), int(task.meta["number"])
        answer = given_answer(completion)
        if source.plain:
            entry = source.entry(number)
            return source.score(answer, entry) if entry is not None else None
        from guerdon.workers.worker_pool import shared_pool

        given = {"dataset": self.dataset, "level": self.level, "config": self.settings, "number": number}
        call = shared_pool().call_now(score_number, {**given, "answer": answer}, timeout=SECONDS, trusted=True)
        if call.kind == "timed out":
            raise TimeoutError(f"reasoning-gym took longer than {SECONDS:g} s to score an answer to {self.name}")
        if call.kind == "failed":
            raise CheckBroke(call.error)
        return float(call.value)

    def solution(self, task: Task) -> str:
        """The answer in the form that a model is asked for."""
        return f"<answer>{task.answer}</answer>" if self.system else task.answer


def gym(dataset: str = "", level: int = 0, system: str = "", **config: Any) -> gym_dataset:
    """Problems of a data set of reasoning-gym, `"leg_counting"`, scored by the library: partial scores are kept.

    Needs `pip install 'guerdon[gym]'`. `config` are the data set's own settings. A `level` from 1 on sets them as the library's
    curriculum does, 0 leaves them at its defaults; `"leg_counting:3"` is level 3. `system` names one of the library's system
    prompts ("default", "direct"...), which ask for `<answer>` tags. Of a completion, what stands in its last such tags is
    scored, else its last line `= answer`, else all of it. `gd.tasks.load("gym:leg_counting:1-4+gym:gcd")` mixes.

    Args:
        dataset: name of the data set.
        level: difficulty; 0 for its defaults.
        system: name of a system prompt.
        config: the data set's settings.

    >>> import guerdon as gd
    >>> source = gd.tasks.gym("leg_counting", max_animals=3)
    >>> problem = source.get("train", 0)
    >>> problem.answer, source.check(problem, f"So <answer>{problem.answer}</answer>"), source.check(problem, "none")
    ('32', 1.0, 0.0)
    """
    name, _, after = dataset.partition(":")
    if not name:
        raise UserError("gym needs the name of a data set of reasoning-gym: gym:leg_counting")
    if after and not after.isdigit():
        raise UserError(f"the level of gym:{name} is a whole number, not {after!r}: gym:{name}:2")
    return gym_dataset(name, int(after) if after else level, config, system)


def given_answer(completion: str) -> str:
    """What a completion gives as its answer: in its last `<answer>` tags, else in a last line `= answer`, else all of it."""
    tagged = TAGS.findall(completion)
    if tagged:
        return str(tagged[-1]).strip()
    return read_solution(completion)[1] or completion.strip()
