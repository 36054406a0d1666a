"""Claims before evidence: what will be tried is dated and hashed before anything is run.

`register.json` lies beside the evidence and only ever grows. What was registered together is a batch, and false discoveries
are counted within it: a claim that comes later changes no verdict that there is.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.part import fingerprint
from guerdon.core.recipe import Claim
from guerdon.loop.proof.trial import Trial
from guerdon.models.shipped_models import version
from guerdon.store.evidence import REGISTER, read_register
from guerdon.store.whole_files import write_readable_json

EDITION = 2  # of the rules: seeds, looks, exams, gates, tuning


def claim_hash(trial: Trial) -> str:
    """What decides a claim's numbers: every word of it, the recipes of its arms, the model's version and the rules."""
    arms = {name: arm.hash for name, arm in trial.arms.items()}
    model = version(trial.claim.model) if trial.claim.model else ""
    return fingerprint([EDITION, trial.claim.told(), arms, model])


def registered(folder: Path, trial: Trial) -> dict[str, Any] | None:
    """When, in which batch and as what a claim was registered; None where it was not, or was another then."""
    mine = claim_hash(trial)
    for batch in read_register(folder):
        if mine in batch["claims"].get(trial.recipe, ()):
            return {"batch": batch["batch"], "date": batch["date"], "hash": mine}
    return None


def register(folder: Path, trials: Iterable[Trial]) -> dict[str, Any] | None:
    """A new batch of all claims that are not registered as they are; None where all are."""
    batches = read_register(folder)
    new: dict[str, list[str]] = {}
    for trial in trials:
        if registered(folder, trial) is None:
            new.setdefault(trial.recipe, []).append(claim_hash(trial))
    if not new:
        return None
    batch = {"batch": len(batches) + 1, "date": time.strftime("%Y-%m-%d", time.gmtime()), "claims": new}
    write_readable_json(folder / REGISTER, {"edition": EDITION, "batches": [*batches, batch]})
    return batch


def size_of(folder: Path, number: int) -> int:
    """How many claims a batch has."""
    claims: Sequence[Sequence[Claim]] = list(read_register(folder)[number - 1]["claims"].values())
    return sum(map(len, claims))
