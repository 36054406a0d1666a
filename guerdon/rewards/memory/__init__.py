"""Rewards with memory: earlier samples, and people's ratings of them."""
