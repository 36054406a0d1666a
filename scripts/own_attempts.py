"""Conversations about a model's own attempts: what it got wrong is what a judge of it must learn to see.

The model tries problems of the training stream; the families' checkers say what is right, line by line; right and wrong
attempts at equal levels are judged equally often, so that a verdict cannot be guessed from the problem. Wrong programs of its own
are put right.
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import random
from collections.abc import Sequence
from pathlib import Path

import torch
from sprig_text import LEVELS, PLAIN, SOURCES, Conversation, Said, Sources
from sprig_tokens import Encoder, Shard
from tokenizers import Tokenizer

from guerdon import models
from guerdon.core.model import Model, Request
from guerdon.core.seeds import derive
from guerdon.core.task import Sampling, Task
from guerdon.engine import answer
from guerdon.tasks.code.failing_calls import first_failure
from guerdon.tasks.field.reflections import fix_view
from guerdon.tasks.judging.attempt_talks import TALKS, Tried, talks_about
from guerdon.tasks.roles import Turns
from guerdon.tasks.task_loading import family_names

TRIES = 4
PROGRAMS = 0.15  # of all problems
MOST_TOKENS = 240
RARER = 0.8  # a level against the level below it
VERDICTS = ("verify", "prefer", "critique")
REVISED = 0.3  # of the wrong attempts: revisions teach solving, and hard levels should stay hard


def try_problems(model: Model, chosen: Sequence[Task], tries: int, seed: int, rows: int = 8192) -> list[Tried]:
    """Sampled attempts at problems, those of like length together."""
    how = Sampling(temperature=1.0, max_tokens=MOST_TOKENS)
    ordered = sorted(chosen, key=lambda t: (t.level, t.family))
    found: list[Tried] = []
    for at in range(0, len(ordered), rows // tries):
        part = ordered[at : at + rows // tries]
        asked = [(task, attempt) for task in part for attempt in range(tries)]
        requests = [Request((), t.prompt, how, derive(seed, "attempt", t.prompt, i)) for t, i in asked]
        texts = [reply.text for reply in answer(model, requests)]
        found += [(task, texts[i * tries : (i + 1) * tries]) for i, task in enumerate(part)]
    return found


def chosen_problems(number: int, names: Sequence[str], sources: Sources, seed: int) -> list[Task]:
    """Problems of the training stream, families alike, hard levels less often."""
    draw = random.Random(derive("own attempts", seed))
    weights = [RARER**n for n in range(len(LEVELS))]
    return [
        sources[f"{draw.choice(names)}:{draw.choices(LEVELS, weights)[0]}"].get("train", draw.getrandbits(40))
        for _ in range(number)
    ]


def conversations_about(tried: Sequence[Tried], seed: int, roles: Sequence[str] = TALKS) -> list[Turns]:
    """Every role about every attempt, right and wrong in equal numbers at each family and level."""
    draw = random.Random(derive("order of talks", seed))
    talks = talks_about(tried, seed, roles)
    made = [talk for role, those in talks.items() for talk in those if role != "revise" or draw.random() < REVISED]
    draw.shuffle(made)
    return made


def fixed_programs(tried: Sequence[Tried]) -> list[Turns]:
    """Wrong programs, shown with a call that they fail, put right."""
    made: list[Turns] = []
    for task, texts in tried:
        source = PLAIN[f"functions:{task.level}"]
        for text in dict.fromkeys(texts):
            if failure := first_failure(source, task, text):
                made.append([(fix_view(str(task.prompt), text, failure), source.solution(task))])
    return made


def _shards(part: tuple[list[Tried], list[Tried], Sequence[str], int, str, int]) -> list[Shard]:
    solved, programmed, roles, seed, tokenizer, longest = part
    talks = conversations_about(solved, seed, roles) + fixed_programs(programmed)
    random.Random(derive("order of all", seed)).shuffle(talks)
    written: list[Conversation] = [[Said(*turn) for turn in talk] for talk in talks]
    return list(Encoder(Tokenizer.from_str(tokenizer), longest).shards(written))


def shards_about_attempts(
    folder: Path, args: argparse.Namespace, encoder: Encoder, roles: Sequence[str], seed: int
) -> list[Shard]:
    """Have the model in a folder try problems; what there is to say about its attempts in some roles, and wrong programs put
    right where revising is one of them."""
    model = models.load(str(folder))
    model.weights.to(args.device)
    count = int(args.problems * PROGRAMS) if "revise" in roles else 0
    with torch.no_grad():
        solved = try_problems(model, chosen_problems(args.problems - count, family_names(), SOURCES, seed), TRIES, seed)
        programmed = try_problems(model, chosen_problems(count, ["functions"], PLAIN, seed), TRIES, seed)
    for tried in (solved, programmed):
        random.Random(seed).shuffle(tried)
    ways, tokenizer = args.writers, encoder.tokenizer.to_str()
    parts = [(solved[i::ways], programmed[i::ways], roles, seed + i, tokenizer, encoder.longest) for i in range(ways)]
    with mp.get_context("spawn").Pool(ways) as pool:
        made = [shard for found in pool.map(_shards, parts) for shard in found]
    random.Random(seed).shuffle(made)
    return made
