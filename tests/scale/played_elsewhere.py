"""Runs that workers can play: each a function of a folder, with what is passed to `gd.train`."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading

from small import small_lm

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.models.tables import tabular
from guerdon.recipes.house.grpo import grpo
from guerdon.rewards.stage.score_stages import verified

SHORT = {"prompts": 3, "tries": 2}


@gd.part
class letters:
    """Ten prompts, one digit each."""

    name = "letters"

    def size(self, split):
        return 10

    def get(self, split, index):
        return gd.Task(str(index), f"digit {index}", str(index), family="letters")

    def check(self, task, completion):
        return float(completion == task.answer)


@gd.part
class slow_turn:
    """One turn, after a wait that is another for each try."""

    pause: float = 0.02
    roles = ("policy",)

    async def play(self, ask, seats):
        await asyncio.sleep(self.pause * (seats.seed % 5) / 4)
        await seats["policy"].act(ask.shown)
        return seats.episode()


@gd.part
class dicey_turn:
    """One turn, which draws from Python's own generator."""

    roles = ("policy",)

    async def play(self, ask, seats):
        random.random()
        await seats["policy"].act(ask.shown)
        return seats.episode()


@gd.part
class deadly_turn:
    """One turn, which ends the process that plays it."""

    roles = ("policy",)

    async def play(self, ask, seats):
        os.kill(os.getpid(), signal.SIGKILL)


@gd.part
class pid_turn:
    """One turn, whose view is another in every process."""

    roles = ("policy",)

    async def play(self, ask, seats):
        await seats["policy"].act(f"{ask.shown} {os.getpid()}")
        return seats.episode()


class Held:
    """What no other process can have."""

    def __init__(self):
        self.lock = threading.Lock()

    def __deepcopy__(self, memo):
        return self


def on_a_table(env=None, steps=6, **changes):
    """GRPO's parts on a table, with a second role that looks at each answer and learns too."""
    again = gd.select.follow_up(gd.envs.single_turn("critic"), "{prompt} {attempt}", [verified(letters())])
    learn = [gd.Learn(role, gd.losses.clipped(), opt=adam(lr=0.3)) for role in ("policy", "critic")]
    stages = [verified(letters()), again, gd.credit.centre("correct", by="ask"), *learn]
    models = {"policy": tabular(), "critic": tabular(spread=1.0)}
    how = gd.Sampling(max_tokens=3)
    made = gd.Recipe(
        models, gd.curricula.uniform(letters(), tries=3), env or gd.envs.single_turn(), stages,
        seats={role: role for role in models}, sampling=how, prompts=5, steps=steps,
    )  # fmt: skip
    return made.but(**changes)


def grpo_on_a_table(folder):
    return {"recipe": "grpo", "task": "successor", "model": "tabular", "settings": {"lr": 0.3, "prompts": 4}}


def followed_up(folder):
    return {"recipe": on_a_table()}


def played_ahead(folder):
    return {"recipe": on_a_table(ahead=True)}


def grpo_with_kl(folder):
    return {"recipe": "grpo", "task": "chain:2", "model": _model(folder), "settings": {**SHORT, "kl": 0.1, **CUT}}


def with_an_adapter(folder):
    return {"recipe": "grpo", "task": "chain:2", "model": _model(folder), "settings": {**SHORT, **CUT, "lm.lora": 2}}


def ppo(folder):
    return {"recipe": "ppo", "task": "chain:2", "model": _model(folder), "settings": {**SHORT, **CUT}}


def tool_world(folder):
    """Started from Python: the environment, its tool and the model travel."""
    return {"recipe": _with_tools(gd.models.load(_model(folder)), 6)}


def _with_tools(model, tokens):
    made = grpo(gd.tasks.load("chain:2"), model, prompts=3, tries=2, max_tokens=tokens, steps=2)
    return made.but(env=gd.envs.tool_turns([gd.envs.calculator], most=3))


def grpo_with_sprig(folder):
    return {"recipe": "grpo", "task": "chain:4", "model": "sprig", "settings": SHORT, "steps": 2}


def sprig_with_tools(folder):
    return {"recipe": _with_tools(gd.models.load("sprig"), 64)}


QUICK = [grpo_on_a_table, followed_up, played_ahead, grpo_with_kl, with_an_adapter, ppo, tool_world]
SLOW = [grpo_with_sprig, sprig_with_tools]


CUT = {"sampling.max_tokens": 6}


def _model(folder):
    if not (folder / "lm").exists():
        small_lm(folder / "lm")
    return str(folder / "lm")
