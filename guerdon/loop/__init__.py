"""The loop: build a recipe, train, evaluate, resume, study."""
