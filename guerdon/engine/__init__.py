"""Plays episodes and samples from models: continuous batching, the memory of past tokens, seats, `play`."""

from guerdon.engine.batching import answer

__all__ = ["answer"]
