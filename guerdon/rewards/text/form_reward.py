"""The reward of a JSON object by its schema and by its fields.

Leaves out: the validator and the counting of fields (`tasks/field`), schemas beyond the plain ones (`answers.py`).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.part import knob, part
from guerdon.core.score import Score
from guerdon.rewards.asking.function import Leaf
from guerdon.tasks.field.json_form_tasks import form_score


@part
class json_fields(Leaf):
    r"""$f\,[\text{fits}] + (1 - f)\,F_1$: `fits` for JSON that fits the task's schema, the rest by the F1 of its fields, each
    value with the way to it, against those of the task's answer. 0 without JSON; not applicable without a schema or an answer.

    Schemas are those of the plain validator, which needs no package: types, properties, bounds, patterns, enums.

    >>> import guerdon as gd
    >>> schema = {"type": "object", "required": ["name", "age"]}
    >>> score = gd.json_fields()('{"name": "Ada", "age": 37}', '{"name": "Ada", "age": 36}', schema)
    >>> round(score.value, 3), score.why
    (0.6, 'fits the schema; 1 of 2 fields right')
    """

    fits: float = knob(default=0.2, ge=0.0, le=1.0)

    def __call__(self, completion: str, answer: str = "", schema: Any = None) -> Score | None:
        return form_score(completion, answer, schema, self.fits) if answer and schema is not None else None
