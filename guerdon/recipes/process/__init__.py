"""Rewards for the steps of a solution: learned, implied, searched for, or exact; and credit finer than an answer."""
