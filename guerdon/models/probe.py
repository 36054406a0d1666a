"""`probe`, on the shelf where models are. It is in `core`, for rewards, curricula and environments may import nothing else."""

from guerdon.core.probe import Item, probe

__all__ = ["Item", "probe"]
