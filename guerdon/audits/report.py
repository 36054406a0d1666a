"""What an audit came to: findings with examples and mends, and what was measured; as data, as text, as a page.

Leaves out: the finding (`findings.py`), the layout (`report_text.py`, `report_html.py`).
"""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.audits import report_html, report_text
from guerdon.audits.findings import AuditExample, AuditFinding
from guerdon.core.errors import UserError
from guerdon.store.whole_files import write_readable_json, write_text

FORMAT = 1  # of the JSON
JSON_FILE, PAGE_FILE = "audit.json", "audit.html"


@dataclass(frozen=True)
class AuditReport:
    """`findings` are ranked by harm, `severe` ones first; everything else is what was measured."""

    reward: str
    task: str
    problems: int
    samples: int
    findings: list[AuditFinding]
    tokens: str = ""  # whose tokens were counted
    form: str = ""  # in which form answers were written, where it is not the task's own
    kinds: list[dict[str, Any]] = field(default_factory=list)  # of each kind of completion: its error rate and scores
    rates: dict[str, dict[str, float]] = field(default_factory=dict)  # false positives and negatives over all kinds
    auc: dict[str, float] = field(default_factory=dict)
    sensitivity: dict[str, dict[str, Any]] = field(default_factory=dict)  # length, form, place, style
    partial: dict[str, Any] = field(default_factory=dict)  # whether partial credit is in order
    components: list[dict[str, Any]] = field(default_factory=list)
    tried: dict[str, Any] = field(default_factory=dict)  # a model's own tries: agreement, groups without signal
    seconds: dict[str, Any] = field(default_factory=dict)  # of a call
    failures: list[dict[str, Any]] = field(default_factory=list)
    attack: dict[str, Any] = field(default_factory=dict)  # what an adversary came to, if one was asked for

    @property
    def severe(self) -> list[AuditFinding]:
        return [f for f in self.findings if f.severity == "severe"]

    @property
    def ok(self) -> bool:
        """Whether nothing severe was found."""
        return not self.severe

    def but(self, **changes: Any) -> AuditReport:
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is no number is None, for JSON has no NaN."""
        told: dict[str, Any] = _plain({**dataclasses.asdict(self), "ok": self.ok, "format": FORMAT})
        return told

    def page(self, width: int = report_text.WIDTH) -> str:
        """What was found, for a terminal of so many columns."""
        return report_text.as_text(self, width)

    def html(self) -> str:
        """A page that stands alone: nothing is fetched and nothing runs."""
        return report_html.as_document(self)

    def save(self, folder: str | Path) -> Path:
        """Write the report into a folder: `audit.json`, which `AuditReport.load` and `guerdon view` read, and `audit.html`."""
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
            write_readable_json(place / JSON_FILE, self.to_dict())
            write_text(place / PAGE_FILE, self.html())
        except OSError as error:
            raise UserError(
                f"the audit cannot be written to {place} ({error.strerror}): choose another --out"
            ) from error
        return place

    @classmethod
    def load(cls, folder: str | Path) -> AuditReport:
        """A report that was saved."""
        place = Path(folder) / JSON_FILE
        try:
            told = json.loads(place.read_text())
        except (OSError, ValueError) as error:
            raise UserError(f"there is no audit to be read in {folder} ({error})") from error
        if not isinstance(told, dict) or told.get("format") != FORMAT:
            raise UserError(f"{place} is no audit of this version: make it again with guerdon audit")
        known = {f.name for f in dataclasses.fields(cls)}
        findings = [
            AuditFinding(**{**f, "kinds": tuple(f["kinds"]), "examples": [AuditExample(**e) for e in f["examples"]]})
            for f in told["findings"]
        ]
        return cls(**{**{name: value for name, value in told.items() if name in known}, "findings": findings})

    def __str__(self) -> str:
        return self.page()

    def __repr__(self) -> str:
        many = f"{len(self.findings)} finding{'s' * (len(self.findings) != 1)}" if self.findings else "nothing found"
        first = f", {self.findings[0]}" if self.findings else ""
        return f"AuditReport({self.reward} on {self.task}: {self.samples} completions, {many}{first})"

    def _repr_html_(self) -> str:
        return report_html.as_fragment(self)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
