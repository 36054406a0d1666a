"""What a file of somebody's holds, row by row, whatever its form: JSON lines, CSV, Parquet, lists, data sets.

Knows nothing of tasks. `opening.py` is where to begin.
"""
