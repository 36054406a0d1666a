"""The dispatcher: a thread that gives out calls, takes results, finds who is to blame and replaces workers.

Calls go out in chunks of some 20 ms, results come back one by one.
When a worker dies or hangs, its results stand, the call it was in is to blame, and the rest of its chunk goes to others.
A call that took its worker with it, or ran short of memory or descriptors, is retried, first in a fresh worker:
calls before it may have left the shortage behind. A call that hung is not tried again.
Calls under way when the template was lost are retried, each while no other runs: so the one that kills it is found.
A function that was about to execute foreign code has its calls made *apart*, in children, from then on (`worker.py`).

Leaves out: what a worker does (`worker.py`), what is counted (`bookkeeping.py`), who waits for results (`worker_pool.py`).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import sys
import threading
import time
from collections import deque
from typing import Literal

from guerdon.core.errors import UserError
from guerdon.core.score import CallResult
from guerdon.workers.bookkeeping import LOAD, CallJob, ForgedRecord, TemplateHandle, WorkerHandle, results_in
from guerdon.workers.wire import BEGUN, BORN, DIED, FOREIGN, FORGED, LEAVES, NOT_LOADED, SUSPECT, cause_of_death
from guerdon.workers.worker import Mode

FUNCTIONS = 64  # a worker that holds so many is replaced: a closure that changes at every step must not fill it
NAP = 0.0005  # seconds between two looks at workers that are in the middle of a chunk of quick calls
STARTS = 3  # templates in a row that may be lost before they are ready
KNOWN = 4096  # functions that are known to execute foreign code


class Dispatcher:
    """Belongs to its thread, but for `submit`, `stop` and `abandon`."""

    def __init__(self, count: int, memory: int) -> None:
        self.count, self.memory = count, memory
        self.lock = threading.Lock()  # guards `inbox` and `state`
        self.inbox: list[CallJob] = []
        self.state: Literal["open", "closing", "closed"] = "open"
        self.workers: dict[int, WorkerHandle] = {}
        self.jobs: deque[CallJob] = deque()
        self.template: TemplateHandle | None = None
        self.started = False  # whether a template ever was ready
        self.false_starts = 0  # templates in a row that were not
        self.foreign: set[bytes] = set()  # digests of functions that execute foreign code
        self.started_workers = 0
        self.wake_reader, self.wake_writer = os.pipe()
        os.set_blocking(self.wake_writer, False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.wake_reader, selectors.EVENT_READ, self._take_inbox)
        self.thread = threading.Thread(target=self._run, name="reward workers", daemon=True)
        self.thread.start()

    def submit(self, job: CallJob) -> bool:
        """Take a new job, or one that was cancelled; false where the dispatcher has ended."""
        with self.lock:
            if self.state != "open":
                return False
            self.inbox.append(job)
            self._wake()
        return True

    def stop(self) -> None:
        with self.lock:
            if self.state == "open":
                self.state = "closing"
                self._wake()
        self.thread.join()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # a full pipe wakes as well
            os.write(self.wake_writer, b"x")

    def abandon(self) -> None:
        """In a forked child: close what belongs to the parent, and leave its workers alone."""
        ends = [end for worker in self.workers.values() for end in (worker.answers, worker.requests)]
        for end in [*ends, *(() if self.state == "closed" else (self.wake_reader, self.wake_writer))]:
            with contextlib.suppress(OSError):  # the fork may have come between two lines of the thread
                os.close(end)
        self.selector.close()
        if self.template is not None:
            self.template.control.close()

    # From here on everything runs in the thread.

    def _run(self) -> None:
        error: BaseException = UserError(
            "the reward workers were closed while they were scoring: close them afterwards"
        )
        try:
            while self.state == "open":
                self._dispatch()
                for key, mask in self.selector.select(self._seconds_to_next_look()):
                    key.data(mask)
                self._check_deadlines()
                if any(worker.at + 8 < len(worker.chunk) for worker in self.workers.values()):
                    time.sleep(NAP)  # or every single answer of theirs would wake us
        except UserError as trouble:
            error = trouble
        except BaseException as trouble:
            error = trouble
            raise
        finally:
            self._end(error)

    def _end(self, error: BaseException) -> None:
        for worker in list(self.workers.values()):
            self._discard(worker)
        if self.template is not None:
            self.template.close()
            self.template = None
        with self.lock:
            self.state = "closed"
            self.selector.close()
            os.close(self.wake_reader)
            os.close(self.wake_writer)
        for job in {*self.jobs, *self.inbox}:
            job.fail(error)

    def _take_inbox(self, mask: int) -> None:
        """Take new jobs from the inbox, and let go of those that were cancelled."""
        os.read(self.wake_reader, 4096)
        with self.lock:
            jobs = self.inbox[:]
            self.inbox.clear()
        for job in jobs:
            if not job.done.cancelled():
                self.jobs.append(job)
                continue
            if job in self.jobs:
                self.jobs.remove(job)
            for worker in [w for w in self.workers.values() if w.job is job]:
                self._discard(worker)

    def _seconds_to_next_look(self) -> float | None:
        ends = [worker.until for worker in self.workers.values() if worker.job is not None]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    # Giving out work

    def _dispatch(self) -> None:
        """Give every idle worker a chunk, the jobs in turn."""
        while job := self._next_job():
            solo, alone = bool(job.solo), bool(job.solo or job.alone)
            worker = self._idle(fresh=alone)
            if worker is None:
                return
            waiting = job.solo or job.alone
            chunk, packed = job.pack([waiting.popleft()] if waiting else job.take(self.count))
            if chunk:
                worker.assign(job, chunk, packed, self._mode(job))
                worker.alone, worker.solo = alone, solo
                self._write(worker)
            elif not job.left:
                self._finish(job)

    def _next_job(self) -> CallJob | None:
        """The next in turn that has something to do. While one has a call that must run solo, no other call runs."""
        solo = [job for job in self.jobs if job.solo]
        at_work = [worker for worker in self.workers.values() if worker.job is not None]
        if at_work and (solo or any(worker.solo for worker in at_work)):
            return None
        for _ in range(len(self.jobs)):
            self.jobs.rotate(-1)
            if self.jobs[0].solo or (not solo and (self.jobs[0].alone or self.jobs[0].todo)):
                return self.jobs[0]
        return None

    def _mode(self, job: CallJob) -> Mode:
        return "trusted" if job.trusted else "apart" if job.digest in self.foreign else "here"

    def _idle(self, fresh: bool) -> WorkerHandle | None:
        """A worker without work: any, or for a call that is to run alone one that has not run anything yet."""
        idle = [worker for worker in self.workers.values() if worker.job is None]
        for worker in idle:
            if not (worker.used and (fresh or len(worker.known) > FUNCTIONS)):
                return worker
        if idle and len(self.workers) >= self.count:
            self._discard(idle[0])
        return self._start_worker() if len(self.workers) < self.count else None

    def _start_worker(self) -> WorkerHandle:
        if self.template is None:
            self.template = TemplateHandle(self.memory)
            self.selector.register(self.template.control, selectors.EVENT_READ, self._read_reports)
        self.started_workers += 1
        worker = self.workers[self.started_workers] = WorkerHandle(self.started_workers)
        self.template.spawn(worker)
        self.selector.register(worker.answers, selectors.EVENT_READ, lambda mask: self._read(worker))
        return worker

    def _write(self, worker: WorkerHandle) -> None:
        """Send what the pipe takes; the rest when it takes more. Never wait: the worker may be unable to read."""
        if worker.number not in self.workers:
            return
        waiting = worker.requests in self.selector.get_map()
        if worker.write() and not waiting:
            self.selector.register(worker.requests, selectors.EVENT_WRITE, lambda mask: self._write(worker))
        elif waiting and not worker.out:
            self.selector.unregister(worker.requests)

    # Taking results

    def _read(self, worker: WorkerHandle) -> None:
        """Take all records that are there."""
        if worker.number not in self.workers:
            return
        if not worker.fill():
            with contextlib.suppress(KeyError):
                self.selector.unregister(worker.answers)  # the template will report how it died, or its time runs out
        try:
            for kind, body in worker.records():
                self._take(worker, kind, body)
                if worker.number not in self.workers:
                    return
            if worker.buffer and worker.job is not None:
                worker.allow(worker.job.timeout)  # it has answered, and is not yet done with sending
        except ForgedRecord:
            self._discard(worker)
            self._blame(worker, FORGED)

    def _take(self, worker: WorkerHandle, kind: bytes, body: bytes) -> None:
        job = worker.job
        if job is None:
            if kind == LEAVES:
                self._discard(worker)  # after the last call of its chunk
                return
            raise ForgedRecord
        now = time.monotonic()
        if kind == BEGUN:
            worker.begun = worker.begun or now
            worker.allow(job.timeout)
            return
        if kind == NOT_LOADED:
            self._finish(job, f"could not be loaded in a worker: {body.decode()}")
            return
        if not worker.begun:
            raise ForgedRecord
        if kind == LEAVES:
            self._discard(worker)
            worker.give_back()
            return
        if kind == SUSPECT:
            error = body.decode()
            self._discard(worker)
            self._blame(worker, error)
            return
        results = results_in(kind, body)
        if worker.at + len(results) > len(worker.chunk):
            raise ForgedRecord
        job.settle(worker.chunk[worker.at : worker.at + len(results)], results)
        worker.at += len(results)
        worker.allow(job.timeout)
        if worker.at == len(worker.chunk):
            job.learn_pace((now - worker.begun) / len(worker.chunk))
            worker.rest()
        if not job.left:
            self._finish(job)

    def _finish(self, job: CallJob, error: str = "") -> None:
        """A job is done; `error` is the outcome of its calls without a result."""
        for worker in [w for w in self.workers.values() if w.job is job]:
            self._discard(worker)
        if job in self.jobs:
            self.jobs.remove(job)
        job.finish(error)

    # When workers die, hang or have to go

    def _check_deadlines(self) -> None:
        for worker in list(self.workers.values()):
            if worker.job is None or time.monotonic() < worker.until:
                continue
            self._read(worker)  # it may have answered while we were busy
            job = worker.job
            if worker.number not in self.workers or job is None or time.monotonic() < worker.until:
                continue
            assert self.template is not None
            late = worker.too_late(worker.pid or self.template.process.pid)
            if not late:
                continue
            if not worker.pid:
                self.template.process.kill()  # it does not do its work, and its end will be reported
                worker.allow(worker.seconds)
                continue
            self._discard(worker)
            if not worker.begun:
                self._lost_start(worker, f"could not be loaded in a worker within {LOAD:g} s")
                continue
            self._settle(worker, CallResult("timed out", error=late))

    def _read_reports(self, mask: int) -> None:
        assert self.template is not None
        reports = self.template.reports()
        if reports is None:
            self._lost_template()
            return
        self.started = self.started or self.template.ready
        for event, number, value in reports:
            worker = self.workers.get(number)
            if worker is None:
                continue  # discarded before
            if event == BORN:
                worker.pid = value
                self.false_starts = 0
            if event == DIED:
                self._died(worker, value)

    def _died(self, worker: WorkerHandle, status: int) -> None:
        self._read(worker)
        if worker.number not in self.workers:
            return
        self._discard(worker)
        job = worker.job
        if job is None:
            return  # of what an earlier call had left running
        if not worker.begun:
            self._lost_start(worker, f"could not be loaded: {cause_of_death(status)}")
        elif os.WIFEXITED(status) and os.WEXITSTATUS(status) == FOREIGN and self._mode(job) == "here":
            if len(self.foreign) >= KNOWN:
                self.foreign.clear()
            self.foreign.add(job.digest)
            worker.give_back()
        else:
            self._blame(worker, cause_of_death(status))

    def _lost_template(self) -> None:
        """The template was killed, and with it all workers. If it was a call, it is found by running each solo."""
        template, self.template = self.template, None
        assert template is not None
        self.selector.unregister(template.control)
        template.close()
        self.false_starts += 1
        if not self.started:
            raise UserError(
                f"the reward workers can not be started: {sys.executable} ended with {template.process.returncode}"
            )
        for worker in list(self.workers.values()):
            self._read(worker)
            if worker.number not in self.workers:
                continue
            self._discard(worker)
            job = worker.job
            if job is None:
                continue
            if worker.solo:
                self._settle(worker, CallResult("failed", error="the call killed the process that starts the workers"))
            elif worker.begun:
                job.solo.append(worker.chunk[worker.at])
                job.again(worker.chunk[worker.at + 1 :])
            else:
                self._lost_start(
                    worker, "could not be loaded: the process that starts the workers was killed meanwhile"
                )
        if self.false_starts > STARTS:
            for job in list(self.jobs):
                self._finish(job, "the process that starts the workers was killed, again and again")

    def _blame(self, worker: WorkerHandle, error: str) -> None:
        """The call a discarded worker was in is the culprit if it was alone, else it is retried, alone."""
        job = worker.job
        if job is None:
            return  # nothing is asked of it: what wrote there was left behind by an earlier call
        if worker.alone:
            self._settle(worker, CallResult("failed", error=error))
        else:
            job.alone.append(worker.chunk[worker.at])
            job.again(worker.chunk[worker.at + 1 :])

    def _settle(self, worker: WorkerHandle, result: CallResult) -> None:
        """The result of the call that a discarded worker was in. The calls after it are given out again."""
        job = worker.job
        assert job is not None
        job.settle([worker.chunk[worker.at]], [result])
        job.again(worker.chunk[worker.at + 1 :])
        if not job.left:
            self._finish(job)

    def _lost_start(self, worker: WorkerHandle, error: str) -> None:
        """A worker was lost before it began a call: try again, but not for ever."""
        job = worker.job
        assert job is not None
        job.lost_starts += 1
        worker.give_back()
        if job.lost_starts > self.count + 2:
            self._finish(job, error)

    def _discard(self, worker: WorkerHandle) -> None:
        """Kill a worker, with all that it has started, and forget it. Its job's calls are the caller's to place."""
        del self.workers[worker.number]
        for end in (worker.answers, worker.requests):
            with contextlib.suppress(KeyError):
                self.selector.unregister(end)
            os.close(end)
        if self.template is not None:
            self.template.kill(worker)
