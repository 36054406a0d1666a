"""Train the built-in model from nothing on text that our own task families write.

    python scripts/train_sprig.py --out sprig            # on one GPU, a few minutes
    python scripts/train_sprig.py --out toy --toy        # on a CPU, seconds: every part of it, at a size that learns little

Writers in their own processes make conversations without end; each row of a batch is conversations one after the other, and
only what the model should say is learned. Writers are read in turn, so equal seeds and numbers of writers give equal text.
After the share `--alone` of its steps the model tries problems itself, and from then on half of each batch is about those
attempts: judging and mending them (`own_attempts.py`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing as mp
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from own_attempts import Tried, conversations_about, try_problems
from tokenizers import Tokenizer
from torch import Tensor

from guerdon import models
from guerdon.core.optim import with_masters
from guerdon.models.attention import Runs
from guerdon.models.config import DecoderConfig
from guerdon.models.decoder import Decoder
from guerdon.models.huggingface import write
from guerdon.models.tokenizer import ASSISTANT, END, USER, train_tokenizer
from guerdon.tasks.corpus import conversations
from guerdon.tasks.roles import Turns

VERSION = "sprig-1.1"
SHARD = 64  # rows a writer hands over at a time


def tokenizer_of(seed: int, texts: int, vocab: int) -> Tokenizer:
    """The tokenizer, from the first conversations of the corpus. Those about strings are left out: a string to be turned and
    rotated must not become a word."""
    first = itertools.islice(conversations(seed), texts)
    return train_tokenizer(
        (text for turns in first for turn in turns for text in turn if "strings" not in turns[0][0]), vocab
    )


def encode(turns: list[Turns], tokenizer: Tokenizer) -> Iterator[tuple[list[int], list[bool]]]:
    """Each conversation as tokens, and which of them the model should say."""
    user, assistant, end = (tokenizer.token_to_id(name) for name in (USER, ASSISTANT, END))
    texts = [text for turn in turns for pair in turn for text in pair]
    ids = iter([e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)])
    for turn in turns:
        tokens: list[int] = []
        says: list[bool] = []
        for _ in turn:
            shown, said = next(ids), next(ids)
            tokens += [user, *shown, assistant, *said, end]
            says += [False] * (len(shown) + 2) + [True] * (len(said) + 1)
        yield tokens, says


def rows(written: Iterator[Turns], length: int, tokenizer: Tokenizer) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of `length` tokens. A conversation stays whole: one that does not fit what is left of a row opens the next."""
    tokens, says = np.zeros(length, np.uint16), np.zeros(length, bool)
    filled = 0
    while some := list(itertools.islice(written, 256)):
        for more, learned in encode(some, tokenizer):
            if len(more) > length:
                continue
            if filled + len(more) > length:
                yield tokens, says
                tokens, says, filled = np.zeros(length, np.uint16), np.zeros(length, bool), 0
            tokens[filled : filled + len(more)], says[filled : filled + len(more)] = more, learned
            filled += len(more)


def write_shards(queue: mp.Queue, seed: int, length: int, tokenizer: str) -> None:
    made = rows(conversations(seed), length, Tokenizer.from_str(tokenizer))
    while True:
        shard = list(itertools.islice(made, SHARD))
        queue.put((np.stack([t for t, _ in shard]), np.stack([s for _, s in shard])))


def batches(args: argparse.Namespace, tokenizer: Tokenizer) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of fresh text, the writers read in turn."""
    context = mp.get_context("spawn")
    queues = [context.Queue(maxsize=4) for _ in range(args.writers)]
    for number, queue in enumerate(queues):
        seed = args.seed * 1000 + number + 1
        call = (queue, seed, args.length, tokenizer.to_str())
        context.Process(target=write_shards, args=call, daemon=True).start()
    turn = itertools.cycle(queues)
    while True:
        shards = [next(turn).get() for _ in range(math.ceil(args.rows / SHARD))]
        tokens = np.concatenate([t for t, _ in shards])[: args.rows]
        says = np.concatenate([s for _, s in shards])[: args.rows]
        yield torch.from_numpy(tokens.astype(np.int64)), torch.from_numpy(says)


def about(part: tuple[list[Tried], int, int, str]) -> list[tuple[np.ndarray, np.ndarray]]:
    tried, seed, length, tokenizer = part
    return list(rows(iter(conversations_about(tried, seed)), length, Tokenizer.from_str(tokenizer)))


def rows_about_itself(net: Decoder, args: argparse.Namespace, tokenizer: Tokenizer) -> tuple[Tensor, Tensor]:
    """Have the model try problems; what there is to say about its attempts, as rows."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), net, tokenizer)
        model = models.load(folder)
    model.weights.to(args.device)
    with torch.no_grad():
        tried = try_problems(model, args.problems, 4, args.seed)
    random.Random(args.seed).shuffle(tried)
    size = math.ceil(len(tried) / args.writers)
    parts = [(tried[i : i + size], args.seed, args.length, tokenizer.to_str()) for i in range(0, len(tried), size)]
    with mp.get_context("spawn").Pool(args.writers) as pool:
        made = [row for found in pool.map(about, parts) for row in found]
    order = torch.randperm(len(made), generator=torch.Generator().manual_seed(args.seed))
    tokens = torch.from_numpy(np.stack([t for t, _ in made]).astype(np.int64))[order]
    return tokens, torch.from_numpy(np.stack([s for _, s in made]))[order]


def loss_of(net: Decoder, tokens: Tensor, says: Tensor) -> Tensor:
    """Cross-entropy of what should be said. The vocabulary is small enough to score every position."""
    target = torch.where(says[:, 1:], tokens[:, 1:], -100)
    hidden = net(tokens[:, :-1].flatten(), Runs.apart([tokens.shape[1] - 1] * len(tokens), tokens.device))
    return F.cross_entropy(net.logits(hidden).float(), target.flatten(), ignore_index=-100)


def decaying_adam(weights: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    """Matrices decay; norms do not."""
    matrices, vectors = [w for w in weights if w.dim() > 1], [w for w in weights if w.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), fused=True)


def train(net: Decoder, args: argparse.Namespace, tokenizer: Tokenizer) -> list[dict[str, float]]:
    """AdamW with warm-up and a cosine. Returns the curve."""
    optimiser = with_masters(decaying_adam, list(net.parameters()))
    curve: list[dict[str, float]] = []
    began = time.perf_counter()
    own: tuple[Tensor, Tensor] | None = None
    for step, (tokens, says) in enumerate(itertools.islice(batches(args, tokenizer), args.steps)):
        if step == int(args.steps * args.alone):
            own = rows_about_itself(net, args, tokenizer)
            print(
                f"step {step}: {len(own[0])} rows about its own attempts, {time.perf_counter() - began:.0f} s",
                flush=True,
            )
        if own is not None:
            half = torch.arange(step * args.rows // 2, (step + 1) * args.rows // 2) % len(own[0])
            tokens, says = (torch.cat([a[: args.rows // 2], b[half]]) for a, b in zip((tokens, says), own, strict=True))
        lr = (
            args.lr
            * min(1.0, (step + 1) / args.warmup)
            * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / args.steps)))
        )
        for group in optimiser.param_groups:
            group["lr"] = lr
        loss = loss_of(net, tokens.to(net.device, non_blocking=True), says.to(net.device, non_blocking=True))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for group in optimiser.param_groups for p in group["params"]], 1.0)
        optimiser.step()
        if step % max(1, args.steps // 40) == 0 or step == args.steps - 1:
            seconds = time.perf_counter() - began
            speed = (step + 1) * tokens.numel() / seconds
            curve.append({"step": step, "loss": round(loss.item(), 4), "seconds": round(seconds, 1)})
            print(f"step {step}/{args.steps}  loss {loss.item():.4f}  {speed / 1e6:.2f} M tokens/s", flush=True)
    return curve


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder for the model")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3600)
    parser.add_argument("--rows", type=int, default=192)
    parser.add_argument("--length", type=int, default=768)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--alone", type=float, default=0.55, help="share of the steps before its own attempts come in")
    parser.add_argument("--problems", type=int, default=30000, help="problems it tries, four times each")
    parser.add_argument("--writers", type=int, default=15)
    parser.add_argument("--vocab", type=int, default=512)
    parser.add_argument("--hidden", type=int, default=192)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--kv-heads", type=int, default=2)
    parser.add_argument("--ff", type=int, default=512)
    parser.add_argument("--toy", action="store_true", help="a size that a CPU goes through in seconds")
    args = parser.parse_args(words)
    if args.toy:
        args.steps, args.rows, args.length, args.writers, args.warmup, args.problems = 30, 8, 256, 1, 5, 40
        args.hidden, args.layers, args.heads, args.kv_heads, args.ff, args.device = 48, 2, 2, 1, 96, "cpu"
    return args


def main(words: list[str] | None = None) -> None:
    args = arguments(words)
    began = time.perf_counter()
    tokenizer = tokenizer_of(args.seed, 300 if args.toy else 20000, args.vocab)
    config = DecoderConfig(
        vocab=tokenizer.get_vocab_size(), hidden=args.hidden, layers=args.layers, heads=args.heads,
        kv_heads=args.kv_heads, ff=args.ff, max_positions=1024,
    )  # fmt: skip
    half = args.device.startswith("cuda")  # bfloat16, with masters in float32
    net = Decoder(config).reset(args.seed).to(args.device, torch.bfloat16 if half else torch.float32)
    size = sum(p.numel() for p in net.parameters())
    print(f"{VERSION}: {size / 1e6:.2f} M parameters, vocabulary {config.vocab}", flush=True)
    curve = train(net, args, tokenizer)
    folder = Path(args.out)
    write(folder, net.to("cpu", torch.bfloat16), tokenizer)
    record = {
        "version": VERSION,
        "parameters": size,
        "tokens": args.steps * args.rows * args.length,
        "seconds": round(time.perf_counter() - began, 1),
        "settings": {k: v for k, v in vars(args).items() if k != "out"},
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if args.device.startswith("cuda") else "cpu",
        "curve": curve,
    }
    (folder / "training.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"wrote {folder} in {record['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
