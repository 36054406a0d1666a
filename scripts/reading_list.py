"""What to read to understand one GRPO step: the files and functions of this package that run in it.

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


def executed(task: str, model: str) -> set[CodeType]:
    """The code of every function of the package that runs in the second of three steps, in any thread of this process."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and watching and frame.f_code.co_filename.startswith(str(PACKAGE)):
            codes.add(frame.f_code)

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
    return codes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="parity")
    parser.add_argument("--model", default="tabular")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    lines: dict[str, set[int]] = collections.defaultdict(set)
    for code in executed(chosen.task, chosen.model):
        if code.co_name == "<module>":
            continue
        try:
            text, first = inspect.getsourcelines(code)
        except OSError:  # written by dataclasses
            continue
        lines[str(Path(code.co_filename).relative_to(PACKAGE))] |= set(range(first, first + len(text)))
    rooms: dict[str, list[int]] = collections.defaultdict(list)
    for file, numbers in lines.items():
        rooms[file.split("/")[0]].append(len(numbers))
    for room, counts in sorted(rooms.items(), key=lambda item: -sum(item[1])):
        print(f"{room:12} {len(counts):3} files {sum(counts):5} lines")
    print(f"{'all':12} {len(lines):3} files {sum(map(len, lines.values())):5} lines")


if __name__ == "__main__":
    main()
