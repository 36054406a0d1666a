"""Hashes of tensors, each computed once for as long as the bytes stay what they were.

SHA-256 reads a gigabyte in about a second on one core. Whether a tensor still holds the bytes that were hashed is known in
a third of the time, and where the tensor is: by the sums of its blocks. Torch counts the writes to a tensor, but not those
through `.data`, numpy or a kernel, and a copy has a count of its own; sums see every write, and know a copy, on another
device too.
A word counts by its place in the block, so that rows which change places are seen too.
Leaves out: files (`manifest.py`), and who makes up tensors of equal sums on purpose.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

WORDS = 512  # of eight bytes, in a block
AT_ONCE = 1 << 12  # blocks whose products are held: 16 MB
THREADS = 8
REMEMBERED = 8192  # hashes

_known: dict[bytes, str] = {}  # by the sums of a tensor, or of several


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
    """A hash over tensors that hardly ever change: each has one of its own, computed in threads and once. With a `dtype`, of
    what they are in that type."""
    names = sorted(tensors)
    if dtype is None or all(tensor.dtype == dtype for tensor in tensors.values()):
        own = _digests([tensors[name] for name in names])
    else:
        own = [
            _digests([tensors[name].to(dtype)])[0] for name in names
        ]  # one after the other: no second copy of them all
    digest = hashlib.sha256()
    for name, each in zip(names, own, strict=True):
        digest.update(_label(name, tensors[name], dtype) + each.encode())
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
    """The sums of blocks, which wrap around, each word times an odd number of its own; then the words and bytes left over."""
    flat = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    if flat.storage_offset() % 8 or flat.data_ptr() % 8:
        flat = flat.clone()
    bytes_of_words = len(flat) // 8 * 8
    words, rest = flat[:bytes_of_words].view(torch.int64), flat[bytes_of_words:]
    whole = len(words) // WORDS * WORDS
    odd = 2 * torch.arange(WORDS, device=flat.device) + 1
    sums_of_blocks = [(blocks * odd).sum(1) for blocks in torch.split(words[:whole].view(-1, WORDS), AT_ONCE)]
    return torch.cat([*sums_of_blocks, words[whole:], rest.to(torch.int64)])


def _digests(tensors: Sequence[Tensor]) -> list[str]:
    keys = sums(tensors)
    hashes = {key: _known.get(key) for key in keys}
    missing = {key: tensor for key, tensor in zip(keys, tensors, strict=True) if hashes[key] is None}
    if missing:
        with ThreadPoolExecutor(
            min(THREADS, os.cpu_count() or 1), "hash"
        ) as threads:  # hashing lets go of Python's lock
            for key, digest in zip(missing, threads.map(_digest, missing.values()), strict=True):
                hashes[key] = _remember(key, digest)
    return [str(hashes[key]) for key in keys]


def _digest(tensor: Tensor) -> str:
    return hashlib.sha256(bytes_of(tensor)).hexdigest()


def bytes_of(tensor: Tensor) -> memoryview:
    """In host memory, where the tensor itself lies if it is there."""
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data


def _label(name: str, tensor: Tensor, dtype: torch.dtype | None = None) -> bytes:
    return f"{name}:{dtype or tensor.dtype}:{tuple(tensor.shape)}".encode()


def _remember(key: bytes, digest: str) -> str:
    if len(_known) >= REMEMBERED:
        _known.clear()
    _known[key] = digest
    return digest
