"""The report of a run. Everything on it is read from the run folder (`guerdon/runs`)."""
