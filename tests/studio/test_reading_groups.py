"""Groups of tries, where a task was asked, and differences of texts, by hand."""

from __future__ import annotations

import dataclasses
import random
import shutil

import pytest
import torch
from strategies import episode, segment

from guerdon.core.batch import Pairs
from guerdon.core.column import Column, Reason
from guerdon.core.pack import pack
from guerdon.display.reading import ask_groups
from guerdon.display.reading.opened_steps import StepFile
from guerdon.runs.rollout_files import read_table, write_batch
from guerdon.runs.run import Missing, Run
from guerdon.studio.reading.whereabouts import Whereabouts
from guerdon.studio.reading.word_differences import PIECE, difference


def filed(tmp_path, batch, step=0):
    write_batch(tmp_path / "one.parquet", batch, step)
    return StepFile(*read_table(tmp_path / "one.parquet", step), step)


def tried(texts, rewards, advantages, **more):
    """A batch of tries at one ask."""
    batch = pack([episode(segment([1, 2, 3], text=text), attempt=n) for n, text in enumerate(texts)])
    reason = torch.tensor([Reason.VALUE if r == r else Reason.FAILED for r in rewards], dtype=torch.int8)
    steps = torch.tensor(advantages).repeat_interleave(3)
    columns = {
        "reward": Column("track", torch.tensor(rewards), reason),
        "advantage": Column.full("step", steps),
        **more,
    }
    return batch.with_cols(columns)


def test_a_group_is_sorted_by_advantage_and_has_its_mean_and_spread(tmp_path):
    missing = float("nan")
    batch = tried(["a", "b", "c", "b"], [1.0, 0.0, missing, 0.5], [0.5, -2.0, 0.0, 1.5])
    group = ask_groups.group(filed(tmp_path, batch), "0.0")
    [role] = group["roles"]
    assert [(one["episode"], one["advantage"], one["text"]) for one in role["tries"]] == [
        ("0.0.3", 1.5, "b"),
        ("0.0.0", 0.5, "a"),
        ("0.0.2", 0.0, "c"),
    ]
    assert [other["episode"] for other in role["tries"][0]["same"]] == ["0.0.1"]  # the same text, folded
    assert role["tries"][2]["reward"] is None and role["tries"][2]["reasons"] == {"reward": "failed"}
    reward = role["reward"]
    assert (reward["count"], reward["mean"], reward["spread"]) == (3, 0.5, 0.5)  # of 0, 0.5 and 1
    assert role["in_all"] == group["tries"] == 4 and role["length"]["mean"] == 3
    assert role["signal"] == {"is_there": True, "words": ""}


@pytest.mark.parametrize(
    "rewards, advantages, words",
    [
        ([1.0, 1.0], [0.0, 0.0], "all 2 were paid the same: nothing is learned from them"),
        ([1.0, 0.0], [0.0, 0.0], "every advantage is 0: nothing is learned from them"),
        ([1.0, 1.0], [0.5, 0.5], ""),
    ],
)
def test_a_group_says_whether_anything_is_learned_from_it(tmp_path, rewards, advantages, words):
    [role] = ask_groups.group(filed(tmp_path, tried("ab", rewards, advantages)), "0.0")["roles"]
    assert role["signal"] == {"is_there": not words, "words": words}


def test_tries_that_are_all_wrong_or_all_muted_teach_nothing(tmp_path):
    batch = tried("ab", [1.0, 0.0], [0.0, 0.0], correct=Column.full("track", torch.zeros(2))).without("reward")
    [role] = ask_groups.group(filed(tmp_path, batch), "0.0")["roles"]
    assert role["signal"]["words"] == "all 2 are wrong: nothing is learned from them"
    batch = tried("ab", [1.0, 0.0], [1.0, -1.0])
    batch.muted[:] = True
    [role] = ask_groups.group(filed(tmp_path, batch), "0.0")["roles"]
    assert role["signal"] == {"is_there": False, "words": "no token of these is learned from"}


def test_tries_without_a_pair_teach_nothing_where_pairs_are_learned_from(tmp_path):
    batch = pack([episode(segment(), number=number, attempt=n) for number in range(2) for n in range(2)])
    pairs = Pairs.of(torch.tensor([3]), torch.tensor([2]))
    file = filed(tmp_path, dataclasses.replace(batch, pairs=pairs))
    first, second = (ask_groups.group(file, ask)["roles"][0]["signal"] for ask in ("0.0", "0.1"))
    assert first == {"is_there": False, "words": "no pair is made of these: nothing is learned from them"}
    assert second == {"is_there": True, "words": ""}


def test_roles_are_never_compared_and_asks_know_their_neighbours(tmp_path):
    acted = (segment(), segment(role="judge", parent=0))
    batch = pack([episode(*acted, number=number, attempt=n) for number in range(3) for n in range(2)])
    file = filed(tmp_path, batch)
    group = ask_groups.group(file, "0.1")
    assert [(role["role"], role["in_all"]) for role in group["roles"]] == [("policy", 2), ("judge", 2)]
    assert (group["before"], group["after"]) == ("0.0", "0.2")
    assert ask_groups.tries_at(file, "task/t")["tries"] == 6  # all asks of the task
    with pytest.raises(Missing, match=r"step 0 holds no ask 0\.9"):
        ask_groups.group(file, "0.9")


def test_an_advantage_of_a_track_is_the_mean_over_all_its_steps(tmp_path):
    batch = pack([episode(segment([1]), segment([1, 2, 3], parent=0))])
    batch = batch.with_cols({"advantage": Column.full("step", torch.tensor([1.0, 2.0, 3.0, 4.0]))})
    [role] = ask_groups.group(filed(tmp_path, batch), "0.0")["roles"]
    [one] = role["tries"]
    assert (one["advantage"], one["length"], one["turns"], one["segment"]) == (2.5, 4, 2, 1)


# --- where --------------------------------------------------------------------------------------------------------


def test_where_a_task_was_asked(small_run, tmp_path):
    shutil.copytree(small_run / "first", tmp_path / "run")
    run, whereabouts = Run(tmp_path / "run"), Whereabouts()
    tasks = {}
    for step, batch in run.batches():
        for each in batch.episodes:
            tasks.setdefault(each.task.key, {}).setdefault(step, set()).add(each.key)
    for task, steps in tasks.items():
        told = whereabouts.of(run, task)
        assert told["steps"] == [{"step": step, "tries": len(keys)} for step, keys in steps.items()]
    run.folder.rollouts(1).write_bytes(b"torn")
    told = whereabouts.of(run, next(iter(tasks)))
    assert told["unreadable"] == 1 and all(each["step"] != 1 for each in told["steps"])
    assert whereabouts.of(run, "no/task")["steps"] == []


def test_tries_and_differences_over_http(ask, small_run):
    client = ask(small_run)
    [run] = client.get("/api/reading/runs").json()["runs"]
    rollout = client.get("/api/reading/rollout", params={"run": run["id"], "step": 1, "episode": "1.0.0"}).json()
    tries = client.get(
        "/api/reading/tries", params={"run": run["id"], "step": 1, "task": rollout["task"]["key"]}
    ).json()
    assert any(one["episode"] == "1.0.0" for one in tries["roles"][0]["tries"] for one in [one, *one["same"]])
    asked = {"run": run["id"], "step": 1, "ask": "1.0"}
    whole, brief = (client.get("/api/reading/group", params={**asked, **more}).json() for more in ({}, {"brief": "1"}))
    [one, *_] = brief["roles"][0]["tries"]
    assert "text" not in one and one.items() <= whole["roles"][0]["tries"][0].items()
    which = f"{run['id']}:1:1.0.0:0"
    same = client.get("/api/reading/difference", params={"left": which, "right": which}).json()
    assert same["stretches"] == [["same", rollout["segments"][0]["text"]]]
    wrong = client.get("/api/reading/difference", params={"left": which, "right": "x"})
    assert wrong.status_code == 422 and "RUN:STEP:EPISODE:SEGMENT" in wrong.json()["error"]
    assert client.get("/api/reading/group", params={"run": run["id"], "step": 1, "ask": "1.99"}).status_code == 404


# --- differences --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "left, right, stretches",
    [
        ("", "", []),
        ("a b", "a b", [("same", "a b")]),
        ("a b c", "a x c", [("same", "a "), ("left", "b"), ("right", "x"), ("same", " c")]),
        ("a", "", [("left", "a")]),
        ("", "a", [("right", "a")]),
        ("日本語", "日韓語", [("same", "日"), ("left", "本"), ("right", "韓"), ("same", "語")]),
        ("a\nb", "a\nb\nc", [("same", "a\nb"), ("right", "\nc")]),
    ],
)
def test_differences_by_hand(left, right, stretches):
    assert [(s.kind, s.text) for s in difference(left, right).stretches] == stretches


def longest_common(a, b):
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def test_differences_are_the_shortest_and_give_both_texts_back():
    dice = random.Random(0)
    for _ in range(200):
        left, right = (" ".join(dice.choice("abc") for _ in range(dice.randrange(9))) for _ in range(2))
        stretches = difference(left, right).stretches
        assert "".join(s.text for s in stretches if s.kind != "right") == left
        assert "".join(s.text for s in stretches if s.kind != "left") == right
        common = sum(len(PIECE.findall(s.text)) for s in stretches if s.kind == "same")
        assert common == longest_common(PIECE.findall(left), PIECE.findall(right))


def test_texts_that_differ_too_much_are_told_as_a_whole():
    told = difference("same a b c d e same", "same 1 2 3 4 5 same", edits=4)
    assert told.is_rough
    kinds = [(s.kind, s.text) for s in told.stretches]
    assert kinds == [("same", "same "), ("left", "a b c d e"), ("right", "1 2 3 4 5"), ("same", " same")]
