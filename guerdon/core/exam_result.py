"""What exams found, by name: a dictionary that a notebook shows as a table."""

from __future__ import annotations

from typing import Any

from guerdon.core.html import page, table

ENDS = ("low", "high")  # of an interval


class ExamResult(dict[str, Any]):
    """Numbers by name, `NAME/metric` for an exam that has a name; `X_low` and `X_high` are the ends of a 95 % interval."""

    def _repr_html_(self) -> str:
        rows = [
            (name, value, *(self.get(f"{name}_{end}", "") for end in ENDS))
            for name, value in self.items()
            if not any(name.endswith(f"_{end}") and name.removesuffix(f"_{end}") in self for end in ENDS)
        ]
        return page("Held-out results", table(("", "value", "95 % from", "to"), rows, most=60))
