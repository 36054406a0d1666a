"""Auto-CEI: refusals are worth the more, the further they came past a bar, and the bar is hill-climbed."""

from __future__ import annotations

from math import exp, nan
from statistics import pstdev
from types import SimpleNamespace

import torch
from harness import Mechanism, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.recipes.curriculum.auto_cei.parts import (
    abstention,
    held,
    or_refused,
    resampled,
    retold,
)
from guerdon.studies.climb import climb


class Sums:
    """Two kinds of problems: the answer is the level."""

    name = "sums"

    def size(self, split):
        return 6

    def get(self, split, index):
        return gd.Task(f"{split}{index}", f"problem {index}", str(1 + index % 2), family="sums", level=1 + (index > 3))

    def check(self, task, completion):
        return None if completion == "?" else float(completion.rpartition("= ")[2] == task.answer)


def said(texts, right, **fields):
    ask = gd.Ask(gd.Task("0", "p"))
    tries = [episode(segment(text=text, view="p", **fields), ask=ask, attempt=n) for n, text in enumerate(texts)]
    value = torch.tensor(right)
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    return pack(tries).with_cols({"correct": Column("track", value, reason)})


def worth(c2, *texts, right=None):
    batch = said(texts, right or [0.0] * len(texts))
    return or_refused(3.0, c2)(batch, ExamplePlay())["worth"].tolist()


def refusal(steps):
    return "\n".join(["a"] * steps + ["= no"])


class Seeded(ExamplePlay):
    def __init__(self, seed):
        super().__init__()
        self.seed = seed

    def generator(self, *path):
        return torch.Generator().manual_seed(self.seed)


def often(temperature, rewards=(1.0, 0.0, -1.0), **knobs):
    """How often each try is there in five resamplings; 0: left out."""
    counts, batch = [], example_tries([list(rewards)])
    for seed in range(5):
        kept = resampled("reward", temperature=temperature, **knobs)(batch, Seeded(seed))
        places = [kept.episodes[e].attempt for e in kept.episode.tolist()]
        counts.append([kept.weight.tolist()[places.index(n)] if n in places else 0 for n in range(len(rewards))])
    return counts


def drawn(temperature, rewards=(1.0, 0.0, -1.0), least=-1.0):
    """By hand: each once, and as many again drawn with chances exp(r / temperature)."""
    chances = torch.tensor([exp(r / temperature) for r in rewards]).double()
    counts = []
    for seed in range(5):
        places = torch.multinomial(chances / chances.sum(), 3, True, generator=Seeded(seed).generator()).tolist()
        counts.append([(1 + places.count(n)) * (r > least) for n, r in enumerate(rewards)])
    return counts


def groups(**knobs):
    """Groups by themselves; a try without a value is in no draw. Which are left, how often, and what they count as."""
    batch = example_tries([[1.0, 0.0], [0.5], [-1.0, -2.0], [None, 1.0]], steps=2)
    kept = resampled("reward", temperature=0.01, **knobs)(batch, ExamplePlay())
    return [kept["reward"].tolist(), kept.weight.tolist()[::2], [kept.count.steps, kept.count.tracks]]


def trunk(least=-1.0):
    tree = episode(segment([0]), segment([0], parent=0), segment([0], parent=0))
    batch = pack([tree]).with_cols({"reward": Column.full("track", torch.tensor([1.0, 0.0]))})
    batch.weight[2] = 0.5
    return resampled("reward", temperature=0.01, by="ask", least=least)(batch, ExamplePlay()).weight.tolist()


def told(texts, right, only_end=False, kept=None):
    """What tries say afterwards, their first actions that are given, which were shown anew, their ends, and the columns that
    are left. The first is played by a model of its own."""
    play, models = ExamplePlay(), [gd.models.tabular(vocab, rows=64) for vocab in ("abcno= \n", "\n =oncba")]
    play.models, play.seats = dict(zip(("other", "m"), models, strict=True)), {"policy": "m"}
    tries = []
    for n, text in enumerate(texts):
        models[n > 0].start(0, {})
        spoken = models[n > 0].teacher_force("p", text)
        ask = gd.Ask(gd.Task("0", "p"), seats={} if n else {"policy": "other"})
        turn = segment(spoken.actions, text=text, view="p", end=End.STOPPED, logp=spoken.logp)
        tries.append(episode(turn, ask=ask, attempt=n))
    batch = pack(tries)
    batch = batch.with_cols(
        {"correct": said(texts, right).cols["correct"], "step": Column.full("step", torch.zeros(batch.S))}
    )
    after = retold("= no", only_end=only_end)(batch if kept is None else batch.take(torch.tensor(kept)), play)
    turns = [each.segments[0] for each in after.episodes]
    for each, turn in zip(after.episodes, turns, strict=True):
        assert turn.actions.tolist() == models[each.attempt > 0].teacher_force("p", turn.text).actions.tolist()
    anew = [turn.context.tolist() == models[0].encode("p").tolist() for turn in turns]
    return [
        [turn.text for turn in turns],
        [turn.given for turn in turns],
        anew,
        [turn.end == End.DONE for turn in turns],
        [each.attempt for each in after.episodes],
        [*after.cols],
    ]


class Endless(Sums):
    def size(self, split):
        return None


def measured(*texts, weight=0.2):
    source = Sums()
    found = abstention(
        source, [episode(segment(text=text), ask=gd.Ask(source.get("train", 0))) for text in texts], weight
    )
    return [found[name] for name in ("objective", "precision", "refused", "accuracy", "depth", "spread")]


def climbed(scores):
    """Where a climb goes by the scores of its rounds: the places, and what the best is made from."""
    values = iter(scores)
    result = climb("start", 1.0, 0.5, len(scores), lambda best, place, n: f"{best}>{n}", lambda made: next(values))
    return [[place for place, _ in result.path], result.place, result.best]


class Run:
    """A run whose policies say what is given for each, in the order they are trained; keeps the lessons."""

    budget, options = "budget", SimpleNamespace(eval_whole=4)

    def __init__(self, *says):
        self.says, self.policies, self.lessons, self.asks = says, [], [], []

    def train(self, lesson, seed, budget):
        assert budget == "budget"
        self.lessons.append([seed, lesson])
        return SimpleNamespace(model=self.trained)

    def trained(self):
        self.policies.append(gd.models.tabular("01", length=1 + len(self.policies)))
        return self.policies[-1]

    def play(self, lesson, asks):
        self.asks.append(asks)
        texts = self.says[lesson.models["policy"].length - 1]
        return [episode(segment(text=text), ask=gd.Ask(Sums().get("train", 0))) for text in texts]


START = ["a\n= 1", refusal(2), "a\n= 2", refusal(3)]
BETTER, WORSE, BEST = ["= 1", "= 1", "= 2", "= no"], ["= 2", "= no"], ["= 1", "= 1", "= 1"]


def studied(*rounds, start=START, **knobs):
    run = Run(start, *rounds)
    model = gd.models.tabular("01", length=10)
    result = made("auto-cei", Sums(), model, rounds=len(rounds), **knobs).body(run, 3)
    return run, result


def path(*rounds, **knobs):
    """The bars and their objectives, in order, and what the study comes to."""
    _, result = studied(*rounds, **knobs)
    return [[[each["spent"], each["c1"], each["value"]] for each in result["curve"]], result["c1"], result["objective"]]


def lessons(*rounds, **knobs):
    """Of each training: seed, from which policy, what is imitated, the bar's c1 and c2, the temperature, rate and steps."""
    run, _ = studied(*rounds, **knobs)
    listed = []
    for seed, lesson in run.lessons:
        (learner,) = lesson.stages.learners
        _, on = learner.on.filters
        policy = lesson.models["policy"]
        bar = [[s.c1, s.c2] for s in lesson.stages.scores[1:]]
        listed.append(
            [
                [seed, policy.length - 1, type(on).__name__],
                [*bar, getattr(on, "temperature", None), getattr(on, "only_end", None), getattr(on, "column", None)],
                [learner.opt.lr, lesson.steps, lesson.prompts, lesson.curriculum.tries],
                [lesson.sampling.temperature, lesson.sampling.max_tokens],
                [lesson.seats["policy"], sorted(lesson.models)],
            ]
        )
    return listed


def examined():
    """The levels and tries of each examination."""
    run, _ = studied(BETTER)
    return [sorted({(ask.task.level, ask.n) for ask in asks}) for asks in run.asks]


def bar_for(depth):
    """What a lazy refusal is worth beside one that came as far as most do, to a curriculum and to a constant."""

    def gap(refusal):
        lesson = studied(BETTER, refusal=refusal)[0].lessons[1][1]
        batch = said([globals()["refusal"](depth), globals()["refusal"](0)], [0.0, 0.0])
        values = lesson.stages.scores[1](batch, ExamplePlay())["worth"].tolist()
        return values[0] - values[1]

    return gap


SPREAD = pstdev([1, 2, 1, 3])
SIZE, C2 = 0.2 * SPREAD, 0.5756 / SPREAD  # log(10) / 4
SHAPE = [[16, 8], [1.0, 96]]
SFT = [[399, 9, "retold"], [None, True, "correct"], [5e-5, 12, *SHAPE[0]], SHAPE[1], ["start", ["policy", "start"]]]


def later(number, of, c1, c2=C2, lr=5e-5, steps=12, temperature=0.5):
    return [
        [300 + number, of, "resampled"],
        [[c1, c2], temperature, None, "worth"],
        [lr, steps, *SHAPE[0]],
        SHAPE[1],
        ["policy", ["policy"]],
    ]


mechanism = Mechanism(
    "auto-cei",
    source="SalesforceAIResearch/Auto-CEI@b7ea2f5a, src/rl/curriculum.py, lines 65 to 71 and 292 to 328, src/rl/"
    "ei_generation.py, lines 285 to 287, src/utils/utils.py, lines 74 and 75; arXiv:2410.07627",
    also=[climb],
    numbers={
        "1, -1, and 2 / (1 + exp(-c2 (l - c1))) - 1 of a refusal": (
            lambda: worth(0.5, refusal(3), refusal(4), refusal(1), "= 3", "= 4", right=[0.0, 0.0, 0.0, 1.0, 0.0]),
            [0.0, 2 / (1 + exp(-0.5)) - 1, 2 / (1 + exp(1.0)) - 1, 1.0, -1.0],
        ),
        "no answer is wrong, no verdict is none": (lambda: worth(0.5, "a", "= 3", right=[0.0, nan]), [-1.0, nan]),
        "drawn by exp(r / temperature)": (
            lambda: [often(0.5), often(1.0, least=-2.0)],
            [drawn(0.5), drawn(1.0, least=-2.0)],
        ),
        "groups by themselves": (groups, [[1.0, 0.0, 0.5, 1.0], [3.0, 1.0, 2.0, 2.0], [16.0, 4]]),
        "a trunk for all through it": (lambda: [trunk(), trunk(0.0)], [[4.0, 3.0, 0.5], [3.0, 3.0]]),
        "wrong ones end in a refusal": (
            lambda: told(["a\nb\n= c", "a\n= b", "b", "a\nb\n= a"], [0.0, 1.0, 0.0, nan]),
            [
                ["a\nb\n= no", "a\n= b", "= no", "a\nb\n= a"],
                [0] * 4,
                *[[True, False, True, False]] * 2,
                [0, 1, 2, 3],
                ["correct"],
            ],
        ),
        "what was said up to there is given": (lambda: told(["a\nb\n= c", "= no"], [0.0, 0.0], True)[1], [6, 5]),
        "of those that are left": (lambda: told(["a", "b"], [0.0, 0.0], kept=[False, True])[4], [1]),
        "(1 - w) precision + w (1 - refused)": (
            lambda: [measured("a\n= 1", refusal(3), "= 2", "?", "a\nb\n= 1"), measured(*BEST, weight=0.5)],
            [
                [0.8 * 0.5 + 0.2 * 0.8, 0.5, 0.2, 0.4, 3.0, pstdev([1, 3, 0, 1, 2])],
                [1.0, 1.0, 0.0, 1.0, 0.0, 0.0],
            ],
        ),
        "nothing answered": (lambda: measured(refusal(2), refusal(4)), [0.0, 0.0, 1.0, 0.0, 3.0, 1.0]),
        "on while it gets better, else to the other side": (
            lambda: climbed([0.3, 0.5, 0.4, 0.5, 0.6]),
            [[1.0, 1.5, 2.0, 1.0, 2.0], 2.0, "start>0>1>4"],
        ),
        "the bar and what follows from R-tuning": (
            lambda: path(BETTER, WORSE, BEST),
            [
                [
                    [24, 2.5 + SIZE, 0.8 * 2 / 3 + 0.2 * 0.75],
                    [36, 2.5 + 2 * SIZE, 0.2 * 0.5],
                    [48, 2.5, 1.0],
                ],
                2.5,
                1.0,
            ],
        ),
        "trainings": (
            lambda: lessons(BETTER, WORSE, BEST),
            [SFT, later(0, 0, 2.5 + SIZE), later(1, 1, 2.5 + 2 * SIZE), later(2, 1, 2.5)],
        ),
        "a constant, with other knobs": (
            lambda: lessons(BETTER, refusal="constant", lr=0.1, steps=7)[1],
            later(0, 0, 2.5 + SIZE, 0.0, 0.1, 7),
        ),
        "R-tuning goes on": (lambda: lessons(BETTER, refusal="none", weight=0.5)[1][:2], [[300, 0, "retold"], SFT[1]]),
        "moves of half a step at most": (lambda: path(BETTER, start=[*START, refusal(30)])[0][0][1], 35 / 3 + 0.5),
        "asks on the way: problems of training, from afar": (
            lambda: [[ask.task.id for ask in held(source, 2)] for source in (Endless(), Sums())],
            [["train524288", "train524289"], ["train2", "train3"]],
        ),
        "at the end: as many tries at each kind": (examined, [[[1, 4], [2, 4]], [[1, 4], [2, 4]], [[1, 1], [2, 3]]]),
    },
    world=World(
        says="one refuses at once, another after three steps: the second is worth more",
        measure=lambda **knobs: bar_for(3)(**knobs),
        on={"refusal": "curriculum"},
        off={"refusal": "constant"},
        moves=0.5,
    ),
    equal={
        "resampled.__call__: torch.nan_to_num(...) without nan=": "a try without a value is in no draw",
        "resampled.__call__: batch.shared[batch.seg].clamp(min=1) -> batch.shared[batch.seg]": "each is of a track",
        "_rows_of: batch.path_seg[tracks[batch.path_track]] shuffled": "they are marked, whatever their order",
        "retold.__call__: _in_common(...) with reply.actions before tried.actions": "symmetric",
    },
)
