"""Which runs the studio knows, and how it reads them while they are written."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

import guerdon.studio.library as library_module
from guerdon.core.errors import UserError
from guerdon.runs.event_types import StepDone, Warned
from guerdon.runs.events import EventLog, LogReader, read_log
from guerdon.runs.run import Missing
from guerdon.studio.library import Library, id_of
from guerdon.studio.live import ChangeWatch


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at the disk is believed for no time."""
    monkeypatch.setattr(library_module, "FRESH", 0.0)


def names(library: Library) -> list[str]:
    return [Path(each.name).name for each in library.runs()]


def test_runs_are_found_in_folders_of_folders_and_by_themselves(small_run: Path, tmp_path: Path) -> None:
    for place in ("a/one", "a/deep/er/two", "b/three", ".hidden/four"):
        shutil.copytree(small_run / "first", tmp_path / place)
    assert sorted(names(Library([tmp_path]))) == ["one", "three", "two"]
    assert names(Library([tmp_path / "b/three", tmp_path / "a"])) == ["three", "two", "one"]
    assert names(Library([tmp_path / "a", tmp_path / "a/one"])) == ["two", "one"], "each run once"


def test_the_runs_of_a_study_stand_after_it(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run / "first", tmp_path / "study")
    shutil.copytree(small_run / "first", tmp_path / "study/inner/a")
    study, inner = Library([tmp_path]).runs()
    assert (study.within, inner.within, inner.name) == ("", study.id, str(tmp_path / "study/inner/a"))


def test_a_study_has_the_runs_that_it_shares_and_no_link_leads_out(small_run: Path, tmp_path: Path) -> None:
    for place in ("runs/study", "runs/.inner/seed/shared", "elsewhere/secret"):
        shutil.copytree(small_run / "first", tmp_path / place)
    inner = tmp_path / "runs" / "study" / "inner"
    inner.mkdir()
    (inner / "shared").symlink_to("../../.inner/seed/shared")
    (inner / "out").symlink_to(tmp_path / "elsewhere" / "secret")
    (inner / "ring").symlink_to("ring")
    assert names(Library([tmp_path / "runs"])) == ["study", "shared"]
    assert names(Library([tmp_path / "runs" / "study"])) == ["study"], "what is shared lies outside of it"


def test_a_run_keeps_its_id_and_an_odd_name_has_a_plain_one(small_run: Path, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"<b>\xff \n;drop")
    shutil.copytree(small_run / "first", odd)
    (shelved,) = Library([tmp_path]).runs()
    assert shelved.id == id_of(odd) and shelved.id.isalnum() and shelved.run.steps_done == 3


def test_what_is_broken_is_there_with_its_fault(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run / "first", tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/run.json").write_text("{")
    shutil.copytree(small_run / "first", tmp_path / "piped")
    (tmp_path / "piped/events.jsonl").unlink()
    os.mkfifo(tmp_path / "piped/events.jsonl")
    (tmp_path / "loop").symlink_to(tmp_path)
    bad, good, piped = Library([tmp_path]).runs()
    assert "no readable run.json" in bad.fault and not good.fault and "not a file" in piped.fault


def test_a_run_that_was_deleted_is_missing(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run / "first", tmp_path / "run")
    library = Library([tmp_path])
    (shelved,) = library.runs()
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(Missing, match="not there any more"):
        _ = shelved.run
    assert library.runs() == []
    with pytest.raises(Missing):
        library.run(shelved.id)


def test_a_config_that_changes_is_read_again(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run / "first", tmp_path / "run")
    (shelved,) = Library([tmp_path]).runs()
    before = shelved.run
    assert shelved.run is before
    (tmp_path / "run/run.json").write_text("{}")
    with pytest.raises(UserError):
        _ = shelved.run


# --- a file of events that grows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["events.jsonl", "labels/labels.jsonl"])
def test_a_line_added_to_a_file_changes_what_a_run_is_marked_by(small_run: Path, tmp_path: Path, file: str) -> None:
    """Also where no file came into its folder, or left it."""
    written = shutil.copytree(small_run / "first", tmp_path / "run") / file
    written.parent.mkdir(exist_ok=True)
    written.touch()
    (shelved,) = Library([tmp_path]).runs()
    before = shelved.marks()
    with written.open("a") as lines:
        lines.write("{}\n")
    assert shelved.marks() != before


def test_what_was_read_of_events_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    reader = LogReader(path)
    assert reader.read().events == []
    with EventLog(path, 0) as log:
        for step in range(5):
            log.emit(StepDone(step, metrics={"a": step}))
            assert reader.read() == read_log(path)
        first = reader.read().events[0]
        log.emit(Warned(5, message="late"))
        assert reader.read().events[0] is first


def test_a_torn_line_is_passed_over_until_it_is_whole(tmp_path: Path) -> None:
    path, part = tmp_path / "events.jsonl", tmp_path / "part.jsonl"
    with EventLog(path, 0) as log:
        for step in range(3):
            log.emit(StepDone(step))
    whole = path.read_bytes()
    reader = LogReader(part)
    for size in range(len(whole) + 1):  # as if it were written a byte at a time
        part.write_bytes(whole[:size])
        assert reader.read() == read_log(part), size
    assert len(reader.read().events) == 3 and not reader.read().damaged


def test_a_file_that_shrank_or_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path, 0) as log:
        for step in range(4):
            log.emit(StepDone(step))
    reader = LogReader(path)
    assert len(reader.read().events) == 4
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))
    assert [e.step for e in reader.read().events] == [0, 1]
    other = tmp_path / "other"
    other.write_bytes(b"".join(lines[:3]))
    other.replace(path)
    assert reader.read() == read_log(path)
    path.unlink()
    assert reader.read().events == []


def test_a_damaged_line_between_two_looks_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path, 0) as log:
        for step in range(3):
            log.emit(StepDone(step))
    lines = path.read_bytes().splitlines(keepends=True)
    reader = LogReader(path)
    path.write_bytes(lines[0])
    reader.read()
    with open(path, "ab") as file:
        file.write(lines[1].replace(b"StepDone", b"stepdone") + lines[2])
    assert reader.read() == read_log(path) and reader.read().damaged == (2,)


# --- changes ----------------------------------------------------------------------------------------------------------


def test_changes_are_told_to_everybody_who_listens(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guerdon.studio.live.EVERY", 0.01)
    shutil.copytree(small_run / "first", tmp_path / "run")
    library = Library([tmp_path])
    id = library.runs()[0].id

    async def listen() -> list[list[str]]:
        watch = ChangeWatch(library)
        streams = [watch.events(), watch.events()]
        for stream in streams:
            assert "hello" in await anext(stream)
        heard = []
        with open(tmp_path / "run/events.jsonl", "ab") as file:
            file.write(b"torn")
        heard += [json.loads((await anext(s)).split("data: ")[1])["runs"] for s in streams]
        (tmp_path / "run").rename(tmp_path / ".gone")
        heard += [json.loads((await anext(s)).split("data: ")[1])["runs"] for s in streams]
        watch.close()
        for stream in streams:
            assert [each async for each in stream] == []
        return heard

    assert asyncio.run(asyncio.wait_for(listen(), 60)) == [[id]] * 4
