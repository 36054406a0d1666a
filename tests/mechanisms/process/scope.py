"""SCOPE: a failed try is kept up to its first wrong line and put right from there; what others said has its own loss."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import torch
from harness import Mechanism, World, made, small_model
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.episode import End
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.recipes.process.scope.parts import _common, parted, salvage, shaped, way_on
from guerdon.rewards.stage.step_labels import line_ends
from guerdon.tasks.family import write_solution

FAMILY = gd.tasks.load("equation:2")
TASK = FAMILY.get("train", 0)  # 9x+12=48
RIGHT, SLIP, FIRST = "9x=36\nx=4\n= 4", "9x=36\nx=5\n= 5", "9x=37\nx=5\n= 5"


def player():
    model = gd.models.scripted(lambda view, past, seed: "")
    model.start(0, {})
    return Player({"policy": model}, {"policy": "policy"}, single_turn(), gd.Sampling(max_tokens=99), 0, 1)


class teaching(Player):
    """A `play` in which the teacher's tries are these texts, in turn; one of None fails, one of "" says nothing."""

    def __init__(self, *texts):
        own = player()
        super().__init__(own.models, own.seats, own.env, own.sampling, 0, 1)
        self.texts, self.taught = texts, []

    def __call__(self, asks, env=None, seats=None):
        self.taught += [[ask.n, ask.prefix.step, ask.prefix.segment, dict(ask.seats)] for ask in asks]
        episodes = []
        for ask, text in zip(asks, self.texts, strict=True):
            turns = [segment([*text.encode()], text=text).but(given=ask.prefix.step)] if text else []
            episodes.append(episode(*turns, ask=ask))
            if text is None:
                episodes[-1] = episodes[-1].but(info={"error": "no answer"})
        return episodes


def tried(*texts, turns=1, given=0):
    """Tries at a problem of which every token had the log-prob -1."""
    episodes = []
    for n, text in enumerate(texts):
        actions = [*text.encode()]
        last = segment(actions, view=TASK.prompt, text=text, parent=turns - 2, end=End.DONE)
        last = last.but(logp=np.full(len(actions), -1.0, np.float32), given=given, sampling=WARM)
        before = [segment([1], view="before", text="a")] * (turns - 1)
        episodes.append(episode(*before, last, ask=gd.Ask(TASK, len(texts)), attempt=n))
    return pack(episodes)


def recipe(task=FAMILY, **knobs):
    return made("scope", task, small_model(), **knobs)


def salvaged(*texts, play=None, **how):
    """The batch after the recipe's stages up to its credit, and the `play` with what was noted."""
    knobs = {key: how.pop(key) for key in ("keep", "teacher", "least") if key in how}
    play, batch = play or player(), tried(*texts, **how)
    for stage in recipe(**knobs).stages[:-1]:
        batch = stage(batch, play)
    return batch, play


def joined(*texts, play=None, **how):
    """Of what joined: text, how many tokens are the policy's own, the sum of log-probs, number among the tries; how many tokens
    are others'; and what was noted and billed."""
    play = play or player()
    batch, _ = salvaged(*texts, play=play, **how)
    new = [e for e in batch.episodes if "own" in e.info and e.segments]
    off = [int(column.sum()) for column in (batch["off"][steps] for steps in batch.steps_by_track())][-len(new) :]
    noted = {name.removeprefix("salvage/"): x for name, x in play.metrics.items() if name.startswith("salvage")}
    said = [[s.text, e.info["own"], float(s.logp.sum()), e.attempt] for e in new for s in e.segments]
    assert [(s.given, s.parent) for e in new for s in e.segments] == [(0, -1)] * len(new)
    assert all(s.sampling == WARM for e in new for s in e.segments) or "teacher" in how
    return [said, off if new else [], noted, play.meter.tokens]


def following(right):
    """A family of which the worked solution is a, b, c, and just these lines are right."""
    wrong = lambda task, steps: None if "".join(steps) == right else 0  # noqa: E731
    return SimpleNamespace(steps=lambda task: [*"abc"], first_wrong=wrong, check=lambda task, text: 1.0)


def losses(logp, advantage, **how):
    batch = example_tries([[1.0, 0.0]], steps=2, off_advantage=advantage)
    batch = dataclasses.replace(batch, weight=torch.tensor(how.pop("weight", [1.0] * 4)))
    value, noted = shaped(**how)(batch, {"logp": torch.tensor(logp).log()})
    return [float(value), float(noted["off_probability"]), shaped(**how).silent(batch).tolist()]


def parts_of(advantage, off):
    batch = parted()(example_tries([[1.0, 0.0]], advantage=advantage, off=off), ExamplePlay())
    return [batch["on_advantage"].tolist(), batch["off_advantage"].tolist()]


def composed(**knobs):
    of = recipe(**knobs)
    return [*map(repr, [*of.stages, *of.exams, sorted(of.models)])]


def learned(**knobs):
    """What the policy's own tokens are paid above 0 where all tries fail."""
    batch, _ = salvaged(SLIP, SLIP, **knobs)
    return float(batch["on_advantage"].clamp(min=0).sum())


def by_teacher(*texts):
    play = teaching(*texts)
    return [*joined(SLIP, FIRST, SLIP, teacher=small_model(), play=play), play.taught]


def _kept(least):
    """The ends of lines that are kept of a try whose lines are worth 1, 0.6 and 0.4."""
    batch = tried(SLIP)
    scored = Column("track", torch.tensor([0.0]), torch.zeros(1, dtype=torch.int8), {0: {"steps": [1.0, 0.6, 0.4]}})
    batch = batch.with_cols({"judged": scored})
    stage = salvage(FAMILY, [gd.rewards.verified(FAMILY)], least=least)
    return stage._kept(batch, 0, line_ends()(batch, player())["line_ends"])


def stages(judge, how, shape):
    return [
        *(f"verified(task={SOURCE})", f"score(reward={judge}, gives_to='judged')"),
        f"salvage(task={SOURCE}, scores=[verified(task={SOURCE})], {how})",
        *("centre(reward='correct')", "parted()"),
        f"Learn(model='policy', loss=total(terms=[clipped(advantage='on_advantage'), shaped({shape})]), opt=adam(lr=2e-05))",
    ]


WARM = gd.Sampling(temperature=0.5)
ONE, SOURCE, PRM = [1, 2, 3], "equation(level=2)", "process_model(model='sprig', aggregate='steps')"
STEPS = f"Exam(source={SOURCE}, metrics=[sound(){{}}], env=single_turn(), name='steps', tasks=128, tries=1)"

mechanism = Mechanism(
    "scope",
    source="arXiv:2602.24110 (no code); f(x) = x / (x + 0.1) of LUFFY, arXiv:2504.14945, eq. 7",
    numbers={
        "the way on": (
            lambda: [
                way_on(FAMILY, TASK, lines)
                for lines in (["9x=36"], [], ["9x+12=48", "9x=36"], ["9x=36", "x=4"], ["9x=37"], ["x=4"])
            ],
            [RIGHT, RIGHT, f"9x+12=48\n{RIGHT}", RIGHT, None, "x=4\n= 4"],
        ),
        "a line of its own, after an empty one": (
            lambda: joined("\nx=4\n9x=37\n= 5")[0],
            [["x=4\n= 4", 0, 0.0, 1]],
        ),
        "where the way goes on": (
            lambda: [
                way_on(following(right), TASK, lines)
                for right, lines in (
                    ("zbc", "z"),
                    ("zc", "z"),
                    ("z", "z"),
                    ("zabc", "z"),
                    ("wwww", "wwww"),
                    ("zab", "z"),
                )
            ],
            [*(write_solution(list(right), TASK.answer) for right in ("zbc", "zc", "z", "zabc", "wwww")), None],
        ),
        "what both have": (
            lambda: [
                _common(np.array(a), np.array(b)) for a, b in ((ONE, [1, 2, 4]), ([1, 2], ONE), ([], ONE), ([2], ONE))
            ],
            [2, 2, 0, 0],
        ),
        "put right after the first line": (
            lambda: joined(RIGHT, SLIP, FIRST),
            [
                [[RIGHT, 6, -6.0, 4], [RIGHT, 0, 0.0, 5]],
                *([7, 13], {"failed": 2 / 3, "alone": 1 / 3, "joined": 1.0, "kept": 0.5}, 7 + 13),
            ],
        ),
        "the whole put in its place": (
            lambda: joined(SLIP, keep=False),
            [[[RIGHT, 0, 0.0, 1]], [13], {"failed": 1.0, "alone": 0.0, "joined": 1.0, "kept": 0.0}, 13],
        ),
        "a line that is half right": (
            lambda: [_kept(least) for least in (0.5, 0.7, 0.4)],
            [[5, 9], [5], None],
        ),
        "by a teacher": (
            lambda: by_teacher(RIGHT, RIGHT, SLIP),
            [
                *([[RIGHT, 6, -6.0, 3], [RIGHT, 0, 0.0, 4]], [7, 13]),
                *({"failed": 1.0, "alone": 0.0, "joined": 2 / 3, "kept": 0.5}, 0),
                [[1, 6, 0, {"policy": "teacher"}], [1, 0, 0, {"policy": "teacher"}], [1, 6, 0, {"policy": "teacher"}]],
            ],
        ),
        "by a teacher, in vain": (lambda: by_teacher(None, "", SLIP)[:2], [[], []]),
        "nothing failed": (lambda: joined(RIGHT), [[], [], {"failed": 0.0, "alone": 1.0}, 0]),
        "turns, and what was given": (
            lambda: [joined(SLIP, turns=2), joined(SLIP, given=1)],
            [[[], [], {"failed": 1.0, "alone": 0.0, "joined": 0.0}, 0]] * 2,
        ),
        "shaped, of a mean over tries": (
            lambda: losses([0.1, 0.5, 0.2, 0.3], [1.0, 0.0, -2.0, 0.0]),
            [(-0.1 / 0.2 + 2 * 0.2 / 0.3) / 4, (0.1 + 0.2) / 4, [False, False]],
        ),
        "another shape, and a try without such a step": (
            lambda: losses([0.1, 0.5, 0.2, 0.3], [1.0, 0.0, 0.0, 0.0], gamma=0.4, mean="constant", constant=8.0),
            [-0.1 / 0.5 / 16, 0.1 / 4, [False, True]],
        ),
        "a step that is masked": (
            lambda: losses([0.1, 0.5, 0.2, 0.3], [1.0, 0.0, 1.0, 0.0], weight=[0.0, 1.0, 1.0, 1.0])[2],
            [True, False],
        ),
        "parted": (lambda: parts_of([2.0, -1.0], [1.0, 0.0]), [[0.0, -1.0], [2.0, 0.0]]),
        "composed": (
            lambda: composed(keep=False, shaping=0.3, least=0.2),
            [
                *stages(f"true_lines(task={SOURCE})", "keep=False, least=0.2", "gamma=0.3"),
                *(f"Exam(source={SOURCE})", STEPS.format(""), "['policy']"),
            ],
        ),
        "composed of a judge and a teacher": (
            lambda: composed(prm="sprig", teacher=small_model()),
            [
                *stages(PRM, "teacher='teacher'", ""),
                *(f"Exam(source={SOURCE})", STEPS.format(f", judged_steps(reward={PRM}), farmed(reward={PRM})")),
                "['policy', 'teacher']",
            ],
        ),
        "beside a divergence": (
            lambda: composed(kl=0.5)[5],
            stages("", "", "")[5].replace("shaped", "kl(weight=0.5), shaped"),
        ),
    },
    world=World(
        says="every try fails after a right line: the line is learned from, where a whole solution would take its place",
        measure=learned,
        off={"keep": False},
        moves=0.5,
    ),
    equal={
        "salvage.__call__: more.episode[more.leaf] shuffled": "a mean has no order",
        "salvage._recited: _common(...) with reply.actions before said.actions[:ends[-1] + 1 if ends else 0]": "symmetric",
        "way_on: 1 -> 2 (2)": "after the last line there is nothing",
        "_joined: new.but(...) without parent=": "a first turn has none",
        "_said_for_certain: steps[batch.episodes[int(batch.episode[batch.leaf[k]])].i... shuffled": "all of them get a 1",
    },
)
