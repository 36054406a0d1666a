"""Rewards learned from preferences between segments, by regret or by partial return."""
