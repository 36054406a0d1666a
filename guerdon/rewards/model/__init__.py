"""Rewards that read a model: reward models, confidence, gains in likelihood."""
