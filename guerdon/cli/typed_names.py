"""Names on a command line, refused before torch is loaded: a typing error is answered at once.

What they mean is found where they are used; here is only whether there is such a recipe, task, model or reward.
"""

from __future__ import annotations

from pathlib import Path

from guerdon.cli import shelves
from guerdon.core.errors import spelled, unknown
from guerdon.core.packages import with_brought
from guerdon.models.model_names import refuse_unknown
from guerdon.runs.folder import RunFolder
from guerdon.tasks.task_loading import refuse_unknown_family
from guerdon.training.catalog import in_file, known_name


def refuse_typos(
    recipe: str | None = None, task: str | None = None, model: str | None = None, reward: str | None = None
) -> None:
    """Refuse the first that is no name, with the nearest one. Files, folders and addresses are left to those who open them."""
    if recipe is not None and not in_file(recipe)[0]:
        known_name(recipe)
    if task is not None and ".py:" not in task and " " not in task:  # rows of a file are named in several words
        refuse_unknown_family(task)
    if model is not None and not RunFolder(model).exists():
        refuse_unknown(model)
    if reward is not None and reward.isidentifier() and not Path(reward).is_dir():
        known = with_brought("rewards", shelves.reward_names())
        if spelled(reward, known) not in known:
            raise unknown("reward", reward, [*known, "FILE.py:NAME", "RUN"])
