"""An audit as a page that stands alone, and as a piece for a notebook.

Every text in it is escaped; nothing runs or is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from guerdon.core.html import escaped, note, page, table

LONGEST = 600  # characters of a completion
STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem}h2{font-size:1.05rem;margin:1.6rem 0 .3rem}
.finding{border-left:.35rem solid #b58900;padding:.1rem 0 .1rem .9rem;margin:1.1rem 0}
.finding.severe{border-color:#c0362c}
.badge{font-size:.75rem;font-weight:600;text-transform:uppercase;letter-spacing:.04em}
.mend{margin:.4rem 0}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2rem 0;padding:.5rem .7rem;
background:color-mix(in srgb,currentColor 7%,transparent);border-radius:.3rem;font-size:.85rem}
"""
KINDS = ("completion", "count", "wrongly scored", "low", "high", "mean", "lowest", "highest")


def as_document(report: Any) -> str:
    title = f"{report.reward} on {report.task}"
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escaped(title)}</title><style>{STYLE}</style></head><body>"
    )
    return f"{head}<h1>Audit: {escaped(title)}</h1>{''.join(_pieces(report))}</body></html>\n"


def as_fragment(report: Any) -> str:
    told = [(f.severity, f"{f.harm:.2f}", f.name, f.says, f.mend) for f in report.findings]
    return page(
        f"{report.reward} on {report.task}: {report.problems} problems, {report.samples} completions",
        table(("", "harm", "finding", "what", "mend"), told) if told else note("nothing found"),
        _kinds(report),
    )


def _pieces(report: Any) -> Iterator[str]:
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
        if finding.mend:
            yield f'<p class="mend"><strong>Mend:</strong> {escaped(finding.mend, 2000)}</p>'
        yield "</div>"
    yield "<h2>What was measured</h2>"
    numbers = [*_numbers(report)]
    yield page("", table(("what", "value"), numbers, most=len(numbers)), _kinds(report))


def _kinds(report: Any) -> str:
    rows = [
        (row["kind"], row["count"], _share(row["rate"]), _share(row["low"]), _share(row["high"]), row["mean"],
         row["lowest"], row["highest"])
        for row in report.kinds
    ]  # fmt: skip
    return table(KINDS, rows, most=len(rows)) if rows else ""


def _share(value: float | None) -> str:
    return "-" if value is None or value != value else f"{value:.1%}"


def _numbers(report: Any) -> Iterator[tuple[str, str]]:
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
