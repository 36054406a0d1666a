"""Hashes of tensors: of those that are trained over all bytes, remembered while they stay what they were; of frozen ones by
the sums of their blocks.

SHA-256 reads a gigabyte in about a second on one core. Sums take a third of that, all cores, and no copy to the host: they are
made where the tensor is. Torch counts the writes to a tensor, but not those through `.data`, numpy or a kernel, and a copy has
a count of its own; sums see every write, and know a copy, on another device too.
A word counts by its place in the block, times a number of 64 bits, so that rows which change places are seen too.
Leaves out: files (`manifest.py`), and who makes up tensors of equal sums on purpose.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

WORDS = 512  # of eight bytes, in a block
MASK = (1 << 64) - 1
AT_ONCE = 1 << 12  # blocks whose products are held: 16 MB
REMEMBERED = 8192  # hashes

_known: dict[bytes, str] = {}  # by the sums of what was hashed


def chain_hash(tensors: Mapping[str, Tensor], more: str = "") -> str:
    """One hash over tensors in the order of their names: equal hashes mean equal tensors to the last bit. `more` counts too."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(_label(name, tensor))
        digest.update(bytes_of(tensor))
    digest.update(more.encode())
    return digest.hexdigest()[:16]


def known_chain_hash(tensors: Mapping[str, Tensor], more: str = "") -> str:
    """The same, remembered."""
    names = sorted(tensors)
    held = b"".join(sums([tensors[name] for name in names]))
    key = hashlib.sha256(repr(names).encode() + held + more.encode()).digest()
    return _known.get(key) or _remember(key, chain_hash(tensors, more))


def frozen_hash(tensors: Mapping[str, Tensor], dtype: torch.dtype | None = None) -> str:
    """A hash over tensors that hardly ever change, of the sums of each. With a `dtype`, of what they are in that type."""
    names = sorted(tensors)
    if dtype is None or all(tensor.dtype == dtype for tensor in tensors.values()):
        own = sums([tensors[name] for name in names])
    else:  # one after the other: no second copy of them all
        own = [sums([tensors[name].to(dtype)])[0] for name in names]
    digest = hashlib.sha256()
    for name, each in zip(names, own, strict=True):
        digest.update(name.encode() + b":" + each)
    return digest.hexdigest()[:16]


def sums(tensors: Sequence[Tensor]) -> list[bytes]:
    """Of each tensor its type, its shape and the sums of its blocks, hashed: the same bytes give the same sums everywhere."""
    blocks = [_block_sums(tensor) for tensor in tensors]
    far: dict[torch.device, list[Tensor]] = {}
    for block in blocks:
        far.setdefault(block.device, []).append(block)
    near = {
        device: iter(torch.split(torch.cat(own).cpu(), [*map(len, own)])) for device, own in far.items()
    }  # a GPU is asked once
    keys = []
    for tensor, block in zip(tensors, blocks, strict=True):
        digest = hashlib.sha256(f"{tensor.dtype}:{tuple(tensor.shape)}".encode())
        digest.update(bytes_of(next(near[block.device])))
        keys.append(digest.digest())
    return keys


def _block_sums(tensor: Tensor) -> Tensor:
    """The sums of blocks, which wrap around, each word times a number of its place; then the words and bytes left over."""
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    if flat.storage_offset() % 8 or flat.data_ptr() % 8:
        flat = flat.clone()
    bytes_of_words = len(flat) // 8 * 8
    words, rest = flat[:bytes_of_words].view(torch.int64), flat[bytes_of_words:]
    whole = len(words) // WORDS * WORDS
    factors = _factors(flat.device)
    sums_of_blocks = [(blocks * factors).sum(1) for blocks in torch.split(words[:whole].view(-1, WORDS), AT_ONCE)]
    return torch.cat([*sums_of_blocks, words[whole:], rest.to(torch.int64)])


@functools.cache
def _factors(device: torch.device) -> Tensor:
    """[WORDS] odd numbers of 64 bits without a pattern: splitmix64 of the place."""
    drawn = []
    for place in range(1, WORDS + 1):
        z = place * 0x9E3779B97F4A7C15 & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        z = z ^ z >> 31 | 1
        drawn.append(z - (1 << 64) if z >> 63 else z)
    return torch.tensor(drawn, device=device)


def bytes_of(tensor: Tensor) -> memoryview:
    """In host memory, where the tensor itself lies if it is there."""
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data


def _label(name: str, tensor: Tensor) -> bytes:
    return f"{name}:{tensor.dtype}:{tuple(tensor.shape)}".encode()


def _remember(key: bytes, digest: str) -> str:
    if len(_known) >= REMEMBERED:
        _known.clear()
    _known[key] = digest
    return digest
