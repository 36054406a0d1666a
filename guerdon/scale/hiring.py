"""Where a run gets its workers from: processes of this machine, or Ray. Called by name (`training/rollouts.py`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from guerdon.engine.player import Player
from guerdon.runs.folder import RunFolder
from guerdon.scale import crew
from guerdon.scale.local import LocalWorker, Shelf
from guerdon.scale.station import setup_of


@contextlib.contextmanager
def hired(workers: int | str, folder: RunFolder, play: Player) -> Iterator[crew.Crew]:
    """A crew for a run that is started, until its end. Local workers share the threads of the run's process."""
    if isinstance(workers, str):
        from guerdon.scale.on_ray import hired_on_ray  # an extra

        with hired_on_ray(workers, folder, play) as made:
            yield made
        return
    setup = setup_of(folder.read_config(), play, max(1, torch.get_num_threads() // workers), "")
    shelf = Shelf()
    made = crew.Crew(workers, play, lambda: LocalWorker(setup, shelf, crew.PATIENCE), shelf)
    try:
        yield made
    finally:
        made.close()
