"""Functions as rewards: what they are called with, what they may answer, and how both are checked."""
