"""How many of the problems that are held out `sprig-1` was trained on, as they stand or in another order.

    python scripts/seen_by_sprig_1.py        # about ten minutes on one core

It was trained when a problem's text decided its split. As many problems as its corpus had are drawn again as that split drew
them, with another seed, and held-out problems, 64 of each family and level as on its card, are looked up among them: those
of today, and those that were held out then, on which the card was measured.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import random
from collections.abc import Callable, Iterator

from guerdon.core.seeds import derive
from guerdon.models.shipped_models import SHIPPED
from guerdon.tasks.family import HELD_OUT, Family, Problem
from guerdon.tasks.task_loading import load

LEVELS = range(1, 9)
# how much of its text each role was, and how often a level came in a role against the level below it
SHARES = {"solve": 0.40, "verify": 0.17, "score": 0.11, "prefer": 0.11, "revise": 0.06, "propose": 0.11, "tool": 0.04}
RARER = {"solve": 0.5, "verify": 0.8, "score": 0.8, "prefer": 0.8, "revise": 0.6, "propose": 1.0, "tool": 0.7}
WITH_TOOLS = ("chain",)
CONVERSATIONS = 4_936_827  # 192 rows in 1,980 steps and 96 in 1,620, each of 9.2 conversations
ASKED = 64  # problems of each family and level


@functools.cache
def family_names() -> list[str]:
    """The families that there were."""
    return list(json.loads((SHIPPED["sprig-1"] / "card.json").read_text())["families"])


def was_held_out(family: Family, problem: Problem) -> bool:
    """By the problem's text, as it was."""
    return derive(family.name, problem.prompt) % HELD_OUT == 0


def drawn(family: Family, draw: random.Random, held_out: bool) -> Problem:
    while was_held_out(family, problem := family.make(draw)) != held_out:
        pass
    return problem


def corpus(families: list[Family], draw: random.Random) -> Iterator[tuple[Family, Problem]]:
    """Problems as `sprig-1` was trained on them, without end."""
    known = {name: [f for f in families if f.name == name] for name in family_names()}
    weights = {role: [rarer ** (level - 1) for level in LEVELS] for role, rarer in RARER.items()}
    while True:
        role = draw.choices(list(SHARES), list(SHARES.values()))[0]
        name = draw.choice(WITH_TOOLS if role == "tool" else list(known))
        family = draw.choices(known[name], weights[role])[0]
        yield family, drawn(family, draw, held_out=False)


def then(family: Family, index: int) -> Problem:
    """A problem that was held out when `sprig-1` was measured."""
    return drawn(family, random.Random(derive(family.name, family.level, "test", index)), held_out=True)


def today(family: Family, index: int) -> Problem:
    task = family.get("test", index)
    return Problem(task.prompt, task.answer, task.meta)


def asked(families: list[Family], which: Callable[[Family, int], Problem]) -> list[tuple[Family, Problem]]:
    return [(family, which(family, index)) for family in families for index in range(ASKED)]


def share(seen: set[tuple[str, str]], of: list[tuple[str, str]]) -> str:
    return f"{100 * sum(each in seen for each in of) / len(of):.0f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS)
    count = parser.parse_args().conversations
    families = [f for name in family_names() for level in LEVELS if isinstance(f := load(f"{name}:{level}"), Family)]
    exams = {"today": asked(families, today), "then": asked(families, then)}
    wanted = {(f.name, text) for exam in exams.values() for f, p in exam for text in (f.canonical(p), p.prompt)}
    seen: set[tuple[str, str]] = set()
    for family, problem in itertools.islice(corpus(families, random.Random(derive("share", 1))), count):
        seen |= {(family.name, family.canonical(problem)), (family.name, problem.prompt)} & wanted
    for when, exam in exams.items():
        forms = [(f.name, f.canonical(p)) for f, p in exam]
        levels = {lv: [(f.name, f.canonical(p)) for f, p in exam if f.level == lv] for lv in LEVELS}
        print(
            f"held out {when}: {share(seen, forms)}, as they stand {share(seen, [(f.name, p.prompt) for f, p in exam])}"
        )
        print("  " + ", ".join(f"{name} {share(seen, [f for f in forms if f[0] == name])}" for name in family_names()))
        print("  " + ", ".join(f"level {level} {share(seen, forms)}" for level, forms in levels.items()))


if __name__ == "__main__":
    main()
