"""Benchmarks against other libraries, each one command: `python -m bench.grpo_step --config cpu`.

Needs `requirements/bench.txt`. Nothing here is part of the package, and the package knows nothing of it.
"""
