"""Queries that are nearly those of the task: what a model that learns writes."""

from __future__ import annotations


def changed_query(query, draw):
    """A query with a word left out, another in its place, or one before it."""
    words = query.split(" ")
    at, how = draw.randrange(len(words)), draw.randrange(3)
    put = ([], [draw.choice(words)], [draw.choice(words), words[at]])[how]
    return " ".join([*words[:at], *put, *words[at + 1 :]])
