"""What the campaign of mutations harms, which verbs then read it, and what a wrong result is.

A subject is one kind of file. After a file of it was harmed a verb is run, and what it says is compared with what it says of
the whole file. What may come of it:

- `same`: the same result.
- `refused`: one line that says what is wrong, and an exit code.
- `noticed`: a warning names the harmed file. Where `exact` the result must be the same all the same: a checkpoint that is
  passed over costs steps, never weights.
- `other`: another result without a warning, where that is no fault: a file without a checksum (`checked=False`: the user's
  data, models and templates of strangers) that says something else and is whole; a rollout file that somebody rewrote as a
  whole; a log that ends earlier, which is what a kill leaves.

Everything else is a fault: another exception than the user's errors, a result that differs in silence, a process that died,
hangs or takes a gigabyte, code that a file brought along and that ran.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import formats
import mutators
from mutators import BYTES, Mutator

EVIL = """
from pathlib import Path
Path("ran").touch()
def evil(*args, **more):
    return 1.0
"""

LM = ("--task", "parity", "--tasks", "2", "--k", "1", "--max-tokens", "3", "--json")
SMALL = (
    "--model", "tabular", "--set", "tabular.length=1", "--set", "prompts=2", "--set", "tries=4", "--eval-tasks", "4",
)  # fmt: skip
PARITY = ("--task", "parity")
RESUME = ("train", "--resume", "runs/half", "--json")
LOOKED_AT = (("show", "runs/whole", "--json"), ("show", "runs/whole"), ("list", "runs", "--json"), ("list", "runs"))
DATA = ("--data", "problems.jsonl", "--prompt", "question", "--answer", "result")


@dataclass(frozen=True)
class Subject:
    """`verbs` are command lines, or @NAME of a function in `reading.py`; one is drawn for each case."""

    files: tuple[str, ...]  # globs in the prepared folder; one is drawn
    verbs: tuple[tuple[str, ...], ...]
    mutators: tuple[Mutator, ...]
    rewrites: tuple[Mutator, ...] = ()  # a whole file that says something else: another result is no fault
    writes: tuple[str, ...] = ()  # what the verbs write to: made anew for each case
    checked: bool = True
    exact: bool = False
    log: bool = False  # may end earlier


SUBJECTS = {
    "checkpoint": Subject(
        (
            "runs/half/checkpoints/*/*.json",
            "runs/half/checkpoints/*/*.safetensors",
            "runs/half/checkpoints/*/*.parquet",
        ),
        (RESUME,),
        (*BYTES, *BYTES, mutators.json_root),
        writes=("runs/half",),
        exact=True,
    ),
    "checkpoint at the end": Subject(
        ("runs/whole/checkpoints/*/*",),
        (("@model", "runs/whole"),),
        (*BYTES, mutators.json_root),
    ),
    "events": Subject(
        ("runs/whole/events.jsonl",),
        (*LOOKED_AT, ("train", "--resume", "runs/whole", "--json")),
        (*BYTES, *mutators.LINES, *mutators.LINES),
        (mutators.other_line,) * 8,
        log=True,
        writes=("runs/whole",),
    ),
    "events of a run that goes on": Subject(
        ("runs/half/events.jsonl",),
        (RESUME,),
        (*BYTES, *mutators.LINES, *mutators.LINES),
        (mutators.other_line,) * 8,
        log=True,
        writes=("runs/half",),
    ),
    "run.json": Subject(
        ("runs/whole/run.json",),
        (
            *LOOKED_AT,
            ("replay", "runs/whole", "--reward", "my.py:brief", "--json"),
            ("eval", "runs/whole", "--tasks", "2", "--k", "1", "--json"),
            ("train", "--resume", "runs/whole", "--json"),
        ),
        (*BYTES, *mutators.JSON),
        (mutators.other_config,) * 20,
    ),
    "run.json of a run that goes on": Subject(
        ("runs/half/run.json",),
        (RESUME,),
        (*BYTES, *mutators.JSON),
        (mutators.other_config,) * 20,
        writes=("runs/half",),
    ),
    "rollouts": Subject(
        ("runs/whole/rollouts/*",),
        (("replay", "runs/whole", "--reward", "my.py:brief", "--json"), ("@batches", "runs/whole")),
        BYTES,
        (formats.parquet_rewritten,) * 4,
    ),
    "runs that are compared": Subject(
        ("runs/whole/events.jsonl", "runs/whole/run.json", "runs/whole/rollouts/*"),
        (("compare", "runs/whole", "runs/half", "--json"), ("compare", "runs/half", "runs/whole")),
        (*BYTES, *mutators.JSON, *mutators.LINES),
        log=True,
    ),
    "model of a run": Subject(
        ("runs/whole/models/policy/*",),
        (("eval", "runs/whole", "--tasks", "4", "--k", "2", "--json"),),
        BYTES,
        formats.SAFETENSORS,
    ),
    "study": Subject(
        ("runs/study/inner/*.json", "runs/study/result.json", "runs/study/events.jsonl", "runs/study/run.json"),
        (("show", "runs/study", "--json"), ("train", "--resume", "runs/study", "--json"), ("list", "runs", "--json")),
        BYTES,
        writes=("runs/study",),
        log=True,
    ),
    "safetensors": Subject(
        ("lm/model.safetensors", "gpt2/model.safetensors"),
        (("eval", "{folder}", *LM), ("@replies", "{folder}")),
        (*BYTES, *formats.SAFETENSORS),
        checked=False,
    ),
    "config.json": Subject(
        ("lm/config.json", "gpt2/config.json"),
        (("eval", "{folder}", *LM), ("@replies", "{folder}")),
        (*BYTES, *mutators.JSON, *mutators.JSON),
        checked=False,
    ),
    "tokenizer.json": Subject(
        ("lm/tokenizer.json", "lm/tokenizer_config.json", "lm/generation_config.json", "lm/special_tokens_map.json"),
        (("eval", "{folder}", *LM), ("@replies", "{folder}")),
        (*BYTES, *mutators.JSON),
        checked=False,
    ),
    "chat template": Subject(
        ("lm/chat_template.jinja",),
        (("eval", "{folder}", *LM), ("@replies", "{folder}")),
        (*BYTES, *formats.TEMPLATE),
        checked=False,
    ),
    "gguf": Subject(
        ("small.gguf",),
        (("eval", "small.gguf", *LM), ("@replies", "small.gguf")),
        (*BYTES, *formats.GGUF, *formats.GGUF),
        checked=False,
    ),
    "adapter": Subject(
        ("lora/model.json", "lora/adapter/*", "lora/base/config.json"),
        (("eval", "lora", *LM), ("@replies", "lora")),
        BYTES,
        checked=False,
    ),
    "problems": Subject(
        ("problems.jsonl",),
        (
            ("train", "grpo", *DATA, "--steps", "1", *SMALL, "--out", "runs/new", "--json"),
            ("eval", "tabular", *DATA, "--tasks", "2", "--k", "1", "--json"),
            (
                "train",
                "grpo",
                *DATA,
                "--kind",
                "kind",
                "--skip-bad",
                "--steps",
                "1",
                *SMALL,
                "--out",
                "runs/new",
                "--json",
            ),
        ),
        (*BYTES, *mutators.LINES, *mutators.LINES),
        checked=False,
        writes=("runs/new",),
    ),
}


QUICK = [
    name for name, subject in SUBJECTS.items() if subject.files[0].startswith(("runs/", "problems"))
]  # without models


# --- the folder that everything is done in ----------------------------------------------------------------------------

MY = """
import signal
from pathlib import Path

import guerdon as gd
from guerdon import Study, recipe
from guerdon.recipes.house.grpo import grpo

asked = 0


def brief(completion):
    return -float(len(completion))


@gd.reward(isolate=False)  # it counts its calls
def stops(answer, completion):
    global asked
    asked += 1
    if asked == 36 and Path("press-ctrl-c").exists():
        signal.raise_signal(signal.SIGINT)
    return float(answer == completion)


@recipe("twice")
def twice(task, model):
    \"\"\"A run, something remembered, and a result.\"\"\"

    def body(run, seed):
        first = run.train(grpo.function(task, model, prompts=2, tries=4, steps=2))
        told = run.remember("a number", lambda: {"value": 0.25, "list": [1, 2, 3]})
        held = run.eval(first.model(), task, tasks=2, tries=1)
        return {"value": told["value"], "pass@1": held["pass@1"]}

    return Study(body)
"""


def prepare(folder: Path, with_models: bool) -> None:
    """Runs and problems, whole, and models if they are wanted: those take long."""
    from guerdon.cli.main import main

    before = Path.cwd()
    os.chdir(folder)
    Path("my.py").write_text(MY)
    Path("evil.py").write_text(EVIL)
    os.mkfifo("pipe")
    rows = [{"question": f"{n}+1", "result": str(n + 1), "kind": n % 3, "note": [n, "é"]} for n in range(12)]
    Path("problems.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    run = ("train", "grpo", *PARITY, "--steps", "6", "--save-every", "2", *SMALL, "--reward", "my.py:stops", "--json")
    with contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
        assert main((*run, "--out", "runs/whole")) == 0
        Path("press-ctrl-c").touch()
        assert main((*run, "--out", "runs/half")) == 130
        Path("press-ctrl-c").unlink()
        study = ("train", "./my.py:twice", *PARITY, "--model", "tabular", "--eval-tasks", "2", "--out", "runs/study")
        assert main((*study, "--json")) == 0
        if with_models:
            _prepare_models()
    os.chdir(before)


def _prepare_models() -> None:
    from small import small_lm
    from small_foreign import made
    from test_gguf import net_of, write

    from guerdon import models

    small_lm(Path("lm"))
    own = json.loads(Path("lm/tokenizer_config.json").read_text())
    Path("lm/chat_template.jinja").write_text(own.pop("chat_template"))
    Path("lm/tokenizer_config.json").write_text(json.dumps(own, indent=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made(Path("gpt2"), "gpt2")
    write(Path("small.gguf"), net_of())
    adapted = models.load("lm", lora=2)
    adapted.start(0, {})
    models.save(adapted, Path("lora"))


def fresh(prepared: Path, work: Path, names: tuple[str, ...]) -> None:
    """What the verbs of the last case wrote to, as it was."""
    for name in names:
        shutil.rmtree(work / name, ignore_errors=True)
        if (prepared / name).exists():
            shutil.copytree(prepared / name, work / name)


# --- what a verb said, as far as it must be the same ------------------------------------------------------------------

VOLATILE = ("seconds", "created", "time", "report", "warnings", "versions", "damage", "was_complete")


def comparable(said: Any) -> Any:
    """Without clocks, and without warnings, which are looked at by themselves."""
    if isinstance(said, dict):
        return {k: comparable(v) for k, v in said.items() if k not in VOLATILE}
    return [comparable(v) for v in said] if isinstance(said, list) else said
