"""Reward models held to the public protocols of evaluation, by files of their scores: RewardBench, RM-Bench, ProcessBench, ..."""
