"""Allocation: requests that share budgets, items that share attention."""
