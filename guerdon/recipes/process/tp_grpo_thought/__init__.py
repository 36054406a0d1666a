"""Rewards for thoughts, runs of lines that a judge finds right or wrong, by how able the policy is by now."""
