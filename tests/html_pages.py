"""What an object shows in a notebook, for tests: its tags, and its words."""

from __future__ import annotations

import re
from html.parser import HTMLParser

SAFE = {"div", "style", "strong", "table", "thead", "tbody", "tr", "th", "td", "pre"}


class Tags(HTMLParser):
    """The tags of a page; every one that is opened is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def words_of(text: str) -> str:
    return re.sub(r"<style>.*?</style>", "", text)


def is_harmless(text: str) -> bool:
    """Whether nothing in it acts, is fetched or hides, and every tag that is opened is closed."""
    tags = Tags(text)
    assert {tag for tag, _ in tags.seen} <= SAFE
    assert {name for _, attributes in tags.seen for name in attributes} <= {"class"}
    assert not set("\x00\x1b\u202e") & set(text) and "http" not in text and "url(" not in text
    return bool(text.encode())
