"""Grid worlds whose every value can be computed, many at once: for studies of rewards and preferences without a network.

Values are solutions of linear systems and best policies come from policy iteration, in float64: exact up to rounding.
Left out: chance in where a move leads, and worlds that are too large to be solved as a matrix.
Axes: M worlds, S cells, A moves, F features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from guerdon.core.seeds import generator

FEATURES = (
    "step",
    "goal",
    "trap",
    "coin",
    "mire",
)  # entered without an end, with a good or a bad one, with a gain or a loss
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
HEIGHTS, WIDTHS = (3, 6, 10), (5, 6)
SHARES = {"trap": (0.0, 0.1, 0.3), "mire": (0.0, 0.1, 0.5, 0.8), "coin": (0.0, 0.1, 0.2)}  # of the cells
REWARDS = {
    "step": (-1.0,),
    "goal": (0.0, 1.0, 5.0, 10.0, 50.0),
    "trap": (-5.0, -10.0, -50.0, -100.0),
    "coin": (1.0,),
    "mire": (-2.0, -5.0, -10.0),
}
ROUNDS = 100  # of policy iteration at most; a dozen is usual


@dataclass(frozen=True)
class Worlds:
    """Several worlds. Cells missing in one of them, and those that end an episode, lead to themselves with reward 0."""

    goes: Tensor  # [M, S, A] the cell that a move leads to
    features: Tensor  # [M, S, A, F] of the move; a reward is linear in them
    reward: Tensor  # [M, F] what each feature is truly worth
    open: Tensor  # [M, S] the cells in which one can move, from which episodes start
    gamma: float = 0.999

    def __len__(self) -> int:
        return len(self.goes)

    def paid(self, weights: Tensor) -> Tensor:
        """[M, S, A] what moves are paid by a reward with these weights, [M, F]."""
        return torch.einsum("msaf,mf->msa", self.features, weights)

    def successors(self, policy: Tensor) -> Tensor:
        """[M, S, F] the features that a policy [M, S, A] gathers from each cell on, discounted: its value is linear in them."""
        size = self.goes.shape[1]
        leads = torch.zeros(len(self), size, size, dtype=torch.float64).scatter_add_(2, self.goes, policy)
        gathered = torch.einsum("msa,msaf->msf", policy, self.features)
        eye = torch.eye(size, dtype=torch.float64)
        successors: Tensor = torch.linalg.solve(eye - self.gamma * leads, gathered)
        return successors

    def values(self, policy: Tensor, weights: Tensor) -> Tensor:
        """[M, S] what a policy is worth in each cell."""
        return torch.einsum("msf,mf->ms", self.successors(policy), weights)

    def q_values(self, values: Tensor, weights: Tensor) -> Tensor:
        """[M, S, A] what a move is worth before what `values` says of where it leads."""
        after = values.gather(1, self.goes.flatten(1)).view_as(self.goes)
        return self.paid(weights) + self.gamma * after

    def best(self, weights: Tensor, begin: Tensor | None = None) -> Tensor:
        """[M, S, A] a best policy for a reward, by policy iteration: one move a cell. `begin` is one that may be near it."""
        policy = one_hot(torch.zeros(self.goes.shape[:2], dtype=torch.long), len(MOVES)).double()
        policy = policy if begin is None else begin
        for _ in range(ROUNDS):
            q = self.q_values(self.values(policy, weights), weights)
            better = q.max(2).values > (policy * q).sum(2) + 1e-9  # a move that is only as good changes nothing
            if not bool(better.any()):
                break
            policy = torch.where(better[..., None], one_hot(q.argmax(2), len(MOVES)).double(), policy)
        return policy

    def even(self) -> Tensor:
        """[M, S, A] the policy that takes every move equally often."""
        return torch.full(self.goes.shape, 1.0 / len(MOVES), dtype=torch.float64)

    def tied(self, weights: Tensor) -> Tensor:
        """[M, S, A] the policy that takes all best moves equally often: what a reward asks for, and no more."""
        q = self.q_values(self.values(self.best(weights), weights), weights)
        is_best = (q >= q.max(2, keepdim=True).values - 1e-6).double()
        return is_best / is_best.sum(2, keepdim=True)

    def returns(self, policy: Tensor) -> Tensor:
        """[M] what a policy truly earns from an open cell, on average."""
        value = self.values(policy, self.reward).masked_fill(~self.open, 0.0)
        return value.sum(1) / self.open.sum(1)

    def scaled(self, policy: Tensor) -> Tensor:
        """[M] where a policy stands between random moves (0) and the best ones (1); worse than random ones are below 0."""
        low, top = self.returns(self.even()), self.returns(self.best(self.reward))
        return (self.returns(policy) - low) / (top - low)


def random_worlds(count: int, *path: int | str) -> Worlds:
    """Grids of random sizes with random things in random places, and random rewards for them: a goal and traps that end an
    episode, coins and mire that do not. The choices are those of Knox et al.'s script (arXiv:2206.02231), on smaller grids."""
    draw = generator(*path, "grid worlds")
    made = [_world(draw) for _ in range(count)]
    size = max(len(kind) for _, kind, _, _ in made)
    goes = torch.arange(size).view(1, size, 1).repeat(count, 1, len(MOVES))
    features = torch.zeros(count, size, len(MOVES), len(FEATURES), dtype=torch.float64)
    for i, (_, kind, to, gets) in enumerate(made):
        goes[i, : len(kind)], features[i, : len(kind)] = to, gets
    is_open = torch.zeros(count, size, dtype=torch.bool)
    for i, (_, kind, _, _) in enumerate(made):
        is_open[i, : len(kind)] = ~_ends(kind)
    return Worlds(goes, features, torch.stack([reward for reward, _, _, _ in made]), is_open)


def _world(draw: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The reward, the kind of each cell, and where its moves lead and what they get."""
    height, width = _pick(HEIGHTS, draw), _pick(WIDTHS, draw)
    kind = torch.zeros(height * width, dtype=torch.long)
    shares = {name: _pick(choices, draw) for name, choices in SHARES.items()}
    while sum(shares.values()) >= 1.0:
        shares["mire"] = _pick(SHARES["mire"], draw)
    places, at = torch.randperm(len(kind), generator=draw), 1
    for name, share in shares.items():
        many = int(share * len(kind))
        kind[places[at : at + many]] = FEATURES.index(name)
        at += many
    kind[places[0]] = FEATURES.index("goal")
    reward = torch.tensor([_pick(REWARDS[name], draw) for name in FEATURES], dtype=torch.float64)
    return reward, kind, *_moves(kind, height, width)


def _moves(kind: Tensor, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Where moves lead and what they get. A move into a wall stays, and gets a step and nothing else."""
    cell = torch.arange(len(kind))
    rows, columns = cell // width, cell % width
    goes = torch.stack(
        [(rows + r).clamp(0, height - 1) * width + (columns + c).clamp(0, width - 1) for r, c in MOVES], 1
    )
    goes = torch.where(_ends(kind)[:, None], cell[:, None], goes)
    gets = one_hot(kind[goes], len(FEATURES)).double()
    gets[..., 0] = (~_ends(kind[goes])).double()  # whatever does not end is a step as well
    stays = goes == cell[:, None]
    gets[stays] = one_hot(torch.tensor(0), len(FEATURES)).double()
    gets[_ends(kind)] = 0.0
    return goes, gets


def _ends(kind: Tensor) -> Tensor:
    return (kind == FEATURES.index("goal")) | (kind == FEATURES.index("trap"))


def _pick(choices: tuple[float, ...] | tuple[int, ...], draw: torch.Generator) -> Any:
    return choices[int(torch.randint(len(choices), (), generator=draw))]
