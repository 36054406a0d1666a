"""Stages that put rewards into columns, and `score_samples` for samples from anywhere."""
