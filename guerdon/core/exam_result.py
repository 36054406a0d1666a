"""What exams found, by name: a dictionary that a notebook shows as a table."""

from __future__ import annotations

from typing import Any

from guerdon.core.lazy import in_notebook

ENDS = ("low", "high")  # of an interval


class ExamResult(dict[str, Any]):
    """Numbers by name, `NAME/metric` for an exam that has a name; `X_low` and `X_high` are the ends of a 95 % interval."""

    _repr_html_ = in_notebook
