"""CRew-DPO: of a problem's tries the right one with the surest answer is preferred to the wrong one with the surest."""

from __future__ import annotations

from math import log, nan

import torch
from harness import Later, Mechanism, World, forced_tries, made, said_tries

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.rewards.model.confidence import span_mean

RIGHT = [1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0], [1.0, 1.0], [nan, 0.5, 0.4]
SURE = [0.2, 0.9, 0.1, 0.8, 0.3, 0.7, nan, 0.6, 0.9, 0.1, 0.9, 0.3, 0.4]
LETTERS = gd.models.tabular(vocab="0123456789=+# \n", length=20)
LETTERS.start(0, {})


def column(values):
    value = torch.tensor(values)
    return Column("track", value, torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8))


def paired(right=RIGHT, sure=SURE, reward=None, **knobs):
    """The pairs, their margins, and what is logged."""
    stage = made("crew-crew-dpo", model=LETTERS, reward=reward, **knobs).stages[-2]
    play, tries = Later(0, 9), [[([n], value) for n, value in enumerate(each)] for each in right]
    batch = said_tries(*tries, column=stage.column).with_cols({"confidence": column(sure)})
    pairs = stage(batch, play).pairs
    logged = [round(play.metrics[name], 4) for name in play.metrics]
    return [list(zip(pairs.better.tolist(), pairs.worse.tolist(), strict=True)), pairs.margin.tolist(), logged]


def crew(text, logp, **knobs):
    """The recipe's confidence of a text with these log-probs, those of the end of the turn left out."""
    recipe, play = made("crew-crew-dpo", model=LETTERS, **knobs), Later(0, 9)
    play.models = {"policy": LETTERS}
    batch = pack(forced_tries(LETTERS, "x", text))
    values = torch.tensor([*logp, *[-1.0] * (batch.S - len(logp))])
    stage = recipe.stages[1]
    found = stage(batch.with_cols({"policy.logp": Column.full("step", values)}), play)["confidence"]
    return round(float(found[0]), 6)


def part(over, *texts, marks=("#",), **knobs):
    """Where a reading over a part of each text is taken: the mean of the places of its tokens, none where it does not apply;
    why it does not; and what the run is told."""
    play, told, batch = Later(0, 9), list[str](), pack(forced_tries(LETTERS, "x", *texts))
    play.models, play.warn = {"policy": LETTERS}, told.append
    entropy = Column.full("step", torch.arange(batch.S, dtype=torch.float32))
    stage = gd.rewards.score(span_mean("entropy", over=over, marks=marks, **knobs))
    found = stage(batch.with_cols({"policy.entropy": entropy}), play).cols["reward"]
    return [found.value.tolist(), [each.get("why") for each in found.detail.values()], told]


def alone():
    try:
        paired([[1.0], [0.0]], [0.5, 0.5])
    except UserError as error:
        return "--set tries=8" in str(error)


def surest(pairing="confident"):
    """How likely the wrong answer stays that the policy was surest of, after DPO on the pairs of its answers."""
    p = torch.tensor([0.1, 0.1, 0.05, 0.05, 0.7])
    recipe = made("crew-crew-dpo", model=LETTERS, pairing=pairing, beta=0.5)
    batch = said_tries([([n], value) for n, value in enumerate([1.0, 1.0, 0.0, 0.0, 0.0])], column="correct")
    columns = {"confidence": column(p.tolist()), "reference.logp": Column.full("step", p.log())}
    batch = recipe.stages[-2](batch.with_cols(columns), Later(0, 9))
    logits = p.log().requires_grad_()
    for _ in range(30):
        loss, _ = recipe.stages.learners[0].loss(batch, {"logp": logits.log_softmax(0)})
        (pull,) = torch.autograd.grad(loss, logits)
        logits = (logits - 2.0 * pull).detach().requires_grad_()
    return logits.softmax(0)[4].item()


def composed(**knobs):
    recipe = made("crew-crew-dpo", model=LETTERS, **knobs)
    return [repr(stage) for stage in recipe.stages[1:]] + [repr(recipe.exams[0].metrics)]


CONFIDENCE = "score(reward=span_mean(), gives_to='confidence')"
AS_PAIRED = "paired_by_confidence(column='correct', confidence='confidence')"
mechanism = Mechanism(
    "crew-crew-dpo",
    source="arXiv:2510.13501, abstract: confidence in the final answer's tokens, pairs of confidence and correctness",
    also=[span_mean],
    numbers={
        "the surest right one against the surest wrong one": (
            paired,
            [[(1, 3), (7, 5), (11, 12)], [1.0, 1.0, 0.1], [3.0, 0.25, round((0.1 - 0.1 - 0.1) / 3, 4)]],
        ),
        "by correctness alone": (
            lambda: paired(pairing="first")[0],
            [(0, 2), (7, 5), (11, 12)],
        ),
        "by a reward of one's own": (lambda: paired(reward=gd.exact())[0], [(1, 3), (7, 5), (11, 12)]),
        "no pair": (lambda: paired([[1.0, 1.0], [nan, 0.0]], [0.5] * 4), [[], [], [0.0, 1.0]]),
        "no tries": (lambda: paired([], []), [[], [], [0.0, 1.0]]),
        "one try at a problem": (alone, True),
        "CRew": (lambda: crew("7+9=16\n= 16", [-3.0] * 9 + [log(0.9), log(0.8)]), 0.85),
        "of another reasoning": (lambda: crew("7+9=16\n= 16", [-0.1] * 9 + [log(0.9), log(0.8)]), 0.85),
        "of a text": (lambda: crew("#### 1 6", [0.0] * 5 + [log(0.9), log(0.6), log(0.9)], read="text"), 0.8),
        "before a mark": (lambda: part("before", "79#16"), [[0.5], [], []]),
        "after it": (lambda: part("after", "79#16"), [[3.5], [], []]),
        "no mark": (
            lambda: part("after", "7916"),
            [
                [nan],
                ["none of the marks ('#',)"],
                ["span_mean applied to no sample: none of the marks ('#',): see its marks"],
            ],
        ),
        "nothing after it": (
            lambda: part("after", "79#", "9#1"),
            [[nan, 5.0], ["no token of its own after the mark"], []],
        ),
        "no answer": (lambda: part("answer", "7", fallback=False)[:2], [[nan], ["no answer"]]),
        "composed": (
            lambda: composed(),
            [
                CONFIDENCE,
                AS_PAIRED,
                "Learn(model='policy', loss=dpo(), opt=adam(lr=2e-05))",
                "[accuracy(), length(), auroc(score=span_mean(), name='crew_auroc')]",
            ],
        ),
    },
    world=World(
        says="the wrong answer that the policy is surest of becomes unlikely",
        measure=surest,
        off={"pairing": "first"},
        moves=-0.15,
    ),
)
