r"""Ranking by words: BM25 in Lucene's variant, over an index that is never written to after it was made.

$\sum_{w \in q} \ln\left(1 + \frac{N - n_w + 0.5}{n_w + 0.5}\right) \frac{f_{w,d}}{f_{w,d} + k_1 (1 - b + b\, l_d / \bar l)}$,
with exact lengths and without the constant factor $k_1 + 1$ (Kamphuis et al., ECIR 2020), which is what the library bm25s calls
"lucene" and has as its default, with the same $k_1 = 1.5$ and $b = 0.75$. What a word adds to a document's score is known
beforehand, so that a query adds up a few columns of a sparse table (Lù 2024, arXiv:2407.03618).

Words are runs of letters and digits, in any case. Documents that score the same keep their order, everywhere.
Leaves out: stems, stop words and synonyms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

MOST_WORDS = 64  # of a query: those after them are not looked for
WORD = re.compile(r"\w+")
LONGEST = 1 << 14  # characters of a query that are read


def words_of(text: str) -> list[str]:
    """The words of a text as they are compared.

    >>> words_of("It's Keldor, since 1904")
    ['it', 's', 'keldor', 'since', '1904']
    """
    return WORD.findall(text.casefold())


def query_words(query: str) -> list[str]:
    """The words of a query that are looked for."""
    return words_of(query[:LONGEST])[:MOST_WORDS]


class WordIndex:
    """Which word adds what to the score of which document.

    >>> index = WordIndex(["the red fox", "a blue fox", "nothing"])
    >>> [(number, round(score, 3)) for number, score in index.best("blue fox", 2)]
    [(1, 0.514), (0, 0.167)]
    """

    def __init__(self, texts: Iterable[str], k1: float = 1.5, b: float = 0.75) -> None:
        self.numbers: dict[str, int] = {}  # of words
        lengths, said = [], []
        for text in texts:
            words = words_of(text)
            lengths.append(len(words))
            said.extend([self.numbers.setdefault(word, len(self.numbers)) for word in words])
        self.size = len(lengths)
        length = np.asarray(lengths, np.int64)
        at = np.repeat(np.arange(self.size, dtype=np.int64), length)
        cell, times = np.unique(np.asarray(said, np.int64) * max(self.size, 1) + at, return_counts=True)
        word, self.documents = np.divmod(cell, max(self.size, 1))
        held_by = np.bincount(word, minlength=len(self.numbers))
        self.starts = np.concatenate([[0], np.cumsum(held_by)])
        self.idf = np.log1p((self.size - held_by + 0.5) / (held_by + 0.5))
        mean = length.mean() if length.sum() else 1.0
        full = times + k1 * (1 - b + b * length[self.documents] / mean)
        self.adds = (self.idf[word] * times / full).astype(np.float32)
        for array in (self.documents, self.starts, self.idf, self.adds):
            array.flags.writeable = False

    def scores(self, words: Sequence[str]) -> np.ndarray:
        """[documents] what each scores for a query; a word that occurs twice counts twice."""
        total = np.zeros(self.size, np.float32)
        for word in words:
            number = self.numbers.get(word)
            if number is not None:
                low, high = self.starts[number], self.starts[number + 1]
                total[self.documents[low:high]] += self.adds[low:high]
        return total

    def best(self, query: str, k: int) -> list[tuple[int, float]]:
        """The documents that hold any of the words, at most `k`, with their scores, the best first."""
        score = self.scores(query_words(query))
        return [(int(number), float(score[number])) for number in top(score, k)]

    def weight(self, word: str) -> float:
        """How specific a word is: its idf, 0 for one that no document contains."""
        number = self.numbers.get(word)
        return 0.0 if number is None else float(self.idf[number])


def top(score: np.ndarray, k: int) -> np.ndarray:
    """The places of the `k` highest scores above 0, the highest first; those that are equal in their own order."""
    if k < len(score):
        least = np.partition(score, len(score) - k)[len(score) - k]
        places = np.flatnonzero((score >= least) & (score > 0))
    else:
        places = np.flatnonzero(score > 0)
    order: np.ndarray = places[np.argsort(-score[places], kind="stable")]
    return order[:k]
