"""Reward models of other people, as `transformers` has them: a sequence classifier with one label.

Left out: those with several labels, and code of a model's own (`trust_remote_code`). A special token that an answer spells out
is one to `transformers`' templates: a policy could learn to end its own turn with it.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from guerdon.core.column import Reason
from guerdon.core.errors import UserError, require_extra
from guerdon.core.manifest import file_hash
from guerdon.core.part import knob, part
from guerdon.models.plain_files import is_there, read_object
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.rewards.model.model_reading import conversation

KIND = "ForSequenceClassification"
AT_ONCE = 16384  # tokens of one pass


@part
class classifier(Leaf):
    r"""The output of a one-label sequence classifier of `transformers` for a conversation, its last answer included; or with
    `squash` $\sigma$ of it. `folder` is where it lies, with its tokenizer and chat template: a reward model such as those of
    RewardBench (Lambert et al. 2024, arXiv:2403.13787).

    It is loaded when it is first asked, onto the GPU where there is one, and stays in this process. What is longer than it can
    look at failed. It is hashed by its files.

    Args:
        folder: path of the classifier, with its tokenizer and chat template.
        squash: return the logistic function of its output.

    >>> import guerdon as gd
    >>> gd.classifier("models/reward", squash=True)
    classifier(folder='models/reward', squash=True)
    """

    folder: str = knob(hashed=False)
    squash: bool = False

    alone = False

    def identity(self) -> str:
        files = sorted(
            each for each in Path(self.folder).iterdir() if each.suffix in (".json", ".safetensors", ".jinja")
        )
        return hashlib.sha256("".join(f"{each.name}:{file_hash(each)}" for each in files).encode()).hexdigest()[:16]

    async def score(self, samples: Samples) -> list[Outcome]:
        tokenizer, model = _opened(self.folder)
        room = getattr(model.config, "max_position_embeddings", None)
        told = [
            tokenizer.apply_chat_template(messages_of(fields), return_dict=True)["input_ids"]
            for fields in samples.fields
        ]
        values: dict[int, float] = {}
        for group in _alike(told, alone=model.config.pad_token_id is None):
            if room is None or len(told[group[0]]) <= room:
                with torch.no_grad():
                    said = model(torch.tensor([told[n] for n in group], device=model.device)).logits[:, 0].double()
                values |= zip(group, (torch.sigmoid(said) if self.squash else said).tolist(), strict=True)
        late = Outcome(Reason.FAILED, detail={"error": f"ValueError: longer than the {room} tokens of {self.folder}"})
        return [outcome_of(values[n]) if n in values else late for n in range(len(told))]


def is_classifier(folder: Path) -> bool:
    """Whether a folder's config.json speaks of a sequence classifier."""
    if not is_there(folder / "config.json"):
        return False
    named = read_object(folder / "config.json").get("architectures")
    return isinstance(named, list) and any(isinstance(name, str) and name.endswith(KIND) for name in named)


def messages_of(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A sample as messages, turn by turn."""
    messages: list[dict[str, Any]] = []
    for turn in fields.get("path") or conversation(fields):
        shown = turn.view if isinstance(turn.view, list) else [{"role": "user", "content": str(turn.view)}]
        messages += [*shown, {"role": "assistant", "content": turn.text}]
    return messages


def _alike(told: Sequence[Sequence[int]], alone: bool) -> list[list[int]]:
    """Samples that can be read at once without padding: of one length, and not too many."""
    groups: dict[tuple[int, int], list[int]] = {}
    seen: dict[int, int] = {}
    for n, tokens in enumerate(told):
        size = len(tokens)
        groups.setdefault((size, n if alone else seen.get(size, 0) // max(1, AT_ONCE // max(1, size))), []).append(n)
        seen[size] = seen.get(size, 0) + 1
    return list(groups.values())


@functools.lru_cache(2)
def _opened(folder: str) -> tuple[Any, Any]:
    try:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError as error:
        raise require_extra("transformers", "hub") from error
    if not is_classifier(Path(folder)):
        raise UserError(
            f"{folder} holds no sequence classifier: its config.json has no architecture that ends with {KIND}"
        )
    tokenizer = AutoTokenizer.from_pretrained(folder)
    if tokenizer.chat_template is None:
        raise UserError(f"{folder} has no chat template, so the format of a conversation is unknown")
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    if model.config.num_labels != 1:
        raise UserError(f"{folder} has {model.config.num_labels} labels: a reward model gives one number")
    return tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu")
