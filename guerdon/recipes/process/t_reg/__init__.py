"""Rewards for tokens that a model gives itself under two opposite prompts, beside a preference loss."""
