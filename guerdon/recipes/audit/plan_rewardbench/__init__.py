"""Pairs of tool-using trajectories of many lengths, and reward models of them."""
