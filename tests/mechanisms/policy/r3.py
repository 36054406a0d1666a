"""R3: a right try is replayed into groups without spread, failures are shown to further tries, and ranked by entropies."""

from __future__ import annotations

from math import log

import torch
from harness import Mechanism, Scripted, World, made, table_after
from strategies import episode, segment

import guerdon as gd
from guerdon.core.pack import pack
from guerdon.recipes.policy.r3 import REFLECTS, entropy_rank, peaks, with_failures
from guerdon.select.memory import remembered

EVEN = log(10)  # entropy of a step at which all ten digits are alike
VERDICTS = {"4": 1.0, "0": 0.5, "?": None, **dict.fromkeys("abcde", 0.0)}  # by the first letter; any other fails


class sums:
    """Sums of one digit, which the first digit of a try answers."""

    name = "sums"
    prompts = ("2+2", "3+4", "1+1")

    def get(self, split, index):
        return gd.Task(str(index % 3), self.prompts[index % 3], str(eval(self.prompts[index % 3])))

    def size(self, split):
        return 3

    def check(self, task, completion):
        return {"": None, "0": 0.5}.get(completion[:1], float(completion[:1] == task.answer))


def recipe(**knobs):
    return made("r3", sums(), table_after({}, "0123456789"), **knobs)


def tries(step, *said, role="policy", view=None):
    """Tries at the problems in turn, by their texts; None for one that failed."""
    eps = []
    for number, texts in enumerate(said):
        task = sums().get("train", number)
        for attempt, text in enumerate(texts):
            turn = segment(
                [int(c) for c in text or ""],
                role=role,
                view=view or task.prompt,
                logp=[-1.0] * len(text or ""),
                text=text or "",
            )
            made_of = episode(turn, ask=gd.Ask(task, len(texts)), number=number, attempt=attempt, step=step)
            eps.append(made_of if text is not None else made_of.but(info={"error": "no text"}))
    return pack(eps)


class At(Scripted):
    """A step at which the policy is a table, and reflections say the same."""

    def __init__(self, step, says="4", odds=None):
        super().__init__(lambda ask, attempt: says, step, 9, policy=table_after(odds or {}, "0123456789"))
        self.seats = {"policy": "policy", REFLECTS: "policy"}
        self.shown = []

    def __call__(self, asks, env=None, seats=None):
        self.shown += [ask.shown for ask in asks]
        return [each.but(step=self.step, number=9) for each in super().__call__(asks, env, seats)]


def replayed(*steps, same=False, **knobs):
    """Of the last step the texts and ages of the tries at each problem."""
    built = recipe(**knobs)
    (memory,) = (stage for stage in built.stages if isinstance(stage, remembered))
    for number, said in enumerate(steps):
        step = 0 if same else number
        batch = memory(built.stages.scores[0](tries(step, *said), At(step)), At(step))
    told = [[] for _ in sums.prompts]
    for ask, text, age in zip(batch.asks, batch.texts, batch["age"].tolist(), strict=True):
        told[int(ask.task.id)].append(f"{text} {age:g}" if age else text)
    return told


def reflected(*said, says="4", **knobs):
    """What is asked again, and what that and its truth are."""
    built, play = recipe(**knobs), At(0, says)
    batch = tries(0, *said)
    for stage in built.stages[:2]:
        batch = stage(batch, play)
    mine = batch.tracks_of([REFLECTS])
    return [
        play.shown,
        [text for text, is_mine in zip(batch.texts, mine.tolist(), strict=True) if is_mine],
        batch["correct"][mine].tolist(),
    ]


def ranks(*texts):
    """Ranks by length of what is not right."""
    length = gd.reward(lambda completion: float(len(completion)), isolate=False)
    verdict = gd.reward(lambda completion: VERDICTS[completion[:1]], isolate=False)
    scored = gd.score_samples(entropy_rank(length, verdict), [{"completion": text} for text in texts])
    return ["broken" if is_broken else rank for is_broken, rank in zip(scored.broken, scored.whole, strict=True)]


def paid(*said, odds=None, **knobs):
    """What tries of a step are paid, and those at another problem beside them."""
    built = recipe(**knobs)
    batch = built.stages.scores[-1](built.stages.scores[0](tries(0, *said), At(0)), At(0, odds=odds))
    return torch.nan_to_num(batch["reward"], nan=-9.0).tolist()


def live(method="r3"):
    """The sum of the advantages' sizes at a problem that was solved once, and that no try solves in the next step."""
    built = made(method, sums(), table_after({}, "0123456789"), **({"ranking": 0.0} if method == "r3" else {}))
    for step, texts in enumerate((["4", "5"], ["5", "6"])):
        batch = tries(step, texts)
        for stage in built.stages[:-1]:
            batch = stage(batch, At(step))
    return float(
        batch["advantage"].nan_to_num()[batch.tracks_of(["policy"])[torch.arange(batch.K)][batch.seg]].abs().sum()
    )


ODDS = {"2+2": {"7": 1e9}, "3+4": {}}  # after the first prompt 7 is said nearly always, after the second all alike
mechanism = Mechanism(
    "r3",
    source="arXiv:2601.19620, abstract: replay of the same query, reflection on failures, ranks of failures by token entropies",
    also=[remembered._of_alike],
    numbers={
        "the newest right try joins those that are all wrong": (
            lambda: replayed([["41", "42", "5"], ["7"]], [["43", "6"], ["7"]], [["5", "5"], ["7", "1"], ["3", "3"]]),
            [["5", "5", "43 1"], ["7", "1"], ["3", "3"]],
        ),
        "and those that are all right": (
            lambda: replayed([["4"], ["7"]], [["41"], ["1"]]),
            [["41", "4 1"], ["1", "7 1"], []],
        ),
        "a try without a verdict is not told from the others": (
            lambda: replayed([["4"], ["7"]], [["5", None], ["7", "1", None]]),
            [["5", "", "4 1"], ["7", "1", ""], []],
        ),
        "few are remembered": (lambda: replayed([["4"], ["7"]], [["5"], ["1"]], keep=1), [["5"], ["1", "7 1"], []]),
        "what is there already does not join": (
            lambda: replayed([["4"], ["7"]], [["4"], ["7"]], same=True),
            [["4"], ["7"], []],
        ),
        "failures are shown": (
            lambda: reflected(["5", "4"], ["1", "2", "3"], reflects=2, failures=2),
            [[with_failures().wording.format(prompt="3+4", attempts="1\n\n2")], ["4", "4"], [0.0, 0.0]],
        ),
        "one of them": (
            lambda: reflected(["5", "6"], ["7"], ["0"]),
            [[with_failures().wording.format(prompt="2+2", attempts="5")], ["4"] * 4, [1.0] * 4],
        ),
        "wrong tries are ranked": (lambda: ranks("a", "4", "bbb", "cc", "dd"), [-0.5, None, 0.5, 0.0, 0.0]),
        "they add up to nothing": (lambda: round(sum(ranks("a", "b", "cc", "dddd", "eeeee")), 9), 0.0),
        "others are not": (lambda: ranks("a", "4", "?", "0", "!"), [None, None, None, None, "broken"]),
        "peaks": (
            lambda: [peaks(torch.tensor([0.0, 2.0, 0.0, 0.0, 0.5]), share) for share in (0.2, 0.3, 1.0)],
            [1.5, 0.75, 0.0],
        ),
        "by the policy's entropies": (
            lambda: paid(["77", "76", "7", "4"], odds=ODDS, share=0.5, ranking=0.5),
            [0.125, 0.125, -0.25, 1.0],
        ),
        "by all of them": (lambda: paid(["77", "76", "7", "4"], odds=ODDS, share=1.0), [0.0, 0.0, 0.0, 1.0]),
        "a reward of one's own": (
            lambda: made("r3", sums(), reward=gd.length(9)).stages.scores[-1].reward.terms["outcome"].name,
            "length",
        ),
        "composed": (
            lambda: [
                *(type(stage).__name__ for stage in recipe().stages),
                recipe().seats[REFLECTS],
                *recipe().stages.scores[-1].role,
            ],
            ["verified", "follow_up", "remembered", "score", "centre", "Learn", "policy", "policy", REFLECTS],
        ),
    },
    world=World(
        says="a problem that was solved once teaches in a step in which no try solves it",
        measure=live,
        off={"method": "grpo"},
        moves=1.0,
    ),
    equal={
        "r3: -1 -> 1": "the second of two",
        "with_failures.__call__: tried[0] shuffled": "tries of one ask have one prompt",
        "entropy_rank.decide: condition.valued & (condition.value < RIGHT) -> condition.value < RIGHT": "NaN is not",
        "entropy_peaks.score: entropy[steps] shuffled": "neither the greatest nor the mean know an order",
    },
)
