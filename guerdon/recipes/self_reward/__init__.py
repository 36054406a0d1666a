"""Rewards that a model gives itself: votes, likelihoods, verdicts of its own, and the form of its answers."""
