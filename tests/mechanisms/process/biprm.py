"""BiPRM: a line is judged after what stands before it and, told backwards, after what stands behind it."""

from __future__ import annotations

import dataclasses
import functools
from math import log, nan
from unittest.mock import patch

import torch
from harness import Mechanism, World, made, small_model

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.example import example_tries
from guerdon.core.pack import pack
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.process.biprm import parts
from guerdon.recipes.process.biprm.parts import SECOND, labels_for_both, told_twice, two_way_labels
from guerdon.rewards.model import reward_models
from guerdon.rewards.model.reward_models import backwards, process_model, two_way
from guerdon.rewards.stage.score_stages import score

FAMILY = gd.tasks.load("chain:1")
GOOD, BAD, OTHER = "3*4=12\n12-5=7\n= 7", "3*4=12\n12-5=6\n= 6", "3*4=12\n12-5=999\n= 7"


@functools.cache
def scorer():
    """A model whose head says numbers."""
    model = with_head(small_model())
    model.start(0, {})
    with torch.no_grad():
        model.net.value_head.weight.normal_(generator=torch.Generator().manual_seed(1))
    return model


def player(env=None, max_tokens=3):
    seats = {"policy": "prm", SECOND: "prm"}
    return Player({"prm": scorer()}, seats, env or told_twice(), gd.Sampling(max_tokens=max_tokens), 0, 1)


def told(*texts, **knobs):
    """Who says what in an episode."""
    (episode,) = player(told_twice(**knobs))([gd.Ask(FAMILY.get("test", 0), note={"say": list(texts)})])
    return [(s.role, s.text, s.parent) for s in episode.segments]


def labelled(*texts, order="backward"):
    """Labels and numbers of lines, track by track."""
    play = player(told_twice(order=order))
    batch = pack(play([gd.Ask(FAMILY.get("test", 0), note={"say": list(texts)})] * 2))
    batch = labels_for_both(order=order)(gd.rewards.line_labels(FAMILY)(batch, play), play)
    return [
        [[x for x in batch[name][s].tolist() if x == x] for s in batch.steps_by_track()] for name in ("labels", "line")
    ]


def labelled_at(text):
    """The second telling up to each token that has a label."""
    play = player()
    batch = pack(play([gd.Ask(FAMILY.get("test", 0), note={"say": [text]})]))
    batch = labels_for_both()(gd.rewards.line_labels(FAMILY)(batch, play), play)
    own = batch.steps_by_track()[1]
    ends = [n for n, label in enumerate(batch["labels"][own].tolist()) if label == label]
    return [scorer().decode(batch.action[own[: n + 1]].tolist()) for n in ends]


def loss(labels=(1.0, 0.0, 0.0, 1.0), line=(0.0, 1.0, 1.0, 0.0), chance=(0.9, 0.2, 0.7, 0.3), **knobs):
    value = {name: torch.tensor(numbers) for name, numbers in (("labels", labels), ("line", line))}
    reason = {name: torch.where(x.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8) for name, x in value.items()}
    batch = example_tries([[1.0, 1.0]], steps=2).with_cols({n: Column("step", x, reason[n]) for n, x in value.items()})
    batch = dataclasses.replace(batch, weight=batch.weight * ~value["labels"].isnan()).recount()
    after = torch.logit(torch.tensor(chance))
    return float(two_way_labels(**knobs)(batch, {"after": after})[0])


def judged(reward, *texts):
    """The column of what a reward says of texts."""
    play = player(side_by_side())
    batch = pack(play([gd.Ask(FAMILY.get("test", 0), note={"say": [text]}) for text in texts]))
    return score(reward)(batch, play).cols["reward"]


def along(reward, *texts):
    """What a reward of lines says of every line of texts."""
    details = judged(reward, *texts).detail
    return [details[k].get("along", details[k].get("steps")) for k in range(len(texts))]


def both(text):
    """The mean of two readings of a process reward model, of the text and of its lines from the last to the first."""
    there, back = (along(process_model("prm"), each)[0] for each in (text, backwards(text)))
    return [(a + b) / 2 for a, b in zip(there, reversed(back), strict=True)]


def cut_otherwise():
    """Labels and lines where the second telling comes out in fewer lines."""
    with patch.object(parts, "backwards", lambda text: text.split("\n")[-1]):
        return labelled(GOOD)


def judged_otherwise():
    with patch.object(reward_models, "backwards", lambda text: text.split("\n")[-1]):
        column = judged(two_way("prm"), GOOD)
    return [column.value.tolist(), column.detail[0]["error"]]


def recipe(**knobs):
    return made("biprm", "chain:1", small_model(), **knobs)


def composed(**knobs):
    made_of = recipe(**knobs)
    return [*map(repr, [*made_of.stages[1:], made_of.env]), made_of.seats, [repr(exam) for exam in made_of.exams]]


def hindsight(**knobs):
    """How much what comes after a line changes what is said of it."""
    lines = recipe(**knobs).exams[1].metrics[0].reward
    (first, *_), (same, *_) = along(lines, GOOD, OTHER)
    return abs(first - same)


EXAMS = [
    "Exam(source=contrasts(task=chain(), wrong=2), metrics=[first_error()], env=side_by_side(tries=1), name='prm', tasks=64)",
    "Exam(source=chain(), metrics=[judged_steps(reward={})], env=single_turn(), name='steps')",
    "Exam(source=chain(), metrics=[farmed(reward={})], env=single_turn(), name='farm', tasks=64, tries=1)",
]
TWO_WAY, ONE_WAY = "two_way(aggregate='steps')", "process_model(aggregate='steps')"
SEATS = {"policy": "author", SECOND: "author"}
LOGS = [-log(0.6), -log(1 - 0.45)]

mechanism = Mechanism(
    "biprm",
    source="arXiv:2508.01682, first version: r_t = (r_t forwards + r_t backwards) / 2, which is what is taught",
    also=[backwards, two_way.score, reward_models._turned],
    numbers={
        "two tellings of a line are averaged first": (loss, sum(LOGS) / 2),
        "by squared error": (lambda: loss(kind="square"), (0.4**2 + 0.45**2) / 2),
        "right lines weigh more": (lambda: loss(good=3.0), (3 * LOGS[0] + LOGS[1]) / 2),
        "a telling without a label": (
            lambda: loss((1.0, nan, 0.0, 1.0), (0.0, nan, 1.0, 0.0)),
            (2 * LOGS[0] - log(1 - 0.7)) / 3,
        ),
        "sure and wrong": (
            lambda: loss((0.0,) * 4, (0.0, 0.0, 1.0, 1.0), (1.0,) * 4),
            float(-(1 - torch.tensor(1 - 1e-6)).log()),
        ),
        "sure that a right line is wrong": (lambda: loss((1.0,) * 4, (0.0, 0.0, 1.0, 1.0), (0.0,) * 4), -log(1e-6)),
        "half right is not weighed": (lambda: loss((0.5,) * 4, (0.0,) * 4, (0.5,) * 4, good=3.0), log(2)),
        "nothing labelled": (lambda: loss((nan,) * 4, (nan,) * 4), 0.0),
        "lines from the end": (lambda: backwards("a\n\nb\n = 2"), " = 2\nb\na"),
        "told twice": (
            lambda: told(GOOD, BAD),
            [["policy", GOOD, -1], ["policy", BAD, -1], [SECOND, backwards(GOOD), -1], [SECOND, backwards(BAD), -1]],
        ),
        "in the same order": (lambda: told(GOOD, order="forward")[1], [SECOND, GOOD, -1]),
        "tries too": (
            lambda: [
                [role for role, *_ in told(GOOD, tries=1)],
                len({text for *_, text, _ in told(GOOD, tries=1)[1::2]}),
            ],
            [["policy", "policy", SECOND, SECOND], 1],
        ),
        "labels of both": (
            lambda: labelled(GOOD, BAD),
            [
                [[1, 1, 1], [1, 0], [1, 1, 1], [0, 1]] * 2,
                [[0, 1, 2], [3, 4], [2, 1, 0], [4, 3], [6, 7, 8], [9, 10], [8, 7, 6], [10, 9]],
            ],
        ),
        "at the ends of lines": (lambda: labelled_at(GOOD), ["= 7\n", "= 7\n12-5=7\n", backwards(GOOD)]),
        "in order": (
            lambda: labelled(GOOD, BAD, order="forward")[0][:4] + labelled(GOOD, BAD, order="forward")[1][:4],
            [[1, 1, 1], [1, 0], [1, 1, 1], [1, 0], [0, 1, 2], [3, 4], [0, 1, 2], [3, 4]],
        ),
        "another telling that has other lines": (
            cut_otherwise,
            [[[1, 1, 1], []] * 2, [[0, 1, 2], [], [3, 4, 5], []]],
        ),
        "the mean of two readings": (lambda: along(two_way("prm"), GOOD)[0], both(GOOD)),
        "in steps": (lambda: along(two_way("prm", "steps"), BAD)[0], both(BAD)),
        "the least of them, or the last": (
            lambda: [float(judged(two_way("prm", how), GOOD).value) for how in ("min", "last")],
            [min(both(GOOD)), both(GOOD)[-1]],
        ),
        "what cannot be reversed is not judged": (
            judged_otherwise,
            [[nan], "ValueError: its lines cannot be reversed"],
        ),
        "a sample that nobody played": (
            lambda: [
                reward_models._turned({"completion": "a\nb", **shown}) for shown in ({"prompt": "p"}, {"view": "v"}, {})
            ],
            [{"prompt": shown, "completion": "b\na"} for shown in ("p", "v", "")],
        ),
        "composed": (
            lambda: composed(tries=2),
            [
                *("labels_for_both()", "Learn(model='prm', loss=two_way_labels())", "told_twice(tries=2)", SEATS),
                [EXAMS[0].replace("tries=1", "tries=2"), *(each.format(TWO_WAY) for each in EXAMS[1:])],
            ],
        ),
        "in order, by squares": (
            lambda: composed(second="forward", objective="square", good=2.0),
            [
                "labels_for_both(order='forward')",
                "Learn(model='prm', loss=two_way_labels(kind='square', good=2.0))",
                *("told_twice(tries=1, order='forward')", SEATS, [each.format(ONE_WAY) for each in EXAMS]),
            ],
        ),
        "one stream": (
            lambda: composed(second="none"),
            [
                *("Learn(model='prm', loss=step_labels())", "side_by_side(tries=1)", {"policy": "author"}),
                [EXAMS[0].replace(" env=side_by_side(tries=1),", ""), *(each.format(ONE_WAY) for each in EXAMS[1:])],
            ],
        ),
    },
    world=World(
        says="two answers begin with the same line: only who reads them from the end too judges it by what follows",
        measure=hindsight,
        off={"second": "none"},
        moves=0.01,
    ),
    equal={
        "labels_for_both.__call__: True -> False": "no token of a telling was given",
        "labels_for_both.__call__: names[one] shuffled": "one model tells both",
        "labels_for_both.__call__: names[k] shuffled": "one model tells both",
        "two_way_labels.__call__: 1 -> 2": "a longer table of lines",
    },
)
