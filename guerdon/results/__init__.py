"""What finished runs are turned into: comparisons, exported models, traces. Reads run folders and trains nothing."""
