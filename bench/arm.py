"""What parent and arms agree on: the job on the command line, and how the findings come back."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.configs import CONFIGS, Config

ARMS = ("trl", "guerdon")
REPORT = "REPORT "  # what the line with a child's findings begins with; whatever a library prints does not


@dataclass(frozen=True)
class Job:
    """`model` is a Hugging Face folder; `warmup` steps come before the `steps` that count."""

    config: Config
    model: str
    steps: int
    warmup: int
    threads: int
    trl_options: dict[str, Any]

    def checked_tokens(self, made: Sequence[int]) -> int:
        """The generated tokens of a step: as many as were asked for, in every step, or the comparison is void."""
        if set(made) != {self.config.tokens}:
            raise SystemExit(f"asked for {self.config.tokens} tokens a step, got {sorted(set(made))}")
        return self.config.tokens

    def arguments(self, name: str) -> list[str]:
        """The command line that `parse` reads this job from; `name` is the configuration's."""
        given = {"config": name, "model": self.model, "steps": self.steps, "warmup": self.warmup}
        given |= {"threads": self.threads, "trl-options": json.dumps(self.trl_options)}
        return [word for key, value in given.items() for word in (f"--{key}", str(value))]


def parse() -> Job:
    """Read the job, and take as many threads as it says."""
    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--config", choices=CONFIGS, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--trl-options", type=json.loads, default={})
    found = parser.parse_args()
    torch.set_num_threads(found.threads)
    return Job(CONFIGS[found.config], found.model, found.steps, found.warmup, found.threads, found.trl_options)
