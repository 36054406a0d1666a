"""Claims before evidence: what will be tried is dated and hashed before anything is run.

`register.json` lies beside the evidence and only ever grows. What was registered together is a batch, which names the edition
of the rules that it was registered under.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from guerdon.core.part import fingerprint
from guerdon.evidence.proof_files import REGISTER, read_register
from guerdon.models.shipped_models import version
from guerdon.prove.trial import Trial
from guerdon.runs.whole_files import write_readable_json

EDITION, SECOND = 3, 2  # of the rules: seeds, exams, gates, tuning; batches that name none are of the second


def claim_hash(trial: Trial, edition: int = EDITION) -> str:
    """What decides a claim's numbers: every word of it, the recipes of its arms, the model's version and the rules."""
    arms = {name: arm.hash for name, arm in trial.arms.items()}
    model = version(trial.claim.model) if trial.claim.model else ""
    return fingerprint([edition, trial.claim.told(), arms, model])


def registered(folder: Path, trial: Trial) -> dict[str, Any] | None:
    """When, in which batch, under which edition of the rules and as what a claim was registered; None where it was not, or was
    another then."""
    for batch in read_register(folder):
        edition = batch.get("edition", SECOND)
        mine = claim_hash(trial, edition)
        if mine in batch["claims"].get(trial.recipe, ()):
            return {"batch": batch["batch"], "date": batch["date"], "hash": mine, "edition": edition}
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
    date = time.strftime("%Y-%m-%d", time.gmtime())
    batch = {"batch": len(batches) + 1, "date": date, "edition": EDITION, "claims": new}
    write_readable_json(folder / REGISTER, {"batches": [*batches, batch]})
    return batch
