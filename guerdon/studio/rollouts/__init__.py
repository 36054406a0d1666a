"""Rollouts of runs, searched and filtered: a DuckDB table of all of them, filled as they are written."""
