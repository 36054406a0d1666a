"""What a language model is made to say, as segments and batches, for tests."""

from __future__ import annotations

from strategies import episode

from guerdon.core.episode import End, Segment
from guerdon.core.pack import pack
from guerdon.core.task import Sampling

PAIRS = [("x + 4 = 9", "so 5"), ("sort [3, 1]", "first 1 then 3"), ("x + 4 = 9", "the answer is 357")]


def said(model, view, text, parent=-1, path=(), end=End.DONE, temperature=1.0):
    reply = model.teacher_force(view, text, path)
    keep = len(reply.actions) - (end is End.CUT)  # a turn that was cut has no end token
    sampling = Sampling(temperature=temperature)
    return Segment(
        "policy", view, reply.context, reply.actions[:keep], reply.logp[:keep], text, parent, sampling, end=end
    )


def recited(model, pairs=PAIRS):
    return pack([episode(said(model, v, t), number=i) for i, (v, t) in enumerate(pairs)])
