"""Runs: the list, one of them, several beside each other, and evidence."""
