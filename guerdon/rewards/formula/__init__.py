"""Rewards of rewards: sums, products, gates, values step by step, and the version of a formula."""
