"""The thread that talks to all workers: gives out work, takes answers, finds who is to blame, replaces who has to go.

Work goes out in chunks of some 20 ms; answers come back one by one. When a worker dies or hangs, what it has answered
stands, the call it was in is to blame, and the rest of its chunk goes to others. A call that took its worker with it, or ran
short of memory or descriptors, is tried once more, as the first of a fresh worker, before it is believed: calls before it
may have left the shortage behind. A call that hung is not tried again. Calls that were under way when the template was lost
are tried once more too, each while no other runs, so that the one which kills templates is found and no other is blamed. A
function that was about to execute code that is not its own has its calls made *apart* from then on (`worker`).

Leaves out: what a worker does (`worker`), what is counted (`crew`), who waits for the answers (`workers`).
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
from guerdon.core.score import Answer
from guerdon.workers.crew import LOAD, Forged, Hand, Job, Template, answers_in
from guerdon.workers.records import BEGUN, BORN, DIED, FOREIGN, FORGED, LEAVES, NOT_LOADED, SUSPECT, cause
from guerdon.workers.worker import Mode

FUNCTIONS = 64  # a worker that holds so many is replaced: a closure that changes at every step must not fill it
NAP = 0.0005  # seconds between two looks at workers that are in the middle of a chunk of quick calls
STARTS = 3  # templates in a row that may be lost before they are ready
KNOWN = 4096  # functions that are known to execute foreign code


class Foreman:
    """Belongs to its thread, but for `submit`, `stop` and `abandon`."""

    def __init__(self, count: int, memory: int) -> None:
        self.count, self.memory = count, memory
        self.lock = threading.Lock()  # guards `inbox` and `state`
        self.inbox: list[Job] = []
        self.state: Literal["open", "closing", "closed"] = "open"
        self.crew: dict[int, Hand] = {}
        self.jobs: deque[Job] = deque()
        self.template: Template | None = None
        self.started = False  # whether a template ever was ready
        self.false_starts = 0  # templates in a row that were not
        self.foreign: set[bytes] = set()  # digests of functions that execute code which is not their own
        self.hired = 0
        self.bell, self.ring = os.pipe()
        os.set_blocking(self.ring, False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.bell, selectors.EVENT_READ, self._listen)
        self.thread = threading.Thread(target=self._run, name="reward workers", daemon=True)
        self.thread.start()

    def submit(self, job: Job) -> bool:
        """Take a new job, or one that was cancelled; false where the foreman has gone home."""
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
            os.write(self.ring, b"x")

    def abandon(self) -> None:
        """In a forked child: close what belongs to the parent, without a word to its workers."""
        ends = [end for hand in self.crew.values() for end in (hand.answers, hand.requests)]
        for end in [*ends, *(() if self.state == "closed" else (self.bell, self.ring))]:
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
                for key, mask in self.selector.select(self._patience()):
                    key.data(mask)
                self._expire()
                if any(hand.at + 8 < len(hand.chunk) for hand in self.crew.values()):
                    time.sleep(NAP)  # or every single answer of theirs would wake us
        except UserError as trouble:
            error = trouble
        except BaseException as trouble:
            error = trouble
            raise
        finally:
            self._end(error)

    def _end(self, error: BaseException) -> None:
        for hand in list(self.crew.values()):
            self._dismiss(hand)
        if self.template is not None:
            self.template.close()
            self.template = None
        with self.lock:
            self.state = "closed"
            self.selector.close()
            os.close(self.bell)
            os.close(self.ring)
        for job in {*self.jobs, *self.inbox}:
            job.fail(error)

    def _listen(self, mask: int) -> None:
        """Take new jobs from the inbox, and let go of those that were cancelled."""
        os.read(self.bell, 4096)
        with self.lock:
            jobs = self.inbox[:]
            self.inbox.clear()
        for job in jobs:
            if not job.done.cancelled():
                self.jobs.append(job)
                continue
            if job in self.jobs:
                self.jobs.remove(job)
            for hand in [h for h in self.crew.values() if h.job is job]:
                self._dismiss(hand)

    def _patience(self) -> float | None:
        ends = [hand.until for hand in self.crew.values() if hand.job is not None]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    # Giving out work

    def _dispatch(self) -> None:
        """Give every idle worker a chunk, the jobs in turn."""
        while job := self._next_job():
            solo, alone = bool(job.solo), bool(job.solo or job.alone)
            hand = self._idle(fresh=alone)
            if hand is None:
                return
            waiting = job.solo or job.alone
            chunk, packed = job.pack([waiting.popleft()] if waiting else job.take(self.count))
            if chunk:
                hand.assign(job, chunk, packed, self._mode(job))
                hand.alone, hand.solo = alone, solo
                self._write(hand)
            elif not job.left:
                self._close(job)

    def _next_job(self) -> Job | None:
        """The next in turn that has something to do. While one has a call that must run solo, no other call runs."""
        solo = [job for job in self.jobs if job.solo]
        at_work = [hand for hand in self.crew.values() if hand.job is not None]
        if at_work and (solo or any(hand.solo for hand in at_work)):
            return None
        for _ in range(len(self.jobs)):
            self.jobs.rotate(-1)
            if self.jobs[0].solo or (not solo and (self.jobs[0].alone or self.jobs[0].todo)):
                return self.jobs[0]
        return None

    def _mode(self, job: Job) -> Mode:
        return "trusted" if job.trusted else "apart" if job.digest in self.foreign else "here"

    def _idle(self, fresh: bool) -> Hand | None:
        """A worker without work: any, or for a call that is to run alone one that has not run anything yet."""
        idle = [hand for hand in self.crew.values() if hand.job is None]
        for hand in idle:
            if not (hand.used and (fresh or len(hand.known) > FUNCTIONS)):
                return hand
        if idle and len(self.crew) >= self.count:
            self._dismiss(idle[0])
        return self._hire() if len(self.crew) < self.count else None

    def _hire(self) -> Hand:
        if self.template is None:
            self.template = Template(self.memory)
            self.selector.register(self.template.control, selectors.EVENT_READ, self._news)
        self.hired += 1
        hand = self.crew[self.hired] = Hand(self.hired)
        self.template.spawn(hand)
        self.selector.register(hand.answers, selectors.EVENT_READ, lambda mask: self._read(hand))
        return hand

    def _write(self, hand: Hand) -> None:
        """Send what the pipe takes; the rest when it takes more. Never wait: the worker may be unable to read."""
        if hand.number not in self.crew:
            return
        waiting = hand.requests in self.selector.get_map()
        if hand.write() and not waiting:
            self.selector.register(hand.requests, selectors.EVENT_WRITE, lambda mask: self._write(hand))
        elif waiting and not hand.out:
            self.selector.unregister(hand.requests)

    # Taking answers

    def _read(self, hand: Hand) -> None:
        """Take all records that are there."""
        if hand.number not in self.crew:
            return
        if not hand.fill():
            with contextlib.suppress(KeyError):
                self.selector.unregister(hand.answers)  # the template will tell how it died, or its time runs out
        try:
            for kind, body in hand.records():
                self._take(hand, kind, body)
                if hand.number not in self.crew:
                    return
            if hand.buffer and hand.job is not None:
                hand.allow(hand.job.timeout)  # it has answered, and is not yet done with sending
        except Forged:
            self._dismiss(hand)
            self._blame(hand, FORGED)

    def _take(self, hand: Hand, kind: bytes, body: bytes) -> None:
        job = hand.job
        if job is None:
            if kind == LEAVES:
                self._dismiss(hand)  # after the last call of its chunk
                return
            raise Forged
        now = time.monotonic()
        if kind == BEGUN:
            hand.begun = hand.begun or now
            hand.allow(job.timeout)
            return
        if kind == NOT_LOADED:
            self._close(job, f"could not be loaded in a worker: {body.decode()}")
            return
        if not hand.begun:
            raise Forged
        if kind == LEAVES:
            self._dismiss(hand)
            hand.give_back()
            return
        if kind == SUSPECT:
            error = body.decode()
            self._dismiss(hand)
            self._blame(hand, error)
            return
        answers = answers_in(kind, body)
        if hand.at + len(answers) > len(hand.chunk):
            raise Forged
        job.answer(hand.chunk[hand.at : hand.at + len(answers)], answers)
        hand.at += len(answers)
        hand.allow(job.timeout)
        if hand.at == len(hand.chunk):
            job.learn_pace((now - hand.begun) / len(hand.chunk))
            hand.rest()
        if not job.left:
            self._close(job)

    def _close(self, job: Job, error: str = "") -> None:
        """A job is done, or every call of it that has no answer is answered with the error."""
        for hand in [h for h in self.crew.values() if h.job is job]:
            self._dismiss(hand)
        if job in self.jobs:
            self.jobs.remove(job)
        job.finish(error)

    # When workers die, hang or have to go

    def _expire(self) -> None:
        for hand in list(self.crew.values()):
            if hand.job is None or time.monotonic() < hand.until:
                continue
            self._read(hand)  # it may have answered while we were busy
            job = hand.job
            if hand.number not in self.crew or job is None or time.monotonic() < hand.until:
                continue
            assert self.template is not None
            late = hand.too_late(hand.pid or self.template.process.pid)
            if not late:
                continue
            if not hand.pid:
                self.template.process.kill()  # it does not do its work, and its end will be told
                hand.allow(hand.seconds)
                continue
            self._dismiss(hand)
            if not hand.begun:
                self._misfire(hand, f"could not be loaded in a worker within {LOAD:g} s")
                continue
            self._settle(hand, Answer("timed out", error=late))

    def _news(self, mask: int) -> None:
        assert self.template is not None
        found = self.template.news()
        if found is None:
            self._lost_template()
            return
        self.started = self.started or self.template.ready
        for news, number, value in found:
            hand = self.crew.get(number)
            if hand is None:
                continue  # dismissed before
            if news == BORN:
                hand.pid = value
                self.false_starts = 0
            if news == DIED:
                self._died(hand, value)

    def _died(self, hand: Hand, status: int) -> None:
        self._read(hand)
        if hand.number not in self.crew:
            return
        self._dismiss(hand)
        job = hand.job
        if job is None:
            return  # of what an earlier call had left running
        if not hand.begun:
            self._misfire(hand, f"could not be loaded: {cause(status)}")
        elif os.WIFEXITED(status) and os.WEXITSTATUS(status) == FOREIGN and self._mode(job) == "here":
            if len(self.foreign) >= KNOWN:
                self.foreign.clear()
            self.foreign.add(job.digest)
            hand.give_back()
        else:
            self._blame(hand, cause(status))

    def _lost_template(self) -> None:
        """Somebody killed the template, and with it all workers. If it was a call, it is found by running each solo."""
        template, self.template = self.template, None
        assert template is not None
        self.selector.unregister(template.control)
        template.close()
        self.false_starts += 1
        if not self.started:
            raise UserError(
                f"the reward workers can not be started: {sys.executable} ended with {template.process.returncode}"
            )
        for hand in list(self.crew.values()):
            self._read(hand)
            if hand.number not in self.crew:
                continue
            self._dismiss(hand)
            job = hand.job
            if job is None:
                continue
            if hand.solo:
                self._settle(hand, Answer("failed", error="the call killed the process that starts the workers"))
            elif hand.begun:
                job.solo.append(hand.chunk[hand.at])
                job.again(hand.chunk[hand.at + 1 :])
            else:
                self._misfire(hand, "could not be loaded: the process that starts the workers was killed meanwhile")
        if self.false_starts > STARTS:
            for job in list(self.jobs):
                self._close(job, "the process that starts the workers was killed, again and again")

    def _blame(self, hand: Hand, error: str) -> None:
        """The call a dismissed worker was in is the culprit if it was alone, else it is tried once more, alone."""
        job = hand.job
        if job is None:
            return  # nothing is asked of it: what wrote there was left behind by an earlier call
        if hand.alone:
            self._settle(hand, Answer("failed", error=error))
        else:
            job.alone.append(hand.chunk[hand.at])
            job.again(hand.chunk[hand.at + 1 :])

    def _settle(self, hand: Hand, answer: Answer) -> None:
        """The answer to the call that a dismissed worker was in. The calls after it are given out again."""
        job = hand.job
        assert job is not None
        job.answer([hand.chunk[hand.at]], [answer])
        job.again(hand.chunk[hand.at + 1 :])
        if not job.left:
            self._close(job)

    def _misfire(self, hand: Hand, error: str) -> None:
        """A worker was lost before it began a call: try again, but not for ever."""
        job = hand.job
        assert job is not None
        job.misfires += 1
        hand.give_back()
        if job.misfires > self.count + 2:
            self._close(job, error)

    def _dismiss(self, hand: Hand) -> None:
        """Kill a worker, with all that it has started, and forget it. Its job's calls are the caller's to place."""
        del self.crew[hand.number]
        for end in (hand.answers, hand.requests):
            with contextlib.suppress(KeyError):
                self.selector.unregister(end)
            os.close(end)
        if self.template is not None:
            self.template.kill(hand)
