"""PAR: a try is paid the probability of beating the start model's answers to the same prompt, by the reward model."""

from __future__ import annotations

from math import exp, nan

from harness import Mechanism, Scripted, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.pack import pack


def sigmoid(x):
    return 1 / (1 + exp(-x))


class prompts:
    """Prompts without answers."""

    name = "prompts"

    def get(self, split, index):
        return gd.Task(str(index), f"p{index}", "")

    def size(self, split):
        return 4

    def check(self, task, completion):
        return 0.0


def rewarded(shift=0.0):
    """A reward model without bounds: the number that is said; it fails at what is none."""
    return gd.reward(lambda completion: float(completion) + shift, isolate=False)


class Start(Scripted):
    """The start model says 1 and 3 at the first prompt, 2 at others; whom it is asked as is kept."""

    def __init__(self, broken=""):
        def answer(ask, attempt):
            return None if ask.shown == broken else ("1", "3")[attempt] if ask.shown == "p0" else "2"

        super().__init__(answer)
        self.calls = []

    def __call__(self, asks, env=None, seats=None):
        self.calls += [(ask.shown, ask.n, ask.seats["policy"]) for ask in asks]
        return super().__call__(asks, env, seats)


def batch(*tries):
    """Tries at prompts 0, 1 and so on, as what is said."""
    eps = []
    for number, said in enumerate(tries):
        ask = gd.Ask(prompts().get("train", number), len(said))
        for attempt, text in enumerate(said):
            turn = segment([0], text=text, view=ask.shown)
            eps.append(episode(turn, ask=ask, number=number, attempt=attempt))
    return pack(eps)


def recipe(shift=0.0, **knobs):
    return made("par", prompts(), reward=rewarded(shift), **knobs)


def credited(*steps, play=None, shift=0.0, **knobs):
    """The batch of the last step after all stages but the learner."""
    made_of, play = recipe(shift, **knobs), play or Start()
    for tries in steps:
        found = batch(*tries)
        for stage in made_of.stages[:-1]:
            found = stage(found, play)
    return found


def preferred(*tries, **knobs):
    return credited(tries, **knobs)["preferred"].tolist()


def advantages(*tries, **knobs):
    return credited(tries, **knobs)["advantage"].tolist()


def plain(*tries):
    """GRPO's advantages on the reward itself."""
    made_of, found = made("grpo", prompts(), reward=rewarded()), batch(*tries)
    for stage in made_of.stages[:-1]:
        found = stage(found, Start())
    return found["advantage"].tolist()


def asked():
    """Who is asked what in two steps, of which the second has one prompt more."""
    play = Start()
    credited([["1"]], [["1"], ["2"]], play=play, references=2)
    return play.calls


def noted(*tries, **knobs):
    play = Start(**knobs)
    credited(tries, play=play)
    return [play.metrics["preferred"], play.metrics["reference_reward"]]


def reasons():
    column = credited([["1", "?"], ["1"]], play=Start("p1")).cols["preferred"]
    return [[gd.Reason(r).name for r in column.reason.tolist()], column.value.tolist()]


def gap(method="par"):
    """How far a try of absurdly high reward is above a good one, in advantages, beside a poor one."""
    tries = ["12", "4", "-1"]
    hacked, good, _ = advantages(tries) if method == "par" else plain(tries)
    return hacked - good


mechanism = Mechanism(
    "par",
    source="arXiv:2502.18770; PorUna-byte/PAR at 257865a2, trainers/reward_shaper.py: the mean of sigmoid(k (r - r_ref))",
    numbers={
        "as good as the reference": (lambda: preferred(["1"], ["2", "2"]), [0.5, 0.5, 0.5]),
        "better and worse": (lambda: preferred(["3", "-1"]), [sigmoid(2), sigmoid(-2)]),
        "sharper": (lambda: preferred(["3", "-1"], sharpness=0.5), [sigmoid(1), sigmoid(-1)]),
        "against two": (lambda: preferred(["3"], ["0"], references=2), [(sigmoid(2) + 0.5) / 2, sigmoid(-2)]),
        "a constant more changes nothing": (lambda: preferred(["3", "-1"], shift=40.0), [sigmoid(2), sigmoid(-2)]),
        "centred alone": (lambda: preferred(["3", "-1"], shape="linear", references=2), [1.0, -3.0]),
        "which changes no advantage": (
            lambda: [
                a - b for a, b in zip(advantages(["3", "7", "0"], shape="linear"), plain(["3", "7", "0"]), strict=True)
            ],
            [0.0] * 3,
        ),
        "asked once, of the start model": (asked, [("p0", 2, "reference"), ("p1", 2, "reference")]),
        "what is noted": (lambda: noted(["1"], ["2", "2"]), [0.5, 5 / 3]),
        "of a start model that fails": (lambda: noted(["1"], broken="p0"), [0.0, 0.0]),
        "where there is none": (reasons, [["VALUE", "FAILED", "NOT_APPLICABLE"], [0.5, nan, nan]]),
        "composed": (
            lambda: [type(stage).__name__ for stage in recipe().stages] + sorted(recipe().models),
            ["verified", "score", "against_start", "centre", "Learn", "policy", "reference"],
        ),
        "what is compared": (lambda: repr(recipe().stages[3]), "centre(reward='preferred')"),
        "of the truth, without a reward": (lambda: list(made("par", prompts()).stages[1].needs), ["correct"]),
    },
    world=World(
        says="a try of absurdly high reward is hardly above a good one",
        measure=gap,
        off={"method": "grpo"},
        moves=-0.5,
    ),
)
