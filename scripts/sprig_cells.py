"""What is measured of the built-in model, each finding a line of a file as it comes, and the card that is made of those lines.

A line is [kind, name, finding]: `how` it was measured, `solve` and `fit` of a family or a world by level, `play` of a family's roles, and
`note`, a sentence for the page that somebody wrote. Of two lines about the same the last counts. Measuring again goes on from
what is there: each finding is made in a process of its own, so what breaks is written down as an error and takes nothing with it.
Leaves out what is measured (`sprig_card.py`) and how it looks (`sprig_page.py`).
"""

from __future__ import annotations

import json
import multiprocessing as mp
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

Finding = Any  # what JSON can hold


def _send(to: Connection, call: Callable[..., Finding], words: tuple[Any, ...]) -> None:
    to.send(call(*words))


def alone(call: Callable[..., Finding], *words: Any) -> Finding:
    """What a call gives in a process of its own, or how that process ended; why is on its stderr."""
    context = mp.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(there, call, words))
    process.start()
    there.close()
    try:
        found = here.recv()
    except EOFError:
        found = None
    process.join()
    return {"error": f"its process ended with {process.exitcode}"} if found is None else found


def is_finding(found: Finding) -> bool:
    return found is not None and "error" not in found


class Cells:
    """The lines of a file, by kind and name."""

    def __init__(self, file: Path) -> None:
        self.file, self.found = file, dict[tuple[str, str], Finding]()
        for line in file.read_text().splitlines() if file.is_file() else ():
            kind, name, finding = json.loads(line)
            self.found[kind, name] = finding

    def add(self, kind: str, name: str, finding: Finding) -> None:
        self.found[kind, name] = finding
        with self.file.open("a") as lines:
            lines.write(json.dumps([kind, name, finding]) + "\n")

    def begin(self, how: dict[str, Any]) -> None:
        """Go on with what was measured the same way, and with nothing else."""
        before = self.found.get(("how", ""))
        if before is None and not self.found:
            self.add("how", "", how)
        elif before != how:
            raise SystemExit(
                f"{self.file} was measured with {before}, not {how}: measure the same way, or elsewhere (--out)"
            )

    def measure(self, kind: str, asked: Mapping[str, tuple[Any, ...]], call: Callable[..., Finding], jobs: int) -> None:
        """Whatever is not known yet of what is asked: a name, and what `call` is given."""
        with ThreadPoolExecutor(jobs) as pool:  # a thread waits for a process
            open_ = {
                pool.submit(alone, call, *words): name
                for name, words in asked.items()
                if not is_finding(self.found.get((kind, name)))
            }
            for done in as_completed(open_):
                self.add(kind, open_[done], done.result())
                print(kind, open_[done], json.dumps(done.result()), flush=True)


def card_of(
    found: Mapping[tuple[str, str], Finding], worlds: Mapping[str, Sequence[str]], families: Iterable[str]
) -> dict[str, Any]:
    """The card: what was found, and the names of what was not."""
    good = {key: finding for key, finding in found.items() if is_finding(finding)}
    card: dict[str, Any] = {**good["how", ""], "families": {}, "worlds": {}, "fits": {}, "not measured": {}}
    for name in families:
        levels, roles = good.get(("solve", name)), good.get(("play", name))
        if levels is not None:
            card["families"][name] = {"levels": levels} | ({} if roles is None else {"roles": roles})
        missing = [what for what, known in (("solving", levels), ("roles", roles)) if known is None]
        if missing:
            card["not measured"][name] = " and ".join(missing)
    for world, names in worlds.items():
        card["worlds"][world] = {name: good["solve", name] for name in names if ("solve", name) in good}
        for name in names:
            if ("solve", name) not in good:
                card["not measured"][name] = "broke off" if ("solve", name) in found else "not tried"
            if ("fit", name) in good:
                card["fits"][name] = good["fit", name]
    card["notes"] = [text for (kind, _), text in good.items() if kind == "note"]
    return card
