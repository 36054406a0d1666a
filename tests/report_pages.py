"""What a report holds, read from its file as a browser would."""

from __future__ import annotations

import json
import re
from typing import Any

BLOCK = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def report_data_of(page: str) -> dict[str, Any]:
    (block,) = BLOCK.findall(page)
    data: dict[str, Any] = json.loads(block)
    return data
