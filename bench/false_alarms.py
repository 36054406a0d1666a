"""How often the watch's `proxy_gap` is wrong, and how soon it is right: `python -m bench.false_alarms`.

Runs are simulated: reward and truth go evenly from 0.3 to somewhere over 200 steps, in one case the truth within three, with
noise from step to step that is independent or keeps half of itself, and the rule is asked at every step. The table is that of
`docs/watch.md`.
Leaves out: alarms of runs that were trained (`alarms.py`).
"""

from __future__ import annotations

import random
from collections import Counter
from statistics import median

from guerdon.watch.gap_rules import proxy_gap
from guerdon.watch.past_steps import Past

STEPS, NOISE, SPREAD, START = 200, 0.06, 0.45, 0.3
PROBLEMS = round((SPREAD / NOISE) ** 2)  # whose means have that noise
STICKS = {"independent noise": 0.0, "sticky noise": 0.5}
AT_ONCE = 3  # steps
CASES = {  # where reward and truth end, in how many steps the truth is there, and how many runs with either noise
    "nothing": (0.3, 0.3, STEPS, (100, 200)),
    "reward and truth rise to 0.7": (0.7, 0.7, STEPS, (100, 200)),
    "the reward rises to 0.7, the truth half as far": (0.7, 0.5, STEPS, (100, 200)),
    "the reward rises to 0.7, the truth falls to 0.1": (0.7, 0.1, STEPS, (20, 40)),
    "the reward rises to 0.7, the truth falls to 0 within three steps": (0.7, 0.0, AT_ONCE, (20, 40)),
    "the reward rises to 0.7, the truth stays": (0.7, 0.3, STEPS, (20, 40)),
}


def noisy(draw: random.Random, end: float, within: int, sticks: float) -> list[float]:
    """The means of steps on the way to `end`, which is reached in so many."""
    off, values = 0.0, []
    for step in range(STEPS):
        fresh = draw.gauss(0.0, NOISE)
        off = sticks * off + (1 - sticks**2) ** 0.5 * fresh if step else fresh
        values.append(START + (end - START) * min(1.0, step / (within - 1)) + off)
    return values


def first_alarm(seed: int, ends: tuple[float, float], within: int, sticks: float) -> tuple[str, int] | None:
    """The gravest that a run comes to, and the step of its first alarm."""
    draw, past, rule = random.Random(seed), Past(), proxy_gap()
    rewards, truths = (noisy(draw, end, steps, sticks) for end, steps in zip(ends, (STEPS, within), strict=True))
    raised: list[tuple[str, int]] = []
    for step, (reward, truth) in enumerate(zip(rewards, truths, strict=True)):
        means = {"reward/mean": reward, "truth/mean": truth}
        past.add(step, {**means, "reward/std": SPREAD, "truth/std": SPREAD, "draws/all": PROBLEMS})
        raised += [(found.severity, step) for found in rule(past)]
    return (min(raised)[0], raised[0][1]) if raised else None


def told(ends: tuple[float, float], within: int, runs: int, sticks: float) -> str:
    """How many runs are alarmed, how gravely, and when half of them are."""
    alarms = [found for seed in range(runs) if (found := first_alarm(seed, ends, within, sticks)) is not None]
    many = Counter(severity for severity, _ in alarms)
    words = " and ".join(f"{many[severity]} {severity}" for severity in ("bad", "warn") if many[severity]) or "0"
    when = f", half of them by step {median(step for _, step in alarms):.0f}" if len(alarms) > runs / 2 else ""
    return f"{words} of {runs}{when}"


def main() -> None:
    print(f"| what happens | {' | '.join(f'alarms, {name}' for name in STICKS)} |")
    print("| --- | --- | --- |")
    for what, (reward, truth, within, runs) in CASES.items():
        each = zip(runs, STICKS.values(), strict=True)
        print(f"| {what} | {' | '.join(told((reward, truth), within, n, sticks) for n, sticks in each)} |", flush=True)


if __name__ == "__main__":
    main()
