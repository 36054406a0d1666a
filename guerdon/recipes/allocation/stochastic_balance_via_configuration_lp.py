"""Stochastic balance: an arrival tries the neighbour that has had the least attempted on it, as successes come by chance.

Paper: Huang, Jiang, Udwani & Zhang 2023, Online Matching with Stochastic Rewards (arXiv:2309.10289); the abstract could be
read, the program is written from its definition. Arrivals come one after the other, each may try one neighbour that is not
taken yet, and takes it with probability p. Balance tries the one with the least load, the sum of the probabilities tried on it
(the first of equals). The paper proves 0.611 of the best for small p, 0.613 for small equal ones. The bound is the stochastic
configuration program: each item is given a set of arrivals that try it until one succeeds, no arrival tries more than once.
In the probability q that a pair is tried it is q <= 1 - sum of p q of earlier pairs of the item, since any such q is a lottery
over sets. Arrivals that are all alike are one row of it, which can only raise the bound. `reward` is the share of it that a
rule makes, on average over `draws`. Leaves out: weights of items, the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError, require_extra
from guerdon.core.needs import Needs
from guerdon.core.recipe import Study, recipe
from guerdon.core.seeds import derive
from guerdon.data.opening import open_records
from guerdon.studies.streams import table_of

Array = npt.NDArray[np.float64]
Rule = Literal["balance", "most_loaded", "greedy", "random", "ranking"]
Graph = Literal["upper", "random"]


@recipe(
    "stochastic-balance-via-configuration-lp",
    family="allocation",
    paper="arXiv:2309.10289",
    needs=Needs(world="arrivals and items; your own: --set graph=FILE", learns_from="successes"),
)
def stochastic_balance_via_configuration_lp(
    *,
    graph: str = "upper",  # or random, or a file with a row for each pair: arrival, item, p
    rule: Rule = "balance",
    items: int = 50,
    p: float = 0.01,  # of a success; arrivals come in as many groups as items, 1 / p alike in each
    density: float = 0.1,  # of a random graph
    draws: int = 20,
) -> Study:
    """Match arrivals to items by a rule, and see what share of the configuration program it makes."""
    if not 0 < p < 1 or not 0 < density <= 1:
        raise UserError("p lies between 0 and 1, and density is at most 1")

    def body(run: Any, seed: int) -> dict[str, Any]:
        made, best = [], []
        for n in range(draws):
            draw = np.random.default_rng(derive(seed, "graph", n))
            if graph in ("upper", "random"):
                chance, copies = drawn_graph(graph, items, p, density, draw), round(1 / p)
            else:
                chance, copies = table_of(open_records(graph, graph), ("arrival", "item", "p"), 0.0, 0.999), 1
            if n == 0 or graph == "random":
                bound = configuration_program(chance, copies)
            best.append(bound)
            made.append(float(matched(chance, copies, rule, draw).sum()))
        return {"reward": sum(made) / sum(best), "matched": float(np.mean(made)), "bound": float(np.mean(best))}

    return Study(body)


def drawn_graph(graph: str, items: int, p: float, density: float, draw: np.random.Generator) -> Array:
    """[V, U] the probability of each kind of arrival on each item. Upper: every kind may try one item less than the one before,
    and the first item longest, so that who takes the first wastes it."""
    there = np.tri(items)[::-1] > 0 if graph == "upper" else draw.random((items, items)) < density
    return np.asarray(p * there, float)


def matched(chance: Array, copies: int, rule: Rule, draw: np.random.Generator) -> npt.NDArray[np.bool_]:
    """[U] which items are taken when `copies` of each kind arrive, kind after kind."""
    U = chance.shape[1]
    taken, load, rank = np.zeros(U, bool), np.zeros(U), draw.permutation(U)
    order: Mapping[str, Callable[[int], npt.NDArray[Any]]] = {
        "balance": lambda v: load,
        "most_loaded": lambda v: -load,
        "greedy": lambda v: -chance[v],
        "random": lambda v: draw.random((U,)),
        "ranking": lambda v: rank,
    }
    for v in np.repeat(np.arange(len(chance)), copies).tolist():
        free = np.flatnonzero((chance[v] > 0) & ~taken)
        if len(free):
            u = free[order[rule](v)[free].argmin()]
            load[u] += chance[v, u]
            taken[u] = draw.random() < chance[v, u]
    return taken


def configuration_program(chance: Array, copies: int = 1) -> float:
    """The most successes that any rule can expect of [V, U] kinds of arrivals, `copies` of each."""
    try:
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix
    except ImportError as error:
        raise require_extra("scipy", "allocation") from error
    u, v = np.nonzero(chance.T)  # item after item, each with its arrivals in order
    p, E = chance[v, u], len(u)
    if not E:
        return 0.0
    most = (1 - (1 - p) ** copies) / p  # tries of a free item until it succeeds or no copy is left
    # one entry for the tries of a pair themselves, one for each earlier pair of its item
    later, earlier = (np.concatenate(some) for some in zip(*_pairs(u), strict=True))
    entries = np.concatenate([np.ones(E), p[earlier] * most[later], np.ones(E)])
    rows = np.concatenate([np.arange(E), later, E + v])
    columns = np.concatenate([np.arange(E), earlier, np.arange(E)])
    table = csr_matrix((entries, (rows, columns)), shape=(E + len(chance), E))
    solution = linprog(-p, A_ub=table, b_ub=np.concatenate([most, np.full(len(chance), float(copies))]))
    if solution.status != 0:
        raise UserError(f"the configuration program of {E:,} pairs has no solution: {solution.message}")
    return -float(solution.fun)


def _pairs(item: npt.NDArray[np.int64]) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """For each place of a sorted list: itself, as often as there are earlier places of the same item, and those."""
    first = np.searchsorted(item, item)
    for at, begin in enumerate(first):
        yield np.full(at - begin, at), np.arange(begin, at)
