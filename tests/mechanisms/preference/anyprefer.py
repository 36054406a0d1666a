"""Anyprefer: what is found with tools counts in what a judge prefers, pairs that a scorer finds weak are left out, and wordings
whose pairs are good are asked more."""

from __future__ import annotations

from math import exp, nan

import torch
from harness import Later, Mechanism, World, made, said_texts, said_tries, small_model

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.recipes.house.tool_judging import answer_of, report, tool_assisted
from guerdon.rewards.asking.samples import Samples
from guerdon.select.pairs import paired

MODEL = small_model()
W = ("{prompt}", "hm, {prompt}")
CALL = '<tool_call>{"name": "calculator", "arguments": {"expression": "2+2"}}</tool_call>'


class Speaks(gd.Answerer):
    """Says of every answer what `verdicts` has for it; its model calls the calculator for 2+2 and answers what that gave."""

    def __init__(self, verdicts, says="= 4", roles=True, calls=1):
        self.verdicts, self.says, self.roles, self.calls = verdicts, says, roles, calls

    async def answer(self, questions, models):
        asked = [each.messages[-1][1] for each in questions]
        SHOWN[:] = asked
        last = [f"{text}\n".rpartition("= ")[2] if self.roles else text.rpartition("<answer")[2] for text in asked]
        words = [next(v for k, v in self.verdicts.items() if k in text.split("Verdict")[0]) for text in last]
        return [gd.JudgeAnswer(word) for word in words]

    def plays_roles(self, models):
        return self.roles

    def in_process(self, models):
        return gd.models.scripted(lambda view, past, seed: self._turn(past))

    def _turn(self, past):
        """A call first; without an answer to give, or with half an expression, a call every time."""
        if self.says.startswith("=") and len(past) >= self.calls:
            return self.says
        return CALL.replace("2+2", "2+") if self.says == "2+" else CALL


SHOWN: list[str] = []  # what the judge was asked last
SEEN = "verify\n2+2\n= 4"
VERDICTS = {"4": "= no", "5": "= yes", "6": "hm"}


def judged(answers=("4", "5", "6"), says="= 4", roles=True, prompts=("2+2",), **knobs):
    """What answers to a problem are worth, and what the judge counted."""
    judge = gd.judge(Speaks(VERDICTS, says, roles), scale="yes")
    reward = tool_assisted(judge, **knobs)
    fields = [{"prompt": p, "completion": f"= {a}"} for p in prompts for a in answers]
    scores = gd.score_samples(reward, fields).whole
    counted = [judge.total.get(name) for name in ("asked", "calls", "call_errors", "unanswered")]
    return [[-9.0 if x is None or x != x else x for x in scores], counted]


def calculator(expression: str) -> str:
    """One that is out of order."""
    raise gd.envs.ToolBroken("no power")


def played(says="= 4", calls=1):
    """What the judge's model does with a problem, as it is told, and its answer."""
    judge = gd.judge(Speaks(VERDICTS, says, calls=calls), scale="yes")
    samples = Samples.of([{"prompt": "2+2", "completion": "= 4"}], seed=3)
    (episode,) = tool_assisted(judge, max_tokens=99).find({"2+2": {"k": 1}}, samples).values()
    how = episode.segments[0].sampling
    said = report(episode).splitlines()[-1]
    spent = [judge.total[name] > 0 for name in ("tokens_in", "tokens_out")]
    return [said, answer_of(episode), episode.ask.task.meta, how.temperature, how.max_tokens, spent]


def told():
    """The problem as a judge sees it that is asked in plain language, and one that plays roles."""
    judged(answers=("4",), roles=False)
    plain = "calculator({'expression': '2+2'}) = 4\n= 4" in SHOWN[0]
    judged(answers=("4",))
    return [plain, SHOWN[0]]


def recipe(**knobs):
    return made("anyprefer", model=MODEL, **knobs)


RATED = [1.0, 0.2, 0.5, 0.45, 0.9, nan]


def chosen(quality=0.1, rated=RATED):
    """Of three pairs, those that are learned from, the quality of every try, why it has none, and what is logged."""
    built, play = recipe(quality=quality), Later(0, 9)
    worth = [[([2 * n], 1.0), ([2 * n + 1], 0.0)] for n in range(3)]
    batch = paired("reward")(said_tries(*worth, column="reward"), play)
    value = torch.tensor(rated)
    batch = batch.with_cols({"rated": Column("track", value, torch.where(value.isnan(), 2, 0).to(torch.int8))})
    batch = built.stages[4](batch, play)
    names = ("rated_pairs", "good_pairs", "quality")
    column = batch.cols["quality"]
    return [
        [batch.pairs.better.tolist(), batch.pairs.worse.tolist(), batch.count.pairs],
        [column.value.nan_to_num(-9.0).tolist(), column.reason.tolist()],
        [play.metrics.get(name) for name in names],
    ]


def alone():
    """A try that is in no pair has no quality."""
    batch = paired("reward")(said_tries([([1], 1.0), ([2], 0.5), ([3], 0.0)], column="reward"), Later(0, 9))
    batch = batch.put("rated", "track", torch.tensor([1.0, 0.5, 0.0]))
    return recipe().stages[4](batch, Later(0, 9)).cols["quality"].reason.tolist()


def asked(values=(), wordings=W, n=3):
    """The shares of the wordings and what is asked, after steps in which the pairs of each were worth so much."""
    curriculum, play = recipe(wordings=wordings).curriculum, Later(0, 9)
    for each in values:
        asks = [gd.Ask(gd.Task(str(w), "x"), note={"wording": w}) for w, _ in each]
        batch = said_texts(*((ask, ["a"]) for ask in asks))
        value = torch.tensor([v for _, v in each])
        column = Column("track", value, torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8))
        curriculum.observe(batch.with_cols({"quality": column}), play)
    asks = curriculum.draw(n, play)
    shown = {(ask.note["wording"], ask.shown.partition(ask.task.prompt)[0], ask.n) for ask in asks}
    return [[play.metrics[f"wording/share_{w}"] for w in range(len(wordings))], sorted(shown), len(asks)]


def refused(wordings):
    try:
        recipe(wordings=wordings)
    except gd.UserError as error:
        return str(error)


def composed(**knobs):
    built = recipe(**knobs)
    return [
        [repr(stage) for stage in built.stages[1:-1]],
        {n: repr(m) for n, m in built.models.items() if n != "policy"},
    ]


def misled(tools=True):
    """How much more a right answer is worth than the best wrong one, by a judge who takes one for the other."""
    judge = gd.judge(Speaks({"4": "= no", "5": "= yes", "6": "= no"}), scale="yes")
    reward = tool_assisted(judge, trust=0.8) if tools else judge
    paid = gd.score_samples(reward, [{"prompt": "2+2", "completion": f"= {a}"} for a in "456"]).whole
    return paid[0] - max(paid[1:])


OLD = [exp(0.4) / (exp(0.4) + exp(0.1)), exp(0.1) / (exp(0.4) + exp(0.1))]
JUDGE = "judge(by=run_model(name='judge'), scale='yes', sure=True)"
SCORER = "judge(by=run_model(name='judge'), sure=True, name='scorer')"
GOOD = [0.8, 0.8, 0.05, 0.05, -9.0, -9.0], [0, 0, 0, 0, 2, 2]
TWO = [(0, "", 8), (1, "hm, ", 8)]
CALLED = "calculator({'expression': '2+2'}) = 4"

mechanism = Mechanism(
    "anyprefer",
    source="arXiv:2504.19276, abstract: a judge with tools ranks, a reward model rates pairs, feedback changes prompts",
    also=[tool_assisted, answer_of, report],
    numbers={
        "the verdict and what was found, half each; a call is counted": (judged, [[0.5, 0.5, -9.0], [4, 1, 0, 0]]),
        "at another weight": (lambda: judged(trust=0.2)[0], [0.2, 0.8, -9.0]),
        "what was found is wrong": (lambda: judged(says="= 5")[0], [0.0, 1.0, -9.0]),
        "nothing was found": (lambda: judged(says=""), [[0.0, 1.0, -9.0], [4, 16, 0, 1]]),
        "each problem once": (
            lambda: judged(prompts=("2+2", "3+1")),
            [[0.5, 0.5, -9.0, 0.5, 0.5, -9.0], [8, 2, 0, 0]],
        ),
        "a call that fails": (lambda: judged(says="2+")[1], [4, 16, 16, 1]),
        "a tool that is broken": (
            lambda: judged(env=gd.envs.tool_turns([calculator])),
            [[0.0, 1.0, -9.0], [4, 0, 0, 1]],
        ),
        "told in plain language": (
            lambda: [judged(roles=False), *told()],
            [[[0.5, 0.0, 0.5], [3, 1, 0, 0]], True, SEEN],
        ),
        "how it is played": (
            lambda: [played(), played("")[:2], played(calls=3)[1]],
            [["= 4", "4", {"k": 1}, 0.0, 99, [True, True]], [CALLED, None], "4"],
        ),
        "pairs that are good": (chosen, [[[0], [1], 1], GOOD, [2.0, 1.0, 0.425]]),
        "good enough": (lambda: chosen(0.05, [0.75, 0.0, 0.5, 0.25, 0.5, 0.25])[0], [[0, 2, 4], [1, 3, 5], 3]),
        "exactly": (lambda: chosen(0.25, [0.75, 0.0, 0.5, 0.25, 0.5, 0.375])[0], [[0, 2], [1, 3], 2]),
        "none is rated": (lambda: chosen(rated=[nan] * 6)[2], [0.0, 0.0, None]),
        "a try in no pair": (alone, [0, 1, 0]),
        "wordings": (asked, [[0.5, 0.5], TWO, 3]),
        "by what their pairs were worth": (lambda: asked([[(0, 0.8), (1, 0.2), (1, nan)]])[0], OLD),
        "nothing is asked": (lambda: asked(n=0)[1:], [[], 0]),
        "no wording": (
            lambda: refused(("no",)),
            "worded_by_quality.wordings must have {prompt} and no other field, not 'no'",
        ),
        "composed": (
            lambda: composed(),
            [
                [
                    f"score(reward=tool_assisted(judging={JUDGE}))",
                    "paired()",
                    f"score(reward={SCORER}, gives_to='rated')",
                    "good_pairs()",
                ],
                {"reference": "snapshot(of='policy', every=25)", "judge": "snapshot(of='policy')"},
            ],
        ),
        "of a user's own": (
            lambda: composed(tools=False, judge=gd.models.tabular("01"), reward=gd.exact(), round_steps=7, quality=0.3),
            [
                [
                    f"score(reward={JUDGE})",
                    "paired()",
                    "score(reward=exact(), gives_to='rated')",
                    "good_pairs(least=0.3)",
                ],
                {"reference": "snapshot(of='policy', every=7)", "judge": "tabular(vocab='01')"},
            ],
        ),
        "who tries": (
            lambda: [recipe().seats, [exam.seats for exam in recipe().exams], repr(recipe().curriculum)],
            [
                {"policy": "reference"},
                [{"policy": "policy"}],
                "worded_by_quality(curriculum=uniform(task=parity()))",
            ],
        ),
    },
    world=World(
        says="a judge who takes right for wrong prefers the right answer once it was worked out with a tool",
        measure=misled,
        off={"tools": False},
        moves=1.0,
    ),
)
