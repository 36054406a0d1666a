"""What a report holds, read from its file as a browser would."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

BLOCK = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def report_data_of(page: str) -> dict[str, Any]:
    (block,) = BLOCK.findall(page)
    data: dict[str, Any] = json.loads(block)
    return data


class Addresses(HTMLParser):
    """What a page would fetch, and its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "action", "data", "poster", "srcset")]
