"""Reward models held to the protocols of public benchmarks, by files of their scores."""
