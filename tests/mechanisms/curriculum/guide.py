"""Guide: problems that no try solves get a hint, and tries with it are learned as answers to the plain question."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import torch
from harness import Mechanism, Scripted, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.batch import Pairs
from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.select.hints import _path, _unhinted, hint, unhinted
from guerdon.select.other_views import _as_if_drawn, as_learned

HINT = "\nThe solution begins like this:\n"
TABLE = gd.models.tabular("".join(map(chr, range(128))), length=4, rows=512)  # an action for each character


class Codes:
    """Problem 0 is solved without help by every second try, problem 1 with half of its solution."""

    name = "codes"

    def size(self, split):
        return 2

    def get(self, split, index):
        return gd.Task(str(index), f"problem {index}", "abab", meta={"solution": "abab", "other": "bbbb"})

    def check(self, task, completion):
        return float(completion == "abab")


def answer(ask, attempt):
    helped = ask.task.id == "0" or ask.prefix is not None or HINT in ask.shown
    return "abab" if helped and attempt else "abbb"


def stepped(*problems, **knobs):
    """The recipe, its play and the tries of a step, as the learner gets them."""
    recipe = made("guide", Codes(), TABLE, **knobs)
    TABLE.start(0, {})
    play = Scripted(answer, policy=TABLE)
    batch = pack(play([gd.Ask(Codes().get("train", n), 2, prompt=prompt) for n, prompt in problems]))
    for stage in recipe.stages[:-1]:
        batch = stage(batch, play)
    return recipe, play, recipe.stages[-1].on(batch, play)


def learned(*problems, **knobs):
    """Of the tries that are learned from: question, the share of the solution, old log-probs, which steps count, advantage."""
    kept = stepped(*problems, **knobs)[2]
    tracks = [int(kept.episode[leaf]) for leaf in kept.leaf]
    S = kept.S // max(kept.K, 1)
    return [
        [kept.episodes[e].segments[0].view for e in tracks],
        bytes(kept.context.tolist()).decode(),
        kept["hint"].tolist(),
        (kept.logp * kept.weight).view(-1, S).tolist(),
        kept.weight.sum().item(),
        (kept["advantage"].view(-1, S)[:, -1] / A).tolist(),
    ]


def shown(**knobs):
    """What the recipe asks problem 1 again with."""
    return hint(Codes(), **knobs).into(gd.Ask(Codes().get("train", 1)), 0.5, Scripted(answer)).shown.partition(HINT)[2]


def hinted_batch():
    """A try without a hint and one with, which has nothing of its own to learn."""
    play = Scripted(answer, policy=TABLE)
    asks = [gd.Ask(Codes().get("train", n)) for n in (0, 1)]
    batch = pack(play([asks[0], hint(Codes()).into(asks[1], 0.5, play)]))
    batch.weight[2] = 0.0
    read = {"correct": Column.full("track", torch.arange(2.0)), "policy.logp": Column.full("step", batch.logp)}
    return play, batch.with_cols(read)


def kept():
    play, batch = hinted_batch()
    batch = replace(batch, pairs=Pairs(*torch.tensor([[0], [1]]), torch.ones(1), torch.ones(1)))
    changed = unhinted()(batch, play)
    assert changed.pairs is batch.pairs
    return [list(changed.cols), changed.weight.tolist(), changed.count.steps, play.metrics["hints/unhinted"]]


class Remembering(gd.models.tabular):
    """Encodes a view with the first actions of the segments before it."""

    def encode(self, view, path=()):
        return [9, *(each.actions[0] for each in path)]


def encoded(*roles):
    """What the hinted question of the last turn is read after: the turns of its own role before it, back to another's."""
    model, play = Remembering("ab", length=1), Scripted(answer)
    play.models, play.seats = {"model": model}, {"policy": "model", "judge": "model"}
    ask = hint(Codes()).into(gd.Ask(Codes().get("train", 1)), 0.5, play)
    turns = [segment([n], role=role, parent=n - 1) for n, role in enumerate(roles)]
    last = segment(parent=len(roles) - 1, view=ask.shown, given=1)
    changed = _unhinted(episode(*turns, last, ask=ask), play)
    assert changed.segments[-1].given == 1 and all(each.context == [1] for each in changed.segments[:-1])
    return changed.segments[-1].context


def two_models():
    """Log-probs without correction, each by the model that plays its role, of hinted tries alone."""
    sure = gd.models.tabular("ab", length=1, rows=64)
    even = gd.models.tabular("ab", length=1, rows=64)
    for model, logit in ((sure, log(9.0)), (even, 0.0)):
        model.start(0, {})
        with torch.no_grad():
            model.weights.logits[:, 0] = logit
    play = Scripted(answer)
    play.models, play.seats = {"even": even, "sure": sure}, {"policy": "sure", "second": "even"}
    ask = gd.Ask(Codes().get("train", 1))
    told = hint(Codes()).into(ask, 0.5, play)
    tries = [
        episode(segment([n % 2], role=role, view=each.shown), ask=each, number=n)
        for n, (role, each) in enumerate([("policy", told), ("second", told), ("policy", ask), ("policy", told)])
    ]
    tries[0] = tries[0].but(segments=(*tries[0].segments, segment(role="nobody", parent=0)))
    return unhinted(corrected=False)(pack(tries), play).logp.exp().tolist()


def off_by(**knobs):
    """How far the mean update of ten hinted tries is from the gradient of what the plain policy would do, chance for chance."""
    table = gd.models.tabular("ab", length=1, rows=64)
    recipe = made("guide", Codes(), table, **knobs)
    table.start(0, {})
    play, plain = Scripted(answer, policy=table), gd.Ask(Codes().get("train", 1))
    with torch.no_grad():
        table.weights.logits[:] = torch.tensor([0.25, 0.75]).log()  # the plain policy; with the hint it is 0.6 and 0.4
    ask = hint(Codes()).into(plain, 0.5, play)
    tries = [
        episode(segment([a], view=ask.shown, logp=[log(0.6 - 0.2 * a)]), ask=ask, attempt=n)
        for n, a in enumerate([0] * 6 + [1] * 4)
    ]
    right = Column.full("track", torch.tensor([1.0] * 6 + [0.0] * 4))
    batch = recipe.stages[2](pack(tries).with_cols({"correct": right, "hint": right}), play)
    batch = recipe.stages.credit[0](batch, play)
    recipe.stages.learners[0].loss(batch, table.read(batch, ("logp", "entropy")))[0].backward()
    advantage = batch["advantage"][[0, -1]]
    row = int(table._rows(batch)[0])
    chances = table.weights.logits[row].softmax(0)
    (wanted,) = torch.autograd.grad(-(chances * advantage).sum(), table.weights.logits)
    return float((table.weights.logits.grad - wanted).abs().sum())


A = 0.5 / (0.5**0.5 + 1e-4)
U = -log(128.0)
mechanism = Mechanism(
    "guide",
    source="arXiv:2506.13923, the ratio pi(o | q) / pi_old(o | q, hint); vaskar-open-source-research/guide_rl@2f277152, "
    "verl/workers/actor/dp_actor.py, lines 65 to 71 and 190 to 194: old log-probs under the hint, new ones without",
    also=[unhinted, _unhinted, _path, as_learned, _as_if_drawn],
    numbers={
        "the question without its hint, the log-probs under it": (
            lambda: learned((0, None), (1, None)),
            [
                ["problem 0"] * 2 + ["problem 1"] * 2,
                "\1\1" + "problem 1" * 2,
                [0.0, 0.0, 0.5, 0.5],
                [[-1.0] * 4] * 4,
                16.0,
                [-1.0, 1.0] * 2,
            ],
        ),
        "what was given counts as said for certain": (
            lambda: learned((1, None), how="start")[3:5],
            [[[0.0, 0.0, -1.0, -1.0]] * 2, 8.0],
        ),
        "another share": (lambda: learned((1, None), how="start", share=0.25)[3], [[0.0, -1.0, -1.0, -1.0]] * 2),
        "not corrected": (
            lambda: learned((0, None), (1, None), corrected=False)[3],
            [[-1.0] * 4] * 2 + [[U] * 4] * 2,
        ),
        "a question of its own": (lambda: learned((1, "in short"))[0], ["in short"] * 2),
        "hints from a column": (lambda: [shown(), shown(solution="other")], ["ab", "bb"]),
        "the recipe's column": (
            lambda: made("guide", Codes(), TABLE, solution="other").stages[1].hint.of(Codes().get("train", 1)),
            "bbbb",
        ),
        "scores stay, readings under the hint go": (kept, [["correct"], [1.0, 1.0, 0.0, *[1.0] * 5], 7.0, 1.0]),
        "each by its own model": (two_models, [0.9, exp(-1), 0.5, exp(-1), 0.1]),
        "a later turn": (
            lambda: [encoded(), encoded("policy"), encoded("judge", "policy", "policy"), encoded("policy", "judge")],
            [[9], [9, 0], [9, 1, 2], [9]],
        ),
    },
    world=World(
        says="a hint makes the right answer far likelier: tries with it pull as the plain policy's own tries would",
        measure=off_by,
        off={"corrected": False},
        moves=-0.2,
    ),
    equal={
        "_as_if_drawn: sorted({name for name in names if name}) -> {name for name in names if name}": "each model by itself",
        "_as_if_drawn: batch.path_seg[rows[batch.path_track]] shuffled": "they are marked, whatever their order",
    },
)
