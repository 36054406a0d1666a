"""Train the built-in model from nothing, on text that our own task families and worlds write. One GPU, three stages.

    python scripts/train_sprig.py --out sprig                   # the first stage: every kind of conversation
    python scripts/train_sprig.py --out sprig --stage own       # the second: the same, and its own attempts, judged and mended
    python scripts/train_sprig.py --out sprig --stage judge     # the third: mostly verdicts about attempts as they are by now
    python scripts/train_sprig.py --out toy --toy               # on a CPU, in seconds: every part of it, at a size that learns little

A stage that was stopped goes on where it last saved, when it is started again; one that is over is gone on from with weights alone
where the rest is gone. `sprig_text.py` says what is written, `sprig_tokens.py`
how it is read, `own_attempts.py` what is said about attempts. Only what the model should say is learned.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # each writer has one core

import torch
import torch.nn.functional as F
from own_attempts import VERDICTS, shards_about_attempts
from safetensors.torch import load_file, save_file
from sprig_text import conversations
from sprig_tokens import Encoder, Shard, TokenBatch, mixed, read_again, written_shards
from tokenizers import Tokenizer
from torch import Tensor

from guerdon import models
from guerdon.core.optim import with_masters
from guerdon.models.config import DecoderConfig
from guerdon.models.decoder import Decoder
from guerdon.models.huggingface import write
from guerdon.models.tokenizer import train_tokenizer
from guerdon.tasks.judging.attempt_talks import TALKS

VERSION = "sprig-2"
CONTEXT = 1024
STAGES = ("text", "own", "judge")
PEAKS = {"text": 1.0, "own": 0.4, "judge": 0.2}  # of the learning rate
FLOORS = {"text": 0.1, "own": 0.02, "judge": 0.02}  # of the peak
TALKED = {"own": (0.4, TALKS), "judge": (0.6, VERDICTS)}  # how much is about its own attempts, and in which roles


def tokenizer_of(seed: int, texts: int, vocab: int) -> Tokenizer:
    """The tokenizer, from the first conversations of the corpus. Those about strings are left out: a string to be turned and
    rotated must not become a word."""
    first = itertools.islice(conversations(seed, lambda turns: sum(len(t.shown) + len(t.said) for t in turns)), texts)
    return train_tokenizer(
        (text for turns in first for turn in turns for text in turn if "strings" not in turns[0].shown), vocab
    )


def loss_of(net: Decoder, batch: TokenBatch) -> Tensor:
    """Cross-entropy of what should be said, which alone is scored. What follows a conversation's last token is another's, and
    never said."""
    said = batch.says[1:].nonzero()[:, 0]
    hidden = net(batch.tokens, batch.runs)
    return F.cross_entropy(net.logits(hidden[said]).float(), batch.tokens[said + 1])


def decaying_adam(weights: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """AdamW, for the embedding, which decays, and the norms, which do not."""
    matrices, vectors = [w for w in weights if w.dim() > 1], [w for w in weights if w.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), fused=True)


def turning(weights: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """Muon, for the matrices inside (arXiv:2502.16982, whose scale lets it share AdamW's learning rate): after as many steps its
    loss was a quarter lower than AdamW's."""
    return torch.optim.Muon(weights, lr=0.0, weight_decay=0.1, momentum=0.95, adjust_lr_fn="match_rms_adamw")


class Training:
    """A model under training, with what it takes to go on: weights, their averages, and how far it has come."""

    def __init__(self, net: Decoder, tokenizer: Tokenizer, out: Path) -> None:
        self.net, self.tokenizer, self.out = net, tokenizer, out
        inner = [w for layer in net.layers for w in layer.parameters() if w.dim() > 1]
        rest = [net.embed, net.norm, *(w for layer in net.layers for w in layer.parameters() if w.dim() <= 1)]
        self.optimisers = [with_masters(turning, inner), with_masters(decaying_adam, rest)]
        self.stage, self.step, self.curve = "", 0, list[dict[str, Any]]()
        self.seconds, self.tokens = dict[str, float](), dict[str, int]()  # by stage, as are the settings
        self.settings = dict[str, dict[str, Any]]()

    @property
    def masters(self) -> list[Tensor]:
        return [p for optimiser in self.optimisers for group in optimiser.param_groups for p in group["params"]]

    def _state(self, master: Tensor) -> dict[str, Tensor]:
        for optimiser in self.optimisers:
            if any(p is master for group in optimiser.param_groups for p in group["params"]):
                return optimiser.state[master]
        raise AssertionError("a weight that nobody trains")

    def save(self) -> None:
        """The model as it can be loaded, and beside it what training goes on from."""
        self.out.mkdir(parents=True, exist_ok=True)
        write(self.out, self.net, self.tokenizer)
        state = {f"net.{name}": x.detach().cpu() for name, x in self.net.state_dict().items()}
        state |= {f"{i}.weight": p.detach().cpu().clone() for i, p in enumerate(self.masters)}
        for i, p in enumerate(self.masters):
            state |= {f"{i}.{key}": x.detach().cpu() for key, x in self._state(p).items()}
        save_file(state, self.out / "state.safetensors")
        told = {"stage": self.stage, "step": self.step, "curve": self.curve, "seconds": self.seconds}
        told |= {"tokens": self.tokens, "settings": self.settings}
        (self.out / "progress.json").write_text(json.dumps(told))

    def load(self) -> None:
        state = load_file(self.out / "state.safetensors")
        self.net.load_state_dict({k.removeprefix("net."): x for k, x in state.items() if k.startswith("net.")})
        with torch.no_grad():
            for i, p in enumerate(self.masters):
                p.copy_(state[f"{i}.weight"])
                kept = {key.partition(".")[2]: x for key, x in state.items() if key.startswith(f"{i}.")}
                self._state(p).update({key: x.to(p.device) for key, x in kept.items() if key != "weight"})
        told = json.loads((self.out / "progress.json").read_text())
        self.stage, self.step = told["stage"], told["step"]
        self.remember(told)

    def remember(self, told: dict[str, Any]) -> None:
        """What was done before."""
        self.curve, self.seconds = told["curve"], told["seconds"]
        self.tokens, self.settings = told["tokens"], told["settings"]

    def run(self, batches: Iterator[list[Shard]], args: argparse.Namespace, peak: float, floor: float) -> None:
        """Go on to the end of a stage: AdamW with warm-up and a cosine."""
        began, saved, spent = time.perf_counter(), time.perf_counter(), self.seconds.get(self.stage, 0.0)
        count, since = 0, began
        for shards in itertools.islice(batches, args.steps - self.step):
            batch = TokenBatch.of(shards, self.net.device)
            at = self.step / args.steps
            lr = (
                peak
                * min(1.0, (self.step + 1) / args.warmup)
                * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * at)))
            )
            for group in (group for optimiser in self.optimisers for group in optimiser.param_groups):
                group["lr"] = lr
            loss = loss_of(self.net, batch)
            for optimiser in self.optimisers:
                optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.masters, 1.0)
            for optimiser in self.optimisers:
                optimiser.step()
            self.step += 1
            count += batch.tokens.numel()
            self.tokens[self.stage] = self.tokens.get(self.stage, 0) + batch.tokens.numel()
            now = time.perf_counter()
            if self.step % max(1, args.steps // 50) == 0 or self.step == args.steps:
                self.curve.append({"stage": self.stage, "step": self.step, "loss": round(loss.item(), 4)})
                now = time.perf_counter()
                speed = count / (now - since) / 1e6
                print(
                    f"{self.stage} {self.step}/{args.steps}  loss {loss.item():.4f}  {speed:.2f} M tokens/s  {now - began:.0f} s",
                    flush=True,
                )
                count, since = 0, now
            self.seconds[self.stage] = spent + now - began
            if now - saved > args.save:
                self.save()
                saved = time.perf_counter()
        self.save()


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder for the model")
    parser.add_argument("--stage", choices=STAGES, default="text")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="steps of the stage")
    parser.add_argument("--shards", type=int, default=6, help="shards of 32,768 tokens in a batch")
    parser.add_argument("--uses", type=int, default=3, help="how often a shard is read")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--save", type=float, default=120.0, help="seconds between two savings")
    parser.add_argument(
        "--problems", type=int, default=60000, help="problems it tries before a later stage, four times each"
    )
    parser.add_argument("--writers", type=int, default=15)
    parser.add_argument("--vocab", type=int, default=1024)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--kv-heads", type=int, default=4)
    parser.add_argument("--ff", type=int, default=704)
    parser.add_argument("--toy", action="store_true", help="a size that a CPU goes through in seconds")
    args = parser.parse_args(words)
    if args.toy:
        args.shards, args.writers, args.warmup, args.problems = 1, 1, 5, 40
        args.hidden, args.layers, args.heads, args.kv_heads, args.ff, args.device = 48, 2, 2, 1, 96, "cpu"
    if args.steps is None:
        args.steps = 8 if args.toy else {"text": 9000, "own": 4000, "judge": 1000}[args.stage]
    return args


def begun(args: argparse.Namespace) -> Training:
    """A model at the beginning of the stage, or in the middle of it."""
    out = Path(args.out)
    dtype = torch.bfloat16 if args.device.startswith("cuda") else torch.float32  # masters are in float32
    stopped, over = (out / "progress.json").is_file(), (out / "training.json").is_file()
    if args.stage != "text" and not (stopped or over):
        raise SystemExit(f"{out} holds no model of the stage before: run it without --stage {args.stage} first")
    if stopped or not over:
        training = Training(*made(args, out, stopped, dtype), out)
        if stopped:
            training.load()
    else:
        model = models.load(str(out))
        training = Training(model.net.to(args.device, dtype), model.tokenizer, out)
        training.remember(json.loads((out / "training.json").read_text()))
        training.stage = training.curve[-1]["stage"]
    if training.stage:
        print(f"going on from {training.stage}, step {training.step}", flush=True)
    if training.stage != args.stage:
        training.stage, training.step = args.stage, 0
    return training


def made(args: argparse.Namespace, out: Path, stopped: bool, dtype: torch.dtype) -> tuple[Decoder, Tokenizer]:
    """A new model; the tokenizer is new too, unless there is one of a training that was stopped."""
    if stopped:
        tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    else:
        tokenizer = tokenizer_of(args.seed, 300 if args.toy else 30000, args.vocab)
    config = DecoderConfig(
        vocab=tokenizer.get_vocab_size(), hidden=args.hidden, layers=args.layers, heads=args.heads,
        kv_heads=args.kv_heads, ff=args.ff, max_positions=CONTEXT,
    )  # fmt: skip
    return Decoder(config).reset(args.seed).to(args.device, dtype), tokenizer


def main(words: list[str] | None = None) -> None:
    args = arguments(words)
    training = begun(args)
    net, encoder = training.net, Encoder(training.tokenizer, CONTEXT)
    training.settings[args.stage] = {k: v for k, v in vars(args).items() if k not in ("out", "stage")}
    size = sum(p.numel() for p in net.parameters())
    print(f"{VERSION}: {size / 1e6:.2f} M parameters, vocabulary {net.config.vocab}", flush=True)
    seed = args.seed + 100 * STAGES.index(args.stage) + training.step  # who goes on reads other text
    shards = written_shards(seed, args.writers, encoder)
    batches = read_again(shards, args.shards, args.uses, random.Random(args.seed))
    if args.stage in TALKED:
        began = time.perf_counter()
        training.save()
        share, roles = TALKED[args.stage]
        own = shards_about_attempts(training.out, args, encoder, roles, args.seed + STAGES.index(args.stage) - 1)
        seconds = training.seconds[f"{args.stage} attempts"] = time.perf_counter() - began
        print(f"{len(own)} shards about its own attempts, {seconds:.0f} s", flush=True)
        batches = mixed(batches, own, share)
    training.run(batches, args, PEAKS[args.stage] * args.lr, FLOORS[args.stage])
    record: dict[str, Any] = {
        "version": VERSION,
        "parameters": size,
        "tokens": training.tokens,
        "seconds": {name: round(s, 1) for name, s in training.seconds.items()},
        "settings": training.settings,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if args.device.startswith("cuda") else "cpu",
        "curve": training.curve,
    }
    (training.out / "training.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
