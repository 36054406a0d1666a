"""Training: a recipe is built, trained, evaluated, resumed and replayed; runs of a study follow each other."""
