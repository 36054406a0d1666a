"""What the claims of methods about answer length share: a start policy that searches, and room for long answers. No recipe."""

from __future__ import annotations

from typing import Any

LONG: dict[str, Any] = {
    "task": "countdown:1-6",
    "settings": "prompts=16 tries=8 lr=5e-5 max_tokens=192",
    "start": "searcher",  # sprig itself has nothing to shorten
    "budget": 600_000,
}
SHORTER: dict[str, Any] = {
    **LONG,
    "kind": "cheaper",
    "metric": "length",
    "better": "lower",
    "effect": 5.0,
    "keeps": "pass@1",
}
