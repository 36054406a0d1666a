"""Rewards that remember: what came before, and what people said of it."""
