"""Testing a claim of a recipe: arms, runs, a paired comparison, a verdict, an evidence file."""
