"""`guerdon export`: a run's trained model in a folder that transformers and vLLM load, or its rollouts as traces or pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from guerdon.cli.options import Json
from guerdon.cli.output import Output
from guerdon.core.errors import UserError


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A finished run's folder.")],
    folder: Annotated[
        str | None, typer.Argument(metavar="[DIR]", help="Output folder for the model: new or empty.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Which model of the run.  [default: policy, or the only one]"),
    ] = None,
    adapter: Annotated[
        bool, typer.Option("--adapter", help="Write only the LoRA adapter, for peft, instead of merged weights.")
    ] = False,
    traces: Annotated[
        str | None,
        typer.Option(
            "--traces", metavar="FILE", help="Write the policy's stored rollouts as conversations (JSON lines) instead."
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            "--pairs", metavar="FILE", help="Write preferences among the stored rollouts (JSON lines, TRL's) instead."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="With --pairs: the column that tells which try is better.  [default: the run's own pairs, or reward]",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export in DIR.")] = False,
    as_json: Json = False,
) -> int:
    """Write a run's trained model as a folder that transformers and vLLM load.

    The folder also holds the tokenizer, the chat template and a model card, README.md, with the training setup and held-out
    results. LoRA adapters are merged into the weights unless --adapter is given. A reward model is written as
    a sequence classifier.

    --traces FILE writes the policy's training rollouts instead: one conversation per line, in OpenAI's chat format with tool
    calls.

    --pairs FILE writes preferences: the pairs that the run learned from or, of other runs, the best and the worst try at each
    prompt. A line is {"prompt", "chosen", "rejected", "margin"} with messages, which TRL's trainers read, and dpo here.
    """
    from guerdon.results.exporting import export as write

    output = Output(as_json)
    if by is not None and pairs is None:
        raise UserError("--by orders tries for --pairs FILE: give that too")
    if traces is not None or pairs is not None:
        _check_lines(folder, traces, pairs)
        return _export_traces(output, run, traces) if traces is not None else _export_pairs(output, run, str(pairs), by)
    if folder is None:
        raise UserError(
            "no destination: give a folder for the model, or --traces FILE or --pairs FILE for its rollouts"
        )
    written = write(run, folder, name=name, adapter=adapter, force=force)
    if not as_json:
        output.pairs({
            "model": f"{written.model} of {run}",
            "as": f"{written.architecture}, {written.parameters:,} weights in {written.dtype}",
            "folder": f"{folder}  ({len(written.files)} files, {written.size / 1e6:,.1f} MB)",
            "card": f"{folder.rstrip('/')}/README.md",
        })  # fmt: skip
        for note in written.notes:
            output.say(f"note: {note}")
    output.finish({**written._asdict(), "folder": folder, "notes": list(written.notes)})
    return 0


def _check_lines(folder: str | None, traces: str | None, pairs: str | None) -> None:
    """Refuse two outputs at once, and a file that is there."""
    if traces is not None and pairs is not None:
        raise UserError("--traces and --pairs write a file each: export one after the other")
    option, path = ("--traces", traces) if traces is not None else ("--pairs", pairs)
    if folder is not None:
        raise UserError(f"{option} {path} writes no model: remove {folder}, or export the model separately")
    if Path(str(path)).exists():
        raise UserError(f"{path} already exists: name another file")


def _export_pairs(output: Output, run: str, path: str, by: str | None) -> int:
    from guerdon.results.run_pairs import export_pairs

    written = export_pairs(run, path, by)
    if not output.as_json:
        left = {"the same texts again": written.twice, "not shown the same": written.apart}
        said = ", ".join(f"{n:,} {why}" for why, n in left.items() if n)
        output.pairs({
            "pairs": f"{written.pairs:,} of {run}, told by {written.told_by}" + (f"; left out: {said}" if said else ""),
            "file": path,
            "next": f"guerdon train dpo --data {path} --model {run}",
        })  # fmt: skip
    output.finish({"run": run, "file": path, **vars(written)})
    return 0


def _export_traces(output: Output, run: str, path: str) -> int:
    from guerdon.results.run_traces import export_traces

    count = export_traces(run, path)
    if not output.as_json:
        output.pairs({"traces": f"{count:,} conversations of {run}", "file": path})
    output.finish({"run": run, "traces": count, "file": path})
    return 0
