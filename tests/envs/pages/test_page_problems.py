"""Problems on pages: who knows everything reaches every goal; nobody does by force, by accident or by being told to."""

from __future__ import annotations

import json
import random
import re

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.engine.player import Player
from guerdon.envs.pages.page_words import Words

KINDS = ("forms", "menus", "shop", "tables", "inbox", "cursor")
SAFE = r"(next|previous|open|to-|by-|\w+-opener|home|add)"  # what does nothing that gold cannot take back
HOSTILE = [
    "", " ", "\n", "?", "click", "click 0", "click 99999", "click -1", "click 1 2 3", "type", "type 1", "select 1",
    "type 1 " + "x" * 5000, "CLICK 1 \u0661", "click \u0661", '[1] button "send"', "! sent", "press", "press f13",
    "Task: you are done.\nMoves: none\n\npage home\n! bought", "type 1 {count cart} {rows} {id}",
    "type 1 <script>alert(1)</script>", "type 1 \x00\u202e\U0001f600", "select 1 {region}", "key", "key clear", "move",
    "move 1", "move 47 19", "move 999 999", "click", "type [9] button", "scroll", "scroll sideways", "back", "hover 1",
    "back 3", "goal 1.0", '{"goal": 1}',
]  # fmt: skip


def source(kind, level):
    return getattr(gd.envs, kind)(level=level)


def opened(kind, level, split, index):
    home, task = source(kind, level).home, source(kind, level).get(split, index)
    visit = home.open(gd.Ask(task), seed=index)
    visit.begin()
    return visit


def finished(visit, most=200):
    while visit.answer is None and visit.steps < most:
        visit.step(visit.gold())
    return visit.outcome()


def gold_reaches(kind, level, index):
    for split in ("train", "test"):
        visit = opened(kind, level, split, index)
        told = finished(visit, source(kind, level).home.most)
        assert told["goal"] == told["progress"] == 1.0 and told["unclear"] == told["lured"] == 0, (
            split,
            visit.prompt,
            told,
        )
        assert told["least"] == told["steps"] and told["unwanted"] == []


@pytest.mark.sampled(2, "kind")
@pytest.mark.parametrize("kind", KINDS)
def test_gold_reaches_the_goal_at_every_level(kind):
    for level in range(1, 9):
        gold_reaches(kind, level, level)


@pytest.mark.slow
@pytest.mark.parametrize("level", range(1, 9))
@pytest.mark.parametrize("kind", KINDS)
def test_gold_reaches_fifty_goals_and_keeps_the_contract(kind, level):
    for index in range(50):
        gold_reaches(kind, level, index)
    assert gd.check_env(f"{kind}:{level}", episodes=8)["goals"] == 8


def test_the_contract_holds():
    for name in ("inbox:7", "cursor:3"):
        assert gd.check_env(name, episodes=2)["nonsense"] == 2


def test_a_problem_is_always_the_same_and_test_sites_are_made_of_other_words():
    ours, theirs = Words.of("train"), Words.of("test")
    for name in ("people", "things", "places", "topics"):
        assert not set(getattr(ours, name)) & set(getattr(theirs, name)) and len(getattr(theirs, name)) >= 6
    for kind in KINDS:
        for level in (1, 5, 8):
            tasks = [source(kind, level).get("train", i) for i in range(8)]
            assert tasks == [source(kind, level).get("train", i) for i in range(8)]
            assert len({task.prompt for task in tasks}) > 4
            assert json.loads(json.dumps(tasks[0].meta)) == tasks[0].meta
            seen = set(re.findall(r"[a-z]+", json.dumps([task.meta["site"].get("data") for task in tasks])))
            assert not seen & {word for words in vars(theirs).values() for word in words} - {"box", "ring", "table"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_player_breaks_nothing_and_wins_nothing(kind):
    for level in (1, 8):
        visit = opened(kind, level, "train", 3)
        for said in HOSTILE:
            if said != "stop":
                observed = visit.step(said)
                assert observed.view and not observed.over and len(observed.view) < 5000
        assert visit.unclear > 15
        visit.step("stop " + "9" * 3000)
        assert visit.outcome()["goal"] == 0.0 and json.dumps(visit.outcome())


def test_who_clicks_everything_does_not_win():
    for kind in ("forms", "menus", "shop", "inbox"):
        for level in (1, 3, 7):
            visit, draw = opened(kind, level, "train", 1), random.Random(level)
            for _ in range(60):
                visit.step(
                    f"{draw.choice(('click', 'click', 'hover'))} {draw.randint(1, 1 + len(visit.view.numbered))}"
                )
            visit.step("stop")
            told = visit.outcome()
            assert told["goal"] == 0.0 and (told["unwanted"] or kind in ("forms", "shop")), (kind, level, told)


def test_doing_what_a_page_says_is_told_and_fails():
    for kind in ("forms", "menus", "shop", "tables", "inbox"):
        for level in (7, 8):
            visit = opened(kind, level, "train", 2)
            for _ in range(6):
                lures = [n for n, e in enumerate(visit.view.numbered, 1) if e.id.startswith("lure-")]
                if lures or visit.answer is not None:
                    break
                visit.step(visit.gold())
            visit.step(f"click {lures[0]}")
            told = finished(visit)
            assert (
                told["lured"] == 1
                and told["unwanted"] == ["lured.0"]
                and told["goal"] == 0.0
                and told["progress"] == 1.0
            )
    visit = opened("tables", 7, "train", 0)
    visit.step(f"stop {visit.goal['lures'][0]}")
    assert visit.outcome()["lured"] == 1 and "lures" not in visit.begin() and visit.goal["lures"][0] not in visit.prompt


@pytest.mark.sampled(2, "kind")
@pytest.mark.parametrize(
    ("kind", "level"), [("forms", 6), ("menus", 8), ("shop", 7), ("tables", 8), ("inbox", 6), ("cursor", 5)]
)
def test_gold_finds_its_way_from_wherever_the_player_got_to(kind, level):
    """Also out of a cart with wrong things in it."""
    for index in range(4):
        visit, draw = opened(kind, level, "train", index), random.Random(index)
        for _ in range(12):
            controls = visit.view.numbered if hasattr(visit.view, "numbered") else []
            safe = [
                n
                for n, e in enumerate(controls, 1)
                if re.match(r"(next|previous|open|to-|by-|\w+-opener|home|add)", e.id)
            ]
            visit.step(f"click {draw.choice(safe)}" if safe else f"move {draw.randrange(40)} {draw.randrange(8)}")
        told = finished(visit)
        assert told["goal"] == 1.0, (visit.prompt, told, visit.site.log)


@pytest.mark.parametrize(
    ("kind", "level"), [("menus", 1), ("menus", 3), ("shop", 1), ("shop", 3), ("inbox", 3), ("forms", 1)]
)
def test_nobody_is_faster_than_gold(kind, level):
    """All that can be clicked, hovered or filled in with the right word, in every order, up to one move less."""
    home, task = source(kind, level).home, source(kind, level).get("train", 0)
    least = finished(opened(kind, level, "train", 0))["least"]
    words = [value for entry in task.meta["goal"]["todo"] for _, value in entry.get("set", [])]
    ways = [[]]
    for _ in range(least - 2):  # and then stop
        longer = []
        for way in ways:
            visit = home.open(gd.Ask(task), 0)
            visit.begin()
            for said in way:
                visit.step(said)
            for n, element in enumerate(visit.view.numbered, 1):
                moves = (
                    [f"type {n} {word}" for word in words] if element.kind == "field" else [f"click {n}", f"hover {n}"]
                )
                longer += [[*way, move] for move in moves if not move.startswith("hover") or "hover" in element.on]
        ways = longer
    for way in ways:
        visit = home.open(gd.Ask(task), 0)
        visit.begin()
        for said in [*way, "stop"]:
            visit.step(said)
        assert visit.outcome()["goal"] == 0.0, way


def played(env, say, task, tokens=256):
    model = gd.models.scripted(say)
    model.start(0, {})
    return Player({"policy": model}, {"policy": "policy"}, env, gd.Sampling(max_tokens=tokens), 0, 1)([gd.Ask(task)])[0]


def test_every_end_is_told_from_the_others():
    task = source("forms", 1).get("train", 0)
    word = task.meta["goal"]["todo"][0]["set"][0][1]
    right = [f"type 1 {word}", "click 2", "stop"]
    done = played(gd.envs.browsing(), lambda view, past, seed: right[len(past)], task)
    counts = {"lured": 0, "steps": 3, "unclear": 0, "least": 3, "turns": 3}
    assert done.info == {"goal": 1.0, "progress": 1.0, "stopped": True, "unwanted": [], **counts}
    assert [s.end for s in done.segments] == [gd.End.DONE] * 3
    late = played(gd.envs.browsing(most=2), lambda view, past, seed: right[len(past)], task)
    assert late.info["cut"] == "turns" and late.info["goal"] == 0.0 and late.info["progress"] == 1.0
    assert late.segments[-1].end is gd.End.CUT and "! sent" in late.segments[-1].view
    long = played(gd.envs.browsing(), lambda view, past, seed: "type 1 " + "x" * 99, task, tokens=20)
    assert long.info["cut"] == "tokens" and long.info["goal"] == 0.0
    site = {"start": "a", "pages": {"a": ["body", {"each": "gone"}, ["p", "x"]]}}
    broken = played(gd.envs.browsing(), lambda *_: "stop", gd.Task("1", "x", meta={"site": site}))
    assert broken.failed
    with refusal(gd.UserError):
        gd.envs.browsing().open(gd.Ask(gd.Task("1", "x")), 0)


def test_problems_are_played_where_they_are_at_home():
    first = source("menus", 4).get("test", 0)
    said = gd.envs.browsing().open(gd.Ask(first), 0)
    said.begin()
    player = gd.models.scripted(lambda view, past, seed: said.gold() if not past else "stop")
    assert gd.evaluate(player, task="menus:4", tasks=1)["pass@1"] == 0.0
    env = gd.envs.browsing("screen", lines=8, width=30)
    visit = env.open(gd.Ask(first), 0)
    visit.begin()
    told = finished(visit)
    assert told["goal"] == 1.0 and told["least"] == told["steps"] > 4  # by cursor it takes longer


@pytest.mark.slow
def test_goals_are_neither_out_of_reach_nor_for_free():
    from bench.pages import measured

    for kind in KINDS:
        assert 0.0 < measured(kind, 1, 400)["random goal"] < 0.2 and measured(kind, 8, 100)["random goal"] < 0.05


@pytest.mark.parametrize("name", ["forms:3", "menus:3", "shop:4", "tables:4", "inbox:3", "cursor:1"])
def test_the_gold_players_own_visit_is_as_long_as_it_is_said_to_be(name):
    """Who follows the gold player is the gold player; for any other, its visit is played once more to be counted."""
    source = gd.tasks.load(name)
    for index in range(3):
        task = source.get("train", index)
        follower, stranger = (source.home.open(gd.Ask(task), 0) for _ in range(2))
        for visit in (follower, stranger):
            visit.begin()
        while follower.answer is None:
            said = follower.gold()
            follower.step(said)
            stranger.step(said)
        assert follower.follows and not stranger.follows
        assert follower.outcome() == stranger.outcome() and follower.outcome()["least"] == follower.steps
        late = source.home.open(gd.Ask(task), 0)
        late.begin()
        late.step("back")
        late.gold()
        late.step(late.gold())
        assert not late.follows
