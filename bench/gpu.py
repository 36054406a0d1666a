"""What a GPU does of what it could: `python -m bench.gpu --out FILE.json`. The 135 M Llama shape in bfloat16.

Three measurements: a decode step, log-probs and all, against the bytes it reads; learning against the rate of a matrix
product, by the tokens of a micro-batch, with its memory; and how far the log-probs of the sampler are from those that the
learner reads. Left out: whole steps (`grpo_step.py`) and how they grow (`scaling.py`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import torch

from bench.configs import CONFIGS, Config
from bench.hardware import Hardware, measure
from bench.work import Shape, decode_bytes
from guerdon import models
from guerdon.core.model import Request
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling, Task
from guerdon.engine.continuous import Continuous
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models.attention import Runs
from guerdon.models.decoder import Decoder
from guerdon.models.logit_head import token_scores

TRIES = 4  # of which the median counts
MICRO = (4096, 8192, 16384, 32768)
PROMPT, SAID = 64, 128


def load(folder: str) -> Any:
    model: Any = models.load(folder, dtype="bfloat16")
    model.chat.ends = ()  # nothing ends a turn: every completion has the length asked for
    model.start(0, {})
    return model


def prompt(number: int) -> str:
    return " ".join(f"w{(number * 7919 + i * 104729) % 10_000}" for i in range(PROMPT - 2))


# --- decoding ---------------------------------------------------------------------------------------------------------


def decode(model: Any, shape: Shape, machine: Hardware, config: Config) -> dict[str, float]:
    """Seconds of a token of every row, from the first round after the prompts to the last."""
    rates = []
    for _ in range(TRIES):
        sampler = Continuous(model)
        how = Sampling(max_tokens=config.new_tokens)
        for row in range(config.rollouts):
            sampler.add(row, Request((), prompt(row // config.tries), how, row))
        sampler.step()  # the prompts, and a first token
        torch.cuda.synchronize()
        began = time.perf_counter()
        while sampler.busy:
            sampler.step()
        rates.append((time.perf_counter() - began) / (config.new_tokens - 1))
    floor = decode_bytes(shape, config, PROMPT) / config.new_tokens / machine.copy
    best = median(rates[1:])
    return {
        "rollouts": config.rollouts, "new_tokens": config.new_tokens, "ms": best * 1e3, "ms_min": min(rates[1:]) * 1e3,
        "ms_max": max(rates[1:]) * 1e3, "floor_ms": floor * 1e3, "tokens_per_second": config.rollouts / best,
    }  # fmt: skip


# --- learning ---------------------------------------------------------------------------------------------------------


def learn(net: Decoder, shape: Shape, machine: Hardware, tokens: int, recompute: bool) -> dict[str, Any]:
    """A forward and a backward pass over packed texts, to the log-prob of every token. No optimiser, no loss."""
    net.recompute = recompute
    length = PROMPT + SAID
    runs = Runs.apart([length] * (tokens // length), net.device)
    token = torch.randint(0, net.config.vocab, (tokens // length * length,), device=net.device)
    heat = torch.ones(len(token), device=net.device)

    def work() -> None:
        logp, _ = token_scores(net(token, runs), net.head_weight, token, heat)
        logp.sum().backward()  # type: ignore[no-untyped-call]
        net.zero_grad(set_to_none=True)

    torch.cuda.reset_peak_memory_stats()
    seconds = timed(work)
    operations = 6 * (shape.trunk + shape.head) * len(token) + 3 * shape.attended * len(token) * length / 2
    rate = operations / median(seconds)
    return {
        "tokens": len(token), "recompute": recompute, "ms": median(seconds) * 1e3, "ms_min": min(seconds) * 1e3,
        "ms_max": max(seconds) * 1e3, "tflops": rate / 1e12, "of_matmul": rate / machine.matmul,
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
    }  # fmt: skip


def timed(work: Callable[[], object]) -> list[float]:
    times = []
    for _ in range(TRIES + 2):
        torch.cuda.synchronize()
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return times[2:]


# --- agreement --------------------------------------------------------------------------------------------------------


def agreement(model: Any) -> dict[str, Any]:
    """The log-prob that the sampler noted down less the one that is read, of every token of 256 rollouts."""
    play = Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(max_tokens=2 * SAID), 0, 1)
    batch = pack(play([Ask(Task(str(i), prompt(i)), n=8) for i in range(32)]))
    with torch.no_grad():
        read = model.read(batch, ["logp"])["logp"].cpu().double()
    gap = batch.logp.double() - read
    at = torch.tensor([0.01, 0.1, 0.5, 0.9, 0.99], dtype=torch.float64)
    ratio = torch.exp(-gap)
    return {
        "tokens": len(gap),
        "mean": float(gap.mean()), "std": float(gap.std()), "largest": float(gap.abs().max()),
        "quantiles": dict(zip(map(str, at.tolist()), torch.quantile(gap, at).tolist(), strict=True)),
        "ratio_beyond_1.2": float(((ratio > 1.2) | (ratio < 1 / 1.2)).double().mean()),
        "truncated_at_3": float((ratio > 3.0).double().mean()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", help="a JSON file for everything that was measured")
    asked = parser.parse_args()
    found: dict[str, Any] = {}

    def note(name: str, value: Any) -> None:
        found.setdefault(name, []).append(value)
        print(name, json.dumps(value), flush=True)
        if asked.out:
            Path(asked.out).write_text(json.dumps(found, indent=1) + "\n")

    machine = measure("cuda", torch.bfloat16)
    note("hardware", {"device": machine.device, "copy": machine.copy, "matmul": machine.matmul})
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "bench.random_model", folder], check=True, capture_output=True)
        shape = Shape.of(Path(folder))
        model = load(folder)
        for name in ("gpu-short", "gpu-long"):
            note("decode", decode(model, shape, machine, CONFIGS[name]))
        note("decode", decode(model, shape, machine, replace(CONFIGS["gpu-short"], prompts=128)))
        note("agreement", agreement(model))
        for tokens in MICRO:
            for recompute in (False, True):
                note("learn", learn(model.decoder, shape, machine, tokens, recompute))


if __name__ == "__main__":
    main()
