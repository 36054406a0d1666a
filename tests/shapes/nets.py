"""Small nets that see numbers and choose or move: what control, denoising and pictures are tried on. No language anywhere."""

from __future__ import annotations

import math
import random

import numpy as np
import torch
from torch import nn

import guerdon as gd
from guerdon.core.arrays import arrays_in
from guerdon.core.episode import End
from guerdon.core.model import Model, Reply
from guerdon.models.sampling import choose


class Seeing(Model):
    """A model whose context is what it was shown, as numbers; each step is read without those before it."""

    apart = True
    scale = 1.0

    def encode(self, view, path=()):
        return np.concatenate([np.asarray(a, np.float32).ravel() / self.scale for a in arrays_in(view)])

    def teacher_force(self, view, text, path=()):
        action = np.array([int(text)])
        return Reply(self.encode(view, path), action, np.full(1, np.nan, np.float32), text)

    def mlp(self, seed, inputs, outputs):
        torch.manual_seed(seed % 2**31)
        net = nn.Sequential(nn.Linear(inputs, self.width), nn.Tanh(), nn.Linear(self.width, outputs))
        with torch.no_grad():
            net[2].weight.mul_(0.1)
        return net


@gd.part
class chooser(Seeing):
    """One of `choices`, and a value: what it was shown goes through a hidden layer."""

    size: int
    choices: int
    width: int = 32
    scale: float = 1.0

    reads = {"logp": "step", "entropy": "step", "value": "step", "final": "track"}

    def build(self, seed):
        return self.mlp(seed, self.size, self.choices + 1)

    def act(self, requests):
        seen = [self.encode(r.view) for r in requests]
        logits = self.weights(torch.from_numpy(np.stack(seen)))[:, :-1]
        logp = torch.log_softmax(logits, -1)
        how = [random.Random(r.seed).random() for r in requests]
        drawn = logp.argmax(-1) if requests[0].sampling.temperature == 0 else choose(logp, how)
        said = logp.gather(1, drawn[:, None])
        return [
            Reply(s, np.array([a]), np.array([lp], np.float32), str(a))
            for s, a, (lp,) in zip(seen, drawn.tolist(), said.tolist(), strict=True)
        ]

    def read(self, batch, want):
        shown = torch.unique_consecutive(batch.context_seg)  # of a share of steps, only what those were shown is there
        out = torch.zeros(batch.G, self.choices + 1).index_copy(
            0, shown, self.weights(batch.context.view(-1, self.size))
        )
        logp = torch.log_softmax(out[:, :-1], -1)[batch.seg]
        found = {
            "logp": logp.gather(1, batch.action[:, None])[:, 0],
            "entropy": -(logp.exp() * logp).sum(-1),
            "value": out[batch.seg, -1],
            "final": out[batch.leaf, -1],
        }
        return {name: found[name] for name in want}


@gd.part
class denoiser(Seeing):
    """From noise to a point in `turns` steps: each moves the point by a net's word and a little noise, and is an action."""

    size: int = 2
    turns: int = 4
    noise: float = 0.3
    width: int = 32

    apart = False  # where a step begins is where the one before it ended
    reads = {"logp": "step", "entropy": "step"}

    def build(self, seed):
        return self.mlp(seed, self.size + 1, self.size)

    def mean(self, x, t):
        return x + self.weights(torch.cat([x, t[:, None] / self.turns], 1))

    def logp(self, x, mean):
        return (-((x - mean) ** 2) / (2 * self.noise**2) - math.log(self.noise * math.sqrt(2 * math.pi))).sum(-1)

    def act(self, requests):
        first = [self.encode(r.view) for r in requests]
        dice = [torch.Generator().manual_seed(r.seed) for r in requests]
        x, path, said = torch.from_numpy(np.stack(first)), [], []
        for t in range(self.turns):
            mean = self.mean(x, torch.full((len(x),), float(t)))
            x = mean + self.noise * torch.stack([torch.randn(self.size, generator=g) for g in dice])
            path.append(x)
            said.append(self.logp(x, mean))
        actions, logp = torch.stack(path, 1).numpy(), torch.stack(said, 1).numpy()
        return [Reply(c, a, lp, "", End.DONE, a[-1]) for c, a, lp in zip(first, actions, logp, strict=True)]

    def read(self, batch, want):
        time = torch.arange(batch.S) - (torch.cumsum(batch.length, 0) - batch.length)[batch.seg]
        before = torch.cat([batch.context.view(-1, self.size)[:1], batch.action[:-1]])
        x = torch.where((time == 0)[:, None], batch.context.view(-1, self.size)[batch.seg], before)
        logp = self.logp(batch.action, self.mean(x, time.float()))
        return {name: {"logp": logp, "entropy": torch.zeros_like(logp)}[name] for name in want}
