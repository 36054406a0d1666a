"""Episodes with tools: what is shown, how calls go wrong and are told of, how episodes end, and that nothing is shared."""

from __future__ import annotations

import os
import random
import threading

import pytest
from tool_players import call, errors, played

import guerdon as gd
from guerdon.core.seeds import derive
from guerdon.envs.tools.tool_calling import MOST_AT_ONCE

BLOCKED = threading.Event()  # never set


def add(a: int, b: int) -> int:
    """The sum of two numbers."""
    return a + b


def breaks() -> str:
    """It raises."""
    raise KeyError("no\nsuch")


def hangs() -> str:
    """It never ends."""
    BLOCKED.wait()
    return ""


async def later(text: str) -> str:
    """It waits."""
    return text * 2


def huge() -> str:
    """It says much."""
    return "x" * 10_000


def odd() -> object:
    """It returns what is not JSON."""
    return object()


def half() -> str:
    """It returns half a character."""
    return "\ud800"


def leaves() -> str:
    """It wants to end the process."""
    raise SystemExit(3)


def down() -> str:
    """A service that does not answer."""
    raise gd.envs.ToolBroken("the service is down")


@gd.tool(apart=True)
def crashes() -> str:
    """It ends its process."""
    os._exit(7)


@gd.part
class Counter:
    """Counts, for each episode from a start of its own."""

    count: int = gd.live(default=0)

    def open(self, seed: int, meta: dict) -> Counter:
        fresh = Counter()
        fresh.count = meta.get("start", 0) + random.Random(derive(seed)).randrange(10)
        return fresh

    @gd.tool
    def more(self, by: int = 1) -> int:
        """Count on."""
        self.count += by
        return self.count


def test_an_episode_by_hand():
    env = gd.envs.tool_turns([add])
    both = f"Let me see.\n{call('add', a=2, b=3)}\n{call('add', a=5, b=-1)}"
    episode = played(env, [both, "It is 5."], gd.Task("1", "2+3?", "5"))
    first, second = episode.segments
    system, user = first.view
    assert user == {"role": "user", "content": "2+3?"}
    assert system["content"].startswith("# Tools\n\nYou may call one or more functions")
    assert (
        '\n{"type": "function", "function": {"name": "add", "description": "The sum of two numbers.", '
        in system["content"]
    )
    assert second.view == "<tool_response>\n5\n</tool_response>\n<tool_response>\n4\n</tool_response>"
    assert (second.text, second.end) == ("It is 5.", gd.End.DONE)
    info = episode.info
    assert (info["answered"], info["calls"], info["errors"], info["turns"], "cut" in info) == (True, 2, {}, 2, False)
    assert info["called"][1] == {"turn": 0, "name": "add", "arguments": {"a": 5, "b": -1}, "result": "4"}


@pytest.mark.parametrize(
    ("tool", "said", "kind", "shown"),
    [
        (add, call("ad", a=1), "unknown", "error: there is no tool 'ad': did you mean add?"),
        (add, call("add", a=1), "arguments", "error: add: b is missing: it must be a whole number"),
        (add, "<tool_call>{'a'}</tool_call>", "malformed", "error: the call is not JSON (Expecting property name"),
        (add, "<tool_call></tool_call>", "malformed", "error: an empty call"),
        (add, '<tool_call>{"name": "add"', "malformed", "error: the call is not JSON"),
        (add, '<tool_call>"add"</tool_call>', "malformed", 'error: a call is {"name": ..., "arguments": {...}}'),
        (add, call("add", a=1, b=2).replace("2", "NaN"), "malformed", "error: the call is not JSON (NaN is not a JSON number"),
        (add, call("add", a="\ud800", b=2), "malformed", "error: the call is not JSON (half a character"),
        (breaks, call("breaks"), "raised", 'error: breaks raised KeyError: '),
        (leaves, call("leaves"), "raised", "error: leaves raised SystemExit: 3"),
        (hangs, call("hangs"), "timed_out", "error: hangs took more than 0.05 s"),
        (odd, call("odd"), "result", "error: the tool returned a object, which is not JSON"),
    ],
)  # fmt: skip
def test_every_error_is_told_and_counted_and_the_episode_goes_on(tool, said, kind, shown):
    episode = played(gd.envs.tool_turns([tool], timeout=0.05), [said, "done"])
    assert (errors(episode), episode.info["errors"]) == ([kind], {kind: 1})
    assert episode.info["called"][0]["result"].startswith(shown)
    assert shown in episode.segments[1].view
    assert (episode.info["answered"], episode.failed) == (True, False)


def test_results_of_all_kinds():
    env = gd.envs.tool_turns([later, huge, half], longest=100)
    episode = played(env, [call("later", text="ab"), call("huge"), call("half"), "done"])
    first, second, third = episode.info["called"]
    assert first["result"] == "abab"
    assert (second["result"], second["shortened"]) == (
        "x" * 100 + "\n... (10,000 characters, the first 100 are shown)",
        True,
    )
    assert third["result"] == "\\ud800"
    many = played(gd.envs.tool_turns([add]), [call("add", a=1, b=1) * (MOST_AT_ONCE + 2), "done"])
    assert errors(many) == [""] * MOST_AT_ONCE + ["too_many"] * 2


def test_what_is_no_calls_fault_fails_the_episode():
    episode = played(gd.envs.tool_turns([down]), [call("down"), "done"])
    assert episode.failed
    assert "the service is down" in episode.info["error"]
    assert episode.segments[-1].end is gd.End.FAILED


def test_a_tool_apart_may_crash():
    episode = played(gd.envs.tool_turns([crashes, add]), [call("crashes"), call("add", a=1, b=1), "done"])
    assert errors(episode) == ["crashed", ""]
    assert episode.info["called"][0]["result"] == "error: crashes crashed: the worker exited with code 7"


def test_every_limit_ends_an_episode_cut():
    on_and_on = [call("add", a=1, b=1)]
    turns = played(gd.envs.tool_turns([add], most=3), on_and_on)
    assert (turns.info["cut"], turns.info["turns"], turns.info["answered"]) == ("turns", 3, False)
    assert turns.segments[-1].end is gd.End.CUT
    tokens = played(gd.envs.tool_turns([add]), on_and_on, max_tokens=20)
    assert (tokens.info["cut"], tokens.info["calls"]) == ("tokens", 0)
    time = played(gd.envs.tool_turns([add], seconds=1e-9), on_and_on)
    assert (time.info["cut"], time.info["turns"]) == ("time", 1)


def test_episodes_have_tools_of_their_own_that_follow_from_the_seed():
    env = gd.envs.tool_turns([Counter()])
    says = [call("more"), call("more", by=5), "done"]
    results = [
        [each["result"] for each in played(env, says, gd.Task("1", "Count.", meta={"start": start})).info["called"]]
        for start in (0, 0, 100)
    ]
    assert results[0] == results[1]
    assert int(results[2][1]) == int(results[0][1]) + 100
    assert int(results[0][1]) == int(results[0][0]) + 5


HOSTILE = [
    "", " ", "\0", "é" * 1000, "x" * 100_000, "<tool_call>" * 2000, "</tool_call>" * 10, "[" * 5000,
    "<tool_call>" + "[" * 5000, "<tool_call>" + '{"name": "add", "arguments": ' + '{"a":' * 2000,
    "<tool_response>\n5\n</tool_response>", "<tools></tools>", "<tool_call>" + "1 " * 20_000, "<|im_end|>", "call", "call ",
    '<tool_call>{"name": "add", "arguments": "[]"}</tool_call>', "{}", '{"name": "add"}', "call 1+" + "(" * 900,
    '<tool_call>{"name": "add", "arguments": {"a": ' + "9" * 5000 + ', "b": 1}}</tool_call>', "{'name'", '["name"]',
]  # fmt: skip


@pytest.mark.parametrize("format", ["hermes", "llama", "sprig"])
def test_no_text_of_a_players_breaks_an_episode_or_wins_it(format):
    source = gd.envs.with_tools(gd.tasks.chain(level=2), gd.envs.tool_turns([gd.envs.calculator], 3, format=format))
    task = source.get("train", 0)
    for said in HOSTILE:
        episode = played(source.home, [said], task)
        assert not episode.failed, said[:50]
        assert source.check_track(task, {"episode": episode, "completion": said}) == 0.0


def test_a_call_that_a_limit_cut_off_is_no_answer():
    """Though its last number is the right one, which is all that this check looks at."""
    rows = gd.tasks.rows([{"question": "2+3?", "answer": 5}] * 2, held_out=0.5, check_by="number", skip_bad=True)
    source = gd.envs.with_tools(rows, gd.envs.tool_turns([add], most=1))
    task = source.get("train", 0)
    episode = played(source.home, [call("add", a=0, b=5)], task)
    track = {"episode": episode, "completion": episode.segments[0].text}
    assert rows.check(task, track["completion"]) == 1.0
    assert source.check_track(task, track) == 0.0
    answered = played(source.home, ["It is 5."], task)
    assert source.check_track(task, {"episode": answered, "completion": "It is 5."}) == 1.0


def test_problems_with_tools_by_name():
    source = gd.tasks.load("calculator/chain:1-2")
    assert sorted(source.kinds()) == ["calculator/chain:1", "calculator/chain:2"]
    first = {"name": "calculator", "arguments": {"expression": "7+4"}, "shows": "11"}
    assert source.get("test", 1).meta["gold"][0] == first
    assert gd.check_env("calculator/chain:2", episodes=5) == {
        "episodes": 5, "turns": 20, "goals": 5, "restarts": 5, "nonsense": 5,
    }  # fmt: skip
    assert gd.tasks.load("python/chain:3").home.every_tool[0].name == "python"


@pytest.mark.slow
@pytest.mark.parametrize("level", range(1, 9))
@pytest.mark.parametrize("family", ["chain", "countdown", "equation", "clock", "python/chain", "python/counting"])
def test_every_level_keeps_its_promises(family, level):
    name = family if "/" in family else f"calculator/{family}"
    assert gd.check_env(f"{name}:{level}", episodes=50)["goals"] == 50


@pytest.mark.slow
def test_sprig_solves_problems_with_its_calculator():
    source = gd.tasks.load("calculator/chain:3")
    result = gd.evaluate("sprig", task=source, env=source.home, tasks=4, sampling=gd.Sampling(temperature=0.0))
    assert result["pass@1"] == 1.0


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("12*7", "84"), ("-3-5", "-8"), ("2**3**2", "512"), ("-2**2", "-4"), ("7//2", "3"), ("-7//2", "-4"), ("-7%3", "2"),
        ("0.1+0.2", "0.3"), ("1/8", "0.125"), ("(1+2)×3÷4", "2.25"), ("2^10", "1024"), ("1e5", ValueError), ("1/0", ValueError),
        ("9**9**9", ValueError), ("(-1)**999999999", "-1"), ("0**-1", ValueError), ("2**0.5", ValueError), ("", ValueError),
        ("1+", ValueError), ("(1", ValueError), ("1 2", ValueError),
        ("__import__('os')", ValueError), ("-" * 99 + "1", ValueError),
        ("1" * 2000, ValueError), ("*".join(["9" * 90] * 11), "9"),
        ("*".join(["9" * 90] * 10) + "*" + "9" * 90 + "*9999", ValueError),
    ],
)  # fmt: skip
def test_arithmetic_is_exact_and_bounded(expression, value):
    if value is ValueError:
        with pytest.raises(ValueError):
            gd.envs.calculator(expression)
    else:
        assert gd.envs.calculator(expression).startswith(value)


def test_arithmetic_agrees_with_pythons():
    draw = random.Random(0)
    for _ in range(200):
        terms = [f"{draw.choice('+-*')}({draw.randrange(50)}{draw.choice('+-*')}{draw.randrange(9)})" for _ in range(5)]
        text = "3" + "".join(terms[:3]) + "-2**3" + "".join(terms[3:])
        assert gd.envs.calculator(text) == str(eval(text)), text


@pytest.mark.parametrize("name", ["planned:chain:1", "nim", "forms:1"])
def test_problems_with_turns_of_their_own_take_no_tools(name):
    """They are checked by how an episode of theirs went: with tools in its place no try could be checked."""
    with pytest.raises(gd.UserError, match="has turns of its own"):
        gd.tasks.load(f"calculator/{name}")
    assert gd.tasks.load("calculator/chain:1").check(gd.tasks.load("chain:1").get("train", 0), "= ?") == 0.0
