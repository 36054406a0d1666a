"""The server's counters, in Prometheus' text format (version 0.0.4). Everything is counted in the event loop's thread.

Written by hand, for it is four kinds of line: a client library would be a dependency and a global registry.
Left out: what the process itself uses.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Iterable, Mapping

from guerdon.core.column import Reason

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)  # seconds


class Metrics:
    """Counters since the start."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()  # by path and status
        self.outcomes: Counter[tuple[str, str]] = Counter()  # by component and reason
        self.turned_away: Counter[int] = Counter()  # connections, by status
        self.samples = 0
        self.late = [0] * (len(BUCKETS) + 1)  # scored requests by bucket, the last one without end
        self.seconds = 0.0

    def request(self, path: str, status: int) -> None:
        self.requests[path, status] += 1

    def scored(self, seconds: float, reasons: Mapping[str, Iterable[Reason]], samples: int) -> None:
        """A request that got its scores: how long it took, and how each component's came out."""
        self.samples += samples
        self.late[bisect.bisect_left(BUCKETS, seconds)] += 1
        self.seconds += seconds
        for component, each in reasons.items():
            for reason, count in Counter(each).items():
                self.outcomes[component, reason.name.lower()] += count

    @property
    def mean_seconds(self) -> float:
        return self.seconds / max(1, sum(self.late))

    def text(self, waiting: int, scoring: int) -> str:
        requests = [({"path": path, "status": str(status)}, n) for (path, status), n in sorted(self.requests.items())]
        outcomes = [({"component": c, "reason": reason}, n) for (c, reason), n in sorted(self.outcomes.items())]
        away = [({"status": str(status)}, n) for status, n in sorted(self.turned_away.items())]
        lines = [
            *_family("guerdon_requests_total", "counter", "Requests answered.", requests),
            *_family("guerdon_turned_away_total", "counter", "Connections closed before they asked.", away),
            *_family("guerdon_samples_total", "counter", "Samples scored.", [({}, self.samples)]),
            *_family("guerdon_outcomes_total", "counter", "Outcomes, of the whole and its parts.", outcomes),
            *_family("guerdon_requests_waiting", "gauge", "Requests that wait for their turn.", [({}, waiting)]),
            *_family("guerdon_requests_scoring", "gauge", "Requests that are being scored.", [({}, scoring)]),
            *self._histogram("guerdon_request_seconds", "Seconds from a scored request's arrival to its scores."),
        ]
        return "\n".join(lines) + "\n"

    def _histogram(self, name: str, about: str) -> list[str]:
        lines, below = _family(name, "histogram", about, []), 0
        for edge, count in zip([*map(repr, BUCKETS), "+Inf"], self.late, strict=True):
            below += count
            lines.append(_line(f"{name}_bucket", {"le": edge}, below))
        return [*lines, _line(f"{name}_sum", {}, self.seconds), _line(f"{name}_count", {}, below)]


def _family(name: str, kind: str, about: str, counts: Iterable[tuple[Mapping[str, str], float]]) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}", *(_line(name, labels, n) for labels, n in counts)]


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value}" if inside else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
