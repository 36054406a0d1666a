"""Data about a run, as its page asks for them: facts, alarms, curves, settings, what a step does."""
