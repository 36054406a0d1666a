"""All that `train` is asked for: what is built, how long it runs, from which seed, how it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.core.budget import Budget, read_budget
from guerdon.training.build import RunRequest
from guerdon.training.record import Options


@dataclass(frozen=True)
class TrainRequest:
    """What was said; None for what was not."""

    run: RunRequest
    steps: int | None = None
    budget: Budget | None = None
    seed: int | None = None
    options: Options | None = None

    @classmethod
    def of(
        cls,
        run: RunRequest,
        steps: int | None,
        budget: str | Budget | None,
        seed: int | None,
        options: Options | None,
    ) -> TrainRequest:
        """A budget may be as it was typed."""
        return cls(run, steps, read_budget(budget) if isinstance(budget, str) else budget, seed, options)


@dataclass(frozen=True)
class Origin:
    """The run that another one is the same as, but for its `changes`: what `again` in run.json says."""

    run: str
    id: str
    hash: str
    changes: Mapping[str, tuple[Any, Any]]  # by name: then and now

    def to_config(self) -> dict[str, Any]:
        return {"run": self.run, "id": self.id, "hash": self.hash}
