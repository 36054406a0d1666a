"""Plays episodes: batches the requests of many environments into few model calls."""
