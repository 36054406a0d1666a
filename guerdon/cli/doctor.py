"""`guerdon doctor`: checks that training can run on this machine, and how fast."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from guerdon.cli.options import Json
from guerdon.cli.output import Output
from guerdon.core.errors import UserError

OLDEST = (3, 11)
LOW_DISK = 1 << 30
STEPS = 5
SANDBOX_FIX = {"linux": "see docs/sandbox.md, Machines that refuse"}


@dataclass(frozen=True)
class Check:
    """One finding. Training works without those that are not `required`."""

    name: str
    ok: bool
    detail: str
    required: bool = True
    fix: str = ""


def doctor(as_json: Json = False) -> int:
    """Check that training can run on this machine, and how fast.

    Checks Python, libraries, processor, GPUs and disk, tests the guarantees of the sandbox, and trains a tiny model
    for a few steps. Exits with 0 when everything required works, with 1 otherwise.
    """
    output = Output(as_json)
    checks = [_python(), *_libraries(), _torch()]
    if checks[-1].ok:
        checks += [_processor(), _cards()]
    checks += [_disk(), _sandbox()]
    if all(c.ok for c in checks if c.required):
        checks.append(_training())
    healthy = all(c.ok for c in checks if c.required)
    if not as_json:
        for check in checks:
            mark = "ok" if check.ok else "FAIL" if check.required else "-"
            output.say(f"{mark:<5} {check.name}: {check.detail}" + (f"  ({check.fix})" if check.fix else ""))
        output.say("everything required works" if healthy else "something required is missing: see FAIL above")
    output.finish({"healthy": healthy, "checks": [asdict(c) for c in checks]})
    return 0 if healthy else 1


def _python() -> Check:
    wanted = ".".join(map(str, OLDEST))
    fix = "" if sys.version_info >= OLDEST else f"install Python {wanted} or newer"
    return Check("python", not fix, f"{platform.python_version()} on {platform.system()} {platform.machine()}", fix=fix)


def _libraries() -> list[Check]:
    """The package's requirements, from its own metadata: the required ones as one line, each extra as one."""
    needed: dict[str, list[str]] = {}
    for line in importlib.metadata.requires("guerdon") or []:
        only_for = re.search(r"extra == ['\"](\w+)['\"]", line)
        name = re.match(r"[\w.-]+", line)
        assert name is not None, f"unreadable requirement {line!r}"
        needed.setdefault(only_for[1] if only_for else "", []).append(name[0])
    needed.pop("dev", None)
    missing = {extra: [n for n in names if not _version(n)] for extra, names in needed.items()}
    lost = missing.pop("", [])
    detail = "missing: " + ", ".join(lost) if lost else ", ".join(f"{n} {_version(n)}" for n in needed.get("", []))
    checks = [Check("libraries", not lost, detail, fix=f"pip install {' '.join(lost)}" if lost else "")]
    for extra, absent in sorted(missing.items()):
        fix = f"pip install 'guerdon[{extra}]'" if absent else ""
        detail = "not installed" if absent else ", ".join(f"{n} {_version(n)}" for n in needed[extra])
        checks.append(Check(f"extra {extra}", not absent, detail, required=False, fix=fix))
    return checks


def _version(library: str) -> str:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _torch() -> Check:
    try:
        import torch
    except (ImportError, OSError) as error:  # OSError: a library torch itself needs is missing
        return Check("torch", False, f"cannot be imported: {error}", fix="pip install --force-reinstall torch")
    threads = torch.get_num_threads()
    return Check("torch", True, f"{torch.__version__}, {threads} threads on {os.cpu_count()} processors")


def _processor() -> Check:
    """Vector units and number types, as far as this torch reports them."""
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    asked: dict[str, Callable[[], bool] | None] = {
        "bf16": getattr(torch.cpu, "_is_avx512_bf16_supported", None),
        "amx": getattr(torch.cpu, "_is_amx_tile_supported", None),
    }
    features = [f"{name} {'yes' if ask() else 'no'}" for name, ask in asked.items() if ask is not None]
    return Check("processor", True, ", ".join([capability, *features]), required=False)


def _cards() -> Check:
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return Check("cuda", bool(names), ", ".join(names) or "no device: training runs on the CPU", required=False)


def _disk() -> Check:
    here = Path.cwd()
    free = shutil.disk_usage(here).free
    writable = os.access(here, os.W_OK)
    fix = "" if writable else "choose a folder you may write to, or --out"
    if free < LOW_DISK:
        fix = "free some space, or choose another folder with --out"
    detail = f"{free / (1 << 30):.1f} GiB free in the working folder" + ("" if writable else ", which is read-only")
    return Check("disk", not fix, detail, required=False, fix=fix)


def _sandbox() -> Check:
    """Whether untrusted code can be isolated here: each guarantee is tested by an attempt to violate it."""
    from guerdon.sandbox import guarantees
    from guerdon.sandbox.probed_guarantees import held_by

    tried = guarantees()
    held = [each.name for each in tried if each.holds]
    if len(held) == len(tried):
        what = f"full isolation: {', '.join(held)}; limits enforced by {held_by()}"
        return Check("sandbox", True, what, required=False)
    lost = "; ".join(each.detail if not held else f"{each.name}: {each.detail}" for each in tried if not each.holds)
    weaker = [each.name for each in guarantees("landlock") if each.holds] if not held else []
    names = ", ".join(held or weaker)
    still = f"; {'still guaranteed' if held else 'landlock would guarantee'}: {names}" if names else ""
    return Check("sandbox", False, f"{lost}{still}", required=False, fix=SANDBOX_FIX.get(sys.platform, "use Linux"))


def _training() -> Check:
    """A few steps of a small recipe, from sampling to checkpoint."""
    import guerdon as gd

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        try:
            options = gd.Options(eval_tasks=4)
            run = gd.train(
                "grpo", task="successor", model="tabular", steps=STEPS, out=Path(folder) / "run", options=options
            )
        except UserError as error:
            return Check("training", False, str(error))
        seconds = time.perf_counter() - began
        tokens, busy = (sum(run.metrics[name].to_pylist()) for name in ("tokens", "seconds"))
        return Check("training", run.complete, f"{STEPS} steps in {seconds:.2f} s, {tokens / busy:.0f} tokens/s")
