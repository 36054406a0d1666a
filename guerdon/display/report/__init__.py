"""`report.html`: a run on one page that loads nothing. `write_report` writes it.

`page` gathers what it shows, `document` makes one file of that and of the scripts in `display/page`.
"""

from __future__ import annotations

from pathlib import Path

from guerdon.display.report.page import report_page
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.runs.whole_files import atomic

__all__ = ["finish_report", "write_report"]


def write_report(path: str | Path | RunFolder) -> Path:
    """Write the report of a run folder, finished or not, or of a study. Returns the file."""
    run = Run(path)
    # an exception's message may hold what UTF-8 cannot: it is spelled out rather than lost
    content = report_page(run).encode("utf-8", errors="backslashreplace")
    with atomic(run.folder.report) as scratch:
        scratch.write_bytes(content)
    return run.folder.report


def finish_report(folder: RunFolder) -> None:
    """Write the report of a run that ended, if a kill came before it: there is none, or one from before the last event."""
    try:
        is_last = folder.report.stat().st_mtime_ns >= folder.events.stat().st_mtime_ns
    except FileNotFoundError:
        is_last = False
    if not is_last:
        write_report(folder)
