"""Rewards held to their contract before anything is trained on them."""
