"""Audits as experiments: what fools rewards and reward models, what benchmarks of them foretell, what distances and probes tell."""
