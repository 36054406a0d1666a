"""Several kinds of problems as one source, and some problems of a source."""

from __future__ import annotations

import inspect
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from guerdon.core.errors import UserError
from guerdon.core.task import Task, kinds_of
from guerdon.curricula.plain import APART, EpochSampler
from guerdon.tasks import load
from guerdon.tasks.choosing import first
from guerdon.tasks.files import rows
from guerdon.tasks.mixtures import mixture


def finite(path: Path, count: int, kind: str = "") -> rows:
    lines = [{"prompt": f"{path.stem} {i}", "answer": str(i), "sort": ["easy", "hard"][i % 2]} for i in range(count)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return rows(str(path), held_out=0.2, kind=kind)


def test_levels_take_turns_and_are_checked_by_their_own_family():
    source = load("countdown:2-3+trace:1")
    drawn = [source.get("train", i) for i in range(6)]
    assert [t.kind for t in drawn] == ["countdown:2", "countdown:3", "trace:1"] * 2
    assert drawn[4] == load("countdown:3").get("train", 1)
    for task in drawn:
        assert source.check(task, source.solution(task)) == 1.0
        assert source.check(task, "= none") == 0.0
        assert all(source.check(task, miss.text) == 0.0 for miss in source.near_misses(task, random.Random(0)))
    assert list(kinds_of(source)) == ["countdown:2", "countdown:3", "trace:1"]


def test_a_single_family_is_one_kind():
    source = load("countdown:4")
    assert kinds_of(source) == {"countdown:4": source}


def test_finite_sources_are_gone_through_to_the_end(tmp_path):
    source = mixture("both", [finite(tmp_path / "a.jsonl", 5), finite(tmp_path / "b.jsonl", 10)])  # 4 and 8 to train on
    assert source.size("train") == 12 and source.size("test") == 3
    drawn = [source.get("train", i) for i in range(12)]
    assert [t.family for t in drawn] == ["a", "b"] * 4 + ["b"] * 4
    assert len({t.key for t in drawn}) == 12
    with pytest.raises(IndexError):
        source.get("train", 12)


def test_a_finite_source_ends_beside_an_endless_one(tmp_path):
    source = mixture("both", [finite(tmp_path / "a.jsonl", 5), load("countdown:2")])
    assert source.size("train") is None
    assert Counter(source.get("train", i).family for i in range(20)) == {"a": 4, "countdown": 16}


def test_some_problems_of_a_source():
    few = load("countdown:1-3@7")
    assert few.size("train") == 7 and few.size("test") is None
    assert {k: s.size("train") for k, s in kinds_of(few).items()} == {
        "countdown:1": 3,
        "countdown:2": 2,
        "countdown:3": 2,
    }
    assert few.get("test", 5) == load("countdown:1-3").get("test", 5)
    task = few.get("train", 6)
    assert few.check(task, few.solution(task)) == 1.0


def test_kinds_of_a_file(tmp_path):
    source = finite(tmp_path / "sums.jsonl", 10, kind="sort")
    found = kinds_of(source)
    assert {k: (s.size("train"), s.size("test")) for k, s in found.items()} == {
        "sums/easy:1": (4, 1),
        "sums/hard:1": (4, 1),
    }
    assert all(s.get(split, 0).kind == k for k, s in found.items() for split in ("train", "test"))


@pytest.mark.parametrize(
    ("name", "mend"),
    [
        ("countdown:3-1", "countdown:1-4"),
        ("countdown:1-x", "countdown:1-4"),
        ("countdown:1@none", "countdown:1@256"),
        ("countdown:1@0", "take 1 or more"),
        ("countdown:2+countdown:1-3", "twice"),
        ("countdwn:1-2", "countdown"),
    ],
)
def test_names_that_cannot_be(name, mend):
    with pytest.raises(UserError, match=mend):
        load(name)


def test_too_many_problems_of_a_finite_source(tmp_path):
    with pytest.raises(UserError, match="are 4"):
        first(finite(tmp_path / "a.jsonl", 5), 5)


def test_runs_of_different_seeds_read_different_problems():
    endless = EpochSampler(load("countdown:4"))
    assert endless.task(3, seed=0) == load("countdown:4").get("train", 3)
    assert endless.task(3, seed=2) == load("countdown:4").get("train", 3 + 2 * APART)
    few = EpochSampler(load("countdown:4@16"))
    laps = [[few.task(lap * 16 + i, seed=1).key for i in range(16)] for lap in range(2)]
    assert set(laps[0]) == set(laps[1]) and laps[0] != laps[1]
    assert few.task(3, seed=1).key == laps[0][3]  # back to an earlier lap


def test_kind_names_family_and_level():
    assert Task("1", "p", family="chain", level=4).kind == "chain:4"


def test_chosen_problems_are_a_source_for_whoever_looks_at_the_class_alone():
    """From Python 3.12 on a protocol is looked for without asking `__getattr__`."""
    few = first(load("chain:2"), 4)
    assert all(inspect.getattr_static(few, name) for name in ("name", "size", "get", "check"))
    problem = few.get("train", 0)
    assert (few.check(problem, few.solution(problem)), few.check(problem, "= none")) == (1.0, 0.0)
