"""Rewards of text alone: answers, shape, agreement among tries, retrieval."""
