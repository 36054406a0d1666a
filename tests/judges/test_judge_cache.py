"""Answers on disk: by content, for several processes, whole or refused in one line."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import threading

import pytest
from started import FORKING
from toy_server import toy

import guerdon as gd
from guerdon.core.task import Sampling
from guerdon.judges.answerer import JudgeAnswer, JudgeQuestion
from guerdon.judges.cache import Cache, default_place


def ask(by, *texts, **more):
    return asyncio.run(by.answer([JudgeQuestion((("user", text),), **more) for text in texts], {}))


def test_what_is_known_is_not_asked(tmp_path):
    file = str(tmp_path / "deep" / "c.sqlite")
    with toy(lambda messages: messages[-1]["content"] * 2) as server:
        first = ask(gd.endpoint(server.url, "toy", cache=file, prices=(1.0, 1.0)), "a", "b")
        again = ask(gd.endpoint(server.url + "/", "toy", cache=file, prices=(9.0, 9.0)), "b", "c", "a")
    assert [a.text for a in again] == ["bb", "cc", "aa"]
    assert [a.cached for a in first] + [a.cached for a in again] == [False, False, True, False, True]
    assert again[0].cost == 0.0 and len(server.requests) == 3


def test_every_thing_that_decides_an_answer_is_in_the_key(tmp_path):
    with toy(lambda messages: ("yes", [{"yes": 0.0}])) as server:

        def made(model="toy", **sampling):
            return gd.endpoint(server.url, model, cache=str(tmp_path / "c.sqlite"), sampling=Sampling(**sampling))

        plain = {"temperature": 0.0}
        ask(made(**plain), "q")
        others = [
            (made("other", **plain), {}),
            (made(temperature=0.5), {}),
            (made(temperature=0.0, max_tokens=9), {}),
            (made(**plain), {"choices": ("yes", "no")}),
            (made(**plain), {"temperature": 1.0, "seed": 1}),
            (made(**plain), {"temperature": 1.0, "seed": 2}),
        ]
        for by, more in others:
            assert not ask(by, "q", **more)[0].cached
            assert ask(by, "q", **more)[0].cached
        assert ask(made(**plain), "q", seed=7)[0].cached  # a greedy answer has no seed
        assert len(server.requests) == 7


def test_what_failed_is_not_kept(tmp_path):
    with toy(lambda messages: "yes", faults=[400]) as server:
        by = gd.endpoint(server.url, "toy", cache=str(tmp_path / "c.sqlite"))
        assert ask(by, "q")[0].error
        assert (ask(by, "q")[0].text, ask(by, "q")[0].cached) == ("yes", True)


def test_without_a_cache_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with toy(lambda messages: "yes") as server:
        for cache, files in ((False, 0), (True, 1)):
            ask(gd.endpoint(server.url, "toy", cache=cache), "q")
            ask(gd.endpoint(server.url, "toy", cache=cache), "q")
            assert default_place().is_file() is bool(files)
    assert len(server.requests) == 3
    assert default_place().is_relative_to(tmp_path)


@pytest.mark.parametrize("content", [b"not a database, but long enough to be looked at" * 40, None])
def test_a_damaged_file_is_one_line_that_names_it(tmp_path, content):
    file = tmp_path / "c.sqlite"
    if content is None:  # a whole database whose rows are something else
        with Cache(file) as cache:
            cache.put("k", JudgeAnswer("yes"))
            cache.db.execute("UPDATE answers SET answer = '{broken'")
            cache.db.commit()
    else:
        file.write_bytes(content)
    with pytest.raises(gd.UserError, match=r"c\.sqlite is damaged .*: delete it, or choose another") as caught:
        with Cache(file) as cache:
            cache.get(["k"])
    assert "\n" not in str(caught.value)


def test_a_place_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(gd.UserError, match=r"cannot be kept in .*: choose another file"):
        with Cache(tmp_path / "file" / "c.sqlite"):
            pass
    with pytest.raises(gd.UserError, match="cannot be kept in"):
        with Cache(tmp_path):
            pass


def _write(file, start):
    for n in range(start, start + 50):
        with Cache(file) as cache:
            cache.put(f"k{n}", JudgeAnswer(f"answer {n}"))
            cache.put("shared", JudgeAnswer("same"))


@pytest.mark.slow
def test_several_processes_write_at_once(tmp_path):
    file = tmp_path / "c.sqlite"
    workers = [FORKING.Process(target=_write, args=(file, 50 * w)) for w in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    with Cache(file) as cache:
        found = cache.get([f"k{n}" for n in range(150)] + ["shared", "unknown"])
    assert len(found) == 151 and found["k149"].text == "answer 149" and found["k0"].cached


def test_a_new_file_is_waited_for_while_another_process_writes_it(tmp_path):
    file = tmp_path / "c.sqlite"
    with contextlib.closing(sqlite3.connect(file, check_same_thread=False)) as other:
        other.execute("CREATE TABLE begun (x)")
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.2, other.commit).start()
        with Cache(file) as cache:
            cache.put("k", JudgeAnswer("yes"))
            assert cache.get(["k"])["k"].text == "yes"


def test_what_is_stored_is_the_answer_alone(tmp_path):
    file = tmp_path / "c.sqlite"
    with Cache(file) as cache:
        cache.put("k", JudgeAnswer("yes", {"yes": -0.5}, 3, 1, cost=7.0))
    with sqlite3.connect(file) as db:
        (row,) = db.execute("SELECT answer FROM answers")
    db.close()
    stored = json.loads(row[0])
    assert len(stored.pop("sum")) == 8
    assert stored == {"text": "yes", "choices": {"yes": -0.5}, "tokens_in": 3, "tokens_out": 1}
