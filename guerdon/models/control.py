"""Actors on rows of numbers, for physics and other worlds that are not language.

Leaves out: memory (each step is read from its own view alone), pictures as pictures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from guerdon.core.arrays import arrays_in
from guerdon.core.batch import Batch
from guerdon.core.column import Per
from guerdon.core.episode import Segment
from guerdon.core.errors import UserError
from guerdon.core.model import Model, Reply, Request
from guerdon.core.part import knob, part
from guerdon.core.task import Sampling

HELD = 1 << 22  # numbers of views that one pass takes
HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
HIDDEN_GAIN, POLICY_GAIN, VALUE_GAIN = math.sqrt(2), 0.01, 1.0  # of stable-baselines3's ActorCriticPolicy

Rows = npt.NDArray[np.float32]


class Towers(nn.Module):
    """Two nets of one shape that share nothing: what to do, and what the view is worth; and the spread of moves."""

    def __init__(self, inputs: int, hidden: Sequence[int], outputs: int, moves: int, seed: int) -> None:
        super().__init__()
        dice = torch.Generator().manual_seed(seed % 2**63)
        self.policy = _tower(inputs, hidden, outputs, POLICY_GAIN, dice)
        self.value = _tower(inputs, hidden, 1, VALUE_GAIN, dice)
        if moves:
            self.log_std = nn.Parameter(torch.zeros(moves))


def _tower(inputs: int, hidden: Sequence[int], outputs: int, gain: float, dice: torch.Generator) -> nn.Sequential:
    sizes, layers = [inputs, *hidden], nn.Sequential()
    for below, above in zip(sizes, hidden, strict=False):
        layers += nn.Sequential(_linear(below, above, HIDDEN_GAIN, dice), nn.Tanh())
    return layers.append(_linear(sizes[-1], outputs, gain, dice))


def _linear(inputs: int, outputs: int, gain: float, dice: torch.Generator) -> nn.Linear:
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")  # draws from no global generator
    nn.init.orthogonal_(layer.weight, gain, generator=dice)
    nn.init.zeros_(layer.bias)
    return layer


@part
class mlp(Model):
    r"""An actor and its critic: two nets with hidden layers and tanh that share nothing, over rows of `inputs` numbers.

    With `choices` an action is one of so many, or several such choices at once, each
    $\pi_i(a\mid s) = \text{softmax}(f_i(s))_a$; with `moves` it is numbers drawn from
    $\mathcal N(f(s), \text{diag}(\sigma^2))$, where $\log\sigma$ is learned and is the same in every view. Log-probs and
    entropies are sums over the choices or moves. Moves are recorded as drawn; environments clip them to their bounds.

    The nets are PPO's for control; their first weights are orthogonal, with the gains of stable-baselines3. At temperature 0
    the likeliest action is taken.

    Args:
        inputs: numbers of a view.
        choices: how many values each choice has.
        moves: numbers of an action, where it is no choice.
        hidden: units of the hidden layers.

    References:
        Schulman et al. 2017, Proximal Policy Optimization Algorithms, section 6.1.

    >>> import guerdon as gd
    >>> gd.models.mlp(inputs=3, choices=(2,))
    mlp(inputs=3, choices=(2,))
    """

    inputs: int = knob(default=4, ge=1)
    choices: tuple[int, ...] = ()
    moves: int = knob(default=0, ge=0)
    hidden: tuple[int, ...] = (64, 64)

    apart: ClassVar[bool] = True
    reads: ClassVar[dict[str, Per]] = {"logp": "step", "entropy": "step", "value": "step", "final": "track"}

    def __post_init__(self) -> None:
        self.choices, self.hidden = tuple(self.choices), tuple(self.hidden)
        if bool(self.choices) == bool(self.moves) or any(n < 1 for n in (*self.choices, *self.hidden)):
            raise UserError(
                "an mlp has choices=(2,), one number or more, or moves=1: one of the two, and hidden=(64, 64)"
            )

    @property
    def row(self) -> int:  # type: ignore[override]
        return self.inputs

    @property
    def steps_at_once(self) -> int:
        return HELD

    def build(self, seed: int) -> nn.Module:
        return Towers(self.inputs, self.hidden, sum(self.choices) or self.moves, self.moves, seed)

    def encode(self, view: Any, path: Sequence[Segment] = ()) -> Rows:
        parts = [np.asarray(each, np.float32).ravel() for each in arrays_in(view)]
        row = np.concatenate(parts) if parts else np.zeros(0, np.float32)
        if len(row) != self.inputs:
            raise UserError(f"an mlp of {self.inputs} inputs was shown {len(row)} numbers")
        return row

    def teacher_force(self, view: Any, text: str, path: Sequence[Segment] = ()) -> Reply:
        """The action that a text spells: `1`, or `0.5 -0.1` for several."""
        try:
            numbers = [float(word) if self.moves else int(word) for word in text.split()]
        except ValueError:
            numbers = []
        if len(numbers) != (self.moves or len(self.choices)):
            raise UserError(f"an mlp's action is {self.moves or len(self.choices)} numbers, not {text!r}")
        action = np.array([numbers], np.float32 if self.moves else np.int64)
        action = action[:, 0] if len(self.choices) == 1 else action
        return Reply(self.encode(view), action, np.full(1, np.nan, np.float32), text)

    # --- acting ---------------------------------------------------------------------------------------------------

    def noise(self, dice: np.random.Generator, n: int) -> npt.NDArray[np.float64]:
        """[n, W] for each of n actions: a normal number for each move, a uniform one for each choice."""
        return dice.standard_normal((n, self.moves)) if self.moves else dice.random((n, len(self.choices)))

    def act_rows(self, views: Rows, noise: npt.NDArray[Any], sampling: Sampling) -> tuple[npt.NDArray[Any], Rows]:
        """The actions [N] or [N, A] at views [N, D], by the numbers in `noise`, and their log-probs [N]."""
        if sampling.temperature not in (0, 1) or sampling.cuts:
            raise UserError(
                "an mlp samples at temperature 1, or 0 for the likeliest action, without top_k, top_p and min_p"
            )
        greedy, net = sampling.temperature == 0, self.towers
        out = self.policy_of(torch.from_numpy(views).to(net.policy[0].weight.device))
        if self.moves:
            spread = torch.as_tensor(0.0 * noise if greedy else noise, dtype=out.dtype, device=out.device)
            action = out + spread * net.log_std.exp()
            return action.cpu().numpy(), self._of_moves(out, action).cpu().numpy()
        logits = out.cpu().double().numpy()
        if len(self.choices) == 1:
            actions, logp = _drawn(logits, None if greedy else noise[:, 0])
            return actions, logp.astype(np.float32)
        parts = np.split(logits, np.cumsum(self.choices)[:-1], 1)
        drawn = [_drawn(part, None if greedy else noise[:, i]) for i, part in enumerate(parts)]
        actions, logp = (np.stack(each, -1) for each in zip(*drawn, strict=True))
        return actions, logp.sum(-1).astype(np.float32)

    def act(self, requests: Sequence[Request]) -> list[Reply]:
        seen = [self.encode(request.view) for request in requests]
        noise = np.concatenate([self.noise(np.random.default_rng(request.seed), 1) for request in requests])
        replies = []
        for how in dict.fromkeys(request.sampling for request in requests):
            mine = [i for i, request in enumerate(requests) if request.sampling == how]
            actions, logp = self.act_rows(np.stack([seen[i] for i in mine]), noise[mine], how)
            replies += [(i, a, lp) for i, a, lp in zip(mine, actions, logp, strict=True)]
        ordered = sorted(replies, key=lambda each: each[0])
        return [Reply(seen[i], a[None], lp[None], " ".join(f"{n:g}" for n in np.atleast_1d(a))) for i, a, lp in ordered]

    # --- reading --------------------------------------------------------------------------------------------------

    def read(self, batch: Batch, want: Sequence[str]) -> dict[str, Tensor]:
        """A segment has a row for each action, and may have one for the view after the last; a share of steps has theirs."""
        batch = batch.to(self.device)
        rows = batch.context.view(-1, self.inputs)
        shown = rows if len(rows) == batch.S and "final" not in want else rows[batch.row_of_step(self.inputs)]
        readings: dict[str, Tensor] = {}
        if "logp" in want or "entropy" in want:
            read = self._of_moves_read if self.moves else self._of_choices
            readings |= dict(zip(("logp", "entropy"), read(self.policy_of(shown), batch.action), strict=True))
        if "value" in want:
            readings["value"] = self.value_of(shown)
        if "final" in want:
            last = (torch.cumsum(batch.context_length, 0) // self.inputs - 1)[batch.leaf]
            readings["final"] = self.value_of(rows[last.clamp(min=0)])
        return {name: readings[name] for name in want}

    @property
    def towers(self) -> Any:
        return self.weights

    def policy_of(self, rows: Tensor) -> Tensor:
        """[N, A] the logits of choices, or the means of moves, at rows of views [N, D]."""
        return _through(self.towers.policy, rows)

    def value_of(self, rows: Tensor) -> Tensor:
        """[N] what views are worth."""
        return _through(self.towers.value, rows)[:, 0]

    def _of_choices(self, out: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """[N] the log-prob of actions, and [N] the entropy, from what the policy's net gives."""
        taken, parts = action.view(len(action), -1), torch.split(out, list(self.choices), -1)
        each = [torch.log_softmax(part, -1) for part in parts]
        said = [logp.gather(1, taken[:, i : i + 1])[:, 0] for i, logp in enumerate(each)]
        open_ = [-(logp.exp() * logp).sum(-1) for logp in each]
        return (said[0], open_[0]) if len(each) == 1 else (torch.stack(said).sum(0), torch.stack(open_).sum(0))

    def _of_moves(self, out: Tensor, action: Tensor) -> Tensor:
        """[N] the log-prob of moves."""
        log_std = self.towers.log_std
        z = (action - out) * torch.exp(-log_std)
        logp: Tensor = -(0.5 * z.square() + log_std + HALF_LOG_TWO_PI).sum(-1)
        return logp

    def _of_moves_read(self, out: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        entropy = (self.towers.log_std + 0.5 + HALF_LOG_TWO_PI).sum().expand(len(out))
        return self._of_moves(out, action), entropy


def _through(tower: nn.Sequential, x: Tensor) -> Tensor:
    """What a net gives, without the hooks of torch's modules, which cost more than its sums."""
    *hidden, last = [layer for layer in tower if isinstance(layer, nn.Linear)]
    for layer in hidden:
        x = torch.tanh(nn.functional.linear(x, layer.weight, layer.bias))
    return nn.functional.linear(x, last.weight, last.bias)


def _drawn(logits: npt.NDArray[np.float64], uniform: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """[N] the choice at each row's uniform number, by the inverse of the cumulative distribution (none: the likeliest), and
    [N] its log-prob."""
    z = logits - logits.max(1, keepdims=True)
    total = np.exp(z).cumsum(1)
    action = z.argmax(1) if uniform is None else (uniform[:, None] * total[:, -1:] >= total).sum(1)
    action = np.minimum(action, z.shape[1] - 1)
    return action, z[np.arange(len(z)), action] - np.log(total[:, -1])
