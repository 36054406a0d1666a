"""Whether a model was trained on the problems that it is asked: what its entropies give away."""
