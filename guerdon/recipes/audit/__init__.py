"""Audits of rewards and of models, as experiments: what a distance, a detector or a check is worth."""
