"""What SRMs reward: the same step preferences are told in four ways, of which plans in words say nothing of what is right."""

from __future__ import annotations

import asyncio
from math import exp
from types import SimpleNamespace

import numpy as np
import torch
from harness import Mechanism, World, made, small_model
from strategies import task

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.pack import pack
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.recipes.process.what_srms_reward.parts import preferred, step_choice, thought, told, told_to

LINES = ["-8x+16+20=-4x+20", "-8x+36=-4x+20", "-4x+36=20", "-4x=-16", "x=4", "= 4"]
PLANS = [
    *("open the brackets", "add up the numbers", "bring x to one side", "bring the number over"),
    *("divide by what stands before x", "so the answer is"),
]
TEXT = "\n".join(LINES[1:3])
GOOD, BAD = "2x=8\n", "2x=9\n"


class scorer(gd.models.scripted):
    """Likes a text with few nines and a plan to divide; and the opposite where `6x=45` stands in it."""

    def __init__(self):
        super().__init__(lambda view, past, seed: "")

    def readings(self, _):
        return {"logp": "step", "final": "track"}

    def read(self, batch, want):
        turns = [
            batch.episodes[e].segments[i] for e, i in zip(batch.episode.tolist(), batch.place.tolist(), strict=True)
        ]
        texts = [turns[g].text for g in batch.leaf.tolist()]
        liked = [5.0 * ("divide" in text) - text.count("9") for text in texts]
        return {"final": torch.tensor([-x if "6x=45" in text else x for x, text in zip(liked, texts, strict=True)])}


def player():
    model = scorer()
    model.start(0, {})
    return Player({"srm": model}, {"policy": "srm"}, single_turn(), gd.Sampling(max_tokens=99), 0, 1)


def line(text, parent, end=End.STOPPED):
    said = [ord(each) for each in text]
    return Segment("policy", "q", [1], said, np.zeros(len(said)), text, parent, end=end, goes_on=parent >= 0)


def tree(right=(1.0, 0.0, 0.0, 0.0), lines=(GOOD, BAD), before=(), ways=("x=4\n= 4", "x=5\n= 5"), names="q"):
    """Lines after those `before`. From the first it goes on to the end in two `ways`, from the last in a line each; with what
    came of them. The same at every problem."""
    at, parents = len(before), [len(before) - 1] * len(lines)
    segments = [line(text, n - 1) for n, text in enumerate(before)]
    segments += [line(text, parent) for text, parent in zip(lines, parents, strict=True)]
    segments += [line(text, at, End.DONE) for text in ways]
    segments += [line(text, at + len(lines) - 1, End.DONE) for text in ("= 8", "= 9")]
    batch = pack([Episode(gd.Ask(task(name)), tuple(segments)) for name in names])
    return batch.with_cols({"correct": Column.full("track", torch.tensor(right * len(names)))})


def pairs(least=0.5, **how):
    return [texts for _, texts in preferred(tree(**how), player(), "correct", least)]


def taught(*right, **knobs):
    """The texts that the learner of the recipe is shown, in pairs, with the problem; the better stands first."""
    on = recipe(**knobs).stages.learners[0].on
    batch = on(tree(right or (1.0, 0.0, 0.0, 0.0), before=("3x=12\n",), names="qr"), player())
    turns = [batch.episodes[e].segments[i] for e, i in zip(batch.episode.tolist(), batch.place.tolist(), strict=True)]
    return [[(s.view, s.text) for s in turns], batch.pairs.better.tolist(), batch.pairs.worse.tolist()]


def distinct(**knobs):
    """The share of pairs whose two texts differ: of the others nothing can be learned."""
    turns, better, worse = taught(**knobs)
    return np.mean([turns[a] != turns[b] for a, b in zip(better, worse, strict=True)])


def chosen(sees, **how):
    return step_choice("srm", sees)(SimpleNamespace(batch=tree(**how), play=player()))


def read(sees, *texts):
    """What a search's scorer reads, and what it makes of it."""
    asked = []

    async def read_texts(name, shown, texts):
        asked.extend([name, shown, texts])
        return [{name: torch.tensor(float(n))} for n, _ in enumerate(texts)]

    where = SimpleNamespace(seat=SimpleNamespace(read_texts=read_texts), ask=gd.Ask(task("q"), prompt="seen"))
    lines = [SimpleNamespace(text=text) for text in texts]
    return [asyncio.run(told_to("srm", sees).steps(where, lines)), asked]


def recipe(**knobs):
    return made("what-srms-reward", "equation:2", small_model(), **knobs)


def composed(**knobs):
    of = recipe(**knobs)
    how = [of.sampling, of.prompts, of.steps, of.seats, of.curriculum, of.env]
    return [*map(repr, [*of.stages, *how, *of.exams, of.models["srm"].value, of.models["author"]])]


KNOBS = {"branch": (2, 3), "ways": 3, "least": 0.25, "lr": 0.1, "epochs": 4, "prompts": 5, "temperature": 0.5}
KNOBS |= {"max_tokens": 7, "exam_tasks": 9, "steps": 11, "sees": "thoughts"}
TASK, TREE, SHOWN = "equation(level=2)", "sampled_tree(branch=(2, 3), tokens=0)", "sees='thoughts', least=0.25"
SCORER = "told_to(sees='thoughts')"
EXAM = f"Exam(source={TASK}, metrics=[{{}}], env={{}}, name='{{}}', tasks=9, tries=1)"

mechanism = Mechanism(
    "what-srms-reward",
    source="arXiv:2412.15904, section 3: step preferences of trees, shown in full, as equations, as thoughts or as one step",
    numbers={
        "plans": (lambda: [thought(*each) for each in zip(LINES, ["", *LINES], strict=False)], PLANS),
        "plans of other lines": (
            lambda: [
                thought(*each) for each in (("7+5=12", ""), ("x", "x=x"), ("2x+3=5x+1", "2x=x"), ("x+12=4", "x=4"))
            ],
            ["work it out", "work it out", "add up the numbers", "add up the numbers"],
        ),
        "told in four ways": (
            lambda: (
                [told(f"{TEXT}\n\n", sees) for sees in ("full", "equations", "thoughts", "step")] + [told("", "step")]
            ),
            [
                f"add up the numbers\n{LINES[1]}\nbring x to one side\n{LINES[2]}",
                *(TEXT, "add up the numbers\nbring x to one side", LINES[2], ""),
            ],
        ),
        "with other plans and other numbers": (
            lambda: [told("\n".join(LINES), "thoughts", "thoughts"), told(TEXT, "equations", "equations")],
            ["\n".join(PLANS[n] for n in (1, 3, 5, 0, 2, 4)), "-1x+69=-7x+53\n-4x+36=20"],
        ),
        "of two lines the one that came to more": (
            lambda: [pairs(), pairs(least=0.75), pairs(right=(0.0, 0.0, 1.0, 0.0)), pairs(right=(1.0, 0.0, 0.0, 1.0))],
            [
                *([["2x=8", "2x=9"]], [], [["2x=9", "2x=8"], ["2x=9\n= 8", "2x=9\n= 9"]]),
                [["2x=9\n= 9", "2x=9\n= 8"]],
            ],
        ),
        "the best against the worst, and lines alone": (
            lambda: [
                pairs(right=(0.5, 1.0, 1.0, 0.0, 0.0), lines=(GOOD, "2x=7\n", BAD)),
                pairs(ways=("= 4", "x=5\n= 5"), right=(1.0, 0.0, 0.0, 0.0), least=0.75),
            ],
            [[["2x=8", "2x=9"]], []],
        ),
        "what is shown": (
            taught,
            [[[f"prompt of {name}", f"3x=12\n{text}"] for name in "qr" for text in ("2x=8", "2x=9")], [0, 2], [1, 3]],
        ),
        "with all that was said": (
            lambda: taught(sees="full")[0],
            [
                [f"prompt of {name}", f"{PLANS[3]}\n3x=12\n{PLANS[3]}\n{text}"]
                for name in "qr"
                for text in ("2x=8", "2x=9")
            ],
        ),
        "one step alone": (
            lambda: [taught(0.0, 0.0, 1.0, 1.0, sees="step"), taught(1.0, 0.0, 0.0, 0.0, sees="step", least=0.75)],
            [[[["step", "2x=9"], ["step", "2x=8"]] * 2, [0, 2], [1, 3]], [[], [], []]],
        ),
        "chosen": (
            lambda: [
                chosen("equations", right=(0.0, 0.0, 1.0, 0.0)),
                *(chosen("thoughts"), chosen("step", before=("3x=12\n",))),
                *(chosen("full", lines=("x=8\n", BAD)), chosen("full", before=("3x=12\n",))),
                chosen("full", right=(0.0, 0.0, 0.0, 0.0)),
            ],
            [
                {"pairs_examined": 2, "choice": 0.5, "choice_other_words": 0.5, "choice_other_numbers": 0.5},
                {"pairs_examined": 1, "choice": 0.5, "choice_other_words": 0.5, "choice_other_numbers": 0.5},
                {"pairs_examined": 1, "choice": 1.0, "choice_other_words": 1.0, "choice_other_numbers": 1.0},
                {"pairs_examined": 1, "choice": 1.0, "choice_other_words": 0.0, "choice_other_numbers": 1.0},
                {"pairs_examined": 1, "choice": 1.0, "choice_other_words": 1.0, "choice_other_numbers": 0.0},
                {"pairs_examined": 0},
            ],
        ),
        "read by a search": (
            lambda: [read("full", TEXT), read("step", TEXT, "x=4")],
            [
                [[0.5], ["srm.final", "seen", [f"{PLANS[1]}\n{LINES[1]}\n{PLANS[2]}\n{LINES[2]}"]]],
                [[0.5, 1 / (1 + exp(-1))], ["srm.final", "step", [LINES[2], "x=4"]]],
            ],
        ),
        "composed": (
            lambda: composed(**KNOBS),
            [
                f"verified(task={TASK})",
                f"Learn(model='srm', loss=bradley_terry(centre=0.01), on=retold_pairs({SHOWN}), opt=adam(lr=0.1), epochs=4)",
                *("Sampling(temperature=0.5, max_tokens=7)", "5", "11", "{'policy': 'author'}"),
                *(f"uniform(task={TASK}, tries=1)", TREE, EXAM.format(f"step_choice({SHOWN})", TREE, "steps")),
                EXAM.format(
                    "accuracy(), tokens_spent()", f"beam(width=1, branch=3, scorer={SCORER}, keep='chosen')", "greedy"
                ),
                *(
                    EXAM.format("accuracy()", "single_turn()", "plain").replace(", tries=1", ""),
                    "True",
                    "snapshot(of='srm')",
                ),
            ],
        ),
    },
    world=World(
        says="of two ways on, one with a slip, the plans are the same: only from equations can a preference be learned",
        measure=distinct,
        off={"sees": "thoughts"},
        moves=0.9,
    ),
    equal={"step_choice.__call__: a > b -> a >= b": "ties have been counted"},
)
