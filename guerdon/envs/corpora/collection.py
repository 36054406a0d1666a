"""A corpus: documents and the index that finds them, opened once and shared by all episodes, which only read it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part
from guerdon.envs.corpora.documents import Document, documents_of, excerpt, hash_of
from guerdon.envs.corpora.sentence_vectors import LOOKED_AT, VectorIndex, encoder_of, fused
from guerdon.envs.corpora.word_index import WordIndex, query_words

KEPT = 256  # small corpora, those of single problems, that stay indexed


class Hit(NamedTuple):
    """A document that was found, and how well it fits."""

    document: Document
    score: float


class OpenedCorpus:
    """Documents and their indexes. Nothing in it changes, so that copies of what holds it share it."""

    def __init__(self, documents: Sequence[Document], k1: float, b: float, by: str = "words", encoder: Any = None):
        self.documents = tuple(documents)
        self.place = {document.id: number for number, document in enumerate(self.documents)}
        texts = [document.searched for document in self.documents]
        self.words = WordIndex(texts, k1, b)
        self.vectors = None if by == "words" else VectorIndex(texts, encoder_of(encoder))
        self.by = by

    def __deepcopy__(self, memo: Any) -> OpenedCorpus:
        return self

    def search(self, query: str, k: int) -> list[Hit]:
        return [Hit(self.documents[number], score) for number, score in self._best(query, k)]

    def _best(self, query: str, k: int) -> list[tuple[int, float]]:
        if self.vectors is None:
            return self.words.best(query, k)
        if not query.strip():
            return []
        if self.by == "meaning":
            return self.vectors.best(query, k)
        looked_at = max(k, LOOKED_AT)
        return fused([[n for n, _ in index.best(query, looked_at)] for index in (self.words, self.vectors)], k)

    def get(self, name: str) -> Document | None:
        number = self.place.get(" ".join(name.split()))
        return None if number is None else self.documents[number]

    def excerpt(self, document: Document, query: str, most: int) -> str:
        return excerpt(document.text, query_words(query), self.words.weight, most)


@functools.lru_cache(maxsize=KEPT)
def small_library(documents: tuple[Document, ...]) -> OpenedCorpus:
    """The library of one problem's own documents, made once for all tries at it."""
    return OpenedCorpus(documents, corpus.k1, corpus.b)


@part
class corpus:
    """Documents to search: `source` is a list of texts or of rows with `text`, `title` and `id`; a file of such rows (JSON
    lines, CSV, Parquet); or a folder of text files, each a document with its path as its id.

    They are ranked by words: BM25 in Lucene's variant with `k1` and `b`, as the library bm25s ranks by default, words being
    runs of letters and digits in any case. With an `encoder`, a function from texts to rows of numbers, or the name or folder
    of a sentence encoder that transformers reads, `by="meaning"` ranks by the cosine of those and `by="both"` fuses the two
    rankings by their reciprocal ranks. Documents that fit equally well keep their order.

    Args:
        source: a list of texts or rows, a file of rows, or a folder of text files.
        k1: BM25's saturation of a word's frequency.
        b: BM25's weight of a document's length.
        by: rank by words (BM25), or by meaning.
        encoder: function from texts to vectors, or name of a sentence encoder.

    >>> import guerdon as gd
    >>> library = gd.envs.corpus(["Keldor lies in Vastria.", "Norvex was founded by Mira Tolvan.", "Vastria is a land."])
    >>> [(hit.document.id, round(hit.score, 2)) for hit in library.search("Who founded Norvex?", k=2)]
    [('2', 0.7)]
    >>> library.get("1").text
    'Keldor lies in Vastria.'
    """

    source: Any = knob(hashed=False)
    k1: float = knob(default=1.5, ge=0.0)
    b: float = knob(default=0.75, ge=0.0, le=1.0)
    by: Literal["words", "meaning", "both"] = "words"
    encoder: Any = None

    opened: OpenedCorpus | None = live()

    def __post_init__(self) -> None:
        if self.by != "words" and self.encoder is None:
            raise UserError(f"corpus.by={self.by!r} needs an encoder: corpus(..., by={self.by!r}, encoder=FOLDER)")
        if self.by == "words" and self.encoder is not None:
            raise UserError('corpus.encoder is not asked by="words": say by="both", or by="meaning"')

    def open(self) -> OpenedCorpus:
        """Read and index the documents, once."""
        if self.opened is None:
            self.opened = OpenedCorpus(documents_of(self.source), self.k1, self.b, self.by, self.encoder)
        return self.opened

    def identity(self) -> str:
        """For the hash: what the documents say."""
        return hash_of(self.open().documents)

    def search(self, query: str, k: int = 3) -> list[Hit]:
        """The `k` documents that fit a query best, the best first; those that hold none of its words are not among them."""
        return self.open().search(query, k)

    def get(self, name: str) -> Document | None:
        """A document by its id."""
        return self.open().get(name)

    def __len__(self) -> int:
        return len(self.open().documents)

    def __iter__(self) -> Iterator[Document]:
        return iter(self.open().documents)
