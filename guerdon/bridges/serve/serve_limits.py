"""What a server takes on, as numbers that a user may choose."""

from __future__ import annotations

from dataclasses import dataclass, fields

from guerdon.core.errors import UserError


@dataclass(frozen=True)
class ServeLimits:
    """Beyond them a request is refused with a reason; nothing is cut short in silence."""

    body: int = 16 << 20  # bytes of a request
    samples: int = 1024  # of a request
    at_once: int = 16  # requests that are scored at the same time
    queue: int = 128  # requests that wait; the next one is asked to retry
    timeout: float = 60.0  # seconds a request may take, waiting included, and again for its answer to be taken
    connections: int = 1024  # open at the same time; who comes then takes the place of one that asks for nothing
    headers: float = 10.0  # seconds in which a request's headers must have come

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), 0 if field.name == "queue" else 1
            if not (value > 0 if field.type == "float" else value >= least):
                raise UserError(f"limit {field.name} must be {'above 0' if least else '0 or more'}, not {value}")
