"""Objectives of a policy: what is pulled up and down by a reward, and beside it."""
