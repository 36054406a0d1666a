"""Content selection for users who may leave: what an item pays now against the satisfaction that keeps a user coming.

Paper: Calvano, Haghtalab, Vitercik & Zhao 2024 (arXiv:2410.13108); the abstract could be read, the formulas are ours. A user
has one of k levels of satisfaction; an item that moves it from x to y within `reach` pays 1 - price (y - x), and at the lowest
level items please no less. At y the user is there in the next step with probability f(y); who has left comes back in each step
with probability b = (1 - friction) f(y), so that V(x) = max_y r(x, y) + f~(y) V(y) with the modified discount
f~ = g (f + (1 - f) g b / (1 - g (1 - b))), g the discount. W = V - price x is solved in k passes over k levels: to move to y is
worth W(y) at most, because one may stay there, so levels are final in falling order of W. Online, users of unknown kinds are
served by the optimal policies of all kinds, weighted by Hedge; what each would have made is known when a user is done. `reward`
is the share of what is made by who knows all kinds, `regret` what the best policy of the set makes more, over the root of their
number, `engagement` how much of discounted time users are there. Leaves out: continuous satisfaction, pay that is not linear.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.recipe import Study, recipe
from guerdon.core.seeds import derive
from guerdon.data.opening import open_records
from guerdon.studies.streams import Array, slope, table_of

Policy = npt.NDArray[np.int64]  # [k] the level that each level is moved to; or choices of any kind
Rule = Literal["hedge", "exp3", "leader", "myopic", "constant"]


@recipe(
    "content-selection-with-disengagement",
    family="allocation",
    paper="arXiv:2410.13108",
    needs=Needs(world="users with levels of engagement; your own: --set demand=FILE", learns_from="revenue"),
)
def content_selection_with_disengagement(
    *,
    demand: str = "",  # a file with a row for each kind of user and level: kind, level, engagement; none: drawn
    users: Literal["iid", "adversarial"] = "iid",  # or the kind that the likeliest policy serves worst
    rule: Rule = "hedge",  # or one of the best so far, or one policy: for the moment, or for an f that is its mean
    friction: float = 0.5,  # 1: who has left does not come back
    discount: float = 0.95,
    price: float = 0.3,  # of a level of satisfaction, in what an item pays that leaves it as it is
    reach: int = 2,  # levels that an item moves
    levels: int = 16,
    kinds: int = 8,
    horizon: int = 2000,  # users
    draws: int = 4,  # series of users
) -> Study:
    """Choose content for users who leave when they are dissatisfied."""
    if not (0 <= friction <= 1 and 0 < discount < 1 and reach >= 1 and 0 <= price * reach <= 1 and horizon >= 8):
        raise UserError("friction is from 0 to 1, discount between, price times reach at most 1, and horizon 8 or more")

    def body(run: Any, seed: int) -> dict[str, Any]:
        sizes = [horizon // part for part in (8, 4, 2, 1)]
        rows = [[outcome(derive(seed, "series", n), size) for size in sizes] for n in range(draws)]
        made, single, most, there = np.array(rows).transpose(2, 0, 1)  # [series, sizes] each
        regret = (single - made).mean(0)
        return {
            "reward": float((made[:, -1] / most[:, -1]).mean()),
            "regret": float(regret[-1] / horizon**0.5),
            "slope": slope(sizes, regret.tolist()),
            "engagement": float(there[:, -1].mean()) / horizon,
        }

    def outcome(seed: int, size: int) -> tuple[float, float, float, float]:
        """Of a series of users: what the rule, the best policy of the set and who knows kinds make, and how long users stay."""
        draw = np.random.default_rng(seed)
        f = own_demand(demand) if demand else drawn_demand(kinds, levels, draw)
        pay, stay = pays(f.shape[1], price, reach), modified(f, friction, discount)
        policies = [optimal(pay, each, price)[1] for each in stay]
        policies += [pay.argmax(1), optimal(pay, np.full(f.shape[1], stay.mean()), price)[1]]
        first = f.shape[1] // 2  # the level at which users begin
        made = np.array([[value(to, pay, each)[first] for each in stay] for to in policies])
        there = np.array([[value(to, np.ones_like(pay), each)[first] for each in stay] for to in policies])
        weight, kind = served(made, size, rule, users, draw)
        mine, users_there = (float((weight * each[:, kind].T).sum()) for each in (made, there))
        return (
            mine,
            float(made[: len(f), kind].sum(1).max()),
            float(made.max(0)[kind].sum()),
            users_there * (1 - discount),
        )

    return Study(body)


def pays(levels: int, price: float, reach: int) -> Array:
    """[k, k] what the item pays that moves a user from a level to another; -inf where none does."""
    up = np.arange(levels)[None, :] - np.arange(levels)[:, None]
    pay = np.where(abs(up) <= reach, 1.0 - price * up, -np.inf)
    pay[:reach, 0] = 1.0 + price * reach  # the item that pleases least
    return pay


def modified(f: Array, friction: float, discount: float) -> Array:
    """The discount of all that comes after a level: users come back at once, or later, or never."""
    back = (1 - friction) * f
    return np.asarray(discount * (f + (1 - f) * discount * back / (1 - discount * (1 - back))))


def optimal(pay: Array, stay: Array, price: float) -> tuple[Array, Policy]:
    """[k] what a user at each level is worth, and [k] the level to move it to, exactly, in k^2 comparisons."""
    k = len(stay)
    asset = price * np.arange(k)  # what a level was bought for
    worth, to, open = np.diag(pay) / (1 - stay) - asset, np.arange(k), np.ones(k, bool)
    for _ in range(k):
        y = int(np.where(open, worth, -np.inf).argmax())
        open[y] = False
        through = pay[:, y] + stay[y] * (worth[y] + asset[y]) - asset
        better = open & (through > worth)
        worth[better], to[better] = through[better], y
    return worth + asset, to


def value(to: Policy, pay: Array, stay: Array) -> Array:
    """[k] the discounted pay of a policy from each level: V = r + f~ V."""
    k = len(to)
    step = np.zeros((k, k))
    step[np.arange(k), to] = stay[to]
    return np.asarray(np.linalg.solve(np.eye(k) - step, pay[np.arange(k), to]), float)


def served(made: Array, count: int, rule: Rule, users: str, draw: np.random.Generator) -> tuple[Array, Policy]:
    """[T, N] the weights of policies for each user, and [T] kinds of users. `made` [N, M]: of each policy with each kind; the
    last two policies are in no set."""
    N, M = made.shape[0] - 2, made.shape[1]
    weights, kinds = np.zeros((count, N + 2)), np.zeros(count, np.int64)
    lost = 1 - made[:N] / made.max()  # of each user, from 0 to 1
    total, odds = np.zeros(N), draw.dirichlet(np.ones(M))
    rate = (2 * np.log(N) / (count * N)) ** 0.5 if rule == "exp3" else (8 * np.log(N) / count) ** 0.5
    for t in range(count):
        alone = {"myopic": N, "constant": N + 1, "leader": int(total.argmin())}.get(rule)
        if alone is None:
            weight = np.exp(-rate * (total - total.min()))
            weights[t, :N] = weight / weight.sum()
        else:
            weights[t, alone] = 1.0
        m = (
            int((made / made.max(0))[weights[t].argmax()].argmin())
            if users == "adversarial"
            else draw.choice(M, p=odds)
        )
        kinds[t], tried = m, draw.choice(N, p=weights[t, :N]) if rule == "exp3" else slice(N)
        total[tried] += lost[tried, m] / (weights[t, tried] if rule == "exp3" else 1.0)
    return weights, kinds


def drawn_demand(kinds: int, levels: int, draw: np.random.Generator) -> Array:
    """[M, k] the probability that a user stays, which rises with its level: in steps of any size."""
    return np.sort(draw.random((kinds, levels)) ** draw.uniform(0.2, 3.0, (kinds, 1)))


def own_demand(file: str) -> Array:
    """A user's kinds and levels, every kind with a row for each level, levels from the lowest."""
    f = table_of(open_records(file, file), ("kind", "level", "engagement"), absent=-1.0)
    if (f < 0).any():
        raise UserError(f"{file}: every kind needs an engagement for every level, and {int((f < 0).sum())} are missing")
    return f
