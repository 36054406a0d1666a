"""The evidence of recipes, stored and shown: proofs, verdicts, pages, the code that runs executed. Needs no torch."""
