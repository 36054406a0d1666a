"""Studies of rewards and reward models: what fools them, what benchmarks of them foretell, and what gaming leads to."""
