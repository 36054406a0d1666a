"""Distances between two rewards (EPIC, DARD, STARC), the regret that they should predict, and whether shaping changes
anything."""
