"""Tools that a model may call, and the environment in which it does."""
