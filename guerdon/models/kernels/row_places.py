"""The bookkeeping of rows that are being decoded, on the device: where the next token goes, and what was drawn.

Leaves out: who owns which page, and who reads what was noted down.

Axes: B rows, N pages of a row, T tokens between two looks of the host.
"""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from guerdon.models.kernels.jit import in_place, kernel, laid

BLOCK = 128  # rows of a program


def places(position: Tensor, stop: Tensor, table: Tensor, page: int) -> tuple[Tensor, Tensor]:
    """The slot of each row's next token and how many tokens it then has, both [B]; -1 and 0 for one that has stopped.

    Row b is at position[b] of at most stop[b] tokens, and its n-th page is table[b, n]. All may lie in any way.
    """
    B = len(position)
    position, stop = laid("position", position, B), laid("stop", stop, B)
    table = laid("table", table, B, table.shape[1])
    slot = torch.empty(B, dtype=torch.int64, device=position.device)
    length = torch.empty(B, dtype=torch.int32, device=position.device)
    _places[(-(-B // BLOCK),)](position, stop, table, slot, length, table.shape[1], B, PAGE=page, C=BLOCK, num_warps=4)
    return slot, length


def note(
    token: Tensor,
    logp: Tensor,
    tick: Tensor,
    tokens: Tensor,
    logps: Tensor,
    latest: Tensor,
    position: Tensor,
    stop: Tensor,
) -> None:
    """Write down what was drawn, [B], as line `tick` of tokens and logps [T, *], let it be each row's latest, and move on.

    `tick` [1] is moved on by the caller: no program knows when the others have read it. What is written (tokens, logps, latest,
    position) must be contiguous; what is read may lie in any way.
    """
    B, (T, wide) = len(token), tokens.shape
    token, logp = laid("token", token, B), laid("logp", logp, B)
    tick, stop = laid("tick", tick, 1), laid("stop", stop, B)
    in_place("tokens", tokens, T, wide)
    in_place("logps", logps, T, wide)
    in_place("latest", latest, B)
    in_place("position", position, B)
    if wide < B:
        raise ValueError(f"a line of {wide} tokens does not hold the {B} that were drawn")
    _note[(-(-B // BLOCK),)](token, logp, tick, tokens, logps, latest, position, stop, wide, B, C=BLOCK, num_warps=4)


@kernel
def _places(
    position: tl.tensor, stop: tl.tensor, table: tl.tensor, slot: tl.tensor, length: tl.tensor, N: tl.tensor, B: tl.tensor,
    PAGE: tl.constexpr, C: tl.constexpr,
) -> None:  # fmt: skip
    row = tl.program_id(0) * C + tl.arange(0, C)
    inside = row < B
    at = tl.load(position + row, mask=inside, other=0)
    goes_on = inside & (at < tl.load(stop + row, mask=inside, other=0))
    page = tl.load(table + row.to(tl.int64) * N + at // PAGE, mask=goes_on, other=0).to(tl.int64)
    tl.store(slot + row, tl.where(goes_on, page * PAGE + at % PAGE, -1), mask=inside)
    tl.store(length + row, tl.where(goes_on, at + 1, 0).to(tl.int32), mask=inside)


@kernel
def _note(
    token: tl.tensor, logp: tl.tensor, tick: tl.tensor, tokens: tl.tensor, logps: tl.tensor, latest: tl.tensor,
    position: tl.tensor, stop: tl.tensor, stride: tl.tensor, B: tl.tensor, C: tl.constexpr,
) -> None:  # fmt: skip
    row = tl.program_id(0) * C + tl.arange(0, C)
    inside = row < B
    line = tl.load(tick) * stride + row
    drawn = tl.load(token + row, mask=inside, other=0)
    tl.store(tokens + line, drawn, mask=inside)
    tl.store(logps + line, tl.load(logp + row, mask=inside, other=0.0), mask=inside)
    tl.store(latest + row, drawn, mask=inside)
    at = tl.load(position + row, mask=inside, other=0)
    tl.store(position + row, at + (at < tl.load(stop + row, mask=inside, other=0)).to(tl.int64), mask=inside)
