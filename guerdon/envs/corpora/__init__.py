"""Search over documents: corpora and their indexes, the environment that searches them, and generated worlds of facts."""
