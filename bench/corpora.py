"""Queries a second of a corpus by BM25, ours and bm25s's: `python -m bench.corpora`. The same words for both, one at a time.

Documents of 70 words and queries of 4, drawn from a vocabulary in which, as in any language, few words are frequent and most
are rare.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable

import bm25s

from guerdon.envs.corpora.word_index import WordIndex

WORDS, LENGTH, ASKED, K = 20_000, 70, 4, 3


def texts(count: int, length: int, draw: random.Random) -> list[list[str]]:
    weights = [1 / (rank + 3) for rank in range(WORDS)]
    names = [f"w{number}" for number in range(WORDS)]
    return [draw.choices(names, weights, k=length) for _ in range(count)]


def rate(ask: Callable[[list[str]], object], queries: list[list[str]], rounds: int) -> tuple[float, float, float]:
    """Queries a second: the median, the least and the most of some rounds."""
    rates = []
    for _ in range(rounds):
        began = time.perf_counter()
        for query in queries:
            ask(query)
        rates.append(len(queries) / (time.perf_counter() - began))
    return statistics.median(rates), min(rates), max(rates)


def measured(size: int, rounds: int) -> None:
    draw = random.Random(size)
    documents, queries = texts(size, LENGTH, draw), texts(500, ASKED, draw)
    joined = [" ".join(words) for words in documents]
    spoken = {id(query): " ".join(query) for query in queries}
    began = time.perf_counter()
    ours = WordIndex(joined, 1.5, 0.75)
    indexed = time.perf_counter() - began
    began = time.perf_counter()
    theirs = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    theirs.index(documents, show_progress=False)
    print(f"{size:,} documents: indexed in {indexed:.3g} s, by bm25s in {time.perf_counter() - began:.3g} s")
    arms: dict[str, Callable[[list[str]], object]] = {
        "ours": lambda query: ours.best(spoken[id(query)], K),
        "bm25s": lambda query: theirs.retrieve([query], k=K, show_progress=False),
    }
    for name, arm in arms.items():
        middle, least, most = rate(arm, queries, rounds)
        print(f"  {name:6} {middle:9,.0f} queries a second ({least:,.0f} to {most:,.0f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[80, 2_000, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    for size in args.sizes:
        measured(size, args.rounds)


if __name__ == "__main__":
    main()
