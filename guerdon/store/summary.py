"""A step in numbers. Computed from the batch alone, so that anyone who reads the batch back can compute them again."""

from __future__ import annotations

import torch

from guerdon.core.batch import Batch


def batch_metrics(batch: Batch) -> dict[str, float]:
    """For every track column its mean, spread and share without a value; the same for the length of tracks.

    With several roles each gets its own numbers beside the common ones: `reward@first/mean`.
    """
    found: dict[str, float] = {}
    length = batch.up(torch.ones(batch.S), "track")
    numbers = {
        "length": length,
        **{n: c.value for n, c in batch.cols.items() if c.level == "track" and c.value.dim() == 1},
    }
    for name, value in numbers.items():
        found |= _spread(name, value)
        if len(batch.roles) > 1:
            for i, role in enumerate(batch.roles):
                own = value[batch.role_K == i]
                if not bool(torch.isnan(own).all()):
                    found |= _spread(f"{name}@{role}", own)
    found["failed"] = sum(e.failed for e in batch.episodes) / max(1, len(batch.episodes))
    return found


def _spread(name: str, value: torch.Tensor) -> dict[str, float]:
    valued = value[~torch.isnan(value)].double()
    found = {f"{name}/missing": 1.0 - len(valued) / len(value)} if len(value) > len(valued) else {}
    if len(valued):
        found[f"{name}/mean"] = float(valued.mean())
        found[f"{name}/std"] = float(valued.std(correction=0))
    return found
