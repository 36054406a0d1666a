"""A process reward model that reads an answer twice: from its first line to its last, and from its last to its first.

Left out: training one so that it can (`recipes/process/biprm`).
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.part import part
from guerdon.rewards.asking.knob_checks import check_plain
from guerdon.rewards.asking.outcomes import outcome_of
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.per_step import REDUCTIONS
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.model.implicit_reward import in_steps
from guerdon.rewards.model.model_reading import outcome_of_each, sample_tokens
from guerdon.rewards.model.reward_models import ScorerLeaf


def backwards(text: str) -> str:
    r"""The lines of a text from the last to the first, without blank ones.

    >>> backwards("2x=4\nx=2\n= 2")
    '= 2\nx=2\n2x=4'
    """
    return "\n".join(reversed([line for line in text.split("\n") if line.strip()]))


@part
class two_way(ScorerLeaf):
    r"""$r_j = \frac12\left(\sigma(v_j^{\rightarrow}) + \sigma(v_j^{\leftarrow})\right)$ for each line $j$: what the head
    of a process reward model says after it where the answer is told in order, and where it is told from its last line to
    its first (The Bidirectional Process Reward Model, Zhang et al. 2025, arXiv:2508.01682, first version).

    So what comes later can tell against a line. `aggregate` and `model` are as in `process_model`, the model being one
    that was taught both orders (`guerdon train biprm`); of one that was not, the second reading is a guess. It costs two
    readings of every answer. An answer has one turn. One that is too long for the model failed. Not for judging an answer
    that is still being written: what it says of a line changes with the lines to come.

    >>> import tempfile
    >>> import guerdon as gd
    >>> scorer, sample = gd.models.load("sprig", value=True), {"prompt": "chain 8 +9", "completion": "8+9=17\n= 17"}
    >>> scorer.start(0, {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     gd.models.save(scorer, folder)
    ...     gd.score_samples(gd.two_way(folder), [sample]).whole  # a fresh head
    [0.5]
    """

    model: str = "prm"
    aggregate: Literal["min", "product", "last", "mean", "sum", "steps"] = "min"

    def __post_init__(self) -> None:
        check_plain(self)

    async def score(self, samples: Samples) -> list[Outcome]:
        play = self.play_of(samples)
        tokens = sample_tokens(samples, play, self.model)
        turned = Samples.of([_turned(fields) for fields in samples.fields])
        behind = sample_tokens(turned, play, self.model)
        after, before = (torch.sigmoid(each.read(self.model, ["after"])["after"].double()) for each in (tokens, behind))
        ways = zip(behind.track.tolist(), behind.steps(), strict=True)
        back = [behind.cut(steps, "line", self.model) if track >= 0 else None for track, steps in ways]
        at = dict(zip(tokens.track.tolist(), back, strict=True))

        def judged(track: int, steps: Tensor) -> Outcome:
            pieces, other = tokens.cut(steps, "line", self.model), at[track]
            if other is None or len(other) != len(pieces):
                return Outcome(Reason.FAILED, detail={"error": "ValueError: its lines cannot be reversed"})
            both = [after[a[-1]] + before[b[-1]] for a, b in zip(pieces, reversed(other), strict=True)]
            values = torch.stack(both) / 2
            if self.aggregate == "steps":
                return in_steps(values.tolist(), pieces, tokens.own)
            outcome = outcome_of(REDUCTIONS[self.aggregate](values))
            return Outcome(outcome.reason, outcome.value, {**(outcome.detail or {}), "along": values.tolist()})

        return outcome_of_each(tokens, self.model, judged)


def _turned(fields: Any) -> dict[str, Any]:
    """A sample whose answer is told from its last line to its first."""
    if len(fields.get("turns", [""])) > 1:
        raise UserError("two_way reverses the lines of one answer, and a sample here has several turns")
    shown = fields["view"] if "view" in fields else fields.get("prompt", "")
    return {"prompt": shown, "completion": backwards(str(fields.get("completion", "")))}
