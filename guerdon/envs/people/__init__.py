"""Environments with other roles: a user to ask, a critic, a planner and an
executor."""
