"""Rewards of ours inside other trainers and behind HTTP, and theirs inside ours."""
