"""`guerdon show TASK:LEVEL`: a held-out problem with an oracle's solution."""

from __future__ import annotations

import re

from guerdon.cli.output import Output

LIKE_A_TASK = re.compile(r"[\w/]+[:/][^.\\]*")  # NAME:LEVEL, ROLE/NAME: a part is named without, a file with a dot


def is_task(name: str) -> bool:
    """Whether a name is a task's, as `--task` takes it."""
    from guerdon.tasks.task_loading import knows

    return LIKE_A_TASK.fullmatch(name) is not None and knows(name)


def show_task(output: Output, name: str) -> None:
    import guerdon as gd

    source = gd.tasks.load(name)
    home = gd.envs.default_env(source)
    episode = gd.demonstration(source)
    sizes = {split: source.size(split) for split in ("train", "test")}
    if not output.as_json:
        told = {split: "unlimited" if size is None else f"{size:,}" for split, size in sizes.items()}
        output.say(f"{name}: {told['train']} training problems, {told['test']} held out")
        output.say(f"environment {home!r}" if home is not None else "answered in one turn")
        output.say()
        output.say(gd.transcript(episode, min(output.console.width, 100)))
    turns = [{"role": s.role, "view": s.view, "said": s.text} for s in episode.segments]
    output.finish({"task": name, "sizes": sizes, "env": None if home is None else repr(home), "turns": turns})
