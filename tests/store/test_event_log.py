"""Events: appended whole, read past torn lines, the last attempt of a step counts."""

from __future__ import annotations

import errno
import json

from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from guerdon.core.errors import RunStopped, UserError
from guerdon.runs.event_types import (
    TYPES,
    Ended,
    Evaluated,
    Saved,
    ScoresMissing,
    Started,
    StepDone,
    Stopped,
    Warned,
    from_json,
)
from guerdon.runs.events import EventLog, latest, read_events, read_log


def write(path, attempt, *events):
    log = EventLog(path, attempt)
    for event in events:
        log.emit(event)
    log.file.close()


def steps(path):
    return [(e.step, e.attempt) for e in latest(read_events(path)) if isinstance(e, StepDone)]


def test_events_come_back_as_they_were(tmp_path):
    path = tmp_path / "events.jsonl"
    written = [
        Started(0, steps=3),
        StepDone(0, metrics={"reward/mean": 0.1}, tokens=5, calls=2, episodes=1, seconds=0.5),
        ScoresMissing(0, column="reward", failed=1, of=4, first="Error:\n  line é"),
        Evaluated(0, result={"pass@1": 0.5}),
        Saved(0, path="step-1", weights="abc"),
        Warned(0, message="careful"),
        Stopped(0, why="asked"),
        Ended(2, weights="abc"),
    ]
    heard = []
    log = EventLog(path, 4, (heard.append,))
    for event in written:
        log.emit(event)
    log.sync()
    log.file.close()
    read = read_events(path)
    assert read == heard
    assert [type(e) for e in read] == [type(e) for e in written]
    assert [{**e.to_json(), "attempt": 0, "time": 0.0} for e in read] == [e.to_json() for e in written]
    assert all(e.attempt == 4 and e.time > 0 for e in read)
    assert path.read_bytes().count(b"\n") == len(written)


def test_a_torn_last_line_is_passed_over_and_stands_alone(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, 0, StepDone(0), StepDone(1))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert steps(path) == [(0, 0)]
    write(path, 1, StepDone(1), StepDone(2))
    assert steps(path) == [(0, 0), (1, 1), (2, 1)]


@given(st.integers(0, 400), st.integers(0, 400))
def test_whatever_is_torn_the_other_lines_stand(tmp_path_factory, first, second):
    path = tmp_path_factory.mktemp("log") / "events.jsonl"
    write(path, 0, *(StepDone(s) for s in range(3)))
    whole = path.read_bytes()
    path.write_bytes(whole[:first])
    kept = sum(byte == ord("\n") and at <= first for at, byte in enumerate(whole))  # with or without its newline
    write(path, 1, *(StepDone(s) for s in range(3, 6)))
    before = len(path.read_bytes())
    path.write_bytes(path.read_bytes()[: before - min(second, 100)])
    steps_read = steps(path)
    assert [s for s, _ in steps_read[:kept]] == list(range(kept))
    assert [s for s, a in steps_read if a == 1] == [3, 4, 5][: sum(a == 1 for _, a in steps_read)]
    assert sum(a == 1 for _, a in steps_read) >= 2


def test_torn_lines_in_the_middle_are_passed_over(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, 0, *(StepDone(s) for s in range(3)))
    lines = path.read_bytes().split(b"\n")
    for torn in (lines[1][:30], b"", b"\x00\x00\xff", b'"a string"', b"[1, 2]", b"12"):
        path.write_bytes(b"\n".join([lines[0], torn, *lines[2:]]))
        assert steps(path) == [(0, 0), (2, 0)]


def test_a_line_whose_checksum_is_not_one_any_more_is_damaged_and_not_old(tmp_path):
    """Else the lines broken behind it would pass for those that were torn before there were checksums."""
    path = tmp_path / "events.jsonl"
    write(path, 0, Started(0, steps=3), Evaluated(0, result={"pass@1": 0.5}), StepDone(0), Ended(2))
    first, second, third, last = path.read_bytes().splitlines()
    lines = [first.replace(b'"sum"', b'"sun"'), second.replace(b"pass", b"pasS"), third, last]
    path.write_bytes(b"\n".join(lines) + b"\n")
    assert read_log(path).damaged == (1, 2) and [type(e) for e in read_events(path)] == [StepDone, Ended]


def test_a_whole_line_without_its_newline_counts(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, 0, StepDone(0))
    path.write_bytes(path.read_bytes()[:-1])
    assert steps(path) == [(0, 0)]
    write(path, 1, StepDone(1))
    assert steps(path) == [(0, 0), (1, 1)]


def test_the_last_attempt_at_a_step_counts(tmp_path):
    path = tmp_path / "events.jsonl"
    write(path, 0, Started(0), StepDone(0), StepDone(1), Evaluated(1, result={"a": 0}), StepDone(2))
    write(path, 1, Started(1), StepDone(1), Stopped(1, why="x"))
    write(path, 2, Started(2), StepDone(2), StepDone(3))
    assert steps(path) == [(0, 0), (1, 1), (2, 2), (3, 2)]
    events = latest(read_events(path))
    assert not any(isinstance(e, Evaluated) for e in events), "it was of an attempt that was overwritten"
    assert sum(isinstance(e, Started | Stopped) for e in events) == 4
    assert [e.step for e in events] == sorted(e.step for e in events)


def test_unknown_fields_are_ignored_and_unknown_types_refused():
    assert from_json({"type": "StepDone", "step": 3, "from_the_future": 1}) == StepDone(3)
    with refusal(UserError):
        from_json({"type": "Rewound", "step": 3})
    assert all(from_json(json.loads(json.dumps(t(1).to_json()))) == t(1) for t in TYPES.values())


class HalfFull:
    """A disk that takes some bytes and then no more, until it is told there is room again."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def write(self, data):
        if self.room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = self.file.write(data[: self.room])
        self.room -= taken
        return taken

    def close(self):
        self.file.close()


def test_a_full_disk_tears_one_line_and_no_other(tmp_path):
    (tmp_path / "run.json").touch()  # what makes a folder one that can be resumed
    path = tmp_path / "events.jsonl"
    log = EventLog(path, 0)
    log.emit(StepDone(0))
    log.file = HalfFull(log.file, 30)
    with refusal(RunStopped):
        log.emit(StepDone(1))
    log.file.room = 10_000
    log.emit(Stopped(1, why="disk full"))
    log.file.close()
    assert [type(e) for e in read_events(path)] == [StepDone, Stopped]
