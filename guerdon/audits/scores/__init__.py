"""Reward models evaluated by the protocols of public benchmarks, from files of their scores."""
