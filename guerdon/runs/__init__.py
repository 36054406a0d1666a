"""The run folder: what a run writes and how it is read back. Everything shown about a run comes from here."""
