"""What the campaign of mutations reads through Python rather than through a verb. Each returns what must be the same."""

from __future__ import annotations

import hashlib
from typing import Any


def model(path: str) -> dict[str, Any]:
    """The policy of a finished run, from its last checkpoint."""
    import guerdon as gd
    from guerdon.core.model import weights_hash

    run = gd.train(resume=path)
    return {"weights": weights_hash(run.model().weights), "warnings": run.warnings}


def batches(path: str) -> dict[str, Any]:
    """Every number of the stored batches."""
    from guerdon.runs.run import Run

    found = {}
    for step, batch in Run(path).batches():
        texts = [(e.task.prompt, e.task.answer, [s.text for s in e.segments]) for e in batch.episodes]
        numbers = [batch.action, batch.logp, batch.weight, *(c.value for c in batch.cols.values())]
        digest = hashlib.sha256(repr(texts).encode() + b"".join(x.numpy().tobytes() for x in numbers))
        found[str(step)] = digest.hexdigest()[:16]
    return found


def replies(path: str) -> dict[str, Any]:
    """What a model is and what it says."""
    from guerdon import models
    from guerdon.core.task import Sampling, Task
    from guerdon.training.api import answers

    found = models.load(path)
    found.start(0, {})
    asked = [Task(str(n), f"{n} + 4 = ?") for n in range(2)]
    return {"identity": found.identity(), "said": answers(found, asked, sampling=Sampling(max_tokens=4))}
