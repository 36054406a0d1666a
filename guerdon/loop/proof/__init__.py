"""Holding a method to its claim: arms, runs, a paired comparison, a verdict, an evidence file."""
