"""The campaign of mutations: harms a file, runs a verb that reads it, says what came of it. A case is its subject and number.

Cases run in a process of their own, for a file may kill or stall whoever reads it: `campaign` starts it, watches it, and goes
on behind a case that it did not survive. That process runs this file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import select
import shutil
import struct
import subprocess
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from killed import paths

VERDICTS = ("same", "refused", "noticed", "other")
ROOM = 3 << 30  # bytes of address space that a case may take beyond what the process has
MEMORY = 1 << 30  # bytes that it may really use more than any before it
PROCESSOR = 5.0  # seconds of processor time that a case may take: the slowest takes half a second
STILL = 120.0  # seconds in which a process that hangs used no processor time
LISTED = ("unreadable: ", "complete; ", "unfinished; ", "stopped: ")  # what a list of runs says besides plain ends
LINE = 4100  # characters of one line that refuses something


@dataclass(frozen=True)
class Case:
    subject: str
    number: int
    verdict: str  # one of VERDICTS, or FAULT
    words: str = ""  # the verb
    harm: str = ""  # the mutator, and the file
    why: str = ""


# --- in the process that may die --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    code: int
    result: Any
    lines: list[str]  # of what is for people

    @property
    def warned(self) -> list[str]:
        told = [line for line in self.lines if "warning" in line.lower()]
        return told + [str(w) for w in _warnings_in(self.result)]


def _warnings_in(found: Any) -> Iterator[Any]:
    if isinstance(found, dict):
        for told in ("warnings", "damage"):
            yield from found[told] if isinstance(found.get(told), list) else ()
        if "run" in found and str(found.get("status")).startswith(LISTED):
            yield f"{found['run']}: {found['status']}"
        found = list(found.values())
    if isinstance(found, list):
        for inner in found:
            yield from _warnings_in(inner)


def run(words: tuple[str, ...]) -> Said:
    """A verb in this process; whatever escapes it is a fault."""
    import reading

    from guerdon.cli.main import main
    from guerdon.core.errors import UserError

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
        if words[0].startswith("@"):
            warnings.simplefilter("always")
            try:
                return Said(0, getattr(reading, words[0][1:])(*words[1:]), err.getvalue().splitlines())
            except UserError as error:
                return Said(error.exit_code, None, [f"guerdon: {error}"])
        code = main(words)
    said = out.getvalue().strip().splitlines()
    if "--json" not in words:  # for people, who see more than is compared
        return Said(code, None, [*said, *err.getvalue().splitlines()])
    return Said(code, json.loads(said[-1]) if said else None, err.getvalue().splitlines())


def judged(subject: Any, truth: Said, said: Said, file: str, rewritten: bool) -> tuple[str, str]:
    """The verdict, and why it is a fault."""
    from subjects import comparable

    shown = "\n".join(said.lines)
    if "Traceback" in shown:
        return "FAULT", "a traceback was shown"
    if any(ord(c) < 32 and c not in "\n\t" for c in shown):
        return "FAULT", f"control characters on the terminal: {shown[-120:]!r}"
    if said.code != truth.code:
        last = said.lines[-1] if said.lines else ""
        if said.code in (1, 2) and last.startswith("guerdon: ") and len(last) < LINE:
            return "refused", last
        return "FAULT", f"exit code {said.code} with {last[:200]!r} of {len(last)} characters"
    same = comparable(said.result) == comparable(truth.result)
    new = [line for line in said.warned if line not in truth.warned]
    names = (Path(file).name, Path(file).parent.name)
    noticed = [line for line in new if any(name in line for name in names)]
    if noticed and (same or not subject.exact):
        return "noticed", noticed[0]
    if same:
        return "same", ""
    if rewritten or not subject.checked:
        return "other", ""
    return "FAULT", f"another result in silence: {difference(comparable(truth.result), comparable(said.result))}"


def difference(a: Any, b: Any, at: str = "") -> str:
    """The first place where two results differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *b]:
            if a.get(key) != b.get(key):
                return difference(a.get(key), b.get(key), f"{at}/{key}")
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            if x != y:
                return difference(x, y, f"{at}/{i}")
    return f"{at}: {str(a)[:80]} became {str(b)[:80]}"


def harmed(subject: Any, draw: random.Random, prepared: Path) -> tuple[Path, bytes, str, bool]:
    """A file of the subject, what it is made to hold, by what, and whether that is a whole file again."""
    files = [sorted(p.relative_to(prepared) for p in prepared.glob(pattern)) for pattern in subject.files]
    file = draw.choice(draw.choice([found for found in files if found]))
    whole = (prepared / file).read_bytes()
    others = sorted(p for p in prepared.rglob("*") if p.is_file() and p.suffix == file.suffix)
    of = draw.choice(others)
    other = of.read_bytes() or b"\n"
    is_of_another_run = not of.is_relative_to(prepared.joinpath(*file.parts[:2]))
    while True:
        mutator = draw.choice((*subject.mutators, *subject.rewrites))
        try:
            made = mutator(draw, whole, other)
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
            struct.error,
        ):  # for another kind of file
            continue
        if made != whole:
            allowed = mutator in subject.rewrites or (made == other and is_of_another_run)
            if subject.log:
                kept = made[: made.rfind(b"\n") + 1]  # what comes after is torn
                allowed |= whole.startswith(kept) or (other.startswith(kept) and of.parent != (prepared / file).parent)
            return file, made, mutator.__name__, allowed


def one(
    name: str, number: int, seed: int, prepared: Path, work: Path, truths: dict[tuple[str, ...], Said]
) -> Iterator[Case | None]:
    """None when the case begins, and then what came of it."""
    from subjects import SUBJECTS, fresh

    subject, draw = SUBJECTS[name], random.Random(f"{seed}/{name}/{number}")
    file, made, harm, rewritten = harmed(subject, draw, prepared)
    words = tuple(w.format(folder=file.parts[0]) for w in draw.choice(subject.verbs))
    told = (" ".join(words), f"{harm} of {file}")
    if words not in truths:
        truths[words] = run(words)
        fresh(prepared, work, subject.writes)
    yield None
    (work / file).write_bytes(made)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    try:
        verdict, why = judged(subject, truths[words], run(words), str(file), rewritten)
    except BaseException as error:  # noqa: BLE001 - what escapes is what is looked for, a panic of a library too
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/guerdon/" in f.filename]
        place = f"{frames[-1].filename.rpartition('/guerdon/')[2]}:{frames[-1].lineno}" if frames else "?"
        verdict, why = "FAULT", f"{type(error).__name__} at {place}: {str(error)[:160]}"
    finally:
        fresh(prepared, work, subject.writes)
        shutil.copyfile(prepared / file, work / file)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    if grown > MEMORY:
        verdict, why = "FAULT", f"{grown >> 20} MiB of memory"
    if (work / "ran").exists():
        (work / "ran").unlink()
        verdict, why = "FAULT", "code that the file names ran"
    yield Case(name, number, verdict, *told, why)


def main(prepared: Path, work: Path, seed: int, chosen: list[tuple[str, int]]) -> None:
    """Cases one after the other, each told on standard output when it begins and when it is done."""
    import subjects

    import guerdon.training.api  # noqa: F401 - what all verbs import counts for none of them

    out = os.fdopen(os.dup(1), "w", buffering=1)
    if not prepared.exists():
        prepared.mkdir()
        subjects.prepare(prepared, any(name not in subjects.QUICK for name, _ in chosen))
    print("null", file=out)
    shutil.rmtree(work, ignore_errors=True)  # whoever died left it harmed
    shutil.copytree(prepared, work, copy_function=_copied)
    os.chdir(work)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    truths: dict[tuple[str, ...], Said] = {}
    for name, number in chosen:
        for case in one(name, number, seed, prepared, work, truths):
            print(json.dumps(case and case.__dict__), file=out)


# --- in the process that watches --------------------------------------------------------------------------------------


def campaign(prepared: Path, work: Path, seed: int, chosen: list[tuple[str, int]]) -> list[Case]:
    """Every case, those that a process did not survive as faults. What is harmed is prepared first, if it is not there."""
    done: list[Case] = []
    while len(done) < len(chosen):
        left, begun = chosen[len(done) :], False
        words = [sys.executable, __file__, str(prepared), str(work), str(seed), json.dumps(left)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=paths())
        try:
            for line in _lines(process):
                begun = True
                if told := json.loads(line):
                    done.append(Case(**told))
        except Hangs as error:
            done.append(Case(*chosen[len(done)], "FAULT", why=str(error)))
        finally:
            process.kill()
            _, errors = process.communicate()
        assert begun, errors.decode()
        if len(done) < len(chosen) and process.returncode not in (0, -9):
            said = errors.decode(errors="replace").strip().splitlines()[-1:]
            done.append(Case(*chosen[len(done)], "FAULT", why=f"the process died ({process.returncode}): {said}"))
    return done


class Hangs(Exception):
    """A case that does not end."""


def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What the process says, as long as it does not hang. Between cases it may import what it likes."""
    assert process.stdout is not None
    held, limit, used, at = b"", PROCESSOR * 20, 0.0, time.monotonic()
    while True:
        if select.select([process.stdout], [], [], 1.0)[0]:
            block = os.read(process.stdout.fileno(), 1 << 16)
            if not block:
                return
            *whole, held = (held + block).split(b"\n")
            yield from whole
            limit = PROCESSOR if whole and whole[-1] == b"null" else PROCESSOR * 20
            used, at = _processor_time(process.pid), time.monotonic()
            continue
        now = _processor_time(process.pid)
        if now - used > limit:
            raise Hangs(f"still going after {now - used:.0f} s of processor time")
        if now < used + 0.5 and time.monotonic() - at > STILL:
            raise Hangs(f"waits for something that does not come, {STILL:.0f} s long")


def _processor_time(pid: int) -> float:
    with contextlib.suppress(OSError):  # it has ended
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _copied(source: str, to: str) -> None:
    if Path(source).is_fifo():
        os.mkfifo(to)
    else:
        shutil.copy2(source, to)


def table(cases: list[Case]) -> str:
    """Kinds of files and what came of harming them."""
    rows = [("", "cases", *VERDICTS, "faults")]
    names = list(dict.fromkeys(case.subject for case in cases))
    for name in (*names, "in all"):
        count = Counter(case.verdict for case in cases if name in (case.subject, "in all"))
        rows.append((name, *map(str, (count.total(), *(count[v] for v in VERDICTS), count["FAULT"]))))
    width = max(len(row[0]) for row in rows)
    return "\n".join(row[0].ljust(width) + "".join(cell.rjust(9) for cell in row[1:]) for row in rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), [tuple(c) for c in json.loads(sys.argv[4])])
