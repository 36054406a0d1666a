"""Dual mirror descent: each request is served by what it is worth less the prices of what it uses, and prices follow use.

Paper: Balseiro, Lu & Mirrokni 2020, The Best of Many Worlds (arXiv:2011.10124), algorithm 1. Of request t the option
x = argmax f_t(x) - mu . b_t(x) is taken, or none, which is worth 0; it is served unless it would use more than is left. With
g = rho - b_t(x), rho the budgets over the number of requests, the prices become max(mu - eta g, 0) (euclidean) or
mu exp(-eta g) (entropy), whether it was served or not; eta = rate / sqrt(T). `reward` is a share of the linear program's of
the whole stream, which bounds every rule, `regret` what is missing, over the square root of T, and `slope` that of log regret
over log T along shorter beginnings of a stream. Entropy needs a start and a rate in the scale of prices. Different: values,
uses and streams are ours (studies/streams.py). Leaves out: other reference functions, continuous options, random arrivals of
known seasons.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.recipe import Study, recipe
from guerdon.core.seeds import derive
from guerdon.data.opening import open_records
from guerdon.studies.streams import NONE, Array, Requests, drawn_requests, hindsight, requests_of, serve, slope

Mirror = Literal["euclidean", "entropy"]
Prices = Literal["mirror", "fixed", "first_tenth", "greedy"]


@recipe(
    "dual-mirror-descent",
    family="allocation",
    paper="arXiv:2011.10124",
    needs=Needs(world="streams of requests; your own: --set stream=FILE", learns_from="the values of a stream"),
)
def dual_mirror_descent(
    *,
    stream: str = "iid",  # or drift, adversarial, or a file with a row for each option of a request
    budgets: str = "",  # of a file: views=1000,spend=25.5
    prices: Prices = "mirror",  # or those of the start, of the linear program of the first tenth, or none
    mirror: Mirror = "euclidean",
    rate: float = 3.0,  # eta sqrt(T); the paper leaves it open
    start: float = 0.0,  # the prices at first; entropy needs more than 0
    horizon: int = 2000,
    draws: int = 8,  # streams
    options: int = 5,
    resources: int = 3,
    share: float = 0.2,  # of the use of everything's dearest option that the budgets last for
) -> Study:
    """Serve a stream of requests within budgets by prices that are learned on the way."""
    if mirror == "entropy" and prices == "mirror" and start <= 0:
        raise UserError("mirror=entropy multiplies prices, which start at 0: --set start=0.5, or what a unit is worth")

    def body(run: Any, seed: int) -> dict[str, Any]:
        wholes = [own_stream(stream, budgets)] if budgets else drawn_streams(seed)
        sizes = [size for size in (len(wholes[0].value) // part for part in (8, 4, 2, 1)) if size]
        rows = [[outcome(whole.first(size)) for size in sizes] for whole in wholes]
        made, best = np.array(rows).transpose(2, 0, 1)  # [streams, sizes] each
        regret = (best - made).mean(0)
        return {
            "reward": float((made[:, -1] / best[:, -1]).mean()),
            "regret": float(regret[-1] / sizes[-1] ** 0.5),
            "slope": slope(sizes, regret.tolist()),
            "requests": sizes[-1],
        }

    def drawn_streams(seed: int) -> list[Requests]:
        random = [np.random.default_rng(derive(seed, "stream", n)) for n in range(draws)]
        return [drawn_requests(stream, horizon, options, resources, share, draw) for draw in random]

    def outcome(requests: Requests) -> tuple[float, float]:
        """What the rule makes of a stream, and what it could have made."""
        chosen = serve(requests, chooser(requests, prices, mirror, rate, start))
        return requests.worth(chosen), hindsight(requests).worth

    return Study(body)


class Priced:
    """Chooses by the value of an option less its price, and lets prices follow use where `eta` is not 0."""

    def __init__(self, requests: Requests, prices: Array, eta: float, mirror: Mirror = "euclidean") -> None:
        self.requests, self.prices, self.eta, self.mirror = requests, prices, eta, mirror

    def __call__(self, t: int, left: Array) -> int:
        gain = self.requests.value[t] - self.requests.use[t] @ self.prices
        option = int(gain.argmax()) if gain.max() > 0 else NONE
        if self.eta:
            unused = self.requests.share - (0.0 if option == NONE else self.requests.use[t, option])
            if self.mirror == "entropy":
                self.prices = self.prices * np.exp(-self.eta * unused)
            else:
                self.prices = np.maximum(self.prices - self.eta * unused, 0.0)
        return option


def chooser(requests: Requests, prices: Prices, mirror: Mirror, rate: float, start: float) -> Priced:
    """What serves a stream: by prices that follow it, or by set ones."""
    T, R = len(requests.value), len(requests.budget)
    if prices == "first_tenth":
        return Priced(requests, hindsight(requests.first(max(1, T // 10))).prices, 0.0)
    first = np.full(R, 0.0 if prices == "greedy" else start)
    return Priced(requests, first, rate / T**0.5 if prices == "mirror" else 0.0, mirror)


def own_stream(file: str, budgets: str) -> Requests:
    """A user's stream, with budgets written as `views=1000,spend=25.5`."""
    limits: dict[str, float] = {}
    for word in budgets.split(","):
        name, _, limit = word.partition("=")
        try:
            limits[name.strip()] = float(limit)
        except ValueError:
            raise UserError(f"budgets: {word!r} is not a resource with its limit, as views=1000") from None
        if not 0 < limits[name.strip()] < np.inf:
            raise UserError(f"budgets: {name.strip()} must be more than 0, and finite")
    return requests_of(open_records(file, file), limits)
