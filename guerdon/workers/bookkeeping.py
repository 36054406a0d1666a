"""What the dispatcher keeps account of: jobs and their results, the workers at the other end of the pipes, their template.

Leaves out: every decision. Who gets what, who is to blame and who has to go is in `dispatcher.py`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import math
import os
import pickle
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import Any, NoReturn

from guerdon.core.errors import UserError
from guerdon.core.score import CallResult, restored
from guerdon.workers.call_meter import CallMeter
from guerdon.workers.carry import pack_arguments
from guerdon.workers.processes import MARK_VARIABLE, end_marked
from guerdon.workers.wire import (
    FAILED,
    FLOAT,
    FORGED,
    HEAD,
    KEY,
    KILL,
    LARGEST,
    LENGTH,
    NUMBER,
    ORDER,
    READY,
    REPORT,
    SEAL,
    SPAWN,
    TIMED_OUT,
    VALUE,
    Seals,
)
from guerdon.workers.worker import Mode

SLICE = 0.02  # seconds a chunk is meant to take: long against sending it, short against waiting for the last one
FIRST = 8  # calls in a chunk while their duration is unknown
START = 30.0  # seconds until a worker must have started a chunk; one that has not is replaced, without blame
LOAD = 120.0  # the same where it has to load the function first, which may import a large library
HEAVY = 4 << 20  # bytes of arguments in a chunk, at which no more are added
LOOKS = 10  # how often a worker is looked at until its time is over; none ends before the first
CAP, SPARE = 10.0, 30.0  # times its time, and at least so many seconds more, a call may take by the clock
STRIDE = NUMBER.size + SEAL  # bytes of a plain number with its seal
_PROGRAM = "import sys; sys.path[:] = sys.argv[3:]; from guerdon.workers.template_process import main; main()"


class ForgedRecord(ValueError):
    """What was read from a worker's pipe was not written by the worker."""

    def __init__(self) -> None:
        super().__init__(FORGED)


def results_in(kind: bytes, body: bytes) -> list[CallResult]:
    """The results in what `WorkerHandle.records` gives. Raises ForgedRecord on what no worker of ours would write."""
    if kind == FLOAT:
        records = [body[at : at + NUMBER.size] for at in range(0, len(body), STRIDE)]
        # Equal ones share a result: most rewards give few different numbers, and the collector looks at every object.
        results = {record: CallResult("value", NUMBER.unpack(record)[2]) for record in {*records}}
        return [results[record] for record in records]
    if kind == VALUE:
        try:
            return [CallResult("value", restored(_PlainUnpickler(io.BytesIO(body)).load()))]
        except Exception as error:  # broken bytes break pickle in many ways
            raise ForgedRecord from error
    if kind in (FAILED, TIMED_OUT):
        return [CallResult("failed" if kind == FAILED else "timed out", error=body.decode(errors="replace"))]
    raise ForgedRecord


class _PlainUnpickler(pickle.Unpickler):
    """Reads plain data and nothing that would run code here: the bytes come from a process that has run the user's."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")


class CallJob:
    """One `WorkerPool.call`: its arguments, what is still to do, and the results so far."""

    def __init__(
        self, carried: bytes, arguments: Sequence[Mapping[str, Any]], timeout: float, trusted: bool = False
    ) -> None:
        self.carried, self.arguments, self.timeout, self.trusted = carried, arguments, timeout, trusted
        self.digest = hashlib.blake2b(carried, digest_size=16).digest()
        self.results: list[CallResult | None] = [None] * len(arguments)
        self.todo = deque(range(len(arguments)))
        self.alone: deque[int] = deque()  # calls to be retried, each first in a fresh worker
        self.solo: deque[int] = deque()  # calls under way when a template was lost: each runs while no other does
        self.left = len(self.todo)
        self.pace: float | None = None  # seconds a call takes
        self.weight = 1.0  # bytes of its arguments
        self.lost_starts = 0  # workers that were lost before they began a call
        self.done: Future[list[CallResult]] = Future()

    def take(self, workers: int) -> list[int]:
        """The calls of the next chunk: some 20 ms of work, less towards the end so that all workers end together."""
        share = math.ceil(len(self.todo) / (2 * workers))
        size = min(share, FIRST) if self.pace is None else min(max(share, SLICE / 10 / self.pace), SLICE / self.pace)
        size = max(1, min(int(size), len(self.todo), int(HEAVY / self.weight)))
        return [self.todo.popleft() for _ in range(size)]

    def pack(self, chunk: list[int]) -> tuple[list[int], bytes | list[bytes]]:
        """The calls of a chunk that can be sent, with their arguments; the others are settled here."""
        whole = pack_arguments([self.arguments[call] for call in chunk])
        if isinstance(whole, bytes):
            self.weight = len(whole) / len(chunk)
            return chunk, whole
        able, packed = [], []
        for call, own in zip(chunk, whole, strict=True):
            if isinstance(own, str):  # why they can not be sent
                self.settle([call], [CallResult("failed", error=own)])
            else:
                able.append(call)
                packed.append(own)
        self.weight = max(1.0, sum(map(len, packed)) / len(chunk))
        return able, packed

    def again(self, calls: list[int]) -> None:
        """Calls that were given out and not started."""
        self.todo.extendleft(reversed(calls))

    def learn_pace(self, seconds: float) -> None:
        seconds = max(seconds, 1e-7)
        self.pace = seconds if self.pace is None else (self.pace + seconds) / 2

    def settle(self, calls: list[int], results: list[CallResult]) -> None:
        for call, result in zip(calls, results, strict=True):
            self.results[call] = result
        self.left -= len(calls)

    def finish(self, error: str = "") -> None:
        """Give the caller all results; `error` stands where there is none."""
        missing = CallResult("failed", error=error)
        with contextlib.suppress(InvalidStateError):  # cancelled meanwhile
            self.done.set_result([missing if result is None else result for result in self.results])

    def fail(self, error: BaseException) -> None:
        with contextlib.suppress(InvalidStateError):
            self.done.set_exception(error)


class WorkerHandle:
    """A worker as the pool sees it: two pipes, and the chunk it is in."""

    def __init__(self, number: int) -> None:
        self.number = number
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()
        self.theirs = (requests, answers)
        os.set_blocking(self.requests, False)
        os.set_blocking(self.answers, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):  # only for speed
                fcntl.fcntl(self.requests, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.key = os.urandom(KEY)  # sent before all else, and kept until then
        self.request_seals, self.answer_seals = Seals(self.key, b"requests"), Seals(self.key, b"answers")
        self.out = memoryview(b"")
        self.buffer = bytearray()
        self.pid = 0  # not yet forked
        self.known: set[bytes] = set()  # functions it holds
        self.used = False  # whether it was ever given a call
        self.rest()

    def rest(self) -> None:
        """Be without work."""
        self.job: CallJob | None = None
        self.chunk: list[int] = []
        self.at = 0  # calls of the chunk that have a result
        self.alone = self.solo = False
        self.begun = 0.0
        self.meter: CallMeter | None = None
        self.until = math.inf  # when to look whether the call it is in, or its start, has taken too long

    def assign(self, job: CallJob, chunk: list[int], packed: bytes | list[bytes], mode: Mode) -> None:
        carried = None if job.digest in self.known else job.carried
        self.job, self.chunk, self.used = job, chunk, True
        self.allow(START if carried is None else LOAD)
        self.known.add(job.digest)
        message = pickle.dumps((job.digest, carried, packed, mode), 5)
        self.out = memoryview(self.key + self.request_seals.sealed(LENGTH.pack(len(message)) + message))
        self.key = b""

    def give_back(self) -> None:
        """Its unanswered calls are given out again, without blame."""
        assert self.job is not None
        left = self.chunk[self.at :]
        if self.alone:
            (self.job.solo if self.solo else self.job.alone).extendleft(left)
        else:
            self.job.again(left)

    def allow(self, seconds: float) -> None:
        """What it does from here on may take so long."""
        self.since, self.seconds, self.meter = time.monotonic(), seconds, None
        self.until = self.since + seconds / LOOKS

    def too_late(self, pid: int) -> str:
        """Reports if its time is over; else `until` is when to look again. `pid` is who is charged for it.

        Nothing is asked of the system before the first look, and all until then is charged by the clock: most calls are over.
        """
        now = time.monotonic()
        passed = now - self.since
        if self.meter is None:
            self.meter, charged = CallMeter(pid, passed), passed
        else:
            charged = self.meter.charged()
        left, cap = self.seconds - charged, max(CAP * self.seconds, self.seconds + SPARE)
        if left < 0.001 * self.seconds:
            return f"there was no answer after {self.seconds:g} s"
        if passed >= cap:
            return f"there was no answer after {passed:.0f} s by the clock, in which it had {charged:.1f} s of its own"
        self.until = min(now + min(left, self.seconds / LOOKS), self.since + cap)
        return ""

    def write(self) -> bool:
        """Send what the pipe takes; whether something is left."""
        with contextlib.suppress(BlockingIOError):
            try:
                while self.out:
                    self.out = self.out[os.write(self.requests, self.out) :]
            except BrokenPipeError:
                self.out = memoryview(b"")  # it is dead, as the template will report
        return bool(self.out)

    def fill(self) -> bool:
        """Read what the pipe holds; false at its end."""
        try:
            data = os.read(self.answers, 1 << 20)
        except BlockingIOError:
            return True
        self.buffer += data
        return bool(data)

    def records(self) -> Iterator[tuple[bytes, bytes]]:
        """The kind and body of the whole records in the buffer, which keeps the rest. Raises ForgedRecord at a false one.

        Plain numbers that follow one another come in one piece, heads, seals and all: nearly everything is plain numbers.
        """
        if len(self.buffer) >= HEAD.size and len(self.buffer) < HEAD.unpack_from(self.buffer)[1] <= LARGEST:
            return  # a long one is on its way: do not copy it again and again
        data = bytes(self.buffer)
        spans = _spans(data, together=True)
        if spans and not self.answer_seals.holds(data[: spans[-1][2]]):  # the last seal is the seal of all
            for kind, start, end in _spans(data, together=False):
                if not self.answer_seals.holds(data[start:end]):
                    raise ForgedRecord
                yield kind, data[start + (0 if kind == FLOAT else HEAD.size) : end - SEAL]
        for kind, start, end in spans:
            yield kind, data[start + (0 if kind == FLOAT else HEAD.size) : end - SEAL]
        del self.buffer[: spans[-1][2] if spans else 0]
        if len(self.buffer) >= HEAD.size and HEAD.unpack_from(self.buffer)[1] > LARGEST:
            raise ForgedRecord


def _spans(data: bytes, together: bool) -> list[tuple[bytes, int, int]]:
    """The kind, beginning and end of the whole records in a stream; `together` takes plain numbers in a row for one."""
    spans, at = [], 0
    while at + HEAD.size <= len(data):
        kind, length = HEAD.unpack_from(data, at)
        end = at + HEAD.size + length + SEAL
        if kind == FLOAT and together:
            kinds = data[at : at + (len(data) - at) // STRIDE * STRIDE : STRIDE]
            end = at + max(1, len(kinds) - len(kinds.lstrip(FLOAT))) * STRIDE
        if end > len(data):
            break
        spans.append((kind, at, end))
        at = end
    return spans


class TemplateHandle:
    """The template (`template_process.py`) as the pool sees it. Closing its control socket ends it and its workers."""

    def __init__(self, memory: int) -> None:
        self.control, theirs = socket.socketpair()
        self.ready = False
        # One thread a worker, as there are many of them; a fixed order of sets, so that a score does not change with the run.
        self.mark = os.urandom(16).hex()
        environment = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", **os.environ, MARK_VARIABLE: self.mark}
        command = [sys.executable, "-P", "-c", _PROGRAM, str(memory), self.mark, *filter(_is_text, sys.path)]
        try:
            self.process = subprocess.Popen(
                command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, env=environment, start_new_session=True
            )
        except OSError as error:
            self.control.close()
            raise UserError(f"the reward workers can not be started: {error}") from error
        finally:
            theirs.close()

    def spawn(self, worker: WorkerHandle) -> None:
        with contextlib.suppress(ConnectionError):  # it is dead, as the end of its socket will show
            socket.send_fds(self.control, [ORDER.pack(SPAWN, worker.number)], worker.theirs)
        for end in worker.theirs:
            os.close(end)

    def kill(self, worker: WorkerHandle) -> None:
        with contextlib.suppress(ConnectionError):
            self.control.sendall(ORDER.pack(KILL, worker.number))

    def reports(self) -> list[tuple[bytes, int, int]] | None:
        """Workers that were born, with their process ids, or have died, with their wait status; None when it itself has."""
        try:
            data = self.control.recv(REPORT.size * 64)
            while len(data) % REPORT.size:
                data += self.control.recv(REPORT.size - len(data) % REPORT.size)
        except ConnectionError:
            return None
        if not data:
            return None
        reports = list(REPORT.iter_unpack(data))
        self.ready = self.ready or reports[0][0] == READY
        return reports

    def close(self) -> None:
        self.control.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.returncode:
            end_marked(self.mark)  # it was killed, and could not clear up after its workers


def _is_text(entry: object) -> bool:
    return isinstance(entry, str)
