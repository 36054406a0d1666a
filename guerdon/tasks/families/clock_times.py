"""Clock and calendar: what time or weekday it is after going forward and back, over midnight and the week's end."""

from __future__ import annotations

import random
import re

from guerdon.core.part import knob, part
from guerdon.tasks.families.pipeline import NUMBER, Pipeline
from guerdon.tasks.family import Problem

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY, WEEK = 24 * 60, 7 * 24 * 60
MINUTES = {"min": 1, "h": 60, "d": DAY, "w": WEEK}
COUNTS = (1, 2, 3, 3, 4, 5, 6, 7)  # operations by level
# the largest amount of each unit by level
LARGEST = {
    "min": (30, 45, 59, 59, 59, 90, 120, 150),
    "h": (6, 12, 12, 20, 23, 23, 36, 48),
    "d": (7, 10, 13, 6, 10, 20, 30, 60),
    "w": (2, 2, 2, 2, 2, 3, 4, 6),
}


@part
class clock(Pipeline):
    """`clock fri 22:30: +2h, -50min, +3d`: the day and time after each in turn.

    The solution: `+2h: sat 00:30`, `-50min: fri 23:40`, `+3d: mon 23:40`, `= mon 23:40`; additions may be done in any
    order. Levels 1 to 3 ask for a time of day or for a weekday, one to three operations; from level 4 on day and time go
    together, so that midnight changes the day, up to seven operations with amounts beyond a day and beyond a week.

    >>> import guerdon as gd
    >>> family = gd.tasks.clock(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, problem.answer, family.check(problem, "= 13:15")
    ('clock 04:40: +8h, +35min', '13:15', 1.0)
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        time = f"{draw.randrange(24):02}:{draw.randrange(0, 60, self.grain):02}"
        day = draw.choice(DAYS)
        start = f"{day} {time}"
        if self.level < 4:  # there are only a few problems of a weekday alone
            start = day if draw.random() < (0.25, 0.35, 0.4)[self.level - 1] else time
        units = self.units(start)
        return self.posed(start, [self._operation(draw.choice(units), draw) for _ in range(COUNTS[self.level - 1])])

    @property
    def grain(self) -> int:
        """Minutes come in fives at the first levels."""
        return 5 if self.level < 3 else 1

    def units(self, start: str) -> list[str]:
        """The units a problem that starts so goes by, as often as they come."""
        if self.level < 4:
            return ["min", "h"] if ":" in start else ["d", "d", "d", "d", "w"]
        return ["min", "min", "h", "h", "d"] + ["w"] * (self.level > 5)

    def _operation(self, unit: str, draw: random.Random) -> str:
        grain = self.grain if unit == "min" else 1
        amount = draw.randint(1, LARGEST[unit][self.level - 1] // grain) * grain
        return f"{draw.choice('++-')}{amount}{unit}"

    def could_make(self, start: str, ops: list[str]) -> bool:
        day, time = f"(?:{'|'.join(DAYS)})", "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
        if not re.fullmatch(f"{day} {time}" if self.level > 3 else f"{day}|{time}", start):
            return False
        if minutes(start) % self.grain or len(ops) != COUNTS[self.level - 1]:
            return False
        for op in ops:
            match = re.fullmatch(f"[+-]({NUMBER})({'|'.join(self.units(start))})", op)
            if match is None or not 1 <= int(match[1]) <= LARGEST[match[2]][self.level - 1]:
                return False
            if match[2] == "min" and int(match[1]) % self.grain:
                return False
        return True

    def apply(self, value: str, op: str) -> str:
        unit = op.lstrip("+-0123456789")
        return shown(minutes(value) + int(op.removesuffix(unit)) * MINUTES[unit], like=value)

    def commute(self, one: str, other: str) -> bool:
        return True

    def slip(self, value: str, op: str, draw: random.Random) -> tuple[str, str]:
        before, right = minutes(value), self.apply(value, op)
        after = minutes(right)
        typical = {"day off by one": shown(after + draw.choice((-DAY, DAY)), like=value)}
        if ":" in value:
            typical["hour off by one"] = shown(after + draw.choice((-60, 60)), like=value)
        if op[0] == "-":
            typical["went forward, not back"] = self.apply(value, "+" + op[1:])
        if op.endswith(("min", "h")):
            typical["midnight forgotten"] = shown(before // DAY * DAY + after % DAY, like=value)
        if op.endswith("min"):
            typical["hour not carried"] = shown(after // DAY * DAY + before % DAY // 60 * 60 + after % 60, like=value)
        return draw.choice([(kind, wrong) for kind, wrong in typical.items() if wrong != right])

    def miscopied(self, answer: str, draw: random.Random) -> str:
        return self.apply(answer, draw.choice(("+1h", "-10min") if ":" in answer else ("+1d", "-2d")))


def minutes(value: str) -> int:
    """Minutes since the week began; a weekday alone is its first minute, a time alone is on the first day."""
    total = 0
    for word in value.split():
        hour, colon, minute = word.partition(":")
        total += int(hour) * 60 + int(minute) if colon else DAYS.index(word) * DAY
    return total


def shown(total: int, like: str) -> str:
    """The moment as text with what `like` has: weekday, time, or both."""
    total %= WEEK
    day, time = DAYS[total // DAY], f"{total % DAY // 60:02}:{total % 60:02}"
    if ":" not in like:
        return day
    return f"{day} {time}" if " " in like else time
