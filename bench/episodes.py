"""A thousand episodes of several turns at once, with a tool that fails in one call of ten and an environment that breaks in one
episode of a hundred: is every one accounted for, does memory stay flat, and how many a second are they?

`python -m bench.episodes`: the same script plays, so no model's time is in it; what is measured is the loop around it. Beside
ours stands the least that an asyncio program could do: the same texts, calls and failures, and nothing kept but the messages.
With `--arm verifiers`, where that library is installed, the same in its tool environment. Arms alternate, and ratios are of one
round.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import time
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

TURNS = 4  # calls before the answer
FAILS, BREAKS = 10, 100  # one call in so many fails, one episode in so many breaks


class Unlucky(Exception):
    """What the tool raises in one call of ten."""


def luck(*place: int) -> int:
    """A number that is the same for the same place in every arm."""
    return zlib.crc32(",".join(map(str, place)).encode())


def fails(episode: int, turn: int) -> bool:
    return luck(episode, turn) % FAILS == 0


def breaks(episode: int) -> bool:
    return luck(episode) % BREAKS == 0


def expected(episodes: int) -> dict[str, int]:
    """What must come of them: counted without playing anything."""
    whole = [e for e in range(episodes) if not breaks(e)]
    return {
        "done": len(whole),
        "failed": episodes - len(whole),
        "calls": TURNS * len(whole),
        "call errors": sum(fails(e, turn) for e in whole for turn in range(TURNS)),
    }


def say(episode: int, turn: int) -> str:
    if turn == TURNS:
        return f"the answer is {episode}"
    call = {"name": "look_up", "arguments": {"episode": episode, "turn": turn}}
    return f"I look it up.\n<tool_call>{json.dumps(call)}</tool_call>"


def ours(episodes: int) -> dict[str, int]:
    import guerdon as gd
    from guerdon.engine.player import Player

    @gd.tool
    async def look_up(episode: int, turn: int) -> str:
        """The next clue.

        episode: which
        turn: when
        """
        if turn == TURNS // 2 and breaks(episode):
            raise gd.envs.ToolBroken("the service is down")
        if fails(episode, turn):
            raise Unlucky("try again")
        return f"clue {turn} of {episode}"

    def player(view: Any, past: list[tuple[Any, str]], seed: int) -> str:
        first = past[0][0] if past else view
        return say(int(first[-1]["content"]), len(past))

    model = gd.models.scripted(player)
    model.start(0, {})
    env = gd.envs.tool_turns([look_up], most=TURNS + 1)
    play = Player({"policy": model}, {"policy": "policy"}, env, gd.Sampling(max_tokens=4096), 0, 1)
    played = play([gd.Ask(gd.Task(str(e), str(e))) for e in range(episodes)])
    whole = [e for e in played if not e.failed]
    assert all(s.end is gd.End.DONE for e in whole for s in e.segments)
    assert all(e.segments[-1].end is gd.End.FAILED for e in played if e.failed)
    return {
        "done": sum(e.info["answered"] for e in whole),
        "failed": len(played) - len(whole),
        "calls": sum(e.info["calls"] for e in whole),
        "call errors": sum(sum(e.info["errors"].values()) for e in whole),
    }


def plain(episodes: int) -> dict[str, int]:
    """The least there is to do: no record of tokens, no checks of arguments, no limits."""
    counts: Counter[str] = Counter()

    async def look_up(episode: int, turn: int) -> str:
        if turn == TURNS // 2 and breaks(episode):
            raise RuntimeError("the service is down")
        if fails(episode, turn):
            raise Unlucky("try again")
        return f"clue {turn} of {episode}"

    async def act(messages: list[dict[str, str]]) -> str:
        await asyncio.sleep(0)  # a model's reply never comes at once
        return say(int(messages[0]["content"]), len(messages) // 2)

    async def one(episode: int) -> list[dict[str, str]]:
        messages = [{"role": "user", "content": str(episode)}]
        calls = errors = 0
        for _ in range(TURNS + 1):
            said = await act(messages)
            messages.append({"role": "assistant", "content": said})
            if "<tool_call>" not in said:
                break
            call = json.loads(said.partition("<tool_call>")[2].partition("</tool_call>")[0])
            try:
                result = await look_up(**call["arguments"])
            except Unlucky as error:
                result, errors = f"error: {error}", errors + 1
            calls += 1
            messages.append({"role": "tool", "content": result})
        counts.update({"done": 1, "calls": calls, "call errors": errors})
        return messages

    async def every() -> None:
        ended = await asyncio.gather(*(one(e) for e in range(episodes)), return_exceptions=True)
        counts["failed"] += sum(isinstance(each, RuntimeError) for each in ended)

    asyncio.run(every())
    return {name: counts[name] for name in ("done", "failed", "calls", "call errors")}


def memory() -> float:
    """MiB that this process holds now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--arm", choices=["plain", "verifiers"], default="plain", help="what ours is held against")
    args = parser.parse_args()
    arms: dict[str, Callable[[int], dict[str, int]]] = {"guerdon": ours, args.arm: plain}
    if args.arm == "verifiers":
        from bench.verifiers_arm import in_verifiers

        arms[args.arm] = in_verifiers
    seconds: dict[str, list[float]] = {name: [] for name in arms}
    held = []
    wanted = expected(args.episodes)
    for name, arm in arms.items():  # once without the clock: imports, first use
        print(f"{name}: {arm(args.episodes)}")
    for _ in range(args.rounds):
        for name, arm in arms.items():
            began = time.perf_counter()
            counts = arm(args.episodes)
            seconds[name].append(time.perf_counter() - began)
            assert counts == wanted, f"{name}: {counts}, and there should be {wanted}"
        gc.collect()
        held.append(memory())
    for name, each in seconds.items():
        rate = [args.episodes / s for s in each]
        print(f"{name:10} {statistics.median(rate):8,.0f} episodes a second ({min(rate):,.0f} to {max(rate):,.0f})")
    ratios = [b / a for a, b in zip(seconds["guerdon"], seconds[args.arm], strict=True)]
    print(f"guerdon is {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})")
    print(f"memory after each round, MiB: {' '.join(f'{m:.0f}' for m in held)}")


if __name__ == "__main__":
    main()
