"""What the machine can do: bytes copied a second, and operations of a matrix product a second. Best of several tries.

`python -m bench.hardware --device cpu --dtype float32` prints both. Left out: caches. A copy is far larger than any of
them, so a small model that stays in cache may be read faster than this.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from bench.arm import REPORT

COPY_BYTES = {"cpu": 1 << 28, "cuda": 1 << 32}
SQUARES = {"cpu": (512, 1024, 2048), "cuda": (4096, 8192, 16384)}  # sides of the matrices multiplied


@dataclass(frozen=True)
class Hardware:
    device: str
    threads: int
    copy: float  # bytes read and written a second
    matmul: float  # operations a second


def measure(device: str, dtype: torch.dtype, tries: int = 8) -> Hardware:
    return Hardware(
        device_name(device), torch.get_num_threads(), copy_rate(device, tries), matmul_rate(device, dtype, tries)
    )


def copy_rate(device: str, tries: int) -> float:
    source = torch.ones(COPY_BYTES[device] // 4, device=device)
    target = torch.zeros_like(source)
    return 2 * COPY_BYTES[device] / best_time(lambda: target.copy_(source), device, tries)


def matmul_rate(device: str, dtype: torch.dtype, tries: int) -> float:
    rates = []
    for side in SQUARES[device]:
        a, b = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
        out = torch.empty_like(a)
        seconds = best_time(lambda a=a, b=b, out=out: torch.mm(a, b, out=out), device, tries)  # type: ignore[misc]
        rates.append(2 * side**3 / seconds)
    return max(rates)


def best_time(work: Callable[[], object], device: str, tries: int) -> float:
    """Seconds of the fastest try, after one that does not count."""
    times = []
    for _ in range(tries + 1):
        _wait(device)
        began = time.perf_counter()
        work()
        _wait(device)
        times.append(time.perf_counter() - began)
    return min(times[1:])


def device_name(device: str) -> str:
    if device == "cuda":
        return torch.cuda.get_device_name()
    known = Path("/proc/cpuinfo")
    lines = known.read_text().splitlines() if known.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=COPY_BYTES, default="cpu")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    print(REPORT + json.dumps(asdict(measure(asked.device, getattr(torch, asked.dtype)))))


if __name__ == "__main__":
    main()
