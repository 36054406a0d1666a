"""Rows of users' files in any format: JSON lines, CSV, Parquet, lists, data sets.

Knows nothing of tasks. `opening.py` is where to begin.
"""
