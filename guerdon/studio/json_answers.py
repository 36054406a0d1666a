"""What the studio sends to its page: JSON without NaN, and one line for whatever is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from guerdon.core.json_values import json_value


def answer(content: Any, status: int = 200) -> Response:
    """In ASCII: a lone surrogate in a completion has no UTF-8."""
    return Response(
        json.dumps(json_value(content), allow_nan=False, separators=(",", ":")), status, None, "application/json"
    )


def refusal(status: int, error: str, more: Mapping[str, Any] | None = None) -> Response:
    return answer({"error": error, **(more or {})}, status)
