"""RL-Struct: GRPO on a sum of rewards for structured output, from the form of the text to the content of its fields.

Paper: Hu and Wu 2025, reliable structured output (arXiv:2512.00319), read in its abstract; the parts in a summary. A try is
paid for JSON that parses (`validity`), for JSON alone, without words or a fence around it (`form`), for its keys (`structure`),
for its values (`content`, the F1 of its fields) and for keeping to a length (`brief`). Each part is a column of its own,
`reward.validity` and so on, so a report shows which rises first; the paper finds syntax before content. The answers of the data
are JSON objects. The weights, the length and that a key too many counts against `structure` are ours. Leaves out: the adapter
and the system prompt of the paper (`--set lm.lora=16`, `--prompt`).
"""

from __future__ import annotations

import json
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.score import Score
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.text.shape import length
from guerdon.tasks.field.json_form_tasks import form_score, object_in


@recipe(
    "rl-struct",
    family="policy",
    paper="arXiv:2512.00319",
    on=grpo,
    needs=Needs(answers=True, text=True),
    helps=("sparse",),
)
def rl_struct(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    validity: float = 0.2,  # weight of JSON that parses; all weights are ours
    form: float = 0.1,  # weight of nothing else around it
    structure: float = 0.2,  # weight of its keys
    content: float = 0.4,  # weight of its values
    brief: float = 0.1,  # weight of keeping to a length
    words: int = 200,  # that length, in words; none of it is left at twice as many; ours
) -> Recipe:
    """GRPO on the parts of structured output, each paid by itself."""
    if reward is not None:
        raise UserError("rl-struct has its own reward, the parts of a JSON object: leave --reward out, or use grpo")
    answer = task.get("train", 0).answer
    if not is_object(answer):
        raise UserError(f"rl-struct needs answers that are JSON objects, and the first is {answer!r}: use grpo")
    kept = length(words, margin=words, unit="words")
    parts: dict[str, Any] = {
        "validity": (parses(), validity),
        "form": (json_alone(), form),
        "structure": (keys(), structure),
    }
    parts |= {"content": (values(), content), "brief": (kept, brief)}
    weighed: Any = {name: each.weight(weight) for name, (each, weight) in parts.items()}
    return paid_by(base, blend(**weighed))


def is_object(text: str) -> bool:
    """Whether a text is a JSON object and nothing else."""
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


@part
class parses(Leaf):
    """1 for a text with one JSON object in it, wherever, else 0.

    >>> parses()('It is {"a": 1}.'), parses()('{"a": 1')
    (1.0, 0.0)
    """

    def __call__(self, completion: str) -> float:
        return float(isinstance(object_in(completion), dict))


@part
class json_alone(Leaf):
    """1 for a JSON object and nothing else, else 0.

    >>> json_alone()('{"a": 1}'), json_alone()('It is {"a": 1}.')
    (1.0, 0.0)
    """

    def __call__(self, completion: str) -> float:
        return float(is_object(completion))


@part
class keys(Leaf):
    r"""$|K \cap A| / |K \cup A|$ for the keys of the object and those of the answer, at the top; 0 without an object.

    >>> keys()('{"a": 1, "b": 2}', '{"a": 3, "c": 4, "d": 5}')
    0.25
    """

    def __call__(self, completion: str, answer: str) -> float:
        given, wanted = object_in(completion), set(json.loads(answer))
        return len(wanted & set(given)) / max(len(wanted | set(given)), 1) if isinstance(given, dict) else 0.0


@part
class values(Leaf):
    """The F1 of the fields, each value with the way to it; 0 without an object.

    >>> values()('{"a": 1, "b": 2}', '{"a": 1, "b": 3}').value
    0.5
    """

    def __call__(self, completion: str, answer: str) -> Score:
        return form_score(completion, answer, {}, 0.0)
