"""How fast pages are, and how far a random player gets: `python -m bench.pages`. Needs nothing but the package.

For each kind of problem and level: moves a second of a player who draws its moves (numbers that are in view, words of the
task and of the page, `stop` once in a while), time on the processor, views included; the same for the gold player, which
also searches; what a problem takes to be made; and in what share of episodes each of them reaches the goal.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from pathlib import Path
from typing import Any

import guerdon as gd

KINDS = ("forms", "menus", "shop", "tables", "inbox", "cursor")


def random_move(view: str, prompt: str, draw: random.Random) -> str:
    """A move that may be understood, drawn from what is seen."""
    words = re.findall(r"\w+", draw.choice([prompt, view]))
    if draw.random() < 0.1:
        return draw.choice(["stop", f"stop {draw.choice(words)}"])
    boxes = [(row, m) for row in view.splitlines() for m in re.finditer(r"[\[<(|{][^\[<(|{]+[\]>|}]|\([x ]\)", row[3:])]
    if "cursor" in view.split("\n")[0]:
        row, box = draw.choice(boxes) if boxes else ("0", None)
        place = f"move {0 if box is None else box.start() + 1} {row.split()[0] if row.split()[:1] else 0}"
        return draw.choice([place, "click", "click", f"type {draw.choice(words)}", "scroll down"])
    moves = []
    for number, kind, rest in re.findall(r'\[(\d+)\] (\w+) "[^"]*"([^\[\n]*)', view):
        if kind == "field":
            moves.append(f"type {number} {draw.choice(words)}")
        elif kind == "select":
            moves.append(f"select {number} {draw.choice(rest.partition(' of ')[2].strip().split(', '))}")
        else:
            moves += [f"click {number}", f"hover {number}"]
    return draw.choice(moves or ["back"])


def measured(kind: str, level: int, episodes: int) -> dict[str, Any]:
    source = getattr(gd.envs, kind)(level=level)
    start = time.thread_time()
    tasks = [source.get("train", index) for index in range(episodes)]
    making = time.thread_time() - start
    numbers: dict[str, Any] = {"make ms": round(1000 * making / episodes, 2)}
    for player in ("random", "gold"):
        steps, goals, seconds = 0, 0.0, 0.0
        for index, task in enumerate(tasks):
            draw = random.Random(index)
            start = time.thread_time()
            visit = source.home.open(gd.Ask(task), index)
            view, most, over = visit.begin(), source.home.most, False
            seen = view.partition("\n\n")[2]
            while not over and visit.steps < most:
                observed = visit.step(random_move(seen, task.prompt, draw) if player == "random" else visit.gold())
                over, seen = observed.over, seen if str(observed.view).startswith("Not") else str(observed.view)
            seconds += time.thread_time() - start
            steps, goals = steps + visit.steps, goals + visit.outcome()["goal"]
        numbers |= {f"{player} moves/s": round(steps / seconds), f"{player} goal": goals / episodes}
        numbers[f"{player} moves"] = round(steps / episodes, 1)
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--episodes", type=int, default=200, help="of each kind and level")
    parser.add_argument("--levels", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--out", type=Path, help="a JSON file for the numbers")
    given = parser.parse_args()
    table = {f"{kind}:{level}": measured(kind, level, given.episodes) for kind in given.kinds for level in given.levels}
    for name, numbers in table.items():
        print(name.ljust(10), "  ".join(f"{key} {value:g}" for key, value in numbers.items()))
    if given.out:
        given.out.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
