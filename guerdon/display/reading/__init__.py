"""Data about the rollouts of a step, as pages ask for them: one episode, all tries at an ask."""
