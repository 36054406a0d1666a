"""Step reward models that see all of a step, its equation, or its words."""
