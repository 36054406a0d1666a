"""Train `sprig-2-messages`: an adapter of sprig-2 that knows notes, tutoring, translation, `cloze:` and `shuffled:`. One GPU.

    python scripts/train_messages.py --out messages             # some minutes on a GPU
    python scripts/train_messages.py --out toy --toy            # on a CPU: every part of it, at a size that learns little

`message_text.py` says what is written; only what the model should say is learned. The folder is a model, with the adapter merged,
and has the adapter alone in `adapter/`: `--model OUT`, or `gd.models.load("sprig-2", adapter="OUT/adapter")`. It is saved fifty
times on the way: stopped early, it is what it is by then. `training.json`, at the end, has the accuracy on held-out problems
before and after. Leaves out: a model from nothing (`train_sprig.py`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import time
from pathlib import Path
from typing import Any

import torch
from message_text import message_conversations
from sprig_tokens import Encoder, TokenBatch, read_again, written_shards
from train_sprig import CONTEXT, loss_of

import guerdon as gd
from guerdon import models
from guerdon.core.optim import with_masters
from guerdon.core.task import Sampling

VERSION, BASE = "sprig-2-messages", "sprig-2"
FLOOR = 0.05  # of the peak, at the end
EXAMS = (
    *(f"notes:{level}" for level in (1, 3, 5)),
    *(f"tutoring:{level}" for level in (1, 3, 5)),
    *(f"translation:{level}" for level in (1, 3, 5)),
    *("cloze:chain:3", "cloze:trace:3", "cloze:lists:3", "shuffled:chain:3", "shuffled:trace:3", "shuffled:lists:3"),
    *("chain:4", "trace:4", "countdown:3"),  # what it knew before
)


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder for the model")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rank", type=int, default=16, help="of the adapter")
    parser.add_argument("--steps", type=int, help="updates")
    parser.add_argument("--shards", type=int, default=4, help="shards in a batch")
    parser.add_argument("--shard", type=int, default=1 << 15, help="tokens of a shard")
    parser.add_argument("--uses", type=int, default=3, help="how often a shard is read")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--warmup", type=int, default=100)
    parser.add_argument("--writers", type=int, default=15)
    parser.add_argument("--exam", type=int, default=256, help="held-out problems of each kind, before and after")
    parser.add_argument("--toy", action="store_true", help="a size that a CPU goes through")
    args = parser.parse_args(words)
    if args.toy:
        args.shards, args.shard, args.writers, args.warmup = 1, 1024, 1, 1
        args.rank, args.exam, args.device = 4, 2, "cpu"
    if args.steps is None:
        args.steps = 2 if args.toy else 1200
    return args


def accuracies(model: Any, problems: int, names: tuple[str, ...]) -> dict[str, float]:
    """On held-out problems of each kind, one try each."""
    how: dict[str, Any] = {"tries": 1, "sampling": Sampling(max_tokens=200), "progress": False}
    return {name: float(gd.evaluate(model, task=name, tasks=problems, **how)["pass@1"]) for name in names}


def learned(model: Any, batches: Any, args: argparse.Namespace) -> list[dict[str, float]]:
    """Train the adapter: AdamW with warm-up and a cosine; it is saved on the way. The losses on the way."""
    net = model.net
    weights = [weight for weight in net.parameters() if weight.requires_grad]
    optimiser = with_masters(lambda masters: torch.optim.AdamW(masters, lr=0.0, weight_decay=0.0), weights)
    masters = [p for group in optimiser.param_groups for p in group["params"]]
    curve, began = [], time.perf_counter()
    for step, shards in enumerate(itertools.islice(batches, args.steps)):
        fall = FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * step / args.steps))
        for group in optimiser.param_groups:
            group["lr"] = args.lr * min(1.0, (step + 1) / args.warmup) * fall
        loss = loss_of(net, TokenBatch.of(shards, net.device))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(masters, 1.0)
        optimiser.step()
        if (step + 1) % max(1, args.steps // 50) == 0 or step + 1 == args.steps:
            curve.append({"step": step + 1, "loss": round(loss.item(), 4)})
            model.save_pretrained(args.out)
            print(f"{step + 1}/{args.steps}  loss {loss.item():.4f}  {time.perf_counter() - began:.0f} s", flush=True)
    return curve


def main(words: list[str] | None = None) -> None:
    args = arguments(words)
    names = EXAMS if not args.toy else EXAMS[::5]
    model: Any = models.load(BASE, lora=args.rank)
    model.net = model.rebuilt(args.seed).to(args.device)
    size = sum(weight.numel() for weight in model.net.parameters() if weight.requires_grad)
    print(f"{VERSION}: an adapter of {size / 1e6:.2f} M parameters over {BASE}", flush=True)
    before = accuracies(model, args.exam, names) if args.exam else {}
    encoder = Encoder(model.tokenizer, CONTEXT, args.shard)
    shards = written_shards(args.seed, args.writers, encoder, message_conversations)
    began = time.perf_counter()
    curve = learned(model, read_again(shards, args.shards, args.uses, random.Random(args.seed)), args)
    seconds = time.perf_counter() - began
    model.save_pretrained(args.out)
    after = accuracies(models.load(args.out), args.exam, names) if args.exam else {}
    record: dict[str, Any] = {
        "version": VERSION,
        "base": BASE,
        "parameters": size,
        "seconds": round(seconds, 1),
        "settings": {name: value for name, value in vars(args).items() if name != "out"},
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if args.device.startswith("cuda") else "cpu",
        "curve": curve,
        "accuracy": {name: [before[name], after[name]] for name in before},
    }
    (Path(args.out) / "training.json").write_text(json.dumps(record, indent=1) + "\n")
    for name, (then, now) in record["accuracy"].items():
        print(f"{name:20} {100 * then:5.1f} % -> {100 * now:5.1f} %")


if __name__ == "__main__":
    main()
