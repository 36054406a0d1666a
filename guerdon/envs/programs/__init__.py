"""Worlds in which programs are worked on, turn by turn."""
