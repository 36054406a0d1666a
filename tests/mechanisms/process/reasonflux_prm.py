"""ReasonFlux-PRM: lines of a thinking trace labelled by how near its response they are, how sound, and how coherent."""

from __future__ import annotations

import dataclasses
import functools
from math import cos, e, exp, nan, sin
from types import SimpleNamespace
from unittest.mock import patch

import torch
from harness import Mechanism, World, made, small_model
from pools import HandRun

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.example import example_tries
from guerdon.core.pack import pack
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.envs.simple import single_turn
from guerdon.recipes.process.reasonflux_prm import parts
from guerdon.recipes.process.reasonflux_prm.parts import (
    Trace,
    aligned,
    coherent,
    encoded,
    quality,
    response_from,
    template,
)

FAMILY = gd.tasks.load("countdown:2")
TASK = FAMILY.get("train", 6)  # 4 3 9 make 10, worked out in two steps and the answer
SEARCHED = "4+3=7 left 9 7\n9+7=16\n4-3=1 left 9 1\n9+1=10\n= 9+4-3"
SLIPPED = "4+3=8 left 9 8\n9+8=17\n4-3=1 left 9 1\n9+1=10\n= 9+4-4"


def trace(text, right=1.0):
    lines = text.split("\n")
    return Trace(0, TASK, lines, list(range(len(lines))), response_from(lines, TASK, FAMILY), right)


@functools.cache
def author():
    model = small_model()
    model.start(0, {})
    return model


def placed(model, lines):
    """Unit vectors in place of hidden states, each line a little further around than the one before."""
    assert model is author()
    different = list(dict.fromkeys(lines))
    return {line: torch.tensor([cos(0.3 * n), sin(0.3 * n)]) for n, line in enumerate(different)}


def played(*texts, correct=(1.0, 0.0)):
    """Traces, whether their answers are right, and a player for what follows."""
    play = Player({"author": author()}, {"policy": "author"}, side_by_side(), gd.Sampling(max_tokens=4), 0, 1)
    batch = pack(play([gd.Ask(TASK, note={"say": list(texts)})]))
    play.env = single_turn()
    return batch.with_cols({"correct": Column.full("track", torch.tensor(correct[: len(texts)]))}), play


ASKED = []


def followed(asks, scores, play):
    """Tries that follow templates: of each two right ones of three, of the second none that could be checked."""
    assert isinstance(play, Player)
    ASKED[:] = [[ask.n, ask.sampling.max_tokens, ask.prefix.segments[0].text] for ask in asks]
    right = [] if not asks else [[1.0, 0.0, 1.0], [None] * 3][: len(asks)]
    batch = example_tries(right)
    return batch.with_cols({"correct": batch.cols["reward"]})


def labels(*texts, **knobs):
    """Labels of the lines of each trace, and of the whole."""
    batch, play = played(*(texts or (SEARCHED, SLIPPED)))
    own = {name: knobs.pop(name) for name in ("sees", "follow") if name in knobs}
    stage = dataclasses.replace(recipe(**own).stages[1], **knobs)
    with patch.object(parts, "encoded", placed), patch.object(parts, "play_scored", followed):
        made_of = stage(batch, play)
    return [[x for x in made_of["labels"][steps].tolist() if x == x] for steps in made_of.steps_by_track()], made_of[
        "whole"
    ]


def cut_otherwise():
    with patch.object(parts.SampleTokens, "cut", lambda self, steps, by, name: [steps]):
        return labels()[0]


def recipe(**knobs):
    return made("reasonflux-prm", FAMILY, small_model(), use="choose", **knobs)


def by_hand(text, first, sound, others, tau=0.1):
    """The labels of a trace's lines but the last; a line is an angle, and `others` are those of the other trace."""
    angles = [NUMBER[line] * 0.3 for line in text.split("\n")]
    made_of = []
    for t, angle in enumerate(angles[:-1]):
        near = [max(0.0, max(cos(angle - other) for other in angles[first:])), sound[t]]
        if t:
            before, against = exp(cos(angle - angles[t - 1]) / tau), [exp(cos(angle - 0.3 * n) / tau) for n in others]
            near.append(before / (before + sum(against)))
        made_of.append(sum(exp(x) * x for x in near) / sum(map(exp, near)))
    return made_of


def hidden():
    """Which lines are read, how long their states are, and whether those are means over the tokens of a line by itself."""
    read = []

    def probe(model, items, want):
        read.extend(items)
        return [{want[0]: torch.tensor([[1.0, 0.0], [5.0, 8.0]])}, None][: len(items)]

    with patch.object(parts, "probe", probe):
        states = encoded(author(), ["ab", "c", "ab"])
    return [
        [text for _, _, text in read],
        states["ab"].tolist(),
        states["c"].tolist(),
        {item[:2] for item in read} == {((), "")},
    ]


def composed(**knobs):
    made_of = recipe(**knobs)
    drawn = [made_of.sampling, made_of.curriculum.tries, made_of.prompts, made_of.steps]
    return [*map(repr, [*made_of.stages[1:], drawn]), *map(repr, made_of.exams)]


def studied(**knobs):
    """How often something is trained, and the last learner and scores of a policy that learns from the traces it is told to."""
    run = HandRun()
    made("reasonflux-prm", FAMILY, small_model(), share=0.3, lr=0.2, whole=0.5, **knobs).body(run, 0)
    last = run.trained[-1][0]
    return [len(run.trained), *map(repr, last.stages[1:])]


def thought(**knobs):
    """How much better two sound lines of thinking are labelled than two that do not follow, before the same response."""
    (sound, slipped), _ = labels(SEARCHED, SLIPPED.replace("9+4-4", "9+4-3"), **knobs)
    return sum(sound[:-2]) - sum(slipped[:-2])


NUMBER = {line: n for n, line in enumerate(dict.fromkeys(f"{SEARCHED}\n{SLIPPED}".split("\n")))}  # of 8; two are shared
HAND = [by_hand(SEARCHED, 2, [1, 1, 1, 1], [5, 6, 7]), by_hand(SLIPPED, 2, [0, 0, 1, 1], [0, 1, 4])]
UP, TURNED, ACROSS = [1.0, 0.0], [0.6, 0.8], [0.0, 1.0]
KNOBS = {"prompts": 3, "tries": 5, "scorer_lr": 0.1, "temperature": 0.5, "max_tokens": 7, "exam_tasks": 9, "steps": 11}
TRUTH = "verified(task=countdown(level=2))"

mechanism = Mechanism(
    "reasonflux-prm",
    source="arXiv:2506.18896, section 4: alignment, quality and coherence by softmax, and what follows the template",
    numbers={
        "labels of two traces": (labels, [HAND, [2 / 3, nan]]),
        "what follows was asked for": (
            lambda: [labels(follow=5), ASKED][1],
            [[5, 4, "4-3=1 left 9 1\n"]] * 2,
        ),
        "at another temperature": (
            lambda: labels(temperature=0.5)[0][0],
            by_hand(SEARCHED, 2, [1, 1, 1, 1], [5, 6, 7], 0.5),
        ),
        "against one line of another trace": (
            lambda: (
                min(abs(labels(negatives=1)[0][0][1] - by_hand(SEARCHED, 2, [1, 1, 1, 1], [n])[1]) for n in (5, 6, 7))
                < 1e-5
            ),
            True,
        ),
        "of one trace nothing is against": (
            lambda: labels(SEARCHED)[0][0][1],
            (e + cos(0.3) * exp(cos(0.3))) / (e + exp(cos(0.3))),
        ),
        "the response alone": (lambda: labels(sees="response"), [[[1, 1, 1], [1, 1, 0]], [1.0, 0.0]]),
        "a trace that comes out in other lines has none": (cut_otherwise, [[], []]),
        "no traces": (lambda: labels("")[1], [nan]),
        "near the response": (
            lambda: aligned(torch.tensor([UP, TURNED, ACROSS, [0.0, -1.0]]), 2),
            [0.0, 0.8, 1.0, 1.0],
        ),
        "not nearer than at all": (lambda: aligned(torch.tensor([[-1.0, 0.0], [2.0, 0.0]]), 1), [0.0, 1.0]),
        "nearer to the line before": (
            lambda: coherent(torch.tensor([UP, TURNED, ACROSS]), [torch.tensor(ACROSS)], 0.5),
            [nan, exp(1.2) / (exp(1.2) + exp(1.6)), exp(1.6) / (exp(1.6) + exp(2.0))],
        ),
        "sound, way by way": (
            lambda: [quality(trace(SEARCHED), FAMILY), quality(trace(SLIPPED, 0.0), FAMILY)],
            [[1] * 5, [0, 0, 1, 1, 0]],
        ),
        "nobody checks lines": (lambda: quality(trace("a\nb"), SimpleNamespace()), [nan, 1.0]),
        "half of the response": (lambda: template(Trace(0, TASK, list("abcdef"), [], 1, 1.0)), "b\nc\n"),
        "where the response begins": (
            lambda: [
                response_from(*each, FAMILY)
                for each in ((["a", "b </think>", "c", "d"], TASK), (["a", "</think>"], TASK), (["= 10"], TASK))
            ],
            [2, 1, 0],
        ),
        "by the answer, where nothing is worked out": (
            lambda: response_from(["a", "b", "c"], gd.Task("1", "", "x\n\ny"), SimpleNamespace()),
            1,
        ),
        "hidden states of lines": (hidden, [["ab", "c"], [0.6, 0.8], [0.0], True]),
        "composed": (
            lambda: composed(follow=4, whole=0.5, **KNOBS),
            [
                f"trace_labels(task=countdown(level=2), score={TRUTH}, tries=4)",
                "Learn(model='prm', loss=total(terms=[step_values(), whole_value(weight=0.5)]), opt=adam(lr=0.1))",
                "[Sampling(temperature=0.5, max_tokens=7), 5, 3, 11]",
                "Exam(source=countdown(level=2), metrics=[accuracy(), best_of(reward=blended(terms={'process_model': "
                "process_model(aggregate='mean'), 'process_model_2': weighted(reward=process_model(aggregate='last'), "
                "by=0.5)}))],"
                " name='choice', tasks=9, tries=4)",
                "Exam(source=countdown(level=2), metrics=[farmed(reward=process_model(aggregate='steps'))], name='steps', "
                "tasks=64, tries=1)",
            ],
        ),
        "taught by the response alone": (
            lambda: composed(sees="response")[:2],
            [
                f"trace_labels(task=countdown(level=2), score={TRUTH}, sees='response')",
                "Learn(model='prm', loss=step_values(), opt=adam(lr=0.0003))",
            ],
        ),
        "imitating the best": (
            lambda: studied()[::2],
            [2, "Learn(model='policy', loss=sft(), on=top_share(share=0.3), opt=adam(lr=0.2))"],
        ),
        "imitating any": (
            lambda: studied(by="any"),
            [1, "Learn(model='policy', loss=sft(), on=top_share(column='', share=0.3), opt=adam(lr=0.2))"],
        ),
    },
    world=World(
        says="two traces end in the same response, and one thinks what does not follow: it is labelled worse for it",
        measure=thought,
        off={"sees": "response"},
        moves=0.3,
    ),
    equal={
        "traces_of: True -> False": "no token of a trace was given",
        **dict.fromkeys(
            ("quality: n + 1 -> n (2)", "quality: n + 1 -> 1 (2)"), "a wrong line is on no way: the next starts anew"
        ),
        "encoded: read['hidden'].float().mean(0) -> read['hidden'].float().sum(0)": "of length 1 in the end",
        "aligned: said[first:] shuffled": "a maximum has no order",
        "trace_labels._followed: right[number == n] shuffled": "a mean has no order",
        "coherent: return torch.full((len(said),), float('nan')) -> return -torch.full((len(said),), float('nan'))": "NaN",
        **dict.fromkeys(
            (
                *("aligned: -1 -> 1", "trace_labels.__call__: -1 -> 1"),
                *(f"coherent: -1 -> 1 ({n})" for n in (2, 3, 4)),
            ),
            "the last axis of two",
        ),
    },
)
