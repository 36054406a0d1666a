"""ReST-RL: starts that are worth it, and search by a value model."""
