"""DDPO (arXiv:2305.13301) in two dimensions: every denoising step is an action with a log-prob, and the picture is paid for."""

from __future__ import annotations

import numpy as np
from nets import denoiser

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.core.seeds import derive
from guerdon.credit.group_relative import centre
from guerdon.envs.simple import single_turn
from guerdon.losses.policy import clipped
from guerdon.rewards.stage.score_stages import score

TARGET = np.array([1.0, -1.0], np.float32)


@gd.part
class noises:
    """Points of noise to begin with, other ones in every step."""

    tries: int = 8

    def draw(self, n, play):
        dice = np.random.default_rng(derive(play.seed, play.step, "noise"))
        views = dice.standard_normal((n, 2)).astype(np.float32)
        return [gd.Ask(gd.Task(f"{play.step}.{i}", ""), self.tries, view=view) for i, view in enumerate(views)]


def near(made):
    """How near the point that was made lies to where it should."""
    return -float(np.abs(made - TARGET).sum())


@gd.recipe("denoising", family="diffusion", paper="arXiv:2305.13301")
def denoising(lr: float = 0.01, mix: str = "track", steps: int = 25):
    """Policy gradients over denoising steps."""
    stages = [score(near), centre(), gd.Learn("policy", clipped(), opt=adam(lr=lr), updates=2, mix=mix)]
    return gd.Recipe({"policy": denoiser()}, noises(), single_turn(), stages, prompts=8, steps=steps)
