"""DR-IRL with GRPO-S: a discriminator's output for each kind is the reward, and advantages are scaled by difficulty."""

from __future__ import annotations

import functools
from math import exp, nan
from types import SimpleNamespace

import torch
from harness import Later, Mechanism, Scripted, World, made, small_model
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.recipes.policy.dr_irl_grpo_s import GIVEN, SCORER, kinds_in, sigmoid_score
from guerdon.rewards.asking.samples import Samples

policy = functools.cache(small_model)
PAIR = "chain:1-2"


def recipe(task=PAIR, **knobs):
    return made("dr-irl-grpo-s", task, policy(), **knobs)


def stage(name, task=PAIR, **knobs):
    (found,) = [each for each in recipe(task, **knobs).stages if type(each).__name__ == name]
    return found


def task(name, kind):
    family, _, level = kind.partition(":")
    return gd.Task(name, f"p{name}", "", family, int(level or 0), {"kind": kind} if not level else {})


def batch(*tracks, **columns):
    """Tracks of (name of a problem, its kind, role), each of a step; a role that ends in ! failed."""
    every = []
    for n, (name, kind, role) in enumerate(tracks):
        turn = segment([0], role=role.rstrip("!"), view=f"p{name}")
        made_of = episode(turn, ask=gd.Ask(task(name, kind)), number=n)
        every.append(made_of.but(info={"error": "?"}) if role.endswith("!") else made_of)
    levels = {name: "step" if name in ("hidden", "advantage") else "track" for name in columns}
    names = {"hidden": "reference.hidden"}
    cols = {names.get(name, name): column(levels[name], torch.tensor(x)) for name, x in columns.items()}
    return pack(every).with_cols(cols)


def column(level, value):
    missing = value.isnan() if value.dim() == 1 else torch.zeros(len(value))
    return Column(level, value, missing.to(torch.int8))


def sides(*tracks, **knobs):
    """Of each track: on which side it is, the number of its kind, and its weight."""
    found = stage("two_sides", **knobs)(batch(*tracks), Later(0, 1))
    return [found[name].tolist() for name in ("demonstrated", "kind", "evened")]


def paid(*kinds, **knobs):
    """What a scorer that says 1, 2 and so on is taken to say of problems of these kinds."""
    built = recipe(**knobs)
    scorer = built.models[SCORER]
    scorer.start(0, {})
    outputs = 1 if knobs else 2
    tries = [episode(forced(scorer, f"p{n}"), ask=gd.Ask(task(str(n), kind)), number=n) for n, kind in enumerate(kinds)]
    said = torch.arange(1.0, 1 + outputs * len(tries)).reshape(len(tries), -1).squeeze(1)
    told = pack(tries).with_cols({f"{SCORER}.final": Column.full("track", said)})
    play = SimpleNamespace(models={SCORER: scorer}, step=0, steps=1, seed=0)
    outcomes = score(built.stages[5].reward, Samples.of_batch(told, play, "policy"))
    return [outcome.value if outcome.reason == 0 else outcome.reason.name for outcome in outcomes]


def score(leaf, samples):
    """One that waits for nothing."""
    try:
        leaf.score(samples).send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


def forced(model, view):
    reply = model.teacher_force(view, "so")
    return segment(reply.actions, view=view, context=reply.context, logp=reply.logp, text="so")


def recited(source):
    """Whom the demonstration of a problem is asked of, how often, and whether it is its answer."""
    ask = gd.Ask(source.get("train", 0), 3)
    play = Scripted(lambda ask, attempt: ask.note["say"][0])
    found = stage("follow_up", source)(pack([episode(segment([0], view=ask.shown), ask=ask)]), play)
    return [(e.segments[0].role, e.segments[0].text == ask.task.answer, e.ask.n) for e in found.episodes[1:]]


PROBLEMS = tuple((str(n), f"chain:{n + 1}", role) for n in (0, 1) for role in ("policy", "policy", GIVEN))
# problem 0: one try as its demonstration, one at right angles; problem 1: one at right angles, one opposite
STATES = [[2.0, 0.0], [0.0, 1.0], [3.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 5.0]]
EVEN = [*STATES[:4], [-1.0, 0.0], STATES[5]]  # at problem 1 both at right angles
REWARD, SHOWN = [1.0, 0.0, nan, -1.0, 1.0, nan], [nan, nan, 2.5, nan, nan, 0.0]  # gaps 2 and 0
LOW, HIGH = 2 / (1 + exp(1)), 2 / (1 + exp(-1))


def scaled(states=STATES, reward=REWARD, shown=SHOWN, tracks=PROBLEMS, logged=False, **knobs):
    """Advantages of 1 and -1 after scaling; the demonstrations' are 0."""
    advantage = [0.0 if role == GIVEN else 1.0 - 2 * (n % 3) for n, (_, _, role) in enumerate(tracks)]
    told = batch(*tracks, hidden=states, reward=reward, demonstration_reward=shown, advantage=advantage)
    play = Later(0, 1)
    found = stage("scaled_by_difficulty", **knobs)(told, play)["advantage"].tolist()
    return [play.metrics["hardness"], play.metrics["reward_gap"]] if logged else found


def of_each(first, second):
    return [first, -first, 0.0, second, -second, 0.0]


def stressed(**knobs):
    """How much more a try at the problem counts that is harder and has the larger gap."""
    found = scaled(shown=[nan, nan, 0.5, nan, nan, 3.0], **knobs)
    return found[3] / found[0]


class unworked:
    """Problems with an answer, and nothing that works them out."""

    name = "unworked"

    def __init__(self, answer="42"):
        self.answer = answer

    def get(self, split, index):
        return gd.Task(str(index), "p", self.answer)

    def size(self, split):
        return 2

    def check(self, task, completion):
        return None


D, P = GIVEN, "policy"
mechanism = Mechanism(
    "dr-irl-grpo-s",
    source="arXiv:2503.18991, abstracts: rewards by kind from demonstrations, scaled by data hardness x responsiveness",
    numbers={
        "hardness": (lambda: scaled(scale="hardness"), of_each(LOW, HIGH)),
        "responsiveness": (lambda: scaled(scale="responsiveness"), of_each(HIGH, LOW)),
        "they multiply": (lambda: scaled(), of_each(LOW * HIGH, LOW * HIGH)),
        "and of the harder one with the larger gap": (
            lambda: scaled(shown=[nan, nan, 0.5, nan, nan, 3.0]),
            of_each(LOW * LOW, HIGH * HIGH),
        ),
        "neither": (lambda: scaled(scale="none"), of_each(1.0, 1.0)),
        "what is noted": (lambda: scaled(EVEN, logged=True), [(0.5 + 1.0) / 2, 1.0]),
        "problems that are alike": (lambda: scaled(STATES[:3] * 2, REWARD[:3] * 2, SHOWN[:3] * 2), of_each(1.0, 1.0)),
        "a problem without a demonstration is as it is": (
            lambda: scaled(shown=[nan, nan, 2.5, nan, nan, nan], scale="responsiveness"),
            of_each(1.0, 1.0),
        ),
        "what failed is in no mean": (
            lambda: scaled(
                [*EVEN, [9.0, 9.0]],
                [*REWARD, nan],
                [*SHOWN, nan],
                (*PROBLEMS, ("1", "chain:2", "policy!")),
                logged=True,
            ),
            [(0.5 + 1.0) / 2, 1.0],
        ),
        "a hair's breadth is hardly one": (
            lambda: sigmoid_score(torch.tensor([0.0, 2e-7], dtype=torch.float64)).tolist(),
            [2 / (1 + exp(0.1)), 2 / (1 + exp(-0.1))],
        ),
        "another role": (
            lambda: sides(("0", "chain:1", P), ("0", "chain:1", D), ("0", "chain:1", "judge"))[2],
            [1.0, 1.0, nan],
        ),
        "sides": (
            lambda: sides(
                ("0", "chain:1", P), ("0", "chain:1", P), ("0", "chain:1", D), ("1", "chain:2", D), ("1", "chain:2", P)
            ),
            [[0.0, 0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0, 1.0], [0.75, 0.75, 1.5, 1.0, 1.0]],
        ),
        "one side alone, a failure, another kind": (
            lambda: sides(("0", "chain:1", P), ("0", "chain:1", D + "!"), ("1", "other:1", P), ("1", "other:1", D)),
            [[nan] * 4] * 3,
        ),
        "one reward for all kinds": (
            lambda: sides(("0", "chain:1", P), ("1", "other:1", D), ("1", "other:1", P), rewards="one"),
            [[0.0, 1.0, 0.0], [0.0] * 3, [0.75, 1.5, 0.75]],
        ),
        "the output of a problem's kind": (lambda: paid("chain:2", "chain:1", "other:1"), [2.0, 3.0, "NOT_APPLICABLE"]),
        "or the one there is": (lambda: paid("chain:2", "other:1", rewards="one"), [1.0, 2.0]),
        "kinds": (
            lambda: [
                kinds_in(gd.tasks.load(PAIR)),
                len(kinds_in(gd.tasks.notes())),
                len(kinds_in(gd.tasks.load("parity:1"))),
            ],
            [("chain:1", "chain:2"), 7, 1],
        ),
        "of messages": (
            lambda: sides(("0", "warning", P), ("0", "warning", D), task=gd.tasks.notes())[1],
            [6.0, 6.0],
        ),
        "demonstrations, each once": (
            lambda: [recited(each) for each in (gd.tasks.notes(), unworked(), gd.tasks.load(PAIR), unworked(" "))],
            [[(GIVEN, True, 1)], [(GIVEN, True, 1)], [(GIVEN, False, 1)], []],
        ),
        "composed": (
            lambda: (
                [type(each).__name__ for each in recipe().stages]
                + sorted(recipe().models)
                + [recipe().seats[GIVEN], repr(recipe().stages[6])]
            ),
            [
                *(
                    "verified",
                    "follow_up",
                    "two_sides",
                    "Learn",
                    "score",
                    "score",
                    "centre",
                    "scaled_by_difficulty",
                    "Learn",
                ),
                *("policy", "reference", "scorer", "reference", "centre()"),
            ],
        ),
        "the scorer": (
            lambda: (
                [repr(recipe(**k).models[SCORER].value) for k in ({}, {"rewards": "one"})]
                + [
                    recipe(scorer_lr=0.5).stages[3].opt.lr,
                    repr(recipe().stages[3].loss),
                    recipe().stages[4].role,
                    recipe().stages[4].gives,
                ]
            ),
            [
                "head(outputs=2)",
                "True",
                0.5,
                "discriminator(kind='kind', weight='evened')",
                GIVEN,
                ("demonstration_reward", "demonstration_reward_steps"),
            ],
        ),
    },
    world=World(
        says="a try counts more at a problem that is harder and where the demonstration is further ahead",
        measure=stressed,
        off={"scale": "none"},
        moves=5.0,
    ),
    equal={
        "kinds_in: 0 -> 1": "any message has a kind",
        "scaled_by_difficulty.__call__: place[key] shuffled": "the number of a problem means nothing",
    },
)
