"""Measure the built-in model by family, level, world and role, and write its card.

    python scripts/sprig_card.py guerdon/models/sprig/sprig-2            # measures what cells.jsonl there does not hold yet
    python scripts/sprig_card.py guerdon/models/sprig/sprig-2 --render   # measures nothing: card.json and MODEL_CARD.md of cells.jsonl

All problems are held out. Rates are of single samples at temperature 1; pass@16 is from 16 samples. Judges are measured twice: on
attempts of which half are right and half are near-misses, and on the model's own samples. Findings are lines of cells.jsonl
(`sprig_cells.py`); how the page looks is in `sprig_page.py`.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sprig_cells import Cells, card_of, is_finding
from sprig_page import page
from sprig_text import LEVELS, Said
from sprig_tokens import Encoder

import guerdon as gd
from guerdon import models, tasks
from guerdon.core.model import Model
from guerdon.core.seeds import derive
from guerdon.core.task import Ask, Sampling, Task
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models.language_model import lm
from guerdon.tasks.family import Family
from guerdon.tasks.judging.attempt_talks import is_wrong
from guerdon.tasks.judging.judge_roles import critique_view, named_line, wrong_line
from guerdon.tasks.roles import grade, prefer_view, preferred, revise_view, said, score_view, verify_view
from guerdon.tasks.task_loading import family_names

TRIES = 16
GREEDY = Sampling(temperature=0.0, max_tokens=400)
SAMPLED = Sampling(temperature=1.0, max_tokens=400)
HALFWAY = 0.45  # roles are measured at the level that is solved about so often
WORLDS = {  # what the worlds of the card are, by the names of their tasks
    "calculator": ("calculator/countdown", "calculator/equation", "calculator/chain"),
    "interpreter": ("python/counting", "python/lists", "python/countdown"),
    "multi-hop search": ("hops",),
    "claim verification": ("claims",),
    "query rewriting": ("rewriting",),
    "SQL": ("text_to_sql",),
    "Python": ("functions", "repairs"),
    "JSON": ("json_forms",),
    "page actions": ("forms", "menus", "shop", "tables", "inbox", "cursor"),
    "two-player game": ("nim",),
    "game for one": ("hunt",),
    "asking a user": ("asking",),
}
FEWER_LEVELS = {"repairs": 6}


def source_of(name: str, level: int) -> Any:
    """Programs are tried without a box where the checker can do without: text of our own model is harmless, and a box is slow."""
    settings = {"checker": "plain"} if name in ("functions", "repairs", "text_to_sql") else {}
    return tasks.load(f"{name}:{level}", **settings)


def levels_of(name: str) -> range:
    return LEVELS[: FEWER_LEVELS.get(name, len(LEVELS))]


def solving(folder: str, device: str, number: int, seed: int, name: str) -> dict[str, dict[str, float]]:
    """Rates of a family or a world by level."""
    model, rates = loaded(folder, device), {}
    for level in levels_of(name):
        found = gd.evaluate(
            model, task=source_of(name, level), tasks=number, tries=TRIES, seed=seed, sampling=SAMPLED, progress=False
        )
        rates[str(level)] = {"sampled": found["pass@1"], "pass@16": found["pass@16"]}
    return rates


def fitting(folder: str, number: int, name: str) -> dict[str, float]:
    """How often the whole of a world, as one who knows everything acts in it, fits the model's context, by level."""
    model, shares = loaded(folder, "cpu"), {}
    assert isinstance(model, lm)
    encoder = Encoder(model.tokenizer, model.config.max_positions)
    for level in levels_of(name):
        source = source_of(name, level)
        asked = [source.get("test", i) for i in range(number)]
        written = [[Said(*turn) for turn in gd.gold_turns(source, task, seed=i)] for i, task in enumerate(asked)]
        shares[str(level)] = len(list(encoder(written))) / number
    return shares


class Examinee:
    """A model that is asked many things at once."""

    def __init__(self, model: Model, seed: int) -> None:
        model.start(0, {})
        self.play = Player({"policy": model}, {"policy": "policy"}, single_turn(), SAMPLED, seed, 1)

    def replies(self, asked: Sequence[Task], how: Sampling, tries: int = 1) -> list[list[str]]:
        episodes = self.play([Ask(task, tries, sampling=how) for task in asked])
        texts = [e.segments[0].text for e in episodes]
        return [texts[i : i + tries] for i in range(0, len(texts), tries)]

    def reply(self, views: Sequence[str]) -> list[str]:
        """The likeliest to each."""
        return [r[0] for r in self.replies([Task("", view) for view in views], GREEDY)] if views else []


def balanced(truth: Sequence[str], heard: Sequence[str | None]) -> float:
    """Mean over the true words of how often each was said."""
    shares = [
        sum(h == t for h, t in zip(heard, truth, strict=True) if t == word) / truth.count(word)
        for word in sorted(set(truth))
    ]
    return sum(shares) / len(shares) if shares else float("nan")


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's: Pearson's of the ranks, ties sharing theirs."""
    ranks = []
    for values in (a, b):
        x = torch.tensor(values, dtype=torch.float64)
        below = (x[:, None] > x[None, :]).double().sum(1)
        ranks.append(below + ((x[:, None] == x[None, :]).double().sum(1) - 1) / 2)
    found = torch.corrcoef(torch.stack(ranks))[0, 1]
    return float(found) if bool(torch.isfinite(found)) else 0.0


def judging(who: Examinee, family: Family, pool: list[tuple[Task, str]], draw: random.Random) -> dict[str, float]:
    """Verify, score, prefer, criticise and revise given attempts at held-out problems."""
    wrong = [is_wrong(family, t, x) for t, x in pool]
    words = ["no" if w else "yes" for w in wrong]
    heard = who.reply([verify_view(t.prompt, x) for t, x in pool])
    found = {"verify": balanced(words, [said(h, ("yes", "no")) for h in heard])}
    guess = [
        float(said(g, ("1", "2", "3", "4", "5")) or 3) for g in who.reply([score_view(t.prompt, x) for t, x in pool])
    ]
    found["score"] = rank_correlation([float(grade(family, t, x)) for t, x in pool], guess)
    pairs = []
    for (task, good), w in zip(pool, wrong, strict=True):
        rivals = [x for (t, x), v in zip(pool, wrong, strict=True) if v and not w and t.prompt == task.prompt]
        if rivals:
            pair = [good, draw.choice(rivals)]
            draw.shuffle(pair)
            pairs.append((task, pair))
    if pairs:
        truth = [str(said(preferred(family, t, *p), ("a", "b"))) for t, p in pairs]
        choice = who.reply([prefer_view(t.prompt, *p) for t, p in pairs])
        found["prefer"] = balanced(truth, [said(c, ("a", "b")) for c in choice])
    bad = [each for each, w in zip(pool, wrong, strict=True) if w]
    found["wrong"] = len(bad)
    if bad:
        mended = who.reply([revise_view(t.prompt, x) for t, x in bad])
        found["revise"] = sum(family.check(t, m) == 1.0 for (t, _), m in zip(bad, mended, strict=True)) / len(bad)
        named = who.reply([critique_view(t.prompt, x) for t, x in bad])
        lines = [named_line(n) == wrong_line(family, t, x) for (t, x), n in zip(bad, named, strict=True)]
        found["critique"] = sum(lines) / len(bad)
    return found


def planted(family: Family, number: int, draw: random.Random) -> list[tuple[Task, str]]:
    """Half right solutions, half near-misses, of held-out problems."""
    found = []
    for i in range(number):
        task = family.get("test", i)
        found += [(task, family.solution(task)), (task, draw.choice(family.near_misses(task, draw)).text)]
    return found


def playing(folder: str, device: str, number: int, seed: int, name: str, level: int) -> dict[str, Any]:
    """What the model can do besides solving, in a family at a level."""
    who, draw = Examinee(loaded(folder, device), seed), random.Random(derive("card", seed, name))
    family = tasks.load(f"{name}:{level}")
    assert isinstance(family, Family)
    near = judging(who, family, planted(family, number, draw), draw)
    problems = [family.get("test", i) for i in range(2 * number)]
    own = [
        (t, x)
        for t, texts in zip(problems, who.replies(problems, SAMPLED, 4), strict=True)
        for x in dict.fromkeys(texts)
    ]
    roles: dict[str, Any] = {"level": level, "near-misses": near, "own attempts": judging(who, family, own, draw)}
    for role in ("propose", "rewrite", "rubric", "reasons"):
        source = tasks.load(f"{role}/{name}:{level}")
        asked = [source.get("test", i) for i in range(number)]
        replies = who.replies(asked, SAMPLED if role in ("propose", "rewrite") else GREEDY)
        roles[role] = sum(source.check(t, r[0]) == 1.0 for t, r in zip(asked, replies, strict=True)) / number
    return roles


def loaded(folder: str, device: str) -> Model:
    torch.set_num_threads(1)
    model = models.load(folder)
    model.weights.to(device)
    return model


def measure(cells: Cells, folder: str, device: str, number: int, seed: int, jobs: int) -> None:
    """All that the card asks for and that is not known yet."""
    how, worlds = (folder, device, number, seed), [name for names in WORLDS.values() for name in names]
    cells.begin({"problems": number, "seed": seed})
    cells.measure("fit", {name: (folder, number, name) for name in worlds}, fitting, jobs)
    cells.measure("solve", {name: (*how, name) for name in [*worlds, *family_names()]}, solving, jobs)
    halves = {
        name: min(LEVELS, key=lambda level: abs(rates[str(level)]["sampled"] - HALFWAY))
        for name in family_names()
        if is_finding(rates := cells.found["solve", name])
    }
    cells.measure("play", {name: (*how, name, level) for name, level in halves.items()}, playing, jobs)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a model's folder")
    parser.add_argument("--out", help="where findings and the card are written (default: the model's folder)")
    parser.add_argument("--number", type=int, default=64, help="problems of each family and level")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=6, help="processes that measure")
    parser.add_argument("--render", action="store_true", help="only write the card from what was measured")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args(words)
    out = Path(args.out or args.model)
    out.mkdir(parents=True, exist_ok=True)
    cells = Cells(out / "cells.jsonl")
    if not args.render:
        measure(cells, args.model, args.device, args.number, args.seed, args.jobs)
    card = card_of(cells.found, WORLDS, family_names())
    (out / "card.json").write_text(json.dumps(card, indent=1) + "\n")
    training = json.loads((Path(args.model) / "training.json").read_text())
    (out / "MODEL_CARD.md").write_text(page(card, training))


if __name__ == "__main__":
    main()
