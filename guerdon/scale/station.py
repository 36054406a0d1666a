"""The other end: a worker builds the run and plays the jobs that it is sent.

A run that was started by name is built from its run.json, as a resumed one is; one of Python objects arrives as these.
Leaves out: how jobs and answers travel (`local.py`, `on_ray.py`).
"""

from __future__ import annotations

import contextlib
import os
import pickle
import platform
import socket
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import torch

from guerdon.core.budget import Budget
from guerdon.core.errors import UserError
from guerdon.core.part import get_state, set_state
from guerdon.core.recipe import Recipe
from guerdon.core.seeds import seed_globals
from guerdon.core.task import Sampling
from guerdon.engine.player import Player
from guerdon.models import template_clock as clock
from guerdon.scale.job import Answer, Job, dumps, global_dice, pack_played, take_weights
from guerdon.training.api import set_length
from guerdon.training.build import RunRequest, build, versions
from guerdon.training.loop import start


@dataclass(frozen=True)
class Setup:
    """All that a worker is to know of a run."""

    config: Mapping[str, Any]  # its run.json
    objects: bytes | None  # the environment and the models of a run that run.json cannot hold
    seats: Mapping[str, str]
    seed: int
    noise: int
    steps: int
    threads: int
    folder: str  # the working folder
    path: tuple[str, ...]  # of Python's modules
    code: str = ""  # the hash of the package, where it may be another


@dataclass(frozen=True)
class Hello:
    """What a worker says of itself, once it has built the run; or why it could not."""

    pid: int
    host: str
    versions: Mapping[str, Any]
    processor: str = ""
    code: str = ""
    fault: str = ""


def processor() -> str:
    """What kind this machine has: another one may add in another order."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    kinds = ("model name", "CPU part", "CPU implementer")
    named = {line.partition(":")[0].strip(): line.partition(":")[2].strip() for line in lines}
    return " ".join(named[kind] for kind in kinds if kind in named)


def setup_of(config: Mapping[str, Any], play: Player, threads: int, code: str) -> Setup:
    """What workers of a started run are to know."""
    objects = None
    if not config["plain"]:
        try:
            objects = cloudpickle.dumps((play.env, dict(play.models)))
        except Exception as error:
            why = (str(error).splitlines() or [""])[0]
            raise UserError(
                f"--workers: a part of this run cannot be sent to another process ({type(error).__name__}: {why}); start it by"
                " name, or leave --workers out"
            ) from error
    where = (str(Path.cwd()), tuple(sys.path))
    return Setup(config, objects, dict(play.seats), play.seed, play.noise, play.steps, threads, *where, code)


class Station:
    """A run as a worker has it. `weights` fetches an object of weights by its name."""

    def __init__(self, setup: Setup, weights: Callable[[str], bytes]) -> None:
        self.weights, self.loaded = weights, ""
        torch.set_num_threads(setup.threads)
        with contextlib.suppress(OSError):  # on another machine there may be no such folder
            os.chdir(setup.folder)
        sys.path[:] = [*setup.path, *(each for each in sys.path if each not in setup.path)]
        warnings.simplefilter("ignore")  # the run has shown them
        self.clock = clock.as_of(setup.config)
        self.clock.__enter__()
        self.play = self._told(setup) if setup.objects is not None else self._built(setup)

    def _told(self, setup: Setup) -> Player:
        assert setup.objects is not None
        env, models = pickle.loads(setup.objects)
        return Player(models, setup.seats, env, Sampling(), setup.seed, setup.steps, (), setup.noise)

    def _built(self, setup: Setup) -> Player:
        config = setup.config
        built = build(RunRequest.of_config(config))
        assert isinstance(built.recipe, Recipe)
        set_length(built, config["steps"], Budget(**config["budget"]) if config.get("budget") else None)
        if built.recipe.hash != config["hash"]:
            raise UserError("it builds another recipe from the same run.json: its files, data or reward are others")
        _, play = start(built.recipe, setup.seed, setup.steps, setup.noise)
        play.ended = ()
        return play

    def do(self, job: Job) -> Answer:
        """Play a job. What goes wrong is an answer too."""
        began, used = time.perf_counter(), time.process_time()
        try:
            played, counts, drew = self._play(job)
        except Exception as error:  # noqa: BLE001 - the run raises it, in the place where it would have met it
            kind = type(error).__name__ if isinstance(error, UserError) else ""
            message = str(error) if kind else traceback.format_exc()
            return Answer(job.number, fault=(kind, message))
        return Answer(job.number, played, counts, time.perf_counter() - began, time.process_time() - used, None, drew)

    def _play(self, job: Job) -> tuple[bytes, Mapping[str, int], bool]:
        play = self.play
        if job.weights != self.loaded:
            self.loaded = ""
            take_weights(play.models, self.weights(job.weights))
            self.loaded = job.weights
        if job.state:
            set_state(play.env, job.state)
        asks = pickle.loads(job.asks)
        env = play.env if job.env is None else pickle.loads(job.env)
        play.steps, play.sampling = job.steps, job.sampling
        play.begin(job.step)
        play.asked = job.first
        seed_globals(play.noise, job.step)
        dice, state = global_dice(), dumps(get_state(env))
        played = play.played(asks, env)
        if state != dumps(get_state(env)):
            raise UserError(
                "the environment changes its state while it plays, which no worker may: leave --workers out"
            )
        counts = {name: number for name, number in play.counts().items() if name != "asked"}
        return pack_played(played, asks), counts, dice != global_dice()


def hello(setup: Setup, weights: Callable[[str], bytes]) -> tuple[Station | None, Hello]:
    """Build the run, or say why not."""
    about = (os.getpid(), socket.gethostname(), versions(), processor())
    code = ""
    try:
        if setup.code:
            from guerdon.evidence.identity import tree_hash

            code = tree_hash()
        return Station(setup, weights), Hello(*about, code)
    except UserError as error:
        return None, Hello(*about, code, str(error))
    except Exception:  # noqa: BLE001 - a user's file may raise anything while it is loaded
        return None, Hello(*about, code, traceback.format_exc().strip().splitlines()[-1])
