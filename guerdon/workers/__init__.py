"""Reward functions in processes of their own: whatever they do, the run goes on and every other score stands."""
