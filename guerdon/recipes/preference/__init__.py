"""Preferences: what is learned from pairs of a better and a worse answer."""
