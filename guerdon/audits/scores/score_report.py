"""The report of a file of scores by a protocol: as plain data, as a page for a terminal, and for a notebook.

Leaves out: the numbers' making (`scoring.py`).
"""

from __future__ import annotations

import dataclasses
import math
import textwrap
from dataclasses import dataclass, field
from typing import Any

from guerdon.core.shown_text import cut
from guerdon.display import html

WIDTH = 80  # columns of a page
LONGEST = 40  # characters of a measure's name in a table


@dataclass(frozen=True)
class ScoreMeasure:
    """A number of a report with its 95 % interval over problems. `count` is how many rows it is over, None where it follows
    from other numbers. It is a share of them, or any other number."""

    name: str
    value: float
    low: float
    high: float
    count: int | None = None
    is_share: bool = True

    @property
    def group(self) -> str:
        return self.name.partition("/")[0] if "/" in self.name else ""

    @property
    def cells(self) -> tuple[str, str, str]:
        """Its value, its interval and its count, as people read them."""
        known = not math.isnan(self.low)
        between = f"{self._said(self.low)} to {self._said(self.high)}" if known else ""
        percent = " %" if self.is_share and not math.isnan(self.value) else ""
        return f"{self._said(self.value)}{percent}", between, "" if self.count is None else str(self.count)

    def _said(self, value: float) -> str:
        return "-" if math.isnan(value) else f"{100 * value:.2f}" if self.is_share else f"{value:.4f}"


@dataclass(frozen=True)
class ScoreReport:
    """`measures` are the protocol's numbers first, then what else the file permits; `counts` what was read and left out."""

    protocol: str
    file: str
    source: str  # whom the protocol follows
    problems: int
    rows: int
    measures: list[ScoreMeasure]
    counts: dict[str, int] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    draws: int = 0
    seed: int = 0

    def __getitem__(self, name: str) -> float:
        """A measure's value by its name, such as `report["accuracy"]`."""
        return self.measure(name).value

    def measure(self, name: str) -> ScoreMeasure:
        by_name = {each.name: each for each in self.measures}
        if name not in by_name:
            raise KeyError(f"{name}; there is {', '.join(by_name)}")
        return by_name[name]

    @property
    def missing(self) -> int:
        """Scores that are not there: rows that need one are left out of the numbers."""
        return self.counts.get("missing scores", 0)

    def to_dict(self) -> dict[str, Any]:
        plain = dataclasses.asdict(self)
        plain["measures"] = {each.pop("name"): each for each in plain["measures"]}
        return {**plain, "missing": self.missing}

    def __str__(self) -> str:
        return self.page()

    def __repr__(self) -> str:
        first = ", ".join(f"{each.name} {each.cells[0]}" for each in self.measures[:2])
        return f"ScoreReport({self.protocol} on {self.file}: {first})"

    def page(self, width: int = WIDTH) -> str:
        """All of it, for people."""
        lines = textwrap.wrap(self._title(), max(width, 20), subsequent_indent="  ")
        for remark in self.remarks:
            lines += textwrap.wrap(remark, max(width, 20), initial_indent="  ", subsequent_indent="  ")
        short = {each.name: cut(each.name.partition("/")[2] or each.name, LONGEST) for each in self.measures}
        rows = [(short[each.name], *each.cells) for each in self.measures]
        widths = [max((len(row[at]) for row in rows), default=0) for at in range(4)]
        titles = ("", "value", "95 % interval", "rows")
        widths = [max(size, len(title)) for size, title in zip(widths, titles, strict=True)]
        group = None
        for measure, row in zip(self.measures, rows, strict=True):
            if measure.group != group:
                group = measure.group
                lines += ["", _line((group, *(titles[1:] if measure is self.measures[0] else ("", "", ""))), widths)]
            lines.append(_line(row, widths))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [(each.name, *each.cells) for each in self.measures]
        return html.page(
            self._title(),
            *(html.note(remark) for remark in self.remarks),
            html.table(("", "value", "95 % interval", "rows"), rows, most=len(rows)),
            html.note(self.source),
        )

    def _title(self) -> str:
        counts = ", ".join(f"{what}: {many}" for what, many in self.counts.items())
        how = f"; intervals: {self.draws} draws of problems, seed {self.seed}" if self.draws else ""
        said = f"{self.protocol} on {self.file}: {self.rows} rows, {self.problems} problems"
        return f"{said}{', ' * bool(counts)}{counts}{how}"


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    return "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]).rstrip()
