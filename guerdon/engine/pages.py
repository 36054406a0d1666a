"""Who owns which page of the cache on a GPU.

Rows that begin alike share the pages of their beginning.
A page is shared only when it is full: the last, part-filled page of a beginning is copied for every row that continues
it.
Leaves out: what the pages hold (`cuda.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


class Pages:
    """Pages 0 ... `count` - 1 of `size` tokens each, and the rows made of them."""

    def __init__(self, size: int) -> None:
        self.size, self.count = size, 0
        self.free: deque[int] = deque()
        self.owners: list[int] = []  # of each page
        self.rows: list[list[int]] = []

    def needed(self, tokens: int) -> int:
        return -(-tokens // self.size)

    def sizes(self, first: int, count: int) -> list[int]:
        """How many pages so many rows hold, from the first on."""
        return [len(pages) for pages in self.rows[first : first + count]]

    def reserve(self, rows: int, count: int) -> None:
        """Have places for so many rows, and so many pages."""
        self.rows += [[] for _ in range(rows - len(self.rows))]
        self.free.extend(range(self.count, count))
        self.owners += [0] * (count - self.count)
        self.count = max(self.count, count)

    def clear(self) -> None:
        """All rows are empty again."""
        self.drop(0)

    def grow(self, row: int, tokens: int) -> None:
        """Let a row hold so many tokens."""
        pages = self.rows[row]
        while len(pages) < self.needed(tokens):
            page = self.free.popleft()
            self.owners[page] = 1
            pages.append(page)

    def grow_all(self, tokens: Sequence[int]) -> None:
        """Let the first rows hold so many tokens each."""
        for row, count in enumerate(tokens):
            if len(self.rows[row]) * self.size < count:
                self.grow(row, count)

    def cut(self, row: int, tokens: int) -> None:
        """Give up what a row holds beyond so many tokens."""
        pages = self.rows[row]
        while len(pages) > self.needed(tokens):
            page = pages.pop()
            self.owners[page] -= 1
            if self.owners[page] == 0:
                self.free.append(page)

    def drop(self, first: int) -> None:
        """Empty all rows from the first on."""
        for row in range(first, len(self.rows)):
            self.cut(row, 0)

    def trim(self, tokens: Sequence[int]) -> None:
        """Give up what rows hold beyond so many tokens each."""
        for row, count in enumerate(tokens):
            self.cut(row, count)

    def swap(self, a: int, b: int) -> None:
        self.rows[a], self.rows[b] = self.rows[b], self.rows[a]

    def share(self, to: int, row: int, tokens: int) -> tuple[int, int] | None:
        """Let a row begin with the first tokens of another. Returns the page to be copied, and where to, if there is one."""
        self.cut(to, 0)
        whole = tokens // self.size
        for page in self.rows[row][:whole]:
            self.owners[page] += 1
            self.rows[to].append(page)
        if tokens % self.size == 0:
            return None
        self.grow(to, tokens)
        return self.rows[row][whole], self.rows[to][whole]
