"""Which tiles make `steady_matmul` fast, on a GPU: `python -m bench.tiles`.

Every shape of weight, by rows: microseconds of a library's product, of ours with the tile that it chooses, and with the best
of its tiles; all in one captured graph each, over copies of the weight that no cache holds. That no tile changes a bit is a
test's business (`tests/models/test_steady_matmul.py`).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from unittest.mock import patch

import torch
from torch import Tensor

from guerdon.models.kernels import matmul

SHAPES = {  # K, N, whether it lies transposed
    "sprig-2": {"qkv": (256, 512, 0), "out": (256, 256, 0), "down": (704, 256, 0), "head": (256, 1024, 1)},
    "135M": {"qkv": (576, 960, 0), "out": (576, 576, 0), "down": (1536, 576, 0), "head": (576, 49152, 1)},
    "1B": {"qkv": (2048, 3072, 0), "out": (2048, 2048, 0), "down": (8192, 2048, 0), "head": (2048, 32000, 1)},
    "8B": {"qkv": (4096, 6144, 0), "out": (4096, 4096, 0), "down": (14336, 4096, 0)},
}
CACHE = 150_000_000  # bytes of weights that are gone through in turn: three times what an H200 keeps
TURNS, TRIES = 12, 4


def microseconds(run: Callable[[int], object]) -> float:
    """The least of a few tries at a graph of some turns."""
    run(0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for turn in range(TURNS):
            run(turn)
    found: list[float] = []
    for _ in range(TRIES):
        began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        began.record()
        graph.replay()
        ended.record()
        torch.cuda.synchronize()
        found.append(began.elapsed_time(ended) / TURNS * 1e3)
    return min(found[1:])


def weights(K: int, N: int, transposed: int, dtype: torch.dtype) -> list[Tensor]:
    copies = min(16, max(1, CACHE // (K * N * dtype.itemsize)))
    shape = (N, K) if transposed else (K, N)
    made = [torch.randn(shape, device="cuda", dtype=dtype) for _ in range(copies)]
    return [weight.t() for weight in made] if transposed else made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rows", nargs="+", type=int, default=[16, 64, 128, 256, 512, 1024, 4096])
    asked = parser.parse_args()
    for size in asked.sizes:
        dtype = torch.float32 if size == "sprig-2" else torch.bfloat16
        for name, (K, N, transposed) in SHAPES[size].items():
            given = weights(K, N, transposed, dtype)
            for M in asked.rows:
                x = torch.randn(M, K, device="cuda", dtype=dtype)

                def ours(turn: int, x: Tensor = x, given: list[Tensor] = given) -> Tensor:
                    return matmul.steady_matmul(x, given[turn % len(given)])

                library = microseconds(lambda turn, x=x, given=given: torch.mm(x, given[turn % len(given)]))  # type: ignore[misc]
                chosen = microseconds(ours)
                spans, tried = matmul.spans_of(K, N, dtype), {}
                for _, tile in matmul.FLOAT if dtype == torch.float32 else matmul.HALF:
                    for programs in {1, spans}:
                        if tile.rows > max(64, M) or (tile.columns > 128 and (transposed or spans > 1)):
                            continue
                        with patch.object(matmul, "tile_of", lambda *_, way=(tile, programs): way):
                            tried[(*tile[:3], programs)] = microseconds(ours)
                best = min(tried, key=lambda way: tried[way])
                told = f"library {library:7.2f}  ours {chosen:7.2f}  best {tried[best]:7.2f} {best}"
                print(f"{size:8}{name:5}{M:5} rows  {told}", flush=True)


if __name__ == "__main__":
    main()
