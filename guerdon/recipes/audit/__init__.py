"""Audits as experiments: what fools rewards, what benchmarks of reward models foretell, what distances and probes tell."""
