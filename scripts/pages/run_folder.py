"""The page of the run folder: what lies in it, and the events that it is rebuilt from."""

from __future__ import annotations

import dataclasses
import inspect

from guerdon.runs import event_types
from pages.prose import table

LAYOUT = {
    "run.json": "The run's config: recipe, hash, seed, what was asked for, versions. Written first, with a checksum, and never changed.",
    "events.jsonl": "The truth of a run: one event a line, numbered and with a checksum, appended and never rewritten.",
    "rollouts/step-NNNNNNNN.parquet": "The very batch a step learned from: a row a segment, with texts, log-probs and every column.",
    "checkpoints/": "Weights, optimiser and states of the last few steps, each whole or absent: what `--resume` goes on from.",
    "models/NAME/": "The trained models, which `--model RUN` and `run.model()` load.",
    "report.html": "Curves, rollouts and failures in one file that needs no network.",
    "faults/step-NNNNNNNN.parquet": "The batch that broke a step, where a loss or a gradient was not finite.",
    "result.json": "What a study's body returned.",
    "inner/": "The runs of a study, each a run folder of its own.",
}
HEAD = """# Run folder

A run is a folder, and every number that is shown about a run is rebuilt from it. `gd.Run(path)` reads it, `guerdon show RUN` prints its
config and its end, and any tool that reads JSON lines and Parquet reads the rest. Files are written beside their place and moved into
it, so that a kill leaves the old one or the new one; what is damaged is named, never guessed at
([what holds](../promises.md))."""


def page() -> str:
    return (
        "\n\n".join(
            [
                HEAD,
                table(["path", "what it is"], [[f"`{path}`", words] for path, words in LAYOUT.items()]),
                "## Events",
                "A line of `events.jsonl` is a JSON object with `type` (the name below), `step`, `attempt` (how often the run was"
                " begun or gone on with: readers keep the last attempt at a step) and `time`, besides its own fields.",
                *(event(kind) for kind in event_types.TYPES.values()),
            ]
        )
        + "\n"
    )


def event(kind: type[event_types.Event]) -> str:
    shared = {f.name for f in dataclasses.fields(event_types.Event)}
    own = [f for f in dataclasses.fields(kind) if f.name not in shared]
    about = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
    text = "" if about.startswith(f"{kind.__name__}(") else about.replace("\n", " ")
    fields = ", ".join(f"`{f.name}` ({f.type})" for f in own) or "none of its own"
    return f"### {kind.__name__}\n\n{text}\n\nFields: {fields}."
