"""What to read to understand one GRPO step: the files and functions of this package that run in it.

Apart from these stands what records and watches the step. The loop calls it through one hook, the `Recorder`, and it changes
nothing of the step: a function is counted there where it runs only for the hook.

python scripts/reading_list.py            # a table of logits learns parity
python scripts/reading_list.py --model sprig --task countdown:3
"""

from __future__ import annotations

import argparse
import collections
import inspect
import sys
import tempfile
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

import guerdon as gd

PACKAGE = Path(gd.__file__).parent


HOOK = ("runs/", "watch/", "training/record.py", "training/save_beside.py")  # where what records and watches begins


def executed(task: str, model: str) -> tuple[set[CodeType], set[CodeType]]:
    """The code of every function of the package that runs in the second of three steps, in any thread of this process: of the
    step, and of what the hook calls."""
    codes: set[CodeType] = set()
    hooked: set[CodeType] = set()

    def is_hooked(frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_filename.startswith(tuple(f"{PACKAGE}/{place}" for place in HOOK)):
                return True
            frame = frame.f_back
        return False

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and watching and frame.f_code.co_filename.startswith(str(PACKAGE)):
            (hooked if is_hooked(frame) else codes).add(frame.f_code)

    watching = False

    class Watch:
        def __call__(self, event: Any, *_: Any) -> None:
            nonlocal watching
            step = getattr(event, "step", None)
            if type(event).__name__ == "StepDone":
                watching = step == 0  # the second step begins

    with tempfile.TemporaryDirectory() as folder:
        import threading

        threading.setprofile(note)
        sys.setprofile(note)
        try:
            options = gd.Options(eval_tasks=0, save_every=1000)
            gd.train(
                "grpo", task=task, model=model, steps=3, prompts=4, tries=4, out=Path(folder) / "run", options=options,
                listeners=[Watch()],
            )  # fmt: skip
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]
    return codes, hooked - codes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="parity")
    parser.add_argument("--model", default="tabular")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    step, hooked = executed(chosen.task, chosen.model)
    lines, beside = lines_of(step), lines_of(hooked)
    rooms: dict[str, list[int]] = collections.defaultdict(list)
    for file, numbers in lines.items():
        rooms[file.split("/")[0]].append(len(numbers))
    for room, counts in sorted(rooms.items(), key=lambda item: -sum(item[1])):
        print(f"{room:15} {len(counts):3} files {sum(counts):5} lines")
    every = {file: lines[file] | beside[file] for file in {*lines, *beside}}
    for name, each in (("the step", lines), ("behind the hook", beside), ("both", every)):
        print(f"{name:15} {sum(map(bool, each.values())):3} files {sum(map(len, each.values())):5} lines")


def lines_of(codes: set[CodeType]) -> dict[str, set[int]]:
    """The numbers of the lines of functions, by file."""
    lines: dict[str, set[int]] = collections.defaultdict(set)
    for code in codes:
        if code.co_name == "<module>":
            continue
        try:
            text, first = inspect.getsourcelines(code)
        except OSError:  # written by dataclasses
            continue
        lines[str(Path(code.co_filename).relative_to(PACKAGE))] |= set(range(first, first + len(text)))
    return lines


if __name__ == "__main__":
    main()
