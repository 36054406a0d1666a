"""TP-GRPO: in right answers right thoughts are paid by the share of right tries, and in wrong ones right thoughts are not blamed."""

from __future__ import annotations

from math import nan

import torch
from harness import Later, Mechanism, World, made, small_model
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.recipes.process.tp_grpo_thought.parts import by_line, each_line, marked_lines, paid_later, read_marks, thoughts

FAMILY = gd.tasks.load("equation:2")
TASK = FAMILY.get("train", 0)  # 9x+12=48
TEXT = "9x=36\nx=5\n= 5"
LINE = 9  # the action that ends a line


class speller:
    """A model whose tokens are letters, of which one ends a line."""

    def decode(self, tokens):
        return "".join("\n" if token == LINE else "x" for token in tokens)


def column(level, values, detail=None):
    value = torch.tensor(values)
    reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
    return Column(level, value, reason, detail or {})


def tries(*tried, play=None, **knobs):
    """Advantages of tries of two lines of a token and its end, and an answer of one token; each with what a judge says of its
    lines and whether it is right. An outcome's advantage is 1 in right tries and -1 in wrong ones."""
    episodes = [episode(segment([1, LINE, 1, LINE, 1]), attempt=n) for n in range(len(tried))]
    right = [value for _, value in tried]
    detail = {n: {"steps": said} for n, (said, _) in enumerate(tried) if said is not None}
    batch = pack(episodes).with_cols({"correct": column("track", right), "judged": column("track", right, detail)})
    signs = torch.tensor([2 * value - 1 for value in right]).repeat_interleave(5)
    batch = batch.with_cols({"outcome": column("step", signs.tolist())})
    play = play or ExamplePlay()
    play.models, play.seats = {"policy": speller()}, {"policy": "policy"}
    stage = recipe(**knobs).stages.credit[-1]
    return [values.tolist() for values in stage(batch, play)["advantage"].split(5)]


def recipe(**knobs):
    return made("tp-grpo-thought", "chain:1", small_model(), **knobs)


RIGHT, MENDED, WRONG = ([1.0, 1.0, 1.0], 1.0), ([1.0, 0.0, 1.0], 1.0), ([1.0, 0.0, 0.0], 0.0)
