"""The report of an audit: findings with examples and fixes, and what was measured; as data, as text, as a page.

Every text in the page is escaped; nothing runs or is fetched. Leaves out: how findings come about (`findings.py`).
"""

from __future__ import annotations

import dataclasses
import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.audits.kinds import Example, Finding, quoted
from guerdon.core.errors import UserError
from guerdon.display.html import escaped, note, page, table
from guerdon.runs.whole_files import write_readable_json, write_text

FORMAT = 2  # of the JSON; in 1 a finding had a `mend` and no `fault`
JSON_FILE, PAGE_FILE = "audit.json", "audit.html"
WIDTH = 88  # columns, where the width is unknown
MARGIN = 10
LONGEST = 600  # characters of a completion
TITLES = ("completion", "count", "wrongly scored", "low", "high", "mean", "lowest", "highest")
LABELS = ("label", "count", "scored", "mean", "lowest", "highest")
STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.05rem;margin:1.6rem 0 .3rem}
.finding{border-left:.35rem solid #b58900;padding:.1rem 0 .1rem .9rem;margin:1.1rem 0}
.finding.severe{border-color:#c0362c}
.badge{font-size:.75rem;font-weight:600;text-transform:uppercase;letter-spacing:.04em}
.fix{margin:.4rem 0}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0;padding:.5rem .7rem;
background:color-mix(in srgb,currentColor 7%,transparent);border-radius:.3rem;font-size:.85rem}
"""


@dataclass(frozen=True)
class AuditReport:
    """`findings` are ranked by harm, `severe` ones first; everything else is what was measured."""

    reward: str
    task: str
    problems: int
    samples: int
    findings: list[Finding]
    tokens: str = ""  # whose tokens were counted
    form: str = ""  # in which form answers were written, where it is not the task's own
    kinds: list[dict[str, Any]] = field(default_factory=list)  # of each kind of completion: its error rate and scores
    rates: dict[str, dict[str, Any]] = field(default_factory=dict)  # false positives and negatives over all kinds
    auc: dict[str, float] = field(default_factory=dict)
    sensitivity: dict[str, dict[str, Any]] = field(default_factory=dict)  # length, form, place, style
    partial: dict[str, Any] = field(default_factory=dict)  # whether partial credit is in order
    components: list[dict[str, Any]] = field(default_factory=list)
    tried: dict[str, Any] = field(default_factory=dict)  # a model's own tries: agreement, groups without signal
    seconds: dict[str, Any] = field(default_factory=dict)  # of a call
    failures: list[dict[str, Any]] = field(default_factory=list)
    labelled: dict[str, Any] = field(default_factory=dict)  # people's labels against the reward's scores
    attack: dict[str, Any] = field(default_factory=dict)  # what an adversary found, if one was asked for

    @property
    def severe(self) -> list[Finding]:
        return [f for f in self.findings if f.severity == "severe"]

    @property
    def ok(self) -> bool:
        """Whether nothing severe was found."""
        return not self.severe

    def but(self, **changes: Any) -> AuditReport:
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; NaN is None, for JSON has no NaN."""
        told: dict[str, Any] = _plain({**dataclasses.asdict(self), "ok": self.ok, "format": FORMAT})
        return told

    def page(self, width: int = WIDTH) -> str:
        """What was found, for a terminal of so many columns."""
        return as_text(self, width)

    def html(self) -> str:
        """A page that stands alone: nothing is fetched and nothing runs."""
        return as_document(self)

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
            raise UserError(f"no readable audit in {folder} ({error})") from error
        if not isinstance(told, dict) or told.get("format") not in (1, FORMAT):
            raise UserError(f"{place} is not an audit of this version: run guerdon audit again")
        known = {f.name for f in dataclasses.fields(cls)}
        findings = [
            Finding(**{**f, "kinds": tuple(f["kinds"]), "examples": [Example(**e) for e in f["examples"]]})
            for f in map(_as_now, told["findings"])
        ]
        return cls(**{**{name: value for name, value in told.items() if name in known}, "findings": findings})

    def __str__(self) -> str:
        return self.page()

    def __repr__(self) -> str:
        many = f"{len(self.findings)} finding{'s' * (len(self.findings) != 1)}" if self.findings else "nothing found"
        first = f", {self.findings[0]}" if self.findings else ""
        return f"AuditReport({self.reward} on {self.task}: {self.samples} completions, {many}{first})"

    def _repr_html_(self) -> str:
        return as_fragment(self)


def _as_now(finding: dict[str, Any]) -> dict[str, Any]:
    """A finding of either format."""
    if "mend" not in finding:
        return finding
    rest = {name: value for name, value in finding.items() if name != "mend"}
    return {"fault": "worth", **rest, "fix": finding["mend"]}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# --- as text ----------------------------------------------------------------------------------------------------------


def as_text(report: AuditReport, width: int = WIDTH) -> str:
    return "\n".join(_lines(report, width))


def _lines(report: AuditReport, width: int) -> Iterator[str]:
    counted = f", tokens counted by {report.tokens}" if report.tokens else ""
    size = f"{report.problems} problem{'s' * (report.problems != 1)}, {report.samples:,} completions{counted}"
    yield from wrapped(f"{report.reward} on {report.task}: {size}", "", width)
    severe = sum(f.severity == "severe" for f in report.findings)
    others = len(report.findings) - severe
    yield (
        f"{severe} severe finding{'s' * (severe != 1)}, {others} warning{'s' * (others != 1)}"
        if report.findings
        else "nothing found"
    )
    for finding in report.findings:
        yield ""
        yield from _finding(finding, width)
    if report.kinds:
        yield ""
        yield from _kinds(report.kinds, width)
    if report.labelled:
        yield ""
        yield from table_lines(LABELS, report.labelled["kinds"], "label")
    measured = [line for text in _measured(report) for line in wrapped(text, "  ", width)]
    yield from ["", *measured] if measured else []


def _kinds(rows: Sequence[Any], width: int) -> Iterator[str]:
    """A table of the kinds that are wrongly scored at times, gold before them; the others in a sentence."""
    told = [
        row
        for row in rows
        if row["kind"] == "gold" or row["errors"] or row["rate"] is None or row["rate"] != row["rate"]
    ]
    titles = ("completion", "count", "wrongly scored", "95 % interval", "mean", "lowest", "highest")
    yield from table_lines(titles, [_row(row) for row in told], "kind")
    clean = [row for row in rows if row not in told]
    if clean:
        names = ", ".join(row["kind"] for row in clean)
        count = sum(row["count"] for row in clean)
        yield from wrapped(f"none wrongly scored among {count:,} completions of other kinds: {names}", "  ", width)


def _finding(finding: Finding, width: int) -> Iterator[str]:
    indent = " " * MARGIN
    yield from wrapped(
        f"{finding.severity.upper():<{MARGIN - 1}} {finding.name} (harm {finding.harm:.2f})", indent, width
    )
    yield from wrapped(f"{indent}{finding.says}", indent, width)
    for each in finding.examples:
        yield from wrapped(
            f"{indent}- {quoted(each.completion)} is paid {each.score:.3g}, right is {each.gold:.3g}",
            indent + "  ",
            width,
        )
    if finding.note:
        yield from wrapped(f"{indent}- {finding.note}", indent + "  ", width)
    if finding.fix:
        yield from wrapped(f"{indent}fix: {finding.fix}", indent + "     ", width)


def _row(row: Any) -> dict[str, Any]:
    rate, low, high = row["rate"], row["low"], row["high"]
    known = rate is not None and rate == rate
    return {
        **row,
        "wrongly_scored": f"{rate:.1%}" if known else "-",
        "95_%_interval": f"{low:.1%} to {high:.1%}" if known else "-",
    }


def _measured(report: AuditReport) -> Iterator[str]:
    rates = report.rates
    for name, words in (("false_positives", "wrong"), ("false_negatives", "right")):
        told = rates.get(name)
        if told and told["of"]:
            share = f"{told['rate']:.1%} ({told['low']:.1%} to {told['high']:.1%})"
            yield f"{name.replace('_', ' ')}: {share}, {told['count']} of {told['of']} {words} completions"
    if report.auc.get("problems"):
        yield f"AUC of right against wrong completions of a problem: {report.auc['auc']:.3f}"
    still = []
    for what, by_truth in report.sensitivity.items():
        moves = [
            f"{truth} answers by {told['mean']:+.2f}" for truth, told in sorted(by_truth.items()) if told["largest"]
        ]
        if moves:
            yield f"{what} alone moves {' and '.join(moves)} of what being right is worth"
        else:
            still.append(what)
    if still:
        yield f"no score changes with {' or '.join(still)} alone"
    if report.partial:
        told = report.partial
        credit = "partial credit" if told["gives_partial_credit"] else "no partial credit"
        yield f"{credit}: {told['out_of_order']} of {told['pairs']} pairs of better and worse answers out of order"
    if report.form:
        yield f"answers were written as {report.form}"
    if report.tried:
        told = report.tried
        yield (
            f"of {told['tries']} tries of the model, {told['judged']} could be judged: {told['right']} right, the reward"
            f" agrees on {told['agree']}; all tries worth the same in {told['flat']} of {told['groups']} problems"
        )
    if report.labelled:
        told = report.labelled
        pairs = "" if told["auc"] is None else f"; AUC of right samples against others {told['auc']:.3f}"
        yield f"the reward agrees with {told['agree']} of {told['labels']} labels{pairs}"
    if report.attack:
        told = report.attack
        yield f"an adversary with {told['calls']:,} calls found {len(told['hacks'])} ways to be paid for wrong answers"
        for name, rows in told["curves"].items():
            first, last = rows[0], rows[-1]
            yield (
                f"{name.replace('_', ' ')}: the reward goes from {first['proxy']:.2f} to {last['proxy']:.2f}, the truth from"
                f" {first['truth']:.2f} to {last['truth']:.2f}"
            )
    if report.failures:
        yield f"it failed on {len(report.failures)} completions"
    if report.seconds:
        told = report.seconds
        yield f"a call takes {time_in_words(told['median'])}, at worst {time_in_words(told['worst'])} ({told['on']})"


def wrapped(text: str, indent: str, width: int) -> list[str]:
    """A text in lines of a width, those after the first indented."""
    how = {"break_on_hyphens": False, "replace_whitespace": False, "drop_whitespace": True}
    if width <= len(indent) + 20:  # too narrow for a margin
        indent = ""
    first = text[: len(text) - len(text.lstrip())]
    lines = textwrap.wrap(text.lstrip(), max(width, 20), initial_indent=first, subsequent_indent=indent, **how)  # type: ignore[arg-type]
    return lines or [""]


def table_lines(titles: Sequence[str], rows: Sequence[Mapping[str, Any]], first: str) -> list[str]:
    """Rows as columns under their titles; the first column has the key `first`, the others their titles' words."""
    keys = (first, *(t.replace(" ", "_") for t in titles[1:]))
    cells = [list(titles), *([_cell(row[k]) for k in keys] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(titles))]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in cells]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "-" if value != value else f"{value:.3f}"
    return str(value)


def time_in_words(seconds: float) -> str:
    return (
        f"{seconds * 1e6:.0f} us"
        if seconds < 1e-3
        else f"{seconds * 1e3:.1f} ms"
        if seconds < 1
        else f"{seconds:.1f} s"
    )


# --- as a page --------------------------------------------------------------------------------------------------------


def as_document(report: AuditReport) -> str:
    title = f"{report.reward} on {report.task}"
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{STYLE}</style></head><body>"
    )
    return f"{head}<h1>Audit: {escaped(title)}</h1>{''.join(_pieces(report))}</body></html>\n"


def as_fragment(report: AuditReport) -> str:
    told = [(f.severity, f"{f.harm:.2f}", f.name, f.says, f.fix) for f in report.findings]
    return page(
        f"{report.reward} on {report.task}: {report.problems} problems, {report.samples} completions",
        table(("", "harm", "finding", "what", "fix"), told) if told else note("nothing found"),
        _kind_table(report),
    )


def _pieces(report: AuditReport) -> Iterator[str]:
    severe = sum(f.severity == "severe" for f in report.findings)
    verdict = (
        f"{severe} severe finding{'s' * (severe != 1)}: do not train on it" if severe else "nothing severe was found"
    )
    yield f"<p><strong>{verdict}</strong>; {report.problems} problems, {report.samples:,} completions"
    yield f", tokens counted by {escaped(report.tokens)}</p>" if report.tokens else "</p>"
    for finding in report.findings:
        yield f'<div class="finding {finding.severity}"><span class="badge">{finding.severity}, harm {finding.harm:.2f}</span>'
        yield f"<h2>{escaped(finding.name)}</h2><p>{escaped(finding.says, 2000)}</p>"
        for each in finding.examples:
            yield f"<pre>{escaped(each.completion, LONGEST)}</pre>"
            yield str(note(f"is paid {each.score:.3g}, right is {each.gold:.3g}; the problem: {each.prompt}"))
        if finding.note:
            yield f"<pre>{escaped(finding.note, LONGEST)}</pre>"
        if finding.fix:
            yield f'<p class="fix"><strong>Fix:</strong> {escaped(finding.fix, 2000)}</p>'
        yield "</div>"
    yield "<h2>What was measured</h2>"
    numbers = [*_numbers(report)]
    yield page("", table(("what", "value"), numbers, most=len(numbers)), _kind_table(report))


def _kind_table(report: AuditReport) -> str:
    rows = [
        (row["kind"], row["count"], _share(row["rate"]), _share(row["low"]), _share(row["high"]), row["mean"],
         row["lowest"], row["highest"])
        for row in report.kinds
    ]  # fmt: skip
    return table(TITLES, rows, most=len(rows)) if rows else ""


def _share(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:.1%}"


def _numbers(report: AuditReport) -> Iterator[tuple[str, str]]:
    for name, told in report.rates.items():
        yield (
            name.replace("_", " "),
            f"{_share(told['rate'])} ({_share(told['low'])} to {_share(told['high'])}), {told['count']} of {told['of']}",
        )
    if report.auc:
        yield (
            "AUC, right against wrong",
            f"{report.auc['auc']:.3f} ({report.auc['low']:.3f} to {report.auc['high']:.3f})",
        )
    for what, by_truth in report.sensitivity.items():
        for truth, told in by_truth.items():
            yield f"{what} alone, {truth} answers", f"{told['mean']:+.3f} of what being right is worth"
    for name, measured in (("partial credit", report.partial), ("tries", report.tried), ("seconds", report.seconds)):
        for key, value in measured.items():
            yield f"{name}: {key.replace('_', ' ')}", f"{value:.3g}" if isinstance(value, float) else str(value)
    yield "failures", str(len(report.failures))
