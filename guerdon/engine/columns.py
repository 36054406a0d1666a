"""Environments of one turn, played as columns: no coroutine, seat and segment for each try.

A prompt is encoded once for all tries at it, tokens come as one matrix, texts are spelled together.
What is played is what the environment's own `play` would have made, to the last bit; what it does not fit is played
there: a try that starts in the middle of another, a seat whose model is not one of our language models, several models in one
seat, guides. Listeners receive tries as they end; without listeners episodes are built on first access.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.core.model import Model, Request
from guerdon.core.one_turn import OneTurn, TriedAsk, Tries, by_row
from guerdon.core.play import Env, Listener, role_of_one_turn
from guerdon.core.seeds import Place
from guerdon.core.task import Ask, Sampling
from guerdon.engine.batching import fault, let_others_on
from guerdon.engine.continuous import Continuous
from guerdon.engine.transcripts import TranscriptRow
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
) -> Columns | None:
    """Asks that are yet to be played, the first of which is number `place[2]` of step `place[1]` in a run of seed `place[0]`;
    None where they are to be played by the environment's own code."""
    role = role_of_one_turn(env)
    if role is None or any(ask.prefix is not None or (ask.sampling or sampling).guides for ask in asks):
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
    except Exception:  # noqa: BLE001 - a failed episode is reported by the environment's own code
        return None
    return Columns(role, place[1], models[name].version, name, model, asked, requests)


@dataclass(frozen=True)
class Columns:
    """Tries at asks that are yet to be played, all by one model."""

    role: str
    step: int
    version: int  # of the weights that act
    name: str
    model: lm
    asked: Sequence[TriedAsk]
    requests: Sequence[TokenRequest]  # [E]

    def play(self) -> OneTurn:
        with self._faults():
            sampler = Continuous(self.model)
            rows = sampler.enter(self.requests)
            while sampler.busy:
                sampler.go_on()
            action, logp, length = sampler.transcripts.said(rows)
            text, end = self.model.spelled(self.requests, [each.tolist() for each in by_row(action, length)])
        return OneTurn(self.role, self.step, self.version, self.asked, action, logp, length, text, end)

    async def play_to(self, listeners: Sequence[Listener]) -> OneTurn:
        """The same; listeners receive tries that end together while others are sampled, and are awaited."""
        tries = Tries(self.role, self.step, self.version, self.asked)
        ended: dict[int, Episode] = {}
        hearing: list[asyncio.Future[None]] = []
        with self._faults():
            sampler = Continuous(self.model)
            rows = sampler.enter(self.requests)
        while sampler.busy:
            with self._faults():
                over = sampler.go_on()
                episodes = self._episodes(tries, over, sampler) if over else []
            ended.update(zip([row.ticket for row in over], episodes, strict=True))
            if episodes:
                hearing += [asyncio.ensure_future(listen(episodes)) for listen in listeners]
            await let_others_on()
        await asyncio.gather(*hearing)
        every = tuple(ended[e] for e in range(len(rows)))
        told = [(episode.segments[0].text, episode.segments[0].end) for episode in every]
        text, end = zip(*told, strict=True)
        said = sampler.transcripts.said(rows)
        columns = OneTurn(self.role, self.step, self.version, self.asked, *said, text, end)
        vars(columns).update(episodes=every)  # they are made already
        return columns

    def _episodes(self, tries: Tries, over: Sequence[TranscriptRow], sampler: Continuous) -> list[Episode]:
        action, logp, length = sampler.transcripts.said(over)
        actions = by_row(action, length)
        spelled = self.model.spelled([row.request for row in over], [each.tolist() for each in actions])
        return tries.episodes([row.ticket for row in over], actions, by_row(logp, length), *spelled)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """An error is passed on to the episodes that wait for it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - whatever it is
            told = fault(error, f"model {self.name!r} could not act")
            raise told  # noqa: B904 - it has its cause


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
