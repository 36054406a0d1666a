"""The page of the command line, from typer's own help."""

from __future__ import annotations

import inspect
from typing import Any

from typer.main import get_command

from guerdon.cli.main import app
from pages.prose import table

HEAD = """# Command line

`guerdon VERB --help` explains a verb with examples. With `--json` the last line is one JSON object. The exit code is 0 for
success, 2 for a mistake in the command, 1 for a run that stopped, and 130 for one that a signal interrupted."""


def page() -> str:
    group: Any = get_command(app)
    context = group.make_context("guerdon", [], resilient_parsing=True)
    return "\n\n".join([HEAD, *(verb(name, command, context) for name, command in group.commands.items())]) + "\n"


def verb(name: str, command: Any, parent: Any) -> str:
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    records = [record for param in command.get_params(context) if (record := param.get_help_record(context))]
    rows = [[f"`{left}`", right] for left, right in records]
    examples = inspect.cleandoc((command.epilog or "").replace("\b", "")).removeprefix("Examples:")
    return "\n\n".join(
        [
            f"## guerdon {name}",
            f"```text\nguerdon {name} {usage}\n```",
            inspect.cleandoc(command.help or ""),
            table(["argument or option", "what it does"], rows),
            f"```console\n{prompted(inspect.cleandoc(examples))}\n```",
        ]
    )


def prompted(examples: str) -> str:
    return "\n".join(f"$ {line.strip()}" for line in examples.splitlines() if line.strip())
