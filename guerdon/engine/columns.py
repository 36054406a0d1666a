"""Environments of one turn, played as columns: no coroutine, seat and segment for each try.

A prompt is encoded once for all tries at it, tokens come as one matrix, texts are spelled together.
What is played is what the environment's own `play` would have made, to the last bit; whoever it does not fit is played
there: a try that starts in the middle of another, a seat whose model is no language model of ours, several models in one seat.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from guerdon.core.errors import UserError
from guerdon.core.model import Model, Request
from guerdon.core.one_turn import OneTurn, TriedAsk
from guerdon.core.play import Env, role_of_one_turn
from guerdon.core.seeds import Place
from guerdon.core.task import Ask, Sampling
from guerdon.engine.batching import fault
from guerdon.engine.continuous import Continuous
from guerdon.models.language_model import lm
from guerdon.models.standin import behind
from guerdon.models.text import TokenRequest


def in_columns(
    env: Env,
    asks: Sequence[Ask],
    models: Mapping[str, Model],
    seats: Mapping[str, str],
    sampling: Sampling,
    place: tuple[int, int, int],
) -> OneTurn | None:
    """Play asks, the first of which is number `place[2]` of step `place[1]` in a run of seed `place[0]`; None where they are to
    be played by the environment's own code."""
    role = role_of_one_turn(env)
    if role is None or any(ask.prefix is not None for ask in asks):
        return None
    names = {ask.seated(seats).get(role) for ask in asks}
    name = names.pop() if len(names) == 1 else None
    model = None if name is None else behind(models[name])
    if name is None or not isinstance(model, lm):
        return None
    try:
        asked, requests = _encoded(model, asks, sampling, place)
    except UserError:
        raise
    except Exception:  # noqa: BLE001 - as an episode that failed, it is told of by the environment's own code
        return None
    version = models[name].version
    try:
        action, logp, length = Continuous(model).sample_out(requests)
        ends = np.cumsum(length).tolist()
        tokens = action.tolist()
        said = [tokens[begin:end] for begin, end in itertools.pairwise([0, *ends])]
        text, end = model.spelled(requests, said)
    except Exception as error:  # noqa: BLE001 - told as the episodes would be that wait for it
        told = fault(error, f"model {name!r} could not act")
        raise told  # noqa: B904 - it has its cause
    return OneTurn(role, place[1], version, asked, action, logp, length, text, end)


def _encoded(
    model: lm, asks: Sequence[Ask], sampling: Sampling, place: tuple[int, int, int]
) -> tuple[list[TriedAsk], list[TokenRequest]]:
    """Each ask in tokens, and a request for each try at it, which differ by their seeds alone."""
    seed, step, first = place
    asked, requests = [], []
    for number, ask in enumerate(asks, start=first):
        at, how, view = Place(seed, step, number), ask.sampling or sampling, ask.shown
        seeds = at.derive_each(ask.n, 0)
        one = model.token_request(Request((), view, how, seeds[0]))
        asked.append(TriedAsk(ask, number, at, one.context, how, view))
        requests.append(one)
        requests += [TokenRequest(Request((), view, how, other), *one[1:]) for other in seeds[1:]]
    return asked, requests
