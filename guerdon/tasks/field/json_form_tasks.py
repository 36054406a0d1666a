"""Forms to fill in: a text with facts and a JSON schema, and the answer is the JSON object that fits it and holds the facts.

Leaves out: fields and their sentences (`json_facts.py`), the validator (`plain_schema.py`).
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

from guerdon.core.part import knob, part
from guerdon.core.score import Score
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.tasks.family import HELD_OUT, NearMiss
from guerdon.tasks.field.json_facts import KINDS, closed
from guerdon.tasks.field.plain_schema import plainly_fits, same_value
from guerdon.tasks.field.program_text import FENCED
from guerdon.text.answers import NOTHING

NAME = "json_forms"
ASKED = "{text}\nWrite this as a JSON object that fits the schema:\n{schema}\n"


@part
class json_forms:
    """A text with facts and a JSON schema; the answer is the object that fits the schema and holds the facts.

    A level has one field more: level 1 has two out of names, ages and cities, level 8 nine, among them dates, lists, nested
    objects and values that are not known. An object is right if it fits and every value is that of the text; its JSON may
    stand alone, in a fence or among words.

    >>> import guerdon as gd
    >>> family = gd.tasks.json_forms(level=1)
    >>> problem = family.get("train", 0)
    >>> print(problem.prompt.splitlines()[0], problem.answer)
    They live in Prague. They are 80 years old. {"city": "Prague", "age": 80}
    >>> family.check(problem, f"Here: {problem.answer}"), family.check(problem, '{"city": "Prague"}')
    (1.0, 0.0)
    """

    level: int = knob(default=1, ge=1, le=8)

    @property
    def name(self) -> str:
        return NAME

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem number `index`. The facts decide its split, whatever their order."""
        draw = random.Random(derive(NAME, self.level, split, index))
        while True:
            facts = [kind(draw) for kind in draw.sample(KINDS[: self.level + 2], self.level + 1)]
            canonical = json.dumps({fact.name: fact.value for fact in facts}, sort_keys=True)
            if (derive(NAME, canonical) % HELD_OUT == 0) == (split == "test"):
                break
        schema = closed({fact.name: fact.schema for fact in facts})
        answer = {fact.name: fact.value for fact in facts}
        text = " ".join(fact.said for fact in draw.sample(facts, len(facts)))
        prompt = ASKED.format(text=text, schema=json.dumps(schema))
        return Task(canonical, prompt, json.dumps(answer), NAME, self.level, {"schema": schema})

    def check(self, task: Task, completion: str) -> float | None:
        given = object_in(completion)
        right = given is not NOTHING and same_value(given, json.loads(task.answer))
        return float(right and plainly_fits(given, task.meta["schema"]))

    def solution(self, task: Task) -> str:
        return task.answer

    def near_misses(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """Objects with one error each."""
        right = json.loads(task.answer)
        name = draw.choice(list(right))
        misses = {
            "field missing": {key: value for key, value in right.items() if key != name},
            "field added": {**right, "note": "none"},
            "value as text": {**right, name: json.dumps(right[name])},
            "name in capitals": {key.upper() if key == name else key: value for key, value in right.items()},
            "value changed": {**right, name: _changed(right[name])},
        }
        return [NearMiss(json.dumps(value), kind, 0) for kind, value in misses.items()]


def _changed(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("1" if value[-1:] != "1" else "2")
    if isinstance(value, list):
        return value[:-1]
    if isinstance(value, dict):
        first = next(iter(value))
        return {**value, first: _changed(value[first])}
    return "unknown"


def object_in(completion: str) -> Any:
    """The one JSON object of a text, or of its last fenced block; NOTHING without one, or where there are several.

    >>> object_in('It is {"a": 1}.'), object_in('{"a": 1} or {"a": 2}') is NOTHING
    ({'a': 1}, True)
    """
    blocks = FENCED.findall(completion)
    text, inside = str(blocks[-1]) if blocks else completion, 0
    objects: list[Any] = []
    decoder = json.JSONDecoder(parse_constant=_refused)
    while len(objects) < 2 and (start := text.find("{", inside)) >= 0:
        try:
            value, inside = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            inside = start + 1
        else:
            objects.append(value)
    return objects[0] if len(objects) == 1 else NOTHING


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def fields_of(value: Any, path: str = "") -> Counter[str]:
    """Every value in a JSON value with the way to it, as often as it stands there.

    >>> sorted(fields_of({"a": 1, "b": [True, {"c": "x"}]}))
    ['.a=1', '.b[0]=true', '.b[1].c="x"']
    """
    if isinstance(value, dict) and value:
        return sum((fields_of(inner, f"{path}.{key}") for key, inner in value.items()), Counter())
    if isinstance(value, list) and value:
        return sum((fields_of(inner, f"{path}[{place}]") for place, inner in enumerate(value)), Counter())
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return Counter({f"{path}={json.dumps(value, ensure_ascii=False)}": 1})


def form_score(completion: str, answer: str, schema: Any, fits: float) -> Score:
    """`fits` for an object that fits the schema, and the rest by the F1 of its fields."""
    given = object_in(completion)
    if given is NOTHING:
        return Score(0.0, why="no JSON object, or several")
    valid = plainly_fits(given, schema)
    mine, wanted = fields_of(given), fields_of(json.loads(answer))
    share = 2 * (mine & wanted).total() / (mine.total() + wanted.total())
    why = (
        f"{'fits' if valid else 'does not fit'} the schema; {(mine & wanted).total()} of {wanted.total()} fields right"
    )
    return Score(fits * valid + (1 - fits) * share, why=why, parts={"fits": float(valid), "fields": share})
