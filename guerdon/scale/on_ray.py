"""Workers as actors of Ray: on this machine, or on those of a cluster.

Ray places and starts them, and keeps one copy of the weights on each machine. Who is lost is replaced by us, in the same way as
a local process: what was under way is played again. Needs the extra `scale`.
Leaves out: starting a cluster (`ray start`), and who may connect to it, which is Ray's.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import secrets
import socket
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import torch

from guerdon.core.errors import UserError, require_extra
from guerdon.engine.player import Player
from guerdon.evidence.identity import tree_hash
from guerdon.runs.folder import RunFolder
from guerdon.scale import crew
from guerdon.scale.job import Answer, Job, Lost
from guerdon.scale.station import Hello, Setup, hello, setup_of

SECONDS = 5.0  # to reach a cluster, and to leave it
LOOK = 0.5  # seconds between two looks at who is waited for
TO_START = 120.0  # until a worker has loaded its libraries and built the run
AUTH = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")  # by which Ray is told who may use a cluster
TOKEN = "ray_token"  # a file in the run's folder, while a cluster of its own lasts


class RayStation:
    """The actor: a station, and a thread that says that it lives."""

    def __init__(self) -> None:
        self.station: Any = None
        self.weights: Any = None

    def begin(self, setup: Setup) -> Hello:
        self.station, said = hello(setup, lambda name: _ray().get(self.weights))
        return said

    def do(self, job: Job, weights: list[Any]) -> Answer:
        self.weights = weights[0]
        answer: Answer = self.station.do(job)
        return answer

    def lives(self) -> bool:
        return True


class ObjectStore:
    """Weights as objects of Ray."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}
        self.closed = False

    def put(self, name: str, data: bytes) -> None:
        self.kept[name] = _ray().put(data)

    def drop(self, name: str) -> None:
        self.kept.pop(name, None)

    def close(self) -> None:
        self.closed = True
        self.kept.clear()


class RayWorker:
    """One actor, as the run sees it."""

    def __init__(self, setup: Setup, store: ObjectStore, patience: float, on_gpu: bool) -> None:
        self.ray, self.store, self.patience = _ray(), store, patience
        needs = {"num_cpus": 1, "num_gpus": 1 if on_gpu else 0, "max_concurrency": 2, "max_restarts": 0}
        self.actor = self.ray.remote(RayStation).options(**needs).remote()
        try:
            self.hello: Hello = self._answer(self.actor.begin.remote(setup), TO_START)
        except Lost:
            self.close()
            raise
        self.where = self.hello.host

    def do(self, job: Job) -> Answer:
        answer: Answer = self._answer(self.actor.do.remote(job, [self.store.kept[job.weights]]), self.patience)
        return answer

    def _answer(self, promise: Any, patience: float) -> Any:
        """What was promised. It may take as long as it will while the actor answers that it lives."""
        sign, since = None, time.monotonic()  # a sign of life that was asked for, and when that or the last one was
        try:
            while not self.ray.wait([promise], timeout=LOOK)[0]:
                now = time.monotonic()
                if self.store.closed:
                    raise Lost("is not needed any more")
                if sign is None and now - since > patience / 2:
                    sign, since = self.actor.lives.remote(), now
                elif sign is not None and self.ray.wait([sign], timeout=0)[0]:
                    sign, since = None, now
                elif sign is not None and now - since > patience:
                    raise Lost(f"said nothing for {patience:g} s")
            return self.ray.get(promise)
        except (self.ray.exceptions.RayActorError, self.ray.exceptions.RaySystemError) as error:
            raise Lost("ended") from error

    def close(self) -> None:
        with contextlib.suppress(Exception):  # it is gone, or Ray is
            self.ray.kill(self.actor)


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise require_extra("ray", "scale") from error


@contextlib.contextmanager
def hired_on_ray(where: str, folder: RunFolder, play: Player) -> Iterator[crew.Crew]:
    """A crew of as many workers as the cluster has processors; of one for each of its GPUs where the models are on one."""
    ray = _ray()
    with _connected(ray, where, folder):
        on_gpu = any(model.device.type == "cuda" for model in play.models.values())
        kind = "GPU" if on_gpu else "CPU"
        count = int(ray.cluster_resources().get(kind, 0))
        if count == 0:
            raise UserError(f"--workers {where}: its machines have no {kind}s to play on")
        code, store = tree_hash(), ObjectStore()
        setup = setup_of(folder.read_config(), play, 1 if not on_gpu else torch.get_num_threads(), code)
        made = crew.Crew(count, play, lambda: RayWorker(setup, store, crew.PATIENCE, on_gpu), store, code)
        try:
            yield made
        finally:
            made.close()
            for thread in made.threads:  # what asks Ray while it shuts down is ended by it
                thread.join(SECONDS)


@contextlib.contextmanager
def _connected(ray: Any, where: str, folder: RunFolder) -> Iterator[None]:
    """To a cluster; to one of this machine alone, which ends with the run, where none is named or set in RAY_ADDRESS."""
    if ray.is_initialized():
        yield
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    own = contextlib.ExitStack()
    if where == "ray" and "RAY_ADDRESS" not in os.environ:
        own.enter_context(_own_token(folder))
        ray.init(address="local", include_dashboard=False, **quiet)
    elif where == "ray":
        ray.init(address=os.environ["RAY_ADDRESS"], **quiet)
    else:
        _reach(where)
        try:
            ray.init(address=where, **quiet)
        except Exception as error:  # Ray's errors have no common kind
            why = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise UserError(f"--workers {where}: Ray does not take the connection: {why}") from error
    try:
        yield
    finally:
        ray.shutdown()
        own.close()


@contextlib.contextmanager
def _own_token(folder: RunFolder) -> Iterator[None]:
    """A new cluster is the run's alone: its token lies in the run's folder while it lasts, not in the user's home."""
    if any(name in os.environ for name in AUTH):
        yield
        return
    path = folder.path / TOKEN
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(_token())
    os.environ["RAY_AUTH_TOKEN_PATH"] = str(path)
    try:
        yield
    finally:
        for name in AUTH:
            os.environ.pop(name, None)
        path.unlink(missing_ok=True)


@functools.cache
def _token() -> str:
    """Ray reads it once in a process, and so it is the same for all clusters that this one starts."""
    return secrets.token_hex(32)


def _reach(where: str) -> None:
    """Refuse a cluster that cannot be reached, before Ray tries for half a minute."""
    place = urlsplit(where)
    try:
        host, port = place.hostname, place.port or 10001
    except ValueError as error:
        raise UserError(f"--workers {where}: its port is not a number: write ray://HEAD:10001") from error
    try:
        socket.create_connection((host or "", port), timeout=SECONDS).close()
    except OSError as error:
        raise UserError(
            f"--workers {where}: nobody listens there ({error.strerror or error}); start the head with `ray start --head`, or"
            " correct the address"
        ) from error
