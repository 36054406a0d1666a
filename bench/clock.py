"""Where the time of a step goes: laps of one clock, and the report an arm prints when it is done.

`cpu` is the processor time of all threads; `others` is how many cores were in other hands, on average over the step.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import asdict, dataclass
from typing import Literal

import torch

from bench.arm import REPORT
from bench.quiet import busy_seconds

Part = Literal["generate", "score", "learn", "other"]
PARTS: tuple[Part, ...] = ("generate", "score", "learn", "other")


class Clock:
    """`lap(part)` books the time since the last lap under a part of the step; `end_step` closes the step.

    On a GPU a lap waits for the work that was queued, so that it is booked where it was asked for.
    """

    def __init__(self, device: str) -> None:
        self.device = device
        self.steps: list[dict[str, float]] = []
        self.restart()

    def restart(self) -> None:
        """Begin a step here; what came before is not counted."""
        self.current: dict[str, float] = dict.fromkeys(PARTS, 0.0)
        self.last = self._now()
        self.cpu, self.busy = time.process_time(), busy_seconds()

    def lap(self, part: Part) -> None:
        now = self._now()
        self.current[part] += now - self.last
        self.last = now

    def skip(self) -> None:
        """Forget the time since the last lap: the benchmark's own bookkeeping."""
        self.last = self._now()

    def end_step(self) -> None:
        cpu, busy = time.process_time(), busy_seconds()
        total = sum(self.current.values())
        others = max(0.0, busy - self.busy - (cpu - self.cpu)) / total
        self.steps.append({**self.current, "total": total, "cpu": cpu - self.cpu, "others": others})
        self.current, self.cpu, self.busy = dict.fromkeys(PARTS, 0.0), cpu, busy

    def _now(self) -> float:
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


@dataclass(frozen=True)
class Report:
    """What an arm found. `tokens` of a step are generated ones; `prompts` is the digest of all prompts as tokens."""

    arm: str
    steps: list[dict[str, float]]  # seconds by part, warm-up left out
    warmup: list[dict[str, float]]
    tokens: int
    prompt_tokens: float  # of a prompt, on average
    prompts: str
    reward: list[float]  # mean of each step, warm-up included
    peak_bytes: int

    def print(self) -> None:
        print(REPORT + json.dumps(asdict(self)), flush=True)


def peak_bytes(device: str) -> int:
    """The most memory this process held: of the GPU by torch's allocator, of the machine by the kernel's count."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated()
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
