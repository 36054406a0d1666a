"""Rewards and credit for programs and queries: unit tests, execution, partial credit, repairs."""
